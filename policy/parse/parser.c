/* The position, messages and copies of a parser. Looks up the members of objects in the table of keys. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "policy/parse/parser.h"

#define SECTION_MEMBER_NAMES_MAX 64 /* most names of a section among which a similar one is suggested */

bool parser_next_item(struct parser *parser, const json_t *container, struct parser_item *item)
{
	json_t *object = (json_t *)(uintptr_t)container; /* the iterators of jansson want a pointer that is not const */

	if (item->value) {
		parser_leave_member(parser);
		item->index++;
	}
	if (json_is_object(object)) {
		item->iter = item->value ? json_object_iter_next(object, item->iter) : json_object_iter(object);
		item->name = json_object_iter_key(item->iter);
		item->value = json_object_iter_value(item->iter);
	} else {
		item->value = json_array_get(object, item->index);
	}
	if (item->value)
		parser->at.steps[parser->at.depth++] = (struct json_path_step){item->name, item->index};
	return item->value;
}

const json_t *parser_enter_member(struct parser *parser, const json_t *object, const char *name)
{
	struct parser_item item = {0};

	while (parser_next_item(parser, object, &item) && strcmp(item.name, name) != 0)
		;
	if (!item.value)
		parser->at.steps[parser->at.depth++] = (struct json_path_step){name, item.index};
	return item.value;
}

/* Leaves a member or element that was entered, for the place in messages. */
void parser_leave_member(struct parser *parser)
{
	parser->at.depth--;
}

/* Writes "file:line: key", or "file:line" at the top. Returns the length. */
static size_t parser_print_position(struct parser *parser, char *out, size_t cap)
{
	unsigned line = locate_find_line(parser->file_text, &parser->at, &parser->last_search);
	char key[PARSER_KEY_PATH_SIZE];
	size_t len;

	(void)locate_print_path(&parser->at, key, sizeof(key));
	len = (size_t)snprintf(out, cap, "%s:%u%s%s", parser->source->path, line, *key ? ": " : "", key);
	return len < cap ? len : cap - 1;
}

void parser_fail(struct parser *parser, const char *format, ...)
{
	char source_location[2 * PARSER_KEY_PATH_SIZE], message[PARSER_KEY_PATH_SIZE];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	(void)parser_print_position(parser, source_location, sizeof(source_location));
	policy_errors_add(parser->errors, "%s: %s", source_location, message);
	parser->has_failed = true;
}

void parser_fail_text(struct parser *parser, const char *text, const char *why)
{
	const int most = 100;

	parser_fail(parser, "\"%.*s%s\" %s", most, text, strlen(text) > (size_t)most ? "..." : "", why);
}

void parser_fail_type(struct parser *parser, enum key_type type, const json_t *value)
{
	static const char *const words[] = {
		[JSON_OBJECT] = "an object", [JSON_ARRAY] = "a list",  [JSON_STRING] = "a string",
		[JSON_INTEGER] = "a number", [JSON_REAL] = "a number", [JSON_TRUE] = "true",
		[JSON_FALSE] = "false",      [JSON_NULL] = "null",
	};

	parser_fail(parser, "must be %s, not %s", policy_key_type_describe_value(type), words[json_typeof(value)]);
}

struct source_text parser_keep_text(struct parser *parser, const char *text)
{
	char source_location[2 * PARSER_KEY_PATH_SIZE];
	size_t len = parser_print_position(parser, source_location, sizeof(source_location));

	return (struct source_text){arena_dup(parser->arena, text), arena_dupn(parser->arena, source_location, len)};
}

const char *parser_copy_key_for_message(struct parser *parser)
{
	char key[PARSER_KEY_PATH_SIZE];

	return arena_dupn(parser->arena, key, locate_print_path(&parser->at, key, sizeof(key)));
}

const char *parser_get_amount_text(const json_t *value, char number[32])
{
	if (!json_is_integer(value))
		return json_string_value(value);
	(void)snprintf(number, 32, "%" JSON_INTEGER_FORMAT, json_integer_value(value)); /* at most 20 bytes */
	return number;
}

const char *parser_get_nonempty_string(struct parser *parser, enum key_type type, const json_t *value)
{
	if (!json_is_string(value)) {
		parser_fail_type(parser, type, value);
		return NULL;
	}
	if (json_string_length(value) == 0) {
		parser_fail(parser, "must not be empty; remove it or write %s", policy_key_type_describe_value(type));
		return NULL;
	}
	return json_string_value(value);
}

/* The position of a word in a list, from 1; 0: it is not there. */
static unsigned parser_find_word(const json_t *value, const char *const *words)
{
	const char *text = json_string_value(value);

	for (unsigned i = 0; text && words[i]; i++)
		if (strcmp(words[i], text) == 0)
			return i + 1;
	return 0;
}

enum policy_on_deny parser_find_on_deny_word(const json_t *value)
{
	return (enum policy_on_deny)parser_find_word(value, policy_on_deny_names);
}

enum policy_judge parser_find_judge_word(const json_t *value)
{
	return (enum policy_judge)parser_find_word(value, policy_judge_names);
}

enum policy_workspace parser_find_workspace_word(const json_t *value)
{
	return (enum policy_workspace)parser_find_word(value, policy_workspace_names);
}

const char *parser_make_rule_label(struct parser *parser, const char *detail)
{
	char key[PARSER_KEY_PATH_SIZE];

	(void)locate_print_path(&parser->at, key, sizeof(key));
	return arena_printf(parser->arena, "%s: %s%s%s", parser->source->label, key, detail ? " " : "",
			    detail ? detail : "");
}

/* Adds an error for a key that the section does not have, with the nearest one that it has. */
static void parser_fail_unknown(struct parser *parser, const char *section, const char *name)
{
	const char *names[SECTION_MEMBER_NAMES_MAX + 1] = {NULL}, *nearest;
	size_t count, used = 0;
	const struct policy_key *keys = policy_key_get_all(&count);

	for (size_t i = 0; i < count && used < SECTION_MEMBER_NAMES_MAX; i++)
		if (strcmp(keys[i].section, section) == 0)
			names[used++] = keys[i].name;
	nearest = text_find_nearest_word(name, names);
	if (nearest)
		parser_fail(parser, "unknown key; did you mean \"%s\"?", nearest);
	else
		parser_fail(parser, "unknown key; see callgate-policy(5) for the keys known here");
}

void parser_read_members(struct parser *parser, const char *section, const json_t *object)
{
	PARSER_FOR_EACH_ITEM (parser, object, item) {
		const struct policy_key *key = policy_key_find(section, item.name);

		if (!key)
			parser_fail_unknown(parser, section, item.name);
		else if (parser->is_in_phase && !*section && !policy_key_may_be_in_phase(key))
			parser_fail(parser, "is for the whole policy; a phase has filesystem, exec, env, limits, "
					    "process, network and require");
		else
			parser->read_value(parser, key, item.value);
	}
}

void parser_read_section(struct parser *parser, const struct policy_key *key, const char *suffix, const json_t *object)
{
	char section[64];

	(void)snprintf(section, sizeof(section), "%s%s%s%s", key->section, *key->section ? "." : "", key->name, suffix);
	parser_read_members(parser, section, object);
}
