#include "cli/audit/fields.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/read.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/cli.h"

long long audit_get_field_number(const json_t *line, const char *key)
{
	return (long long)json_integer_value(json_object_get(line, key));
}

char *audit_get_field_for_display(const json_t *line, const char *key)
{
	_cleanup_free_ char *bytes = NULL;
	size_t len;
	char *text;

	bytes = audit_line_get_bytes(line, key, &len);
	if (!bytes)
		return NULL;
	text = malloc(len * TEXT_ESCAPED_BYTES_PER_BYTE_MAX + 1);
	if (!text)
		return NULL;
	text[text_escape_for_json(text, bytes, len)] = '\0';
	return text;
}

bool audit_record_is_denied(const json_t *line)
{
	const char *verdict = json_string_value(json_object_get(line, "verdict"));

	return verdict && (strcmp(verdict, "deny") == 0 || strcmp(verdict, "kill") == 0);
}

bool record_is_denied(const struct scan_record *record)
{
	return scan_text_equals(&record->verdict, "deny") || scan_text_equals(&record->verdict, "kill");
}

bool record_names_network(const struct scan_record *record)
{
	/* In the record of a redirected path, "host" is a path of the host, not the name of a network host. */
	return record->event.at || (record->host.at && (record->port || record->host.len == 0 ||
							record->host.at[0] != '/'));
}

int64_t record_get_tid(const struct scan_record *record)
{
	return record->tid ? record->tid : record->pid;
}

const struct scan_text *record_get_call(const struct scan_record *record)
{
	return record->syscall.at ? &record->syscall : &record->event;
}

const struct scan_text *record_get_path_argument(const struct scan_path *path, bool *ret_known)
{
	*ret_known = path->resolved_path.at || (path->as_written.at && path->as_written.len > 0 &&
					   path->as_written.at[0] == '/' && !path->is_unresolved);
	return path->resolved_path.at ? &path->resolved_path : &path->as_written;
}

void audit_put_text(struct buf *out, const struct scan_text *text)
{
	_cleanup_free_ char *escaped = NULL;
	size_t plain = 0;

	if (!text->at)
		return;
	while (plain < text->len && text->at[plain] >= ' ' && text->at[plain] < 0x7f)
		plain++;
	buf_add(out, text->at, plain);
	if (plain == text->len)
		return;
	escaped = malloc((text->len - plain) * TEXT_ESCAPED_BYTES_PER_BYTE_MAX);
	if (escaped)
		buf_add(out, escaped,
			text_escape_for_display(escaped, text->at + plain, text->len - plain, false));
	else
		out->failed = true;
}

void audit_put_endpoint(struct buf *out, const struct scan_record *record)
{
	bool brackets = record->host.at && record->port && memchr(record->host.at, ':', record->host.len);

	buf_puts(out, brackets ? "[" : "");
	audit_put_text(out, &record->host);
	if (record->port)
		buf_printf(out, "%s:%llu", brackets ? "]" : "", (unsigned long long)record->port);
}

bool audit_put_object(struct buf *out, const struct scan_record *record)
{
	bool known;
	const struct scan_text *path = record_get_path_argument(&record->path[0], &known);

	if (record_names_network(record)) {
		audit_put_text(out, &record->method);
		buf_puts(out, record->method.at ? " " : "");
		audit_put_endpoint(out, record);
		audit_put_text(out, &record->path[0].as_written);
		return true;
	}
	audit_put_text(out, path);
	return path->at != NULL;
}

int audit_flush_stdout(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	cli_print_error("audit", "cannot write to standard output: %s", strerror(errno));
	return CLI_EXIT_ERROR;
}

const char *const *audit_get_log_paths(char **argv, const char *verb)
{
	if (argv[optind])
		return (const char *const *)argv + optind;
	cli_print_error("audit", "%s needs a log; see callgate audit %s --help", verb, verb);
	return NULL;
}
