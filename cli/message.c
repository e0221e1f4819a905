/* Prints messages on stderr and answers on stdout. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/cli.h"
#include "config.h"
#include "confine/filter.h"
#include "supervisor/report.h"

void cli_print_error(const char *verb, const char *format, ...)
{
	va_list args;

	/* A failure to write to stderr is ignored: there is no other place to report it. */
	if (verb)
		(void)text_printf(stderr, "callgate%s%s: ", *verb ? " " : "", verb);
	va_start(args, format);
	(void)text_vprintf(stderr, false, format, args);
	va_end(args);
	(void)fputc('\n', stderr);
}

int cli_fail_no_memory(const char *verb)
{
	cli_print_error(verb, "out of memory");
	return CLI_EXIT_ERROR;
}

void cli_print_policy_errors(const char *verb, const struct policy_errors *errors)
{
	for (size_t i = 0; i < errors->count; i++)
		cli_print_error(verb, "%s", errors->item[i].text);
}

/* Finds the end of FILE in a message "FILE:LINE: …". NULL: the message names no line. *ret_line: the number. */
static const char *message_find_end_of_file_name(const char *text, int *ret_line)
{
	for (const char *at = strchr(text, ':'); at && at[1] != ' '; at = strchr(at + 1, ':')) {
		size_t digits = strspn(at + 1, "0123456789");

		if (digits == 0 || digits > 9 || at[1 + digits] != ':')
			continue;
		*ret_line = (int)strtol(at + 1, NULL, 10);
		return at;
	}
	return NULL;
}

/* The length of the key at the start of a message: a word without quotes, such as "filesystem.read[1]". 0: no key. */
static size_t message_get_key_len(const char *text)
{
	size_t len = strcspn(text, ": \"");

	return len > 0 && strncmp(text + len, ": ", 2) == 0 ? len : 0;
}

static json_t *message_make_text_json(const char *text, size_t len)
{
	_cleanup_free_ char *copy = strndup(text, len);

	return copy ? report_make_text_json(copy) : NULL;
}

static json_t *message_make_error_json(const char *text)
{
	static const char command_line[] = "command line: ";
	int line = 0;
	const char *end = message_find_end_of_file_name(text, &line), *rest = text, *colon;
	size_t key;

	if (end) {
		rest = end + 1 + strspn(end + 1, "0123456789") + 1;
		/* skips the column number of a syntax error */
		colon = strspn(rest, "0123456789") ? strstr(rest, ": ") : NULL;
		rest = colon ? colon + 1 : rest;
		rest += strspn(rest, " ");
	}
	if (!end && strncmp(text, command_line, strlen(command_line)) == 0) {
		rest = text + strlen(command_line);
		/* In a message about the command line the key is an option and its value. */
		key = strstr(rest, ": ") ? (size_t)(strstr(rest, ": ") - rest) : 0;
	} else {
		key = message_get_key_len(rest);
	}
	return json_pack("{s:o, s:o, s:o, s:o}", "file",
			 end ? message_make_text_json(text, (size_t)(end - text)) : json_null(), "line",
			 end ? json_integer(line) : json_null(), "key",
			 key ? message_make_text_json(rest, key) : json_null(), "message",
			 report_make_text_json(rest + (key ? key + 2 : 0)));
}

json_t *cli_policy_errors_json(const struct policy_errors *errors)
{
	json_t *list = json_array();

	for (size_t i = 0; i < errors->count; i++)
		(void)json_array_append_new(list, message_make_error_json(errors->item[i].text));
	return list;
}

void cli_print_policy_warnings(const char *verb, const struct policy *policy)
{
	size_t count;
	const char *const *text = policy_get_warnings(policy, &count);

	for (size_t i = 0; i < count; i++)
		cli_print_error(verb, "%s", text[i]);
}

int cli_fail_usage(const char *verb)
{
	cli_note("Try \"callgate%s%s --help\".", *verb ? " " : "", verb);
	return CLI_EXIT_ERROR;
}

void cli_ignore_broken_pipes(void)
{
	(void)signal(SIGPIPE, SIG_IGN);
}

int cli_print_text(const char *verb, const char *text)
{
	if (!text)
		return cli_fail_no_memory(verb);
	if (text_print(stdout, text, true) == 0 && fflush(stdout) == 0)
		return CLI_EXIT_OK;
	cli_print_error(verb, "cannot write to standard output: %s", strerror(errno));
	return CLI_EXIT_ERROR;
}

/* Prints the text, or that memory ran out while it was made. Returns CLI_EXIT_OK or CLI_EXIT_ERROR. */
int cli_print_buf(const char *verb, const struct buf *text)
{
	return cli_print_text(verb, text->failed ? NULL : text->data);
}

int cli_print_json(const char *verb, json_t *value)
{
	_cleanup_free_ char *text = value ? json_dumps(value, JSON_INDENT(2)) : NULL;
	int ret = cli_print_text(verb, text);

	json_decref(value);
	return ret == CLI_EXIT_OK ? cli_print_text(verb, "\n") : ret;
}

int cli_print_version(void)
{
	return cli_print_text("", filter_allows_all_calls() ? "callgate " PACKAGE_VERSION
						" with an open filter: IT CONFINES NOTHING\n"
					      : "callgate " PACKAGE_VERSION "\n");
}
