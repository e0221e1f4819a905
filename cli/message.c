/* What callgate prints: messages on stderr, answers on stdout. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/cli.h"
#include "config.h"
#include "confine/filter.h"

#include "base/banned.h"

void cli_error(const char *verb, const char *format, ...)
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

int cli_no_memory(const char *verb)
{
	cli_error(verb, "out of memory");
	return CLI_ERROR;
}

void cli_policy_errors(const char *verb, const struct policy_errors *errors)
{
	for (size_t i = 0; i < errors->count; i++)
		cli_error(verb, "%s", errors->item[i].text);
}

void cli_policy_warnings(const char *verb, const struct policy *policy)
{
	size_t count;
	const char *const *text = policy_warnings(policy, &count);

	for (size_t i = 0; i < count; i++)
		cli_error(verb, "%s", text[i]);
}

int cli_usage_error(const char *verb)
{
	cli_note("Try \"callgate%s%s --help\".", *verb ? " " : "", verb);
	return CLI_ERROR;
}

int cli_print(const char *verb, const char *text)
{
	if (!text)
		return cli_no_memory(verb);
	if (text_print(stdout, text, true) == 0 && fflush(stdout) == 0)
		return CLI_OK;
	cli_error(verb, "cannot write to standard output: %s", strerror(errno));
	return CLI_ERROR;
}

int cli_print_buf(const char *verb, const struct buf *text)
{
	return cli_print(verb, text->failed ? NULL : text->data);
}

int cli_print_json(const char *verb, json_t *value)
{
	_cleanup_free_ char *text = value ? json_dumps(value, JSON_INDENT(2)) : NULL;
	int ret = cli_print(verb, text);

	json_decref(value);
	return ret == CLI_OK ? cli_print(verb, "\n") : ret;
}

int cli_version(void)
{
	return cli_print("", filter_is_open() ? "callgate " PACKAGE_VERSION
						" with an open filter: IT CONFINES NOTHING\n"
					      : "callgate " PACKAGE_VERSION "\n");
}
