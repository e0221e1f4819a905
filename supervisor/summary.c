#include "supervisor/summary.h"

#include <stdbool.h>
#include <string.h>

#include "base/banned.h"

#define SUMMARY_FIRST 5

/* A path may hold escape sequences for the terminal it is shown on. */
static void put_clean(FILE *out, const char *text)
{
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;
		/* C1 controls are two bytes in UTF-8; the second one alone is a control where text is Latin-1 */
		bool c1 = byte == 0xc2 && (unsigned char)text[1] >= 0x80 && (unsigned char)text[1] < 0xa0;

		if (c1)
			(void)fprintf(out, "\\x%02x\\x%02x", byte, (unsigned char)*++text);
		else if (byte < 0x20 || byte == 0x7f)
			(void)fprintf(out, "\\x%02x", byte);
		else
			(void)fputc(byte, out);
	}
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

	(void)fprintf(out, "callgate: denied %s ", text_of(denial, "syscall", text_of(denial, "event", "?")));
	put_clean(out, text_of(denial, "target", ""));
	(void)fputs(": ", out);
	if (!text_of(denial, "event", NULL)) /* a refused request has no errno */
		(void)fprintf(out, "%s, ", text_of(denial, "errno", "refused"));
	if (text_of(denial, "event", NULL) && text_of(denial, "rule", NULL)) /* the rule may be what allowed it */
		(void)fprintf(out, "%s, ", text_of(denial, "reason", "refused"));
	put_clean(out, text_of(denial, "rule", text_of(denial, "reason", "not granted")));
	if (count > 1)
		(void)fprintf(out, " (%" JSON_INTEGER_FORMAT " times)", count);
	if (suggest) {
		(void)fputs("; to allow: ", out);
		put_clean(out, suggest);
	}
	(void)fputc('\n', out);
}

static void print_denials(FILE *out, const json_t *result, size_t most)
{
	json_t *denials = json_object_get(result, "denials"), *denial;
	size_t count = json_array_size(denials), i;

	json_array_foreach(denials, i, denial) if (i < most) print_denial(out, denial);
	if (count > most)
		(void)fprintf(out, "callgate: … and %zu other denials; --events blocked shows all\n", count - most);
}

static void print_list(FILE *out, const json_t *list, const char *verb, const char *first, const char *second)
{
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		(void)fprintf(out, "callgate: %s ", verb);
		put_clean(out, text_of(item, first, ""));
		(void)fputs(" ", out);
		put_clean(out, text_of(item, second, ""));
		(void)fputc('\n', out);
	}
}

static void print_advice(FILE *out, const json_t *result)
{
	json_t *list = json_object_get(result, "network_advice"), *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		(void)fputs("callgate: ", out);
		put_clean(out, text_of(item, "host", ""));
		(void)fputs(": ", out);
		put_clean(out, text_of(item, "advice", ""));
		(void)fputc('\n', out);
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
	if (events == SUMMARY_ALL || denied > 0)
		(void)fprintf(out,
			      "callgate: %s, %" JSON_INTEGER_FORMAT " calls judged, %" JSON_INTEGER_FORMAT " denied\n",
			      text_of(result, "status", "?"), json_integer_value(json_object_get(calls, "judged")),
			      denied);
}
