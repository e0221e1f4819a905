/* JSON to struct source: the only reader of policy JSON. Strict: what is not understood is an error, never ignored. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "policy/parse/errors.h"
#include "policy/parse/parser.h"

#include "base/banned.h"

#define NAMES_MAX 64

/* ---- members of an object against the key table ---- */

static void fail_unknown(struct parser *parser, const char *section, const char *name)
{
	const char *names[NAMES_MAX + 1] = {NULL}, *nearest;
	size_t count, used = 0;
	const struct policy_key *keys = policy_keys(&count);

	for (size_t i = 0; i < count && used < NAMES_MAX; i++)
		if (strcmp(keys[i].section, section) == 0)
			names[used++] = keys[i].name;
	nearest = text_nearest(name, names);
	if (nearest)
		parser_fail(parser, "unknown key; did you mean \"%s\"?", nearest);
	else
		parser_fail(parser, "unknown key; see callgate-policy(5) for the keys known here");
}

static void take_value(struct parser *parser, const struct policy_key *key, const json_t *value);

void parser_members(struct parser *parser, const char *section, const json_t *object)
{
	void *at = json_object_iter((json_t *)(uintptr_t)object); /* reads only: jansson lacks a const iterator */

	for (; at; at = json_object_iter_next((json_t *)(uintptr_t)object, at)) {
		const char *name = json_object_iter_key(at);
		const struct policy_key *key = policy_key_find(section, name);

		parser_push_name(parser, name);
		if (!key)
			fail_unknown(parser, section, name);
		else if (parser->in_phase && !*section && !policy_key_in_phase(key))
			parser_fail(parser, "is for the whole policy; a phase has filesystem, exec, env, limits, "
					    "process, network and require");
		else
			take_value(parser, key, json_object_iter_value(at));
		parser_pop(parser);
	}
}

/* ---- values that hold no others ---- */

static void take_user(struct parser *parser, const char *text)
{
	const char *wrong = policy_user_error(text);

	if (wrong)
		parser_fail(parser, "\"%s\" %s; write \"UID\", \"UID:GID\" or names", text, wrong);
	else
		parser->source->user = parser_keep(parser, text);
}

static void take_string(struct parser *parser, const struct policy_key *key, const json_t *value)
{
	const char *text = parser_text(parser, key->type, value);

	if (!text)
		return;
	if (key->id == KEY_ID_NAME)
		parser->source->name = parser_keep(parser, text);
	else if (key->id == KEY_ID_USER)
		take_user(parser, text);
	else if (key->id == KEY_ID_WORKDIR)
		parser->source->workdir = parser_keep_here(parser, text);
	else if (key->id == KEY_ID_AUDIT_FILE)
		parser->source->audit_file = parser_keep_here(parser, text);
	else if (key->id != KEY_ID_NONE)
		parser_net_text(parser, key, text);
}

static void take_bool(struct parser *parser, const struct policy_key *key, const json_t *value)
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

static void take_word(struct parser *parser, const struct policy_key *key, const json_t *value)
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

static void take_amount(struct parser *parser, const struct policy_key *key, const json_t *value)
{
	if (key->id == KEY_ID_PROCESS_MAX)
		parser_process_max(parser, key, value);
	else if (key->id != KEY_ID_NETWORK)
		parser_limit(parser, key, value);
}

/* A source of its own, of the same file. */
static void take_phase(struct parser *parser, const struct policy_key *key, const json_t *object)
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

static void take_value(struct parser *parser, const struct policy_key *key, const json_t *value)
{
	switch (key->type) {
	case KEY_STRING:
	case KEY_PATH:
		take_string(parser, key, value);
		return;
	case KEY_VERSION:
		if (!json_is_integer(value) || json_integer_value(value) != 1)
			parser_fail(parser, "must be 1, the only version of the format there is");
		return;
	case KEY_BOOL:
		take_bool(parser, key, value);
		return;
	case KEY_DEFAULT:
	case KEY_PROTO:
	case KEY_DNS:
		take_word(parser, key, value);
		return;
	case KEY_DURATION:
	case KEY_SIZE:
	case KEY_AMOUNT:
	case KEY_COUNT:
		take_amount(parser, key, value);
		return;
	case KEY_NETWORK:
	case KEY_LISTEN:
	case KEY_ADDRESSES:
	case KEY_PROXY:
	case KEY_SECRETS:
		parser_network(parser, key, value);
		return;
	case KEY_PHASE:
		take_phase(parser, key, value);
		return;
	case KEY_PORTS: /* of a rule, which takes them */
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

/* ---- the whole ---- */

static void fail_syntax(struct parser *parser, const json_error_t *error)
{
	const char *path = parser->source->path;

	if (json_error_code(error) == json_error_duplicate_key)
		policy_errors_add(parser->errors, "%s:%d: %s; keep one of them", path, error->line, error->text);
	else if (json_error_code(error) == json_error_null_character ||
		 json_error_code(error) == json_error_null_byte_in_key)
		policy_errors_add(parser->errors, "%s:%d: a string has a NUL character in it; no path or text can",
				  path, error->line);
	else
		policy_errors_add(parser->errors, "%s:%d:%d: not valid JSON: %s", path, error->line, error->column,
				  error->text);
}

/*
 * jansson's memory while it reads: of the policy's arena, which is given back as a whole. Of the thousand pieces of a
 * text none is freed by itself. jansson knows but one allocator, so nobody else may use it meanwhile: a policy is read
 * before there are threads.
 */
static struct arena *json_arena;

static void *json_from_arena(size_t size)
{
	return arena_alloc(json_arena, size);
}

static void json_to_arena(void *memory)
{
	(void)memory;
}

/* The text as values that live as long as the arena, and are not for json_decref. NULL with *ret_error. */
static json_t *load_json(struct arena *arena, const char *text, json_error_t *ret_error)
{
	json_malloc_t before_malloc;
	json_free_t before_free;
	json_t *root;

	json_get_alloc_funcs(&before_malloc, &before_free);
	json_arena = arena;
	json_set_alloc_funcs(json_from_arena, json_to_arena);
	root = json_loadb(text, strlen(text), JSON_REJECT_DUPLICATES, ret_error);
	json_set_alloc_funcs(before_malloc, before_free);
	json_arena = NULL;
	return root;
}

static bool check_all(const struct source *source, struct policy_errors *errors)
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
	struct parser parser = {.arena = arena, .text = text, .errors = errors, .source = source};
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
	root = load_json(arena, text, &error);
	if (!root) {
		fail_syntax(&parser, &error);
		return -EINVAL;
	}
	if (json_is_object(root))
		parser_members(&parser, "", root);
	else
		parser_fail(&parser, "a policy must be an object { ... }");
	parser_settle_pids(&parser);
	if (parser.no_memory)
		return -ENOMEM;
	if (parser.failed || !check_all(source, errors))
		return -EINVAL;
	*ret_source = source;
	return 0;
}
