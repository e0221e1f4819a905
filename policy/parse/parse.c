/* Parses the JSON of a policy into a struct source. Strict: unknown keys and unexpected values are errors. */
#include <errno.h>
#include <string.h>

#include "policy/parse/errors.h"
#include "policy/parse/parser.h"

#include "base/banned.h"

/* ---- values by type ---- */

static void parse_user(struct parser *parser, const char *text)
{
	const char *wrong = policy_user_error(text);

	if (wrong)
		parser_fail(parser, "\"%s\" %s; write \"UID\", \"UID:GID\" or names", text, wrong);
	else
		parser->source->user = parser_keep(parser, text);
}

static void parse_string(struct parser *parser, const struct policy_key *key, const json_t *value)
{
	const char *text = parser_text(parser, key->type, value);

	if (!text)
		return;
	if (key->id == KEY_ID_NAME)
		parser->source->name = parser_keep(parser, text);
	else if (key->id == KEY_ID_USER)
		parse_user(parser, text);
	else if (key->id == KEY_ID_WORKDIR)
		parser->source->workdir = parser_keep_here(parser, text);
	else if (key->id == KEY_ID_AUDIT_FILE)
		parser->source->audit_file = parser_keep_here(parser, text);
	else if (key->id != KEY_ID_NONE)
		parser_net_text(parser, key, text);
}

static void parse_bool(struct parser *parser, const struct policy_key *key, const json_t *value)
{
	if (!json_is_boolean(value))
		parser_fail_type(parser, KEY_BOOL, value);
	if (key->id == KEY_ID_AUDIT_ALLOWED) {
		parser->source->has_audit_allowed = true;
		parser->source->audit_allowed = json_is_true(value);
	} else if (key->id == KEY_ID_AUDIT_COMPACT) {
		parser->source->has_audit_compact = true;
		parser->source->audit_compact = json_is_true(value);
	} else if (key->id == KEY_ID_AUDIT_FSTAT) {
		parser->source->has_audit_fstat = true;
		parser->source->audit_fstat = json_is_true(value);
	}
}

static void parse_word(struct parser *parser, const struct policy_key *key, const json_t *value)
{
	const char *text = json_string_value(value);

	for (const char *const *word = policy_key_words(key->type); text && *word; word++)
		if (strcmp(*word, text) == 0)
			return;
	if (text)
		parser_fail(parser, "must be %s, not \"%s\"", policy_key_expects(key->type), text);
	else
		parser_fail_type(parser, key->type, value);
}

static void parse_amount(struct parser *parser, const struct policy_key *key, const json_t *value)
{
	if (key->id == KEY_ID_PROCESS_MAX)
		parser_process_max(parser, key, value);
	else if (key->id != KEY_ID_NETWORK)
		parser_limit(parser, key, value);
}

/* A phase is read into a source of its own. */
static void parse_phase(struct parser *parser, const struct policy_key *key, const json_t *object)
{
	enum policy_phase phase = key->id == KEY_ID_PHASE_SETUP ? POLICY_PHASE_SETUP : POLICY_PHASE_RUN;
	struct source *whole = parser->source, *source = arena_alloc(parser->arena, sizeof(*source));

	if (!json_is_object(object)) {
		parser_fail_type(parser, KEY_PHASE, object);
		return;
	}
	if (!source) {
		parser->no_memory = true;
		return;
	}
	source->path = whole->path;
	source->label = whole->label;
	whole->phase[phase] = parser->source = source;
	parser->in_phase = true;
	parser_members(parser, "", object);
	parser_settle_pids(parser);
	parser->in_phase = false;
	parser->source = whole;
}

static void parse_value(struct parser *parser, const struct policy_key *key, const json_t *value)
{
	switch (key->type) {
	case KEY_STRING:
	case KEY_PATH:
		parse_string(parser, key, value);
		return;
	case KEY_VERSION:
		if (!json_is_integer(value) || json_integer_value(value) != 1)
			parser_fail(parser, "must be 1, the only version of the format");
		return;
	case KEY_BOOL:
		parse_bool(parser, key, value);
		return;
	case KEY_DEFAULT:
	case KEY_PROTO:
	case KEY_DNS:
		parse_word(parser, key, value);
		return;
	case KEY_DURATION:
	case KEY_SIZE:
	case KEY_AMOUNT:
	case KEY_COUNT:
		parse_amount(parser, key, value);
		return;
	case KEY_NETWORK:
	case KEY_LISTEN:
	case KEY_ADDRESSES:
	case KEY_PROXY:
		parser_network(parser, key, value);
		return;
	case KEY_SECRETS:
		parser_secrets(parser, value);
		return;
	case KEY_PHASE:
		parse_phase(parser, key, value);
		return;
	case KEY_PORTS: /* read with their rule */
		return;
	case KEY_LATER:
		parser_fail(parser, "this version of callgate does not support %s; remove the key", key->help);
		return;
	case KEY_OBJECT:
	case KEY_STRINGS:
	case KEY_PATHS:
	case KEY_OBJECTS:
	case KEY_TEXTS:
	case KEY_PROVIDES:
	case KEY_LAYERS:
	case KEY_TYPE_MAX:
		break;
	}
	parser_container(parser, key, value);
}

/* ---- the file ---- */

static void parse_fail_syntax(struct parser *parser, const json_error_t *error)
{
	const char *path = parser->source->path;

	if (json_error_code(error) == json_error_duplicate_key)
		policy_errors_add(parser->errors, "%s:%d: %s; keep one of them", path, error->line, error->text);
	else if (json_error_code(error) == json_error_null_character ||
		 json_error_code(error) == json_error_null_byte_in_key)
		policy_errors_add(parser->errors, "%s:%d: a string has a NUL character; remove it",
				  path, error->line);
	else
		policy_errors_add(parser->errors, "%s:%d:%d: not valid JSON: %s", path, error->line, error->column,
				  error->text);
}

/*
 * While it parses, jansson allocates in the policy's arena, so that its many small values need no freeing. jansson's
 * allocator is global: policies are loaded before there are other threads.
 */
static struct arena *parse_arena;

static void *parse_malloc(size_t size)
{
	return arena_alloc(parse_arena, size);
}

static void parse_free(void *memory)
{
	(void)memory;
}

/* The values are in the arena and must not be passed to json_decref. NULL with *ret_error. */
static json_t *parse_json(struct arena *arena, const char *text, json_error_t *ret_error)
{
	json_malloc_t before_malloc;
	json_free_t before_free;
	json_t *root;

	json_get_alloc_funcs(&before_malloc, &before_free);
	parse_arena = arena;
	json_set_alloc_funcs(parse_malloc, parse_free);
	root = json_loadb(text, strlen(text), JSON_REJECT_DUPLICATES, ret_error);
	json_set_alloc_funcs(before_malloc, before_free);
	parse_arena = NULL;
	return root;
}

static bool parse_check(const struct source *source, struct policy_errors *errors)
{
	bool good = source_check(source, errors);

	for (size_t i = 0; i < POLICY_PHASE_MAX; i++)
		if (source->phase[i] && !source_check(source->phase[i], errors))
			good = false;
	return good;
}

int source_parse(struct arena *arena, const char *path, const char *text, struct policy_errors *errors,
		 struct source **ret_source)
{
	struct source *source = arena_alloc(arena, sizeof(*source));
	struct parser parser = {.arena = arena, .text = text, .errors = errors, .source = source,
				 .take_value = parse_value};
	json_error_t error;
	const char *slash;
	json_t *root;

	if (!source)
		return -ENOMEM;
	source->path = parser_keep(&parser, path);
	if (!source->path)
		return -ENOMEM;
	slash = strrchr(source->path, '/');
	source->label = slash ? slash + 1 : source->path;
	root = parse_json(arena, text, &error);
	if (!root) {
		parse_fail_syntax(&parser, &error);
		return -EINVAL;
	}
	if (json_is_object(root))
		parser_members(&parser, "", root);
	else
		parser_fail(&parser, "a policy must be an object { ... }");
	parser_settle_pids(&parser);
	if (parser.no_memory)
		return -ENOMEM;
	if (parser.failed || !parse_check(source, errors))
		return -EINVAL;
	*ret_source = source;
	return 0;
}
