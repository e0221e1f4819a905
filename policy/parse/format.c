#include "policy/parse/format.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "policy/parse/keys.h"
#include "policy/parse/source.h"

#define FORMAT_LINE_COLUMNS_MAX 100
#define INDENT_COLUMNS 2

/* ---- order ---- */

static json_t *format_order_value(const struct policy_key *key, const json_t *value);

/* Returns a copy of the object with its keys in the order of the table in keys.c; a key not there is left out. */
static json_t *format_order_members(const char *section, const json_t *object)
{
	json_t *ordered = json_object();
	size_t count;
	const struct policy_key *keys = policy_key_get_all(&count);

	for (size_t i = 0; i < count; i++) {
		const json_t *value = strcmp(keys[i].section, section) == 0 ? json_object_get(object, keys[i].name)
									    : NULL;

		if (value)
			(void)json_object_set_new(ordered, keys[i].name, format_order_value(&keys[i], value));
	}
	return ordered;
}

/* Orders the members of a value by its section: "network.allow" and "[]" give "network.allow[]". */
static json_t *format_order_section(const struct policy_key *key, const char *suffix, const json_t *object)
{
	char section[64];

	(void)snprintf(section, sizeof(section), "%s%s%s%s", key->section, *key->section ? "." : "", key->name, suffix);
	return format_order_members(section, object);
}

static int format_compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorts the members of an object, such as "env.set", by their names, which are no keys. Returns a new value. */
static json_t *format_sort_names(const struct policy_key *key, const json_t *object)
{
	size_t count = json_object_size(object), at = 0;
	_cleanup_free_ const char **names = calloc(count + 1, sizeof(*names));
	json_t *ordered = names ? json_object() : NULL, *members = (json_t *)(uintptr_t)object, *value;
	const char *name;

	json_object_foreach (members, name, value)
		if (names)
			names[at++] = name;
	if (names)
		qsort(names, count, sizeof(*names), format_compare_names);
	for (size_t i = 0; names && i < count; i++) {
		value = json_object_get(object, names[i]);
		(void)json_object_set_new(ordered, names[i],
					  json_is_object(value) ? format_order_section(key, "{}", value)
								: json_deep_copy(value));
	}
	return ordered;
}

/* Returns the text that an item is sorted by: its path or text, then the whole item. Owned by the caller. */
static char *format_get_sort_text(const json_t *item)
{
	const json_t *path = json_is_object(item) ? json_object_get(item, "path") : item;
	_cleanup_free_ char *whole = json_dumps(item, JSON_ENCODE_ANY);

	return whole ? text_format("%s\n%s", json_is_string(path) ? json_string_value(path) : "", whole) : NULL;
}

/* Compares two items: numbers by value, and before texts. */
static int format_compare_items(const json_t *a, const json_t *b)
{
	json_int_t left = json_integer_value(a), right = json_integer_value(b);
	_cleanup_free_ char *left_text = NULL, *right_text = NULL;

	if (json_is_integer(a) && json_is_integer(b))
		return (left > right) - (left < right);
	if (json_is_integer(a) || json_is_integer(b))
		return json_is_integer(a) ? -1 : 1;
	left_text = format_get_sort_text(a);
	right_text = format_get_sort_text(b);
	return left_text && right_text ? strcmp(left_text, right_text) : 0;
}

/* Inserts an item (taken) into a sorted list, after equal ones. If the list has the same item, drops it. */
static void format_insert_item(json_t *list, json_t *item)
{
	size_t at = json_array_size(list);

	for (size_t i = 0; i < at; i++) {
		if (json_equal(json_array_get(list, i), item)) {
			json_decref(item);
			return;
		}
	}
	while (at > 0 && format_compare_items(json_array_get(list, at - 1), item) > 0)
		at--;
	(void)json_array_insert_new(list, at, item);
}

/* Orders the item of a list of paths: a path, or an object with more than a path. Returns a new value. */
static json_t *format_order_path(const json_t *item)
{
	if (json_is_object(item) && json_object_size(item) > 1)
		return format_order_members("paths[]", item);
	return json_deep_copy(json_is_object(item) ? json_object_get(item, "path") : item);
}

/* Copies a list for `callgate policy fmt`: sorted, where the order means nothing. */
static json_t *format_order_list(const struct policy_key *key, const json_t *list)
{
	bool sorted = key->type == KEY_PATH_LIST || key->type == KEY_LAYER_LIST || key->type == KEY_FINDING_LIST ||
		      key->type == KEY_PORT_RANGE_LIST || key->id == KEY_ID_ENV_PASS;
	json_t *ordered = json_array();

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *item = json_array_get(list, i);
		json_t *one = key->type == KEY_PATH_LIST   ? format_order_path(item)
			      : key->type == KEY_OBJECT_LIST ? format_order_section(key, "[]", item)
							 : json_deep_copy(item);

		if (sorted)
			format_insert_item(ordered, one);
		else
			(void)json_array_append_new(ordered, one);
	}
	return ordered;
}

/* Orders a policy's value for `callgate policy fmt`, and all values in it. New. */
static json_t *format_order_value(const struct policy_key *key, const json_t *value)
{
	if (json_is_array(value))
		return format_order_list(key, value);
	if (!json_is_object(value))
		return json_deep_copy(value);
	if (key->type == KEY_PHASE_OBJECT)
		return format_order_members("", value);
	if (key->type == KEY_OBJECT || key->type == KEY_NETWORK_OR_NONE)
		return format_order_section(key, "", value);
	return format_sort_names(key, value);
}

/* ---- layout ---- */

/* Begins a line, indented for the depth. */
static void format_begin_line(struct buf *out, unsigned depth)
{
	buf_printf(out, "\n%*s", (int)(depth * INDENT_COLUMNS), "");
}

/* Appends JSON on one line. */
static void format_put_on_one_line(struct buf *out, const json_t *value)
{
	_cleanup_free_ char *text = json_dumps(value, JSON_ENCODE_ANY);

	if (text)
		buf_puts(out, text);
	else
		out->failed = true;
}

/* True when the value is written on this line: it fits, and is not a section. */
static bool format_fits_line(const json_t *value, unsigned depth, size_t column)
{
	_cleanup_free_ char *text = json_dumps(value, JSON_ENCODE_ANY);

	if (!json_is_object(value) && !json_is_array(value))
		return true;
	if (json_is_object(value) && json_object_size(value) > 0 && depth < 2)
		return false;
	return text && column + strlen(text) + 1 <= FORMAT_LINE_COLUMNS_MAX;
}

/* Appends a value at this column of a line of this depth. */
static void format_put_value(struct buf *out, const json_t *value, unsigned depth, size_t column)
{
	json_t *members = (json_t *)(uintptr_t)value, *member;
	const char *name, *separator = "";

	if (format_fits_line(value, depth, column)) {
		format_put_on_one_line(out, value);
		return;
	}
	buf_puts(out, json_is_object(value) ? "{" : "[");
	json_object_foreach (members, name, member) {
		json_auto_t *quoted = json_string(name);
		_cleanup_free_ char *key = json_dumps(quoted, JSON_ENCODE_ANY);

		buf_puts(out, separator);
		format_begin_line(out, depth + 1);
		buf_printf(out, "%s: ", key ? key : "");
		format_put_value(out, member, depth + 1, (depth + 1) * INDENT_COLUMNS + (key ? strlen(key) : 0) + 2);
		separator = ",";
	}
	for (size_t i = 0; i < json_array_size(value); i++) {
		buf_puts(out, separator);
		format_begin_line(out, depth + 1);
		format_put_value(out, json_array_get(value, i), depth + 1, (depth + 1) * INDENT_COLUMNS);
		separator = ",";
	}
	format_begin_line(out, depth);
	buf_puts(out, json_is_object(value) ? "}" : "]");
}

/* Parses the text as a policy, to get the messages. 0, -EINVAL or -ENOMEM. */
static int format_check_text(const char *path, const char *text, struct policy_errors *errors)
{
	struct arena arena = {0};
	struct policy_source *source;
	jmp_buf no_memory;
	bool good;

	if (setjmp(no_memory) != 0) {
		arena_release(&arena);
		return -ENOMEM;
	}
	arena.no_memory = &no_memory;
	good = source_parse(&arena, path, text, errors, &source);
	arena_release(&arena);
	return good ? 0 : -EINVAL;
}

int policy_format_text(const char *path, const char *text, struct policy_errors *errors, char **ret_text)
{
	json_auto_t *root = NULL, *ordered = NULL;
	_cleanup_buf_ struct buf out = {0};
	int ret = format_check_text(path, text, errors);

	if (ret < 0)
		return ret;
	root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	ordered = root ? format_order_members("", root) : NULL;
	if (!ordered)
		return -ENOMEM;
	format_put_value(&out, ordered, 0, 0);
	buf_puts(&out, "\n");
	*ret_text = buf_take_text(&out);
	return *ret_text ? 0 : -ENOMEM;
}
