#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "audit/read.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/audit/report/report.h"
#include "cli/cli.h"
#include "policy/paths/suggest.h"
#include "syscalls/table/table.h"

#define DENIALS_HASH_SLOTS 8192u /* a power of two that is larger than REPORT_DENIALS_MAX */

/* What the denials of one group have in common: the run's index, and numbers of texts in the page's list of texts. */
struct denial_key {
	uint32_t run, call, target, reason, rule, error, exe;
	uint32_t is_network_event; /* 1: `call` is a network event; a system call may have the same name */
};

/* Equal denials of one run, which the report shows as one row. */
struct denial_group {
	struct denial_key key;
	uint64_t seq, count; /* sequence number of the group's first record; number of its records */
	int64_t pid;
	bool was_observed;           /* with --mode observe: the calls were allowed */
	uint32_t resolved_path_text; /* number of the canonical path in the page's list of texts */
	char *suggested_option; /* owned; NULL: nothing */
	const char *why_no_suggestion;    /* why no option is suggested; static; NULL: not known */
};

/* The denials of all runs of a report, equal ones as one group. */
struct report_denials {
	struct denial_group groups[REPORT_DENIALS_MAX];
	uint16_t hash_slots[DENIALS_HASH_SLOTS]; /* hash table: index into groups[] plus 1; 0: the slot is free */
	size_t group_count;
	uint64_t unlisted_count; /* denials that found no room in `groups` */
};

struct report_denials *report_denials_create(void)
{
	return calloc(1, sizeof(struct report_denials));
}

void report_denials_free(struct report_denials *denials)
{
	for (size_t i = 0; denials && i < denials->group_count; i++)
		free(denials->groups[i].suggested_option);
	free(denials);
}

static const char *denials_get_text(const json_t *line, const char *key)
{
	return json_string_value(json_object_get(line, key));
}

/* ---- finding the option that would allow a denied call ---- */

/* Assumes that a refused path exists. The host is not asked, because the log may be from another machine. */
static mode_t denials_get_file_type(void *ctx, const char *path)
{
	(void)ctx;
	return strcmp(path, "/") == 0 ? S_IFDIR : S_IFREG;
}

/* The right that a record of a denial names, 0 if none. */
static unsigned denials_get_right(const json_t *line)
{
	const char *right = denials_get_text(line, "right");

	return !right ? 0 : *right == 'x' ? POLICY_EXEC : *right == 'w' ? POLICY_WRITE : POLICY_READ;
}

/* The row of the system call with this name. NULL: none. */
static const struct syscall_row *denials_find_syscall_row(const char *name)
{
	size_t count;
	const struct syscall_row *row = table_get_rows(&count);

	for (size_t i = 0; name && i < count; i++)
		if (strcmp(row[i].name, name) == 0)
			return &row[i];
	return NULL;
}

/* Whether the system call creates or removes a file name. */
static bool denials_call_changes_name(const json_t *line, const struct syscall_row *row)
{
	const char *flags = json_string_value(json_object_get(json_object_get(line, "args"), "flags"));

	return row && (row->intent == INTENT_CHANGE_NAME || (strncmp(row->name, "open", 4) == 0 && flags &&
						      strtoull(flags, NULL, 0) & O_CREAT));
}

/* Whether a text has control or invisible characters, so that it does something else than it seems to say. */
static bool denials_text_is_misleading(const char *text)
{
	size_t len = strlen(text), size, bad;
	uint32_t point;

	for (size_t i = 0; i < len; i += size) {
		size = text_decode_utf8(text + i, len - i, &point, &bad);
		if (size == 0 || point < 0x20 || point == 0x7f || text_is_invisible(point))
			return true;
	}
	return false;
}

/* Sets what a line about a request tells of it. The texts are the line's. */
static void denials_set_request(struct suggest_denial *denial, const json_t *line)
{
	const char *event = denials_get_text(line, "event"), *proto = denials_get_text(line, "proto");

	if (!event || strcmp(event, "request") != 0 || !denials_get_text(line, "path"))
		return;
	denial->http_method = denials_get_text(line, "method");
	denial->http_path = denials_get_text(line, "path");
	denial->is_websocket = proto && strcmp(proto, "websocket") == 0;
}

/* Sets group->suggested_option or group->why_no_suggestion. */
static void denials_set_suggestion(struct denial_group *group, const json_t *line)
{
	const struct suggest_host machine = {.type = denials_get_file_type};
	const struct syscall_row *row = denials_find_syscall_row(denials_get_text(line, "syscall"));
	bool second = json_object_get(line, "path2") != NULL;
	bool network = json_object_get(line, "port") || json_object_get(line, "event");
	const char *host = denials_get_text(line, "host");
	_cleanup_free_ char *rule = NULL, *written = NULL, *resolved = NULL;
	struct suggest_denial denial = {.reason = denials_get_text(line, "reason"),
					.wanted_right = denials_get_right(line)};
	size_t len;

	rule = audit_line_get_bytes(line, "rule", &len);
	resolved = audit_line_get_resolved_path(line, second, &len);
	written = audit_line_get_bytes(line, second ? "path2" : "path", &len);
	denial.rule = rule;
	denial.changes_names = denials_call_changes_name(line, row);
	denial.path_as_written = written;
	if (network && host) {
		denial.host = host;
		denial.accepts_connections = row && row->intent == INTENT_LISTEN;
		denials_set_request(&denial, line);
		denial.addresses_not_dialled = denials_get_text(line, "dropped");
		denial.port = row && strcmp(row->name, "listen") == 0
				      ? 0
				      : (unsigned)json_integer_value(json_object_get(line, "port"));
	/* a record with "host" is about a redirected path, which cannot be granted by its own name */
	} else if (!host) {
		denial.resolved_path = resolved;
	}
	group->suggested_option = suggest_make_grant(&machine, &denial, &group->why_no_suggestion);
	if (!group->suggested_option || !denials_text_is_misleading(group->suggested_option))
		return;
	free(group->suggested_option);
	group->suggested_option = NULL;
	group->why_no_suggestion =
		"the name has control or invisible characters; if the program must have it, grant it by hand";
}

/* ---- groups ---- */

/*
 * Returns what the call asked for: "host:port", "METHOD host:port/path" or a path. Owned; NULL: the line has none of
 * these, or no memory.
 */
static char *denials_describe_target(const json_t *line)
{
	const char *host = denials_get_text(line, "host"), *method = denials_get_text(line, "method");
	const char *path = denials_get_text(line, "path2") ? denials_get_text(line, "path2")
							   : denials_get_text(line, "path");
	long long port = (long long)json_integer_value(json_object_get(line, "port"));
	bool event = denials_get_text(line, "event") != NULL;

	if (host && event && !port)
		return text_format("%s%s%s", method ? method : "", method ? " " : "", host);
	if (host && event)
		return text_format("%s%s%s:%lld%s", method ? method : "", method ? " " : "", host, port,
				   path ? path : "");
	if (host && port)
		return text_format("%s:%lld", host, port);
	return path ? strdup(path) : NULL;
}

/* Finds the group of denials with this key, or adds it. NULL: there are too many. */
static struct denial_group *denials_find_group(struct report_denials *denials, const struct denial_key *key)
{
	const uint32_t part[] = {key->run, key->call, key->target, key->reason, key->rule, key->error, key->exe};
	uint32_t hash = 2166136261u;
	uint16_t *slot;

	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++)
		hash = (hash ^ part[i]) * 16777619u;
	hash ^= hash >> 15;
	for (size_t at = hash % DENIALS_HASH_SLOTS;; at = (at + 1) % DENIALS_HASH_SLOTS) {
		slot = &denials->hash_slots[at];
		if (*slot == 0)
			break;
		if (memcmp(&denials->groups[*slot - 1].key, key, sizeof(*key)) == 0)
			return &denials->groups[*slot - 1];
	}
	if (denials->group_count == REPORT_DENIALS_MAX)
		return NULL;
	denials->groups[denials->group_count].key = *key;
	*slot = (uint16_t)++denials->group_count;
	return &denials->groups[denials->group_count - 1];
}

/* Counts a denial in its group. A new group is described by its first record; there is a limit on groups. */
void report_denials_add(struct report_denials *denials, struct report_texts *texts, unsigned run, const json_t *line)
{
	_cleanup_free_ char *target = denials_describe_target(line);
	const char *call = denials_get_text(line, "syscall") ? "syscall" : "event";
	const struct denial_key key = {
		.run = run,
		.call = report_texts_add_field(texts, line, call),
		.target =
			target ? report_texts_add(texts, target, strlen(target), false) : REPORT_TEXT_NUMBER_OF_NO_TEXT,
		.reason = report_texts_add_field(texts, line, "reason"),
		.rule = report_texts_add_field(texts, line, "rule"),
		.error = report_texts_add_field(texts, line, "errno"),
		.exe = report_texts_add_field(texts, line, "exe"),
		.is_network_event = call[0] == 'e',
	};
	struct denial_group *group = denials_find_group(denials, &key);

	if (!group) {
		denials->unlisted_count++;
		return;
	}
	if (group->count++ > 0)
		return;
	group->seq = (uint64_t)json_integer_value(json_object_get(line, "seq"));
	group->pid = json_integer_value(json_object_get(line, "pid"));
	group->was_observed = json_is_true(json_object_get(line, "observed"));
	group->resolved_path_text =
		report_texts_add_field(texts, line, json_object_get(line, "path2") ? "resolved2" : "resolved");
	denials_set_suggestion(group, line);
}

json_t *report_denials_make_json(const struct report_denials *denials, uint64_t *ret_unlisted)
{
	json_t *list = json_array();

	for (size_t i = 0; i < denials->group_count; i++) {
		const struct denial_group *group = &denials->groups[i];
		const struct denial_key *key = &group->key;

		(void)json_array_append_new(
			list,
			json_pack("{s:i, s:I, s:I, s:I, s:b, s:b, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:s?, s:s?}",
				  "run", (int)key->run, "seq", (json_int_t)group->seq, "count",
				  (json_int_t)group->count, "pid", (json_int_t)group->pid, "observed",
				  (int)group->was_observed, "event", (int)key->is_network_event, "call", (int)key->call,
				  "target", (int)key->target, "resolved", (int)group->resolved_path_text, "reason",
				  (int)key->reason, "rule", (int)key->rule, "errno", (int)key->error, "exe",
				  (int)key->exe, "suggest", group->suggested_option, "why", group->why_no_suggestion));
	}
	*ret_unlisted = denials->unlisted_count;
	return list;
}
