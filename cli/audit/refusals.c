#include "cli/audit/refusals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/audit/fields.h"
#include "policy/paths/suggest.h"
#include "policy/policy.h"
#include "replay/query.h"
#include "syscalls/table/table.h"

/* ---- what to suggest ---- */

static mode_t refusal_get_host_type(void *ctx, const char *path)
{
	struct stat status;

	(void)ctx;
	return stat(path, &status) < 0 ? 0 : status.st_mode & S_IFMT;
}

static const struct syscall_row *refusal_find_row(const struct scan_record *record)
{
	size_t count;
	const struct syscall_row *rows = table_get_rows(&count);

	for (size_t i = 0; i < count; i++)
		if (scan_text_is(&record->syscall, rows[i].name))
			return &rows[i];
	return NULL;
}

/* Whether the call makes or removes a name, so that its directory must be writable. */
static bool refusal_changes_name(const struct scan_record *record)
{
	const struct syscall_row *row = refusal_find_row(record);
	struct scan_text rest = record->args, name, value;
	char digits[24];

	if (row && row->intent == INTENT_NAME)
		return true;
	while (scan_next_arg(&rest, &name, &value))
		if (scan_text_is(&name, "flags") && scan_get_bytes(&value, digits, sizeof(digits)) > 0)
			return strtoull(digits, NULL, 16) & O_CREAT;
	return false;
}

static bool refusal_has_reason(const struct scan_record *record, const char *const *reasons)
{
	for (; *reasons; reasons++)
		if (scan_text_is(&record->reason, *reasons))
			return true;
	return false;
}

/* Suggests the option for a path; denial_suggest_grant() in syscalls/account/denial-text.c does so in the run. */
static char *refusal_suggest_path(const struct scan_record *record, const struct query *query, const char **ret_why)
{
	static const char *const by_grant[] = {"not_granted", "read_only", "not_executable", "not_public", NULL};
	const struct suggest_host host = {.home = getenv("HOME"), .type = refusal_get_host_type};
	const struct query_path *asked = &query->path[query->paths > 1 ? 1 : 0];
	_cleanup_buf_ struct buf option = {0};
	char path[PATH_MAX];
	char *slash;

	if (!refusal_has_reason(record, by_grant) || query->redirected)
		return NULL;
	memcpy(path, asked->path, asked->len);
	path[asked->len] = '\0';
	slash = strrchr(path, '/');
	if (asked->want & POLICY_WRITE && slash && refusal_changes_name(record))
		slash[slash == path] = '\0';
	*ret_why = suggest_shorten_path(&host, path, asked->want);
	if (*ret_why)
		return NULL;
	buf_puts(&option, asked->want & POLICY_EXEC ? "-x " : asked->want & POLICY_WRITE ? "-W " : "-r ");
	suggest_put_word(&option, path);
	return buf_take_text(&option);
}

/* Suggests the option for an endpoint or a request. */
static char *refusal_suggest_endpoint(const struct scan_record *record, const struct query *query)
{
	static const char *const by_rule[] = {"no_rule", "port_not_granted", "method_not_granted", "path_not_granted",
					      NULL};
	_cleanup_buf_ struct buf option = {0};
	const char *open = strchr(query->host, ':') ? "[" : "", *shut = *open ? "]" : "";

	if (!refusal_has_reason(record, by_rule) || strpbrk(query->host, "'\n*") || query->udp)
		return NULL;
	if (query->kind == QUERY_LISTEN)
		buf_printf(&option, "--listen %u", query->any_port ? 0 : query->port);
	else if (query->kind == QUERY_REQUEST && !strpbrk(query->request, "'\n*"))
		buf_printf(&option, "--allow '%s %s%s%s:%u%s'", query->method, open, query->host, shut, query->port,
			   query->request);
	else if (query->kind == QUERY_CONNECT || query->kind == QUERY_NAME)
		buf_printf(&option, "--allow-host %s%s%s:%u", open, query->host, shut,
			   query->port ? query->port : 443);
	return buf_take_text(&option);
}

static void refusal_set_suggestion(struct refusal_group *group, const struct scan_record *record,
				  const struct query *query)
{
	if (scan_text_is(&record->reason, "not_observed"))
		group->suggest = strdup("--allow-risky");
	else if (scan_text_is(&record->reason, "denied_by_rule"))
		group->why_not = "a deny beats everything; drop or narrow the rule";
	else if (query->kind == QUERY_PATHS && query->paths > 0)
		group->suggest = refusal_suggest_path(record, query, &group->why_not);
	else if (query->kind != QUERY_OTHER)
		group->suggest = refusal_suggest_endpoint(record, query);
}

/* ---- groups ---- */

static const char *refusal_get_op(const struct scan_record *record)
{
	const struct syscall_row *row = refusal_find_row(record);

	if (scan_text_is(&record->right, "x"))
		return "exec";
	if (scan_text_is(&record->right, "w"))
		return "write";
	if (scan_text_is(&record->right, "r"))
		return "read";
	if (row && row->intent == INTENT_SERVE)
		return "listen";
	return record_names_network(record) ? "net" : "other";
}

static char *refusal_copy_text(const struct scan_text *text)
{
	_cleanup_buf_ struct buf copy = {0};

	audit_put_text(&copy, text);
	return buf_take_text(&copy);
}

static void refusal_fill_group(struct refusal_group *group, const struct scan_record *record, struct query *query)
{
	_cleanup_buf_ struct buf target = {0};

	group->op = refusal_get_op(record);
	if (!audit_put_object(&target, record)) {
		audit_put_text(&target, record_get_call(record));
		buf_puts(&target, " ");
		audit_put_text(&target, &record->args);
	}
	group->target = buf_take_text(&target);
	group->reason = refusal_copy_text(&record->reason);
	group->rule = refusal_copy_text(&record->rule);
	if (query_read_record(record, query) == 0)
		refusal_set_suggestion(group, record, query);
}

int refusals_add(struct refusals *refusals, const struct scan_record *record)
{
	_cleanup_buf_ struct buf key = {0};
	struct tally_item *item;

	buf_printf(&key, "%s\n", refusal_get_op(record));
	if (!audit_put_object(&key, record)) {
		audit_put_text(&key, record_get_call(record));
		audit_put_text(&key, &record->args);
	}
	buf_puts(&key, "\n");
	audit_put_text(&key, &record->reason);
	buf_puts(&key, "\n");
	audit_put_text(&key, &record->rule);
	if (!refusals->query)
		refusals->query = calloc(1, sizeof(*refusals->query));
	item = key.failed || !refusals->query ? NULL : tally_find(&refusals->group, key.data, key.len);
	if (!item)
		return -ENOMEM;
	item->count[0] += record->count ? record->count : 1;
	if (item->data || item == refusals->group.others)
		return 0;
	item->data = calloc(1, sizeof(struct refusal_group));
	if (!item->data)
		return -ENOMEM;
	refusal_fill_group(item->data, record, refusals->query);
	return 0;
}

json_t *refusals_make_json(const struct refusals *refusals)
{
	struct tally_item **sorted = tally_sort(&refusals->group, 0);
	json_t *list = sorted ? json_array() : NULL;

	for (size_t i = 0; list && i < refusals->group.items; i++) {
		const struct refusal_group *group = sorted[i]->data;
		const struct refusal_group none = {.op = "other", .target = sorted[i]->name};

		group = group ? group : &none;
		(void)json_array_append_new(
			list, json_pack("{s:I, s:s, s:s?, s:s?, s:s?, s:s?, s:s?}", "count",
					(json_int_t)sorted[i]->count[0], "op", group->op, "target", group->target,
					"reason", group->reason, "rule", group->rule, "suggest", group->suggest,
					"suggest_reason", group->why_not));
	}
	free(sorted);
	return list;
}

void refusals_release(struct refusals *refusals)
{
	for (size_t i = 0; i < refusals->group.items; i++) {
		struct refusal_group *group = refusals->group.item[i]->data;

		if (!group)
			continue;
		free(group->target);
		free(group->reason);
		free(group->rule);
		free(group->suggest);
	}
	tally_release(&refusals->group);
	free(refusals->query);
}
