/* Reads a log: filters, reports of damage, text that is safe for a terminal. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/audit/audit.h"
#include "cli/cli.h"
#include "policy/network/net.h"
#include "policy/policy.h"

#define DAMAGED_LINES_REPORTED_MAX 10

bool audit_record_is_denied(const json_t *line)
{
	const char *verdict = json_string_value(json_object_get(line, "verdict"));

	return verdict && (strcmp(verdict, verdict_get_name(VERDICT_DENY)) == 0 ||
			   strcmp(verdict, verdict_get_name(VERDICT_KILL)) == 0);
}

static bool lines_match_glob(const struct glob *glob, const char *path, size_t len)
{
	while (len > 0 && *path == '/') {
		path++;
		len--;
	}
	return glob_matches(glob, path, len);
}

/* Whether one of the record's paths matches: the resolved path or, without one, the path that the program wrote. */
static bool lines_match_path(const struct glob *glob, const json_t *line)
{
	bool matches = false;

	for (int second = 0; second < 2 && !matches; second++) {
		_cleanup_free_ char *path = NULL;
		size_t len;

		path = audit_line_get_resolved(line, second, &len);
		if (!path)
			path = audit_line_get_bytes(line, second ? "path2" : "path", &len);
		matches = path && lines_match_glob(glob, path, len);
	}
	return matches;
}

/* Whether the field's text equals `wanted`. With `wanted` NULL every record matches. */
static bool lines_match_text(const json_t *line, const char *key, const char *wanted)
{
	const char *text = json_string_value(json_object_get(line, key));

	return !wanted || (text && strcmp(text, wanted) == 0);
}

static bool lines_match_host(const json_t *line, const char *pattern)
{
	const char *host = json_string_value(json_object_get(line, "host"));

	/* In the record of a redirected path, "host" is a path of the host, not the name of a network host. */
	return host && host[0] != '/' && net_host_matches(pattern, host);
}

bool audit_filter_matches(const struct audit_filter *filter, const json_t *line)
{
	bool any_event = filter->event && strcmp(filter->event, "any") == 0;
	int64_t pid = filter->pid;

	return strcmp(audit_line_get_type(line), "record") == 0 && (!filter->denied || audit_record_is_denied(line)) &&
	       lines_match_text(line, "syscall", filter->syscall) &&
	       (any_event ? json_is_string(json_object_get(line, "event"))
			  : lines_match_text(line, "event", filter->event)) &&
	       (!filter->host || lines_match_host(line, filter->host)) &&
	       (pid < 0 || audit_get_field_number(line, "pid") == pid ||
		audit_get_field_number(line, "host_pid") == pid || audit_line_get_tid(line) == pid) &&
	       (!filter->by_path || lines_match_path(&filter->path, line));
}

long long audit_get_field_number(const json_t *line, const char *key)
{
	return (long long)json_integer_value(json_object_get(line, key));
}

int audit_flush_stdout(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	cli_print_error("audit", "cannot write to standard output: %s", strerror(errno));
	return CLI_ERROR;
}

char *audit_get_field_for_display(const json_t *line, const char *key)
{
	_cleanup_free_ char *bytes = NULL;
	size_t len;
	char *text;

	bytes = audit_line_get_bytes(line, key, &len);
	if (!bytes)
		return NULL;
	text = malloc(len * TEXT_ESCAPE_MAX + 1);
	if (!text)
		return NULL;
	text[text_escape_for_json(text, bytes, len)] = '\0';
	return text;
}

static const char *lines_get_error_text(int error)
{
	switch (error) {
	case -ENOMSG:
		return "this is not an audit log: it does not begin with a header line";
	case -ESPIPE:
		return "not a regular file";
	case -E2BIG:
		return "a line is too long for an audit log";
	default:
		return strerror(-error);
	}
}

/*
 * Calls `each` for the lines; *ret_damaged counts those that cannot be parsed. Returns 0 at the end of the log, or
 * -errno: -ENOMSG if the file does not begin with a header line.
 */
static int lines_read_all(struct audit_reader *reader, const char *path,
			  void (*each)(void *ctx, const struct audit_line *line), void *ctx, uint64_t *ret_damaged)
{
	struct audit_line line;
	int r;

	while ((r = audit_reader_read_line(reader, &line)) == 1 || r == -EBADMSG) {
		if (line.number == 1 && (r < 0 || strcmp(audit_line_get_type(line.json), "header") != 0))
			return -ENOMSG;
		if (r == 1)
			each(ctx, &line);
		else if ((*ret_damaged)++ < DAMAGED_LINES_REPORTED_MAX)
			cli_print_error("audit",
					"%s:%llu: not a line of an audit log: the file was edited or is damaged", path,
					(unsigned long long)line.number);
	}
	return r == 0 && line.number == 1 ? -ENOMSG : r; /* the file has no complete line */
}

int audit_read_lines(const char *path, void (*each)(void *ctx, const struct audit_line *line), void *ctx)
{
	struct audit_reader *reader;
	uint64_t damaged = 0, torn = 0;
	int r;

	r = audit_reader_open(path, &reader);
	if (r == 0) {
		r = lines_read_all(reader, path, each, ctx, &damaged);
		torn = audit_reader_get_torn_bytes(reader);
		audit_reader_free(reader);
	}
	if (r < 0) {
		cli_print_error("audit", "%s: %s", path, lines_get_error_text(r));
		return CLI_ERROR;
	}
	if (damaged > DAMAGED_LINES_REPORTED_MAX)
		cli_print_error("audit", "%s: %llu damaged lines altogether", path, (unsigned long long)damaged);
	if (torn > 0)
		cli_print_error("audit",
			  "%s: %llu bytes at the end are no whole line: the writer was killed in the middle of a "
			  "record, whose call was never carried out",
			  path, (unsigned long long)torn);
	return damaged > 0 ? CLI_ERROR : CLI_OK;
}
