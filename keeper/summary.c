#include "keeper/summary.h"

#include <stdarg.h>
#include <stdbool.h>

#include "base/text.h"

#include "base/banned.h"

#define SUMMARY_FIRST 5

/* A part of a line: a path may hold what its terminal acts upon. */
static void __attribute__((format(printf, 2, 3))) put(FILE *out, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)text_vprintf(out, false, format, args); /* nobody left to tell */
	va_end(args);
}

static void end(FILE *out)
{
	(void)fputc('\n', out);
}

static const char *text_of(const json_t *object, const char *key, const char *otherwise)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : otherwise;
}

static void print_denial(FILE *out, const json_t *denial)
{
	json_int_t count = json_integer_value(json_object_get(denial, "count"));
	const char *suggest = text_of(denial, "suggest", NULL);

	put(out, "callgate: denied %s ", text_of(denial, "syscall", text_of(denial, "event", "?")));
	put(out, "%s", text_of(denial, "target", ""));
	put(out, ": ");
	if (!text_of(denial, "event", NULL)) /* a refused request has no errno */
		put(out, "%s, ", text_of(denial, "errno", "refused"));
	if (text_of(denial, "event", NULL) && text_of(denial, "rule", NULL)) /* the rule may be what allowed it */
		put(out, "%s, ", text_of(denial, "reason", "refused"));
	put(out, "%s", text_of(denial, "rule", text_of(denial, "reason", "not granted")));
	if (count > 1)
		put(out, " (%" JSON_INTEGER_FORMAT " times)", count);
	if (suggest) {
		put(out, "; to allow: ");
		put(out, "%s", suggest);
	}
	end(out);
}

static void print_denials(FILE *out, const json_t *result, size_t most)
{
	json_t *denials = json_object_get(result, "denials"), *denial;
	size_t count = json_array_size(denials), i;

	json_array_foreach(denials, i, denial) if (i < most) print_denial(out, denial);
	if (count > most) {
		put(out, "callgate: … and %zu other denials; --events blocked shows all", count - most);
		end(out);
	}
}

static void print_list(FILE *out, const json_t *list, const char *verb, const char *first, const char *second)
{
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		put(out, "callgate: %s ", verb);
		put(out, "%s", text_of(item, first, ""));
		put(out, " ");
		put(out, "%s", text_of(item, second, ""));
		end(out);
	}
}

static void print_advice(FILE *out, const json_t *result)
{
	json_t *list = json_object_get(result, "network_advice"), *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		put(out, "callgate: ");
		put(out, "%s", text_of(item, "host", ""));
		put(out, ": ");
		put(out, "%s", text_of(item, "advice", ""));
		end(out);
	}
}

void summary_print(FILE *out, const json_t *result, enum summary_events events)
{
	const json_t *calls = json_object_get(result, "calls");
	json_int_t denied = json_integer_value(json_object_get(calls, "denied")) -
			    json_integer_value(json_object_get(calls, "expected"));

	if (events == SUMMARY_NONE)
		return;
	print_denials(out, result,
		      events == SUMMARY_SUMMARY ? SUMMARY_FIRST : json_array_size(json_object_get(result, "denials")));
	print_advice(out, result);
	if (events == SUMMARY_ALL) {
		print_list(out, json_object_get(result, "redirects"), "redirected", "from", "to");
		print_list(out, json_object_get(result, "changes"), "changed", "kind", "path");
	}
	if (events == SUMMARY_ALL || denied > 0) {
		put(out, "callgate: %s, %" JSON_INTEGER_FORMAT " calls judged, %" JSON_INTEGER_FORMAT " denied",
		    text_of(result, "status", "?"), json_integer_value(json_object_get(calls, "judged")), denied);
		end(out);
	}
}
