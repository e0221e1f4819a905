/* Reading a log for people: filters, messages about damage, texts a terminal can be trusted with. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/audit/audit.h"
#include "cli/cli.h"
#include "policy/network/net.h"
#include "policy/policy.h"

#include "base/banned.h"

#define DAMAGED_TOLD_MAX 10

bool audit_is_denied(const json_t *line)
{
	const char *verdict = json_string_value(json_object_get(line, "verdict"));

	return verdict &&
	       (strcmp(verdict, verdict_name(VERDICT_DENY)) == 0 || strcmp(verdict, verdict_name(VERDICT_KILL)) == 0);
}

static bool match_one(const struct glob *glob, const char *path, size_t len)
{
	while (len > 0 && *path == '/') {
		path++;
		len--;
	}
	return glob_match(glob, path, len);
}

/* Either end of the call: where it resolved to, else as the program wrote it. */
static bool match_path(const struct glob *glob, const json_t *line)
{
	bool matches = false;

	for (int second = 0; second < 2 && !matches; second++) {
		_cleanup_free_ char *path = NULL;
		size_t len;

		path = audit_line_resolved(line, second, &len);
		if (!path)
			path = audit_line_bytes(line, second ? "path2" : "path", &len);
		matches = path && match_one(glob, path, len);
	}
	return matches;
}

/* A record without that text matches nothing. */
static bool match_text(const json_t *line, const char *key, const char *wanted)
{
	const char *text = json_string_value(json_object_get(line, key));

	return text && (strcmp(wanted, "any") == 0 || strcmp(text, wanted) == 0);
}

static bool match_host(const json_t *line, const char *pattern)
{
	const char *host = json_string_value(json_object_get(line, "host"));

	/* A redirected path has a "host" as well, which is no name. */
	return host && host[0] != '/' && net_host_matches(pattern, host);
}

bool audit_filter_match(const struct audit_filter *filter, const json_t *line)
{
	const char *syscall = json_string_value(json_object_get(line, "syscall"));

	if (strcmp(audit_line_type(line), "record") != 0)
		return false;
	if (filter->denied && !audit_is_denied(line))
		return false;
	if (filter->syscall && (!syscall || strcmp(syscall, filter->syscall) != 0))
		return false;
	if (filter->event && !match_text(line, "event", filter->event))
		return false;
	if (filter->host && !match_host(line, filter->host))
		return false;
	if (filter->pid >= 0 && json_integer_value(json_object_get(line, "pid")) != filter->pid &&
	    json_integer_value(json_object_get(line, "host_pid")) != filter->pid && audit_line_tid(line) != filter->pid)
		return false;
	return !filter->by_path || match_path(&filter->path, line);
}

char *audit_printable(const json_t *line, const char *key)
{
	_cleanup_free_ char *bytes = NULL;
	size_t len;
	char *text;

	bytes = audit_line_bytes(line, key, &len);
	if (!bytes)
		return NULL;
	text = malloc(len * TEXT_ESCAPE_MAX + 1);
	if (!text)
		return NULL;
	text[text_escape(text, bytes, len)] = '\0';
	return text;
}

static const char *why_unreadable(int error)
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

/* Goes through the lines; *ret_damaged counts those that are none. Returns what audit_reader_next ended with. */
static int read_lines(struct audit_reader *reader, const char *path,
		      void (*each)(void *ctx, const struct audit_line *line), void *ctx, uint64_t *ret_damaged)
{
	struct audit_line line;
	int r;

	while ((r = audit_reader_next(reader, &line)) == 1 || r == -EBADMSG) {
		if (line.number == 1 && (r < 0 || strcmp(audit_line_type(line.json), "header") != 0))
			return -ENOMSG;
		if (r == 1)
			each(ctx, &line);
		else if ((*ret_damaged)++ < DAMAGED_TOLD_MAX)
			cli_error("audit", "%s:%llu: not a line of an audit log: the file was edited or is damaged",
				  path, (unsigned long long)line.number);
	}
	return r == 0 && line.number == 1 ? -ENOMSG : r; /* not one whole line */
}

int audit_each_line(const char *path, void (*each)(void *ctx, const struct audit_line *line), void *ctx)
{
	struct audit_reader *reader;
	uint64_t damaged = 0, torn = 0;
	int r;

	r = audit_reader_open(path, &reader);
	if (r == 0) {
		r = read_lines(reader, path, each, ctx, &damaged);
		torn = audit_reader_torn(reader);
		audit_reader_free(reader);
	}
	if (r < 0) {
		cli_error("audit", "%s: %s", path, why_unreadable(r));
		return CLI_ERROR;
	}
	if (damaged > DAMAGED_TOLD_MAX)
		cli_error("audit", "%s: %llu damaged lines altogether", path, (unsigned long long)damaged);
	if (torn > 0)
		cli_error(
			"audit",
			"%s: %llu bytes at the end are no whole line: the writer was killed in the middle of a record, "
			"whose call was never carried out",
			path, (unsigned long long)torn);
	return damaged > 0 ? CLI_ERROR : CLI_OK;
}
