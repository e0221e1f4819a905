#include "keeper/summary.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

#include "base/banned.h"

#define SUMMARY_FIRST 5

/* Prints a part of a line with control characters escaped. */
static void __attribute__((format(printf, 2, 3))) summary_put(FILE *out, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)text_vprintf(out, false, format, args); /* stderr failed: no way to report it */
	va_end(args);
}

static void summary_end_line(FILE *out)
{
	(void)fputc('\n', out);
}

static const char *summary_text(const json_t *object, const char *key, const char *otherwise)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : otherwise;
}

static void summary_denial(FILE *out, const json_t *denial)
{
	json_int_t count = json_integer_value(json_object_get(denial, "count"));
	const char *suggest = summary_text(denial, "suggest", NULL);

	summary_put(out, "callgate: denied %s ", summary_text(denial, "syscall", summary_text(denial, "event", "?")));
	summary_put(out, "%s", summary_text(denial, "target", ""));
	summary_put(out, ": ");
	if (!summary_text(denial, "event", NULL)) /* a network request has no errno */
		summary_put(out, "%s, ", summary_text(denial, "errno", "refused"));
	if (summary_text(denial, "event", NULL) && summary_text(denial, "rule", NULL))
		summary_put(out, "%s, ", summary_text(denial, "reason", "refused"));
	summary_put(out, "%s", summary_text(denial, "rule", summary_text(denial, "reason", "not granted")));
	if (count > 1)
		summary_put(out, " (%" JSON_INTEGER_FORMAT " times)", count);
	if (suggest) {
		summary_put(out, "; to allow: ");
		summary_put(out, "%s", suggest);
	}
	summary_end_line(out);
}

static void summary_denials(FILE *out, const json_t *result, size_t most)
{
	json_t *denials = json_object_get(result, "denials"), *denial;
	size_t count = json_array_size(denials), i;

	json_array_foreach(denials, i, denial) if (i < most) summary_denial(out, denial);
	if (count > most) {
		summary_put(out, "callgate: … and %zu other denials; --events blocked shows all", count - most);
		summary_end_line(out);
	}
}

static void summary_list(FILE *out, const json_t *list, const char *verb, const char *first, const char *between,
			 const char *second)
{
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		summary_put(out, "callgate: %s", verb);
		summary_put(out, "%s", summary_text(item, first, ""));
		summary_put(out, "%s", between);
		summary_put(out, "%s", summary_text(item, second, ""));
		summary_end_line(out);
	}
}

void summary_print(FILE *out, const json_t *result, enum summary_events events)
{
	const json_t *calls = json_object_get(result, "calls");
	json_int_t denied = json_integer_value(json_object_get(calls, "denied")) -
			    json_integer_value(json_object_get(calls, "expected"));

	if (events == SUMMARY_NONE)
		return;
	summary_denials(out, result, events == SUMMARY_SUMMARY ? SUMMARY_FIRST : SIZE_MAX);
	summary_list(out, json_object_get(result, "network_advice"), "", "host", ": ", "advice");
	if (events == SUMMARY_ALL) {
		summary_list(out, json_object_get(result, "redirects"), "redirected ", "from", " ", "to");
		summary_list(out, json_object_get(result, "changes"), "changed ", "kind", " ", "path");
	}
	if (events == SUMMARY_ALL || denied > 0) {
		summary_put(out, "callgate: %s, %" JSON_INTEGER_FORMAT " calls judged, %" JSON_INTEGER_FORMAT " denied",
			    summary_text(result, "status", "?"), json_integer_value(json_object_get(calls, "judged")),
			    denied);
		summary_end_line(out);
	}
}
