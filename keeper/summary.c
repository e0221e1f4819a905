#include "keeper/summary.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"

#define SUMMARY_DENIALS_MAX 5 /* denials printed with SUMMARY_FIRST_DENIALS */

/* Prints a line. Control characters in it, newlines included, are escaped. */
static void __attribute__((format(printf, 2, 3))) summary_print_line(FILE *out, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)text_vprintf(out, false, format, args); /* if stderr fails, there is no way to report it */
	va_end(args);
	(void)fputc('\n', out);
}

static const char *summary_get_text(const json_t *object, const char *key, const char *otherwise)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : otherwise;
}

static void summary_print_denial(FILE *out, const json_t *denial)
{
	json_int_t count = json_integer_value(json_object_get(denial, "count"));
	const char *event = summary_get_text(denial, "event", NULL), *rule = summary_get_text(denial, "rule", NULL);
	const char *suggest = summary_get_text(denial, "suggest", NULL), *why = "";
	char times[40] = "";

	if (!event)
		why = summary_get_text(denial, "errno", "refused");
	else if (rule) /* a network request has no errno */
		why = summary_get_text(denial, "reason", "refused");
	if (count > 1)
		(void)snprintf(times, sizeof(times), " (%" JSON_INTEGER_FORMAT " times)", count);
	summary_print_line(out, "callgate: %s %s %s: %s%s%s%s%s%s",
			   json_is_true(json_object_get(denial, "observed")) ? "would deny" : "denied",
			   summary_get_text(denial, "syscall", event ? event : "?"),
			   summary_get_text(denial, "target", ""), why, *why ? ", " : "",
			   rule ? rule : summary_get_text(denial, "reason", "not granted"), times,
			   suggest ? "; to allow: " : "", suggest ? suggest : "");
}

/* Whether a denial is summed up in "libraries" of the result. */
static bool summary_is_of_libraries(const json_t *denial)
{
	return strcmp(summary_get_text(denial, "reason", ""), "not_in_libraries") == 0 &&
	       !json_is_null(json_object_get(denial, "suggest"));
}

/* Prints what was looked for in vain because "libraries" lacks it. */
static void summary_print_libraries(FILE *out, const json_t *result)
{
	const json_t *list = json_object_get(result, "libraries"), *entry, *missing, *item;
	size_t i, j;

	json_array_foreach(list, i, entry)
	{
		_cleanup_buf_ struct buf names = {0};

		missing = json_object_get(entry, "missing");
		json_array_foreach(missing, j, item)
		{
			buf_printf(&names, "%s%s", j > 0 ? ", " : "", json_string_value(item));
		}
		summary_print_line(out, "callgate: not in \"libraries\": %s; to allow: %s",
				   names.data ? names.data : "?", summary_get_text(entry, "suggest", "?"));
	}
}

static void summary_print_denials(FILE *out, const json_t *result, size_t most)
{
	json_t *denials = json_object_get(result, "denials"), *denial;
	size_t count = 0, i;

	json_array_foreach(denials, i, denial) {
		if (most != SIZE_MAX && summary_is_of_libraries(denial))
			continue;
		if (count++ < most)
			summary_print_denial(out, denial);
	}
	if (count > most)
		summary_print_line(out, "callgate: … and %zu other denials; --events blocked shows all", count - most);
}

/* Prints a line for each object of a list: the words `verb`, its member `first`, the words `between`, and `second`. */
static void summary_print_json_list(FILE *out, const json_t *list, const char *verb, const char *first,
				    const char *between, const char *second)
{
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item) {
		summary_print_line(out, "callgate: %s%s%s%s", verb, summary_get_text(item, first, ""), between,
				   summary_get_text(item, second, ""));
	}
}

void summary_print_result(FILE *out, const json_t *result, enum summary_events events)
{
	const json_t *calls = json_object_get(result, "calls");
	json_int_t probes = json_integer_value(json_object_get(calls, "expected"));
	json_int_t denied = json_integer_value(json_object_get(calls, "denied")) - probes;

	if (events == SUMMARY_NO_EVENTS)
		return;
	summary_print_libraries(out, result);
	summary_print_denials(out, result, events == SUMMARY_FIRST_DENIALS ? SUMMARY_DENIALS_MAX : SIZE_MAX);
	summary_print_json_list(out, json_object_get(result, "network_advice"), "", "host", ": ", "advice");
	if (events == SUMMARY_ALL_EVENTS) {
		summary_print_json_list(out, json_object_get(result, "redirects"), "redirected ", "from", " ", "to");
		summary_print_json_list(out, json_object_get(result, "changes"), "changed ", "kind", " ", "path");
	}
	if (probes > 0 && (events == SUMMARY_ALL_EVENTS || denied > 0))
		summary_print_line(out, "callgate: not listed: %" JSON_INTEGER_FORMAT
				   " refused probes, which programs do without; the audit log has them", probes);
	if (events == SUMMARY_ALL_EVENTS || denied > 0)
		summary_print_line(out, "callgate: %s, %" JSON_INTEGER_FORMAT " calls judged, %" JSON_INTEGER_FORMAT
				   " denied", summary_get_text(result, "status", "?"),
				   json_integer_value(json_object_get(calls, "judged")), denied);
}
