#include "cli/audit/refusals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/audit/fields.h"
#include "cli/cli.h"
#include "policy/paths/suggest.h"
#include "policy/policy.h"
#include "supervisor/report.h"
#include "syscalls/table/table.h"

/* ---- finding the option that would allow a call ---- */

/* Assumes that a refused path exists. The host is not asked, because the log may be from another machine. */
static mode_t refusal_get_file_type(void *ctx, const char *path)
{
	(void)ctx;
	return strcmp(path, "/") == 0 ? S_IFDIR : S_IFREG;
}

/* The row of the record's system call. NULL: none, as for a network event. */
static const struct syscall_row *refusal_find_syscall_row(const struct scan_record *record)
{
	size_t count;
	const struct syscall_row *rows = table_get_rows(&count);

	for (size_t i = 0; i < count; i++)
		if (scan_text_equals(&record->syscall, rows[i].name))
			return &rows[i];
	return NULL;
}

/* Whether the call creates or removes a file name: this needs the right to write the directory. */
static bool refusal_call_changes_name(const struct scan_record *record)
{
	const struct syscall_row *row = refusal_find_syscall_row(record);
	struct scan_text rest = record->args_json, name, value;
	char digits[24];

	if (!row || row->intent == INTENT_CHANGE_NAME)
		return row != NULL;
	while (strncmp(row->name, "open", 4) == 0 && scan_next_arg(&rest, &name, &value))
		if (scan_text_equals(&name, "flags") && scan_copy_unescaped_bytes(&value, digits, sizeof(digits)) > 0)
			return strtoull(digits, NULL, 16) & O_CREAT;
	return false;
}

/* The right that a record of a denial names, 0 if none. */
static unsigned refusal_get_right(const struct scan_record *record)
{
	return scan_text_equals(&record->right, "x")   ? POLICY_EXEC
	       : scan_text_equals(&record->right, "w") ? POLICY_WRITE
	       : scan_text_equals(&record->right, "r") ? POLICY_READ
						   : 0;
}

/* Copies the bytes of a text. Owned by the caller; NULL: the record lacks the text, or no memory. */
static char *refusal_copy_bytes(const struct scan_text *text)
{
	char *bytes = text->at ? malloc(text->len + 5) : NULL;

	if (bytes && scan_copy_unescaped_bytes(text, bytes, text->len + 5) < 0) {
		free(bytes);
		return NULL;
	}
	return bytes;
}

/* Sets group->suggested_option or group->why_no_suggestion, as the supervisor does in the result of a run. */
static void refusal_set_suggestion(struct refusal_group *group, const struct scan_record *record)
{
	const struct suggest_host machine = {.type = refusal_get_file_type};
	const struct syscall_row *row = refusal_find_syscall_row(record);
	const struct scan_path *path = &record->path[record->path[1].as_written.at ? 1 : 0];
	bool known;
	const struct scan_text *canonical = record_get_path_argument(path, &known);
	_cleanup_free_ char *host = refusal_copy_bytes(&record->host), *resolved = NULL, *written = NULL;
	_cleanup_free_ char *reason = refusal_copy_bytes(&record->reason), *rule = NULL;
	_cleanup_free_ char *dropped = refusal_copy_bytes(&record->dropped);
	_cleanup_free_ char *method = refusal_copy_bytes(&record->method);
	struct suggest_denial denial = {.reason = reason,
					.wanted_right = refusal_get_right(record),
					.changes_names = refusal_call_changes_name(record)};

	denial.rule = rule = refusal_copy_bytes(&record->rule);
	if (record_names_network(record)) {
		denial.host = host;
		denial.accepts_connections = row && row->intent == INTENT_LISTEN;
		denial.http_path = written = refusal_copy_bytes(&path->as_written);
		denial.http_method = written && scan_text_equals(&record->event, "request") ? method : NULL;
		denial.is_websocket = scan_text_equals(&record->proto, "websocket");
		denial.addresses_not_dialled = dropped;
		/* bind(2) judges ports that the program names, so for listen(2) the kernel chose the port */
		denial.port = scan_text_equals(&record->syscall, "listen") ? 0 : (unsigned)record->port;
	/* a record with "host" is about a redirected path, which cannot be granted by its own name */
	} else if (!host && known) {
		denial.resolved_path = resolved = refusal_copy_bytes(canonical);
		denial.path_as_written = written = refusal_copy_bytes(&path->as_written);
	}
	group->suggested_option = suggest_make_grant(&machine, &denial, &group->why_no_suggestion);
}

/* ---- groups ---- */

/* The kind of access that a denial is grouped by: exec, write, read, listen, net or other. */
static const char *refusal_get_operation(const struct scan_record *record)
{
	const struct syscall_row *row = refusal_find_syscall_row(record);

	if (scan_text_equals(&record->right, "x"))
		return "exec";
	if (scan_text_equals(&record->right, "w"))
		return "write";
	if (scan_text_equals(&record->right, "r"))
		return "read";
	if (row && row->intent == INTENT_LISTEN)
		return "listen";
	return record_names_network(record) ? "net" : "other";
}

static char *refusal_copy_text(const struct scan_text *text)
{
	_cleanup_buf_ struct buf copy = {0};

	audit_put_text(&copy, text);
	return buf_take_text(&copy);
}

/* Fills in a new group of denials from its first record. */
static void refusal_fill_group(struct refusal_group *group, const struct scan_record *record)
{
	_cleanup_buf_ struct buf target = {0};

	group->access_kind = refusal_get_operation(record);
	if (!audit_put_object(&target, record)) {
		audit_put_text(&target, record_get_call(record));
		buf_puts(&target, " ");
		audit_put_text(&target, &record->args_json);
	}
	group->target_text = buf_take_text(&target);
	group->reason = refusal_copy_text(&record->reason);
	group->rule = refusal_copy_text(&record->rule);
	refusal_set_suggestion(group, record);
}

int refusals_add(struct refusals *refusals, const struct scan_record *record)
{
	_cleanup_buf_ struct buf key = {0};
	struct tally_item *item;

	/* A grant to write a file does not allow making or removing its name, so these denials are grouped apart. */
	buf_printf(&key, "%s%s\n", refusal_get_operation(record), refusal_call_changes_name(record) ? " name" : "");
	if (!audit_put_object(&key, record)) {
		audit_put_text(&key, record_get_call(record));
		audit_put_text(&key, &record->args_json);
	}
	buf_puts(&key, "\n");
	audit_put_text(&key, &record->reason);
	buf_puts(&key, "\n");
	audit_put_text(&key, &record->rule);
	item = key.failed ? NULL : tally_find_or_add_item(&refusals->groups, key.data, key.len);
	if (!item)
		return -ENOMEM;
	item->counts[0] += record->refusal_count ? record->refusal_count : 1;
	if (item->data || item == refusals->groups.item_of_all_other_names)
		return 0;
	item->data = calloc(1, sizeof(struct refusal_group));
	if (!item->data)
		return -ENOMEM;
	refusal_fill_group(item->data, record);
	return 0;
}

json_t *refusals_make_json(const struct refusals *refusals)
{
	struct tally_item **sorted = tally_sort_items_by_count(&refusals->groups, 0);
	json_t *list = sorted ? json_array() : NULL;

	for (size_t i = 0; list && i < refusals->groups.item_count; i++) {
		const struct refusal_group *group = sorted[i]->data;
		const struct refusal_group none = {.access_kind = "other", .target_text = sorted[i]->name};

		group = group ? group : &none;
		(void)json_array_append_new(list, json_pack("{s:I, s:s, s:s?, s:s?, s:s?, s:o, s:s?}", "count",
							    (json_int_t)sorted[i]->counts[0], "op", group->access_kind,
							    "target", group->target_text, "reason", group->reason,
							    "rule", group->rule, "suggest",
							    report_make_text_json(group->suggested_option),
							    "suggest_reason", group->why_no_suggestion));
	}
	free(sorted);
	return list;
}

void refusals_release(struct refusals *refusals)
{
	for (size_t i = 0; i < refusals->groups.item_count; i++) {
		struct refusal_group *group = refusals->groups.items[i]->data;

		if (!group)
			continue;
		free(group->target_text);
		free(group->reason);
		free(group->rule);
		free(group->suggested_option);
	}
	tally_release(&refusals->groups);
}
