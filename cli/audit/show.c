/* callgate audit show: prints one line for each record, or with --json the log's own lines. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/audit/audit.h"

#define TIME_OF_DAY_OFFSET 11 /* offset of the time of day in a time of RFC 3339 */
#define TIME_OF_DAY_LEN 15  /* characters printed of the time of day: to the microsecond */

struct show_run {
	const struct audit_filter *filter;
	bool json, everything; /* everything: no filter was given, so header and trailer are printed, too */
	bool failed;           /* stdout cannot be written */
};

static void show_text_field(const json_t *line, const char *before, const char *key)
{
	_cleanup_free_ char *text = audit_get_field_for_display(line, key);

	if (text)
		(void)text_printf(stdout, "%s%s", before, text);
}

static void show_outcome(const json_t *line)
{
	const json_t *error = json_object_get(line, "errno"), *ret = json_object_get(line, "ret");

	if (json_is_string(error))
		(void)text_printf(stdout, " = %.20s", json_string_value(error));
	else if (json_is_integer(error) || json_is_integer(ret))
		(void)text_printf(stdout, " = %lld", (long long)json_integer_value(json_is_integer(ret) ? ret : error));
	else
		(void)text_printf(stdout, " = ?"); /* the writer died before the call returned */
}

/* Prints " key=value", if the object has this field. */
static void show_named_field(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	if (value)
		(void)text_printf(stdout, " %s=", key);
	if (json_is_integer(value))
		(void)text_printf(stdout, "%lld", (long long)json_integer_value(value));
	else
		show_text_field(object, "", key);
}

static void show_call_arguments(const json_t *line)
{
	json_t *args = json_object_get(line, "args");
	const char *key;
	json_t *value;

	json_object_foreach(args, key, value)
		if (key[strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0')
			show_named_field(args, key); /* callgate writes no other names: the log was edited */
}

/* Prints a record about a connection: endpoint, request, then details. */
static void show_connection(const json_t *line)
{
	static const char *const keys[] = {"proto",      "address", "real", "dropped", "sni",   "alpn",
					   "credential", "cause",   "conn", "status",  "count", "bytes_up",
					   "bytes_down"};

	show_text_field(line, " ", "host");
	if (json_is_integer(json_object_get(line, "port")))
		(void)text_printf(stdout, ":%lld", audit_get_field_number(line, "port"));
	show_text_field(line, " ", "method");
	show_text_field(line, " ", "path");
	if (json_is_true(json_object_get(line, "truncated")))
		(void)text_printf(stdout, "...");
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		show_named_field(line, keys[i]);
}

static void show_paths(const json_t *line)
{
	show_text_field(line, " ", "path");
	show_text_field(line, " => ", "resolved");
	show_text_field(line, " ", "path2");
	show_text_field(line, " => ", "resolved2");
	show_text_field(line, " on ", "host");
}

static void show_record(const json_t *line)
{
	bool event = json_object_get(line, "event") != NULL;
	const char *time = json_string_value(json_object_get(line, "time"));
	const char *verdict = json_string_value(json_object_get(line, "verdict"));

	(void)text_printf(stdout, "%7lld %.*s %7lld %-8.8s", audit_get_field_number(line, "seq"), TIME_OF_DAY_LEN,
			  time && strlen(time) > TIME_OF_DAY_OFFSET ? time + TIME_OF_DAY_OFFSET : "",
			  (long long)audit_line_get_tid(line), verdict ? verdict : "");
	show_text_field(line, " ", event ? "event" : "syscall");
	if (event || json_object_get(line, "port")) /* a network event, or a call such as connect(2) */
		show_connection(line);
	else
		show_paths(line);
	show_call_arguments(line);
	show_outcome(line);
	show_text_field(line, "  ", "reason");
	show_text_field(line, "  [", "rule");
	(void)text_printf(stdout, "%s\n", json_object_get(line, "rule") ? "]" : "");
}

static void show_header_or_trailer(const json_t *line)
{
	bool header = strcmp(audit_line_get_type(line), "header") == 0;

	show_text_field(line, header ? "# run " : "# ended: ", header ? "run" : "status");
	show_text_field(line, " at ", "time");
	if (!header)
		(void)text_printf(stdout, ", %lld records", audit_get_field_number(line, "records"));
	show_text_field(json_object_get(line, "policy"), ", policy ", "name");
	show_text_field(line, ", workdir ", "workdir");
	(void)text_printf(stdout, "\n");
}

/* Whether the line has control characters, such as a tab between two JSON tokens. In JSON strings they are escaped. */
static bool show_line_has_controls(const struct audit_line *line)
{
	for (size_t i = 0; i < line->len; i++)
		if ((unsigned char)line->text[i] < 0x20)
			return true;
	return false;
}

/* Prints the line's JSON, made again for lines of compact logs and for edited lines with control characters. */
static void show_line_as_json(const struct audit_line *line)
{
	bool rewrite = line->filled || show_line_has_controls(line);
	_cleanup_free_ char *text = rewrite ? json_dumps(line->json, JSON_COMPACT) : strndup(line->text, line->len);

	if (text)
		(void)text_print(stdout, text, false);
	(void)putchar('\n');
}

static void show_line(void *ctx, const struct audit_line *line)
{
	struct show_run *show = ctx;
	bool record = strcmp(audit_line_get_type(line->json), "record") == 0;

	if (show->failed || !(record ? audit_filter_matches(show->filter, line->json) : show->everything))
		return;
	if (show->json)
		show_line_as_json(line);
	else if (record)
		show_record(line->json);
	else
		show_header_or_trailer(line->json);
	show->failed = ferror(stdout) != 0; /* nothing more can be written */
}

int audit_show_log(const char *path, const struct audit_filter *filter, bool json)
{
	struct show_run show = {.filter = filter, .json = json};

	show.everything = !filter->denied && !filter->syscall && !filter->by_path && filter->pid < 0 &&
			  !filter->event && !filter->host;
	return audit_flush_stdout(audit_read_lines(path, show_line, &show));
}
