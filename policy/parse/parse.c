/* Parses the JSON of a policy into a struct policy_source. Strict: unknown keys and unexpected values are errors. */
#include <errno.h>
#include <string.h>

#include "policy/parse/parser.h"

/* Reads "user", or adds an error. */
static void parse_user(struct parser *parser, const char *text)
{
	const char *wrong = policy_find_user_error(text);

	if (wrong)
		parser_fail(parser, "\"%s\" %s; write \"UID\", \"UID:GID\" or names", text, wrong);
	else
		parser->source->user = arena_dup(parser->arena, text);
}

static void parse_string(struct parser *parser, const struct policy_key *key, const json_t *value)
{
	const char *text = parser_get_nonempty_string(parser, key->type, value);

	if (!text)
		return;
	if (key->id == KEY_ID_NAME)
		parser->source->name = arena_dup(parser->arena, text);
	else if (key->id == KEY_ID_USER)
		parse_user(parser, text);
	else if (key->id == KEY_ID_WORKDIR)
		parser->source->workdir = parser_keep_text(parser, text);
	else if (key->id == KEY_ID_AUDIT_FILE)
		parser->source->audit_file = parser_keep_text(parser, text);
	else if (key->id != KEY_ID_NONE)
		parser_read_net_text(parser, key, text);
}

static void parse_bool(struct parser *parser, const struct policy_key *key, const json_t *value)
{
	if (key->id >= KEY_ID_AUDIT_ALLOWED && key->id <= KEY_ID_PROCESS_DATAGRAMS)
		parser->source->flag[key->id - KEY_ID_AUDIT_ALLOWED] = json_is_true(value) ? FLAG_ON : FLAG_OFF;
}

static void parse_one_of_words(struct parser *parser, const struct policy_key *key, const json_t *value)
{
	const char *text = json_string_value(value);

	for (const char *const *word = policy_key_type_get_words(key->type); text && *word; word++) {
		if (strcmp(*word, text) != 0)
			continue;
		if (key->id == KEY_ID_ON_DENY)
			parser->source->on_deny = parser_find_on_deny_word(value);
		if (key->id == KEY_ID_JUDGE) {
			parser->source->judge = parser_find_judge_word(value);
			parser->source->judge_source_location = parser_keep_text(parser, text).source_location;
		}
		if (key->id == KEY_ID_WORKSPACE_MODE)
			parser->source->workspace = parser_find_workspace_word(value);
		if (key->id == KEY_ID_AFTER_NETWORK)
			parser->after_entry->closes_network = true;
		return;
	}
	if (text)
		parser_fail(parser, "must be %s, not \"%s\"", policy_key_type_describe_value(key->type), text);
	else
		parser_fail_type(parser, key->type, value);
}

/* Finds the limit that a key sets: a key in "limits", or process.max, which is another name for limits.pids. */
static enum policy_limit parse_find_limit(const struct policy_key *key)
{
	enum policy_limit which = 0;

	if (key->id != KEY_ID_LIMIT)
		return POLICY_LIMIT_PIDS;
	while (strcmp(policy_limit_get_name(which), key->name) != 0)
		which++;
	return which;
}

/* Reads a limit, or adds an error. */
static void parse_amount(struct parser *parser, const struct policy_key *key, const json_t *value)
{
	enum policy_limit which = parse_find_limit(key);
	struct policy_source *source = parser->source;
	uint64_t *field = policy_limit_get_field(&source->limits, which), limit;
	char number[32], why[160];
	const char *text = parser_get_amount_text(value, number);

	if (key->id == KEY_ID_NONE)
		return; /* net-rule.c reads this value with its rule */
	if (!text)
		parser_fail_type(parser, key->type, value);
	else if (policy_limit_parse_value(which, text, &limit, why, sizeof(why)) < 0)
		parser_fail_text(parser, text, why);
	else if (source->given_limits_mask & POLICY_LIMIT_BIT(which) && *field != limit)
		parser_fail(parser, "is the same limit as %s, which says something else; keep one of them",
			    key->id == KEY_ID_LIMIT ? "process.max" : "limits.pids");
	else
		*field = limit;
	source->given_limits_mask |= POLICY_LIMIT_BIT(which);
}

static void parse_version(struct parser *parser, const struct policy_key *key, const json_t *value)
{
	(void)key;
	if (!json_is_integer(value) || json_integer_value(value) != 1)
		parser_fail(parser, "must be 1, the only version of the format");
}

static void parse_number(struct parser *parser, const struct policy_key *key, const json_t *value)
{
	if (!json_is_integer(value) || json_integer_value(value) < 0)
		parser_fail(parser, "must be %s", policy_key_type_describe_value(key->type));
}

/* Reads the members of a section such as "filesystem". */
static void parse_section(struct parser *parser, const struct policy_key *key, const json_t *object)
{
	parser_read_section(parser, key, "", object);
}

/* Reads a phase into a source of its own. */
static void parse_phase(struct parser *parser, const struct policy_key *key, const json_t *object)
{
	enum policy_phase phase = key->id == KEY_ID_PHASE_SETUP ? POLICY_PHASE_SETUP : POLICY_PHASE_RUN;
	struct policy_source *whole = parser->source, *source = arena_alloc(parser->arena, sizeof(*source));

	source->path = whole->path;
	source->label = whole->label;
	whole->phase[phase] = parser->source = source;
	parser->is_in_phase = true;
	parser_read_members(parser, "", object);
	parser->is_in_phase = false;
	parser->source = whole;
}

enum expected_json_type {
	EXPECT_ANY_JSON, /* any JSON type: the function that reads the value checks it */
	EXPECT_JSON_OBJECT,
	EXPECT_JSON_LIST,
	EXPECT_JSON_BOOL,
};

static void parse_value(struct parser *parser, const struct policy_key *key, const json_t *value)
{
	static const struct {
		enum expected_json_type form;
		parser_reader *read; /* reads values of the type; NULL: they are read with the object that has them */
	} types[KEY_TYPE_MAX] = {
		[KEY_OBJECT] = {EXPECT_JSON_OBJECT, parse_section},
		[KEY_STRING] = {EXPECT_ANY_JSON, parse_string},
		[KEY_PATH] = {EXPECT_ANY_JSON, parse_string},
		[KEY_FORMAT_VERSION] = {EXPECT_ANY_JSON, parse_version},
		[KEY_BOOL] = {EXPECT_JSON_BOOL, parse_bool},
		[KEY_DURATION] = {EXPECT_ANY_JSON, parse_amount},
		[KEY_SIZE] = {EXPECT_ANY_JSON, parse_amount},
		[KEY_SIZE_OR_NONE] = {EXPECT_ANY_JSON, parse_amount},
		[KEY_NUMBER_OR_NONE] = {EXPECT_ANY_JSON, parse_amount},
		[KEY_NUMBER] = {EXPECT_ANY_JSON, parse_number},
		[KEY_STRING_LIST] = {EXPECT_JSON_LIST, parser_read_strings},
		[KEY_PATH_LIST] = {EXPECT_JSON_LIST, parser_read_paths},
		[KEY_OBJECT_LIST] = {EXPECT_JSON_LIST, parser_read_objects},
		[KEY_STRINGS_BY_NAME] = {EXPECT_JSON_OBJECT, parser_read_env},
		[KEY_FILES_BY_PATH] = {EXPECT_JSON_OBJECT, parser_read_provides},
		[KEY_FINDING_LIST] = {EXPECT_JSON_LIST, parser_read_findings},
		[KEY_LAYER_LIST] = {EXPECT_JSON_LIST, parser_read_layers},
		[KEY_NETWORK_OR_NONE] = {EXPECT_ANY_JSON, parser_read_network},
		[KEY_PORT_OR_PORT_LIST] = {EXPECT_ANY_JSON, NULL},
		[KEY_PORT_RANGE_LIST] = {EXPECT_JSON_LIST, parser_read_listen},
		[KEY_ADDRESSES_BY_HOST] = {EXPECT_JSON_OBJECT, parser_read_addresses},
		[KEY_BOOL_OR_ENV] = {EXPECT_ANY_JSON, parser_read_proxy},
		[KEY_SECRETS_BY_NAME] = {EXPECT_JSON_OBJECT, parser_read_secrets},
		[KEY_PHASE_OBJECT] = {EXPECT_JSON_OBJECT, parse_phase},
		[KEY_NETWORK_DEFAULT_WORD] = {EXPECT_ANY_JSON, parse_one_of_words},
		[KEY_PROTOCOL_WORD] = {EXPECT_ANY_JSON, parse_one_of_words},
		[KEY_DNS_ANSWER_WORD] = {EXPECT_ANY_JSON, parse_one_of_words},
		[KEY_ON_DENY_WORD] = {EXPECT_ANY_JSON, parse_one_of_words},
		[KEY_ON_DENY_WORD_OF_NETWORK] = {EXPECT_ANY_JSON, parse_one_of_words},
		[KEY_ON_READ_WORD] = {EXPECT_ANY_JSON, parse_one_of_words},
		[KEY_WORD_NONE] = {EXPECT_ANY_JSON, parse_one_of_words},
		[KEY_JUDGE_WORD] = {EXPECT_ANY_JSON, parse_one_of_words},
		[KEY_WORKSPACE_WORD] = {EXPECT_ANY_JSON, parse_one_of_words},
	};
	enum expected_json_type wanted = types[key->type].form;

	if ((wanted == EXPECT_JSON_OBJECT && !json_is_object(value)) ||
	    (wanted == EXPECT_JSON_LIST && !json_is_array(value)) ||
	    (wanted == EXPECT_JSON_BOOL && !json_is_boolean(value)))
		parser_fail_type(parser, key->type, value);
	else if (types[key->type].read)
		types[key->type].read(parser, key, value);
}

/* Adds an error for what is no JSON, or has a member twice. */
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
 * While jansson parses, it allocates from the arena of the policy, so that its many small values need no freeing. The
 * allocator of jansson is global: policies must be loaded before there are other threads.
 */
static struct arena *parse_arena;
static bool parse_has_no_memory; /* an allocation failed, which jansson may report as another error */

/*
 * jansson's malloc(3): allocates in the arena of the policy that is parsed, which is freed as a whole. After a failure
 * nothing is allocated: jansson 2.14 ignores that it has lost a character of a string, and would copy past its end.
 */
static void *parse_malloc(size_t size)
{
	void *memory = parse_has_no_memory ? NULL : arena_alloc(parse_arena, size);

	parse_has_no_memory = !memory;
	return memory;
}

static void parse_free(void *memory)
{
	(void)memory;
}

/*
 * Parses JSON into the arena: its values must not be passed to json_decref. Returns NULL with *ret_error when the text
 * is not valid. jansson must get NULL when memory runs out, so the longjmp waits until its own allocator is back.
 */
static json_t *parse_json(struct arena *arena, const char *text, json_error_t *ret_error)
{
	jmp_buf *no_memory = arena->no_memory;
	json_malloc_t before_malloc;
	json_free_t before_free;
	json_t *root;

	json_get_alloc_funcs(&before_malloc, &before_free);
	parse_arena = arena;
	parse_has_no_memory = false;
	arena->no_memory = NULL;
	json_set_alloc_funcs(parse_malloc, parse_free);
	root = json_loadb(text, strlen(text), JSON_REJECT_DUPLICATES, ret_error);
	json_set_alloc_funcs(before_malloc, before_free);
	parse_arena = NULL;
	arena->no_memory = no_memory;
	if (parse_has_no_memory)
		(void)arena_fail_no_memory(arena);
	return root;
}

/* Checks for contradictions within the policy file, and within each phase of it. */
static bool parse_check_source_and_phases(struct policy_source *source, struct policy_errors *errors)
{
	bool good = source_check_contradictions(source, errors);

	for (size_t i = 0; i < POLICY_PHASE_MAX; i++)
		if (source->phase[i] && !source_check_contradictions(source->phase[i], errors))
			good = false;
	return good;
}

bool source_parse(struct arena *arena, const char *path, const char *text, struct policy_errors *errors,
		  struct policy_source **ret_source)
{
	struct policy_source *source = arena_alloc(arena, sizeof(*source));
	struct parser parser = {.arena = arena, .file_text = text, .errors = errors, .source = source,
				 .read_value = parse_value};
	json_error_t error;
	const char *slash;
	json_t *root;

	source->path = arena_dup(arena, path);
	slash = strrchr(source->path, '/');
	source->label = slash ? slash + 1 : source->path;
	*ret_source = source;
	root = parse_json(arena, text, &error);
	if (!root) {
		parse_fail_syntax(&parser, &error);
		return false;
	}
	if (json_is_object(root))
		parser_read_members(&parser, "", root);
	else
		parser_fail(&parser, "a policy must be an object { ... }");
	return parse_check_source_and_phases(source, errors) && !parser.has_failed;
}
