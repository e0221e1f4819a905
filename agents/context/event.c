/* Parses, checks and makes the events of an interpreter. */
#include <string.h>
#include <time.h>

#include "agents/context/private.h"
#include "agents/json-bounds.h"
#include "base/text.h"
#include "base/times.h"

enum field_type { FIELD_TEXT, FIELD_BOOLEAN, FIELD_INTEGER, FIELD_OBJECT, FIELD_ANY };

/* A field that an event of the runner may have. */
struct event_field {
	const char *name;
	enum field_type type;
};

/* A type of event of the runner, and its fields. */
struct event_kind {
	const char *type_name;
	struct event_field fields[14]; /* ends with a NULL name, unless all are used */
};

static const struct event_kind event_kinds[] = {
	{"result",
	 {{"is_main_result", FIELD_BOOLEAN}, {"text", FIELD_TEXT}, {"html", FIELD_TEXT}, {"markdown", FIELD_TEXT},
	  {"svg", FIELD_TEXT}, {"png", FIELD_TEXT}, {"jpeg", FIELD_TEXT}, {"pdf", FIELD_TEXT}, {"latex", FIELD_TEXT},
	  {"javascript", FIELD_TEXT}, {"json", FIELD_ANY}, {"data", FIELD_OBJECT}, {"chart", FIELD_OBJECT},
	  {"extra", FIELD_OBJECT}}},
	{"error", {{"name", FIELD_TEXT}, {"value", FIELD_TEXT}, {"traceback", FIELD_TEXT}}},
	{"number_of_executions", {{"execution_count", FIELD_INTEGER}}},
	{"ready", {{NULL, FIELD_ANY}}},
	{"end", {{"run", FIELD_INTEGER}}},
};

/* Whether a member of an event has the type that its name demands. */
static bool event_field_is_valid(enum field_type type, const json_t *value)
{
	switch (type) {
	case FIELD_TEXT:
		return json_is_string(value);
	case FIELD_BOOLEAN: /* a missing value counts as false */
		return true;
	case FIELD_INTEGER:
		return json_is_integer(value) && json_integer_value(value) >= 0;
	case FIELD_OBJECT:
		return json_is_object(value);
	case FIELD_ANY:
		return value != NULL;
	}
	return false;
}

json_t *event_parse(const char *line, size_t len)
{
	const bool is_small =
		json_is_within_bounds(line, len, CONTEXT_EVENT_JSON_VALUES_MAX, CONTEXT_EVENT_JSON_DEPTH_MAX);
	_cleanup_json_ json_t *said = is_small ? json_loadb(line, len, JSON_ALLOW_NUL, NULL) : NULL;
	const char *type = json_string_value(json_object_get(said, "type"));
	const size_t kinds = sizeof(event_kinds) / sizeof(event_kinds[0]);
	const size_t fields = sizeof(event_kinds[0].fields) / sizeof(event_kinds[0].fields[0]);
	const struct event_kind *kind = NULL;
	json_t *event;

	for (size_t i = 0; i < kinds && type; i++)
		if (strcmp(event_kinds[i].type_name, type) == 0)
			kind = &event_kinds[i];
	if (!kind)
		return NULL;
	event = json_pack("{s:s}", "type", kind->type_name);
	for (size_t i = 0; i < fields && kind->fields[i].name; i++) {
		json_t *value = json_object_get(said, kind->fields[i].name);

		/* a false value is added where the interpreter sent none; out of memory: left out */
		if (kind->fields[i].type == FIELD_BOOLEAN)
			(void)json_object_set_new(event, kind->fields[i].name, json_boolean(json_is_true(value)));
		else if (event_field_is_valid(kind->fields[i].type, value))
			(void)json_object_set(event, kind->fields[i].name, value);
	}
	return event;
}

/* Makes a JSON text. Each part that is not UTF-8 is replaced by U+FFFD. NULL: out of memory. */
static json_t *event_make_utf8_text(const char *bytes, size_t len)
{
	_cleanup_buf_ struct buf text = {0};

	if (text_is_utf8(bytes, len))
		return json_stringn(bytes, len);
	for (size_t i = 0; i < len;) {
		uint32_t point;
		size_t bad = 1, taken = text_decode_utf8(bytes + i, len - i, &point, &bad);

		if (taken > 0)
			buf_add(&text, bytes + i, taken);
		else
			buf_puts(&text, "\xef\xbf\xbd");
		i += taken > 0 ? taken : bad;
	}
	return text.failed ? NULL : json_stringn(text.data, text.len);
}

json_t *event_make_output(enum sandbox_stream stream, const char *bytes, size_t len)
{
	struct timespec now = {0};
	uint64_t now_ns;

	(void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail */
	now_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
	return json_pack("{s:s, s:o, s:I}", "type", stream == SANDBOX_STDOUT ? "stdout" : "stderr", "text",
			 event_make_utf8_text(bytes, len), "timestamp", (json_int_t)now_ns);
}
