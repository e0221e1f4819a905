/* JSON to struct source: the only reader of policy JSON. Strict: what is not understood is an error, never ignored. */
#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "policy/errors.h"
#include "policy/keys.h"
#include "policy/locate.h"
#include "policy/source.h"

#include "base/banned.h"

#define WHERE_MAX 512
#define NAMES_MAX 64

struct parser {
	struct arena *arena;
	const char *text;
	struct policy_errors *errors;
	struct source *source;
	struct locate_path at;
	bool no_memory;
	bool failed; /* a message was due: the list itself is capped and may lose some */
};

static void push_name(struct parser *parser, const char *name)
{
	parser->at.step[parser->at.depth++] = (struct locate_step){.name = name};
}

static void push_index(struct parser *parser, size_t index)
{
	parser->at.step[parser->at.depth++] = (struct locate_step){.index = index};
}

static void pop(struct parser *parser)
{
	parser->at.depth--;
}

/* "file:line: key", or "file:line" at the top. */
static void print_where(const struct parser *parser, char *out, size_t cap)
{
	char key[WHERE_MAX];

	locate_print(&parser->at, key, sizeof(key));
	(void)snprintf(out, cap, "%s:%u%s%s", parser->source->path, locate_line(parser->text, &parser->at),
		       *key ? ": " : "", key);
}

__attribute__((format(printf, 2, 3))) static void fail(struct parser *parser, const char *format, ...)
{
	char where[2 * WHERE_MAX], message[WHERE_MAX];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	print_where(parser, where, sizeof(where));
	policy_errors_add(parser->errors, "%s: %s", where, message);
	parser->failed = true;
}

static void fail_type(struct parser *parser, enum key_type type, const json_t *value)
{
	static const char *const words[] = {
		[JSON_OBJECT] = "an object",  [JSON_ARRAY] = "a list",	[JSON_STRING] = "a string",
		[JSON_INTEGER] = "a number",  [JSON_REAL] = "a number", [JSON_TRUE] = "true",
		[JSON_FALSE] = "false",	      [JSON_NULL] = "null",
	};

	fail(parser, "must be %s, not %s", policy_key_expects(type), words[json_typeof(value)]);
}

static const char *keep(struct parser *parser, const char *text)
{
	const char *copy = arena_dup(parser->arena, text);

	if (!copy)
		parser->no_memory = true;
	return copy;
}

static struct source_text keep_here(struct parser *parser, const char *text)
{
	char where[2 * WHERE_MAX];

	print_where(parser, where, sizeof(where));
	return (struct source_text){keep(parser, text), keep(parser, where)};
}

/* The string's text, or NULL with a message. */
static const char *take_text(struct parser *parser, enum key_type type, const json_t *value)
{
	if (!json_is_string(value)) {
		fail_type(parser, type, value);
		return NULL;
	}
	if (json_string_length(value) == 0) {
		fail(parser, "must not be empty; remove it or write %s", policy_key_expects(type));
		return NULL;
	}
	return json_string_value(value);
}

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
		fail(parser, "unknown key; did you mean \"%s\"?", nearest);
	else
		fail(parser, "unknown key; see callgate-policy(5) for the keys known here");
}

static void take_value(struct parser *parser, const struct policy_key *key, const json_t *value);

static void take_members(struct parser *parser, const char *section, const json_t *object)
{
	void *at = json_object_iter((json_t *)(uintptr_t)object); /* reads only: jansson lacks a const iterator */

	for (; at; at = json_object_iter_next((json_t *)(uintptr_t)object, at)) {
		const char *name = json_object_iter_key(at);
		const struct policy_key *key = policy_key_find(section, name);

		push_name(parser, name);
		if (!key)
			fail_unknown(parser, section, name);
		else
			take_value(parser, key, json_object_iter_value(at));
		pop(parser);
	}
}

/* ---- one kind of value each ---- */

static const enum rule_kind rule_kinds[KEY_ID_MAX] = {
	[KEY_ID_READ] = RULE_READ,	   [KEY_ID_WRITE] = RULE_WRITE,	    [KEY_ID_EXEC] = RULE_EXEC,
	[KEY_ID_DENY] = RULE_DENY,	   [KEY_ID_DECOY] = RULE_DECOY,	    [KEY_ID_EXEC_DENY] = RULE_EXEC_DENY,
	[KEY_ID_REDIRECT] = RULE_REDIRECT, [KEY_ID_PROVIDE] = RULE_PROVIDE,
};

static struct source_rule *add_rule(struct parser *parser, enum key_id id, const char *path)
{
	char key[WHERE_MAX];
	struct source_rule *rule;

	if (parser->source->rule_count >= SOURCE_RULES_MAX) {
		if (parser->source->rule_count++ == SOURCE_RULES_MAX) /* said once */
			fail(parser, "more than %d rules in one file; use globs or whole directories", SOURCE_RULES_MAX);
		return NULL;
	}
	rule = source_add_rule(parser->arena, parser->source, rule_kinds[id]);
	if (!rule) {
		parser->no_memory = true;
		return NULL;
	}
	locate_print(&parser->at, key, sizeof(key));
	rule->key = keep(parser, key);
	rule->path = keep_here(parser, path);
	return rule;
}

static void take_paths(struct parser *parser, const struct policy_key *key, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *text;

		push_index(parser, i);
		text = take_text(parser, KEY_PATH, json_array_get(list, i));
		if (text)
			(void)add_rule(parser, key->id, text); /* no memory is remembered in the parser */
		pop(parser);
	}
}

/* A member that must be there. */
static const json_t *require(struct parser *parser, const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	if (!value)
		fail(parser, "lacks \"%s\"; write {\"from\": \"/tmp\", \"to\": \"@scratch/tmp\"}", name);
	return value;
}

static void take_redirect(struct parser *parser, const json_t *object)
{
	const json_t *from, *to;
	struct source_rule *rule;

	if (!json_is_object(object)) {
		fail_type(parser, KEY_OBJECT, object);
		return;
	}
	take_members(parser, "filesystem.redirect[]", object);
	from = require(parser, object, "from");
	to = require(parser, object, "to");
	if (!json_is_string(from) || !json_is_string(to))
		return; /* take_members has said so */
	rule = add_rule(parser, KEY_ID_REDIRECT, json_string_value(from));
	if (!rule)
		return;
	push_name(parser, "to");
	rule->to = keep_here(parser, json_string_value(to));
	pop(parser);
}

static void take_redirects(struct parser *parser, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		push_index(parser, i);
		take_redirect(parser, json_array_get(list, i));
		pop(parser);
	}
}

/* {"from": "file:PATH"}: gives PATH; {"from": "account:passwd"}: gives that; or NULL with a message. */
static const char *take_provided_file(struct parser *parser, const json_t *object)
{
	static const char scheme[] = "file:";
	const json_t *from;
	const char *name;

	take_members(parser, "filesystem.provide{}", object);
	from = json_object_get(object, "from");
	if (!from)
		fail(parser, "lacks \"from\"; write {\"from\": \"file:./NAME\"} or the content as a string");
	name = json_string_value(from);
	if (!name)
		return NULL;
	if (strcmp(name, "account:passwd") == 0 || strcmp(name, "account:group") == 0)
		return name;
	if (strncmp(name, scheme, sizeof(scheme) - 1) != 0 || !name[sizeof(scheme) - 1]) {
		push_name(parser, "from");
		fail(parser, "must be \"file:PATH\", \"account:passwd\" or \"account:group\"");
		pop(parser);
		return NULL;
	}
	return name + sizeof(scheme) - 1;
}

static void take_provide(struct parser *parser, const char *path, const json_t *value)
{
	bool file = json_is_object(value);
	const char *content = json_string_value(value);
	struct source_rule *rule;

	if (!file && !content) {
		fail(parser, "must be the file's content as a string, or {\"from\": \"file:PATH\"}");
		return;
	}
	if (!*path) {
		fail(parser, "must not be empty; write the file's path in the view");
		return;
	}
	if (file)
		content = take_provided_file(parser, value);
	rule = content ? add_rule(parser, KEY_ID_PROVIDE, path) : NULL;
	if (!rule)
		return;
	rule->to = (struct source_text){keep(parser, content), rule->path.where};
	rule->to_file = file;
}

static void take_provides(struct parser *parser, const json_t *object)
{
	void *at = json_object_iter((json_t *)(uintptr_t)object);

	for (; at; at = json_object_iter_next((json_t *)(uintptr_t)object, at)) {
		push_name(parser, json_object_iter_key(at));
		take_provide(parser, json_object_iter_key(at), json_object_iter_value(at));
		pop(parser);
	}
}

static void add_env(struct parser *parser, const char *name, const char *value)
{
	const char *wrong = source_env_name_error(name, !value);
	struct source_env *env;

	if (wrong) {
		fail(parser, "%s", wrong);
		return;
	}
	env = source_add_env(parser->arena, parser->source);
	if (!env) {
		parser->no_memory = true;
		return;
	}
	env->name = keep_here(parser, name);
	if (value)
		env->value = keep_here(parser, value);
}

static void take_env_set(struct parser *parser, const json_t *object)
{
	void *at = json_object_iter((json_t *)(uintptr_t)object);

	for (; at; at = json_object_iter_next((json_t *)(uintptr_t)object, at)) {
		const json_t *value = json_object_iter_value(at);

		push_name(parser, json_object_iter_key(at));
		if (json_is_string(value))
			add_env(parser, json_object_iter_key(at), json_string_value(value));
		else
			fail_type(parser, KEY_STRING, value);
		pop(parser);
	}
}

static void take_strings(struct parser *parser, const struct policy_key *key, const json_t *list)
{
	struct source *source = parser->source;

	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *text;

		push_index(parser, i);
		text = take_text(parser, KEY_STRING, json_array_get(list, i));
		if (text && key->id == KEY_ID_ENV_PASS) {
			add_env(parser, text, NULL);
		} else if (text) {
			source->extends = arena_grow(parser->arena, source->extends, source->extends_count,
						     sizeof(*source->extends));
			if (source->extends)
				source->extends[source->extends_count++] = keep_here(parser, text);
			else
				parser->no_memory = true;
		}
		pop(parser);
		if (parser->no_memory)
			return;
	}
}

static void take_duration(struct parser *parser, const json_t *value)
{
	struct source *source = parser->source;
	const char *text = json_string_value(value);
	char seconds[32];

	if (json_is_integer(value)) {
		(void)snprintf(seconds, sizeof(seconds), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
		text = seconds;
	}
	source->has_wall = true;
	source->limits.wall_ns = 0;
	if (!text)
		fail_type(parser, KEY_DURATION, value);
	else if (strcmp(text, "none") == 0)
		return;
	else if (text_duration(text, &source->limits.wall_ns) < 0 || source->limits.wall_ns == 0)
		fail(parser, "\"%s\" is no time; write %s", text, policy_key_expects(KEY_DURATION));
}

static void take_size(struct parser *parser, const json_t *value, uint64_t *ret_bytes)
{
	const char *text = json_string_value(value);
	uint64_t bytes = 0;

	if (!text && !json_is_integer(value)) {
		fail_type(parser, KEY_SIZE, value);
		return;
	}
	if (!text && json_integer_value(value) > 0)
		bytes = (uint64_t)json_integer_value(value);
	else if (text && text_size(text, &bytes) < 0)
		bytes = 0;
	if (!bytes)
		fail(parser, "%s is no size; write %s", text ? text : "the number", policy_key_expects(KEY_SIZE));
	*ret_bytes = bytes;
}

static void take_string(struct parser *parser, const struct policy_key *key, const json_t *value)
{
	const char *text = take_text(parser, key->type, value);

	if (!text)
		return;
	if (key->id == KEY_ID_NAME)
		parser->source->name = keep(parser, text);
	else if (key->id == KEY_ID_WORKDIR)
		parser->source->workdir = keep_here(parser, text);
	else if (key->id == KEY_ID_AUDIT_FILE)
		parser->source->audit_file = keep_here(parser, text);
}

static void take_limit(struct parser *parser, const struct policy_key *key, const json_t *value)
{
	struct source *source = parser->source;

	if (key->id == KEY_ID_STDOUT) {
		source->has_stdout = true;
		take_size(parser, value, &source->limits.stdout_bytes);
	} else {
		source->has_stderr = true;
		take_size(parser, value, &source->limits.stderr_bytes);
	}
}

static void take_container(struct parser *parser, const struct policy_key *key, const json_t *value)
{
	bool list = key->type == KEY_STRINGS || key->type == KEY_PATHS || key->type == KEY_OBJECTS;

	if (list ? !json_is_array(value) : !json_is_object(value)) {
		fail_type(parser, key->type, value);
		return;
	}
	if (key->type == KEY_STRINGS)
		take_strings(parser, key, value);
	else if (key->type == KEY_PATHS)
		take_paths(parser, key, value);
	else if (key->type == KEY_OBJECTS)
		take_redirects(parser, value);
	else if (key->type == KEY_TEXTS)
		take_env_set(parser, value);
	else if (key->type == KEY_PROVIDES)
		take_provides(parser, value);
	else
		take_members(parser, key->name, value);
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
			fail(parser, "must be 1, the only version of the format there is");
		return;
	case KEY_BOOL:
		if (!json_is_boolean(value))
			fail_type(parser, KEY_BOOL, value);
		parser->source->has_audit_allowed = true;
		parser->source->audit_allowed = json_is_true(value);
		return;
	case KEY_DURATION:
		take_duration(parser, value);
		return;
	case KEY_SIZE:
		take_limit(parser, key, value);
		return;
	case KEY_LATER:
		fail(parser, "this version of callgate does not support %s; remove the key", key->help);
		return;
	case KEY_OBJECT:
	case KEY_STRINGS:
	case KEY_PATHS:
	case KEY_OBJECTS:
	case KEY_TEXTS:
	case KEY_PROVIDES:
	case KEY_TYPE_MAX:
		break;
	}
	take_container(parser, key, value);
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
	source->path = keep(&parser, path);
	if (!source->path)
		return -ENOMEM;
	slash = strrchr(source->path, '/');
	source->label = slash ? slash + 1 : source->path;
	root = json_loadb(text, strlen(text), JSON_REJECT_DUPLICATES, &error);
	if (!root) {
		fail_syntax(&parser, &error);
		return -EINVAL;
	}
	if (json_is_object(root))
		take_members(&parser, "", root);
	else
		fail(&parser, "a policy must be an object { ... }");
	json_decref(root);
	if (parser.no_memory)
		return -ENOMEM;
	if (parser.failed || !source_check(source, errors))
		return -EINVAL;
	*ret_source = source;
	return 0;
}
