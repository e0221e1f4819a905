#include "cli/audit/filter.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "audit/record.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/audit/fields.h"
#include "policy/network/net.h"

#define KERNEL_ERRNO_MAX 4095 /* the kernel returns no other errors */

/* ---- options ---- */

/* Setter of options that take names separated by commas: refuses other bytes, and points *list at the borrowed text. */
int audit_filter_set_word_list(const struct cli_given_option *given, void *list)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_,";

	if (!given->value[0] || strspn(given->value, allowed) < strlen(given->value))
		return cli_refuse_value(given, "not a list of names, separated by commas");
	return cli_set_text(given, list);
}

static bool audit_is_verdict(const char *name)
{
	for (enum verdict verdict = 0; verdict < VERDICT_MAX; verdict++)
		if (strcmp(name, verdict_get_name(verdict)) == 0)
			return true;
	return false;
}

static bool audit_is_errno(const char *name)
{
	for (int error = 1; error <= KERNEL_ERRNO_MAX; error++) {
		const char *known = strerrorname_np(error);

		if (known && strcmp(name, known) == 0)
			return true;
	}
	return false;
}

/* Returns the first of the names separated by commas that is unknown, owned, or NULL. */
static char *audit_find_unknown_word(const char *list, bool (*is_known)(const char *name))
{
	for (size_t len; *list; list += len + (list[len] == ',')) {
		char *word = strndup(list, len = strcspn(list, ","));

		if (!word || !is_known(word))
			return word;
		free(word);
	}
	return NULL;
}

/* Refuses names that no record has: nothing would be shown, as if there were no such records. */
static int audit_set_known_words(const struct cli_given_option *given, void *list, bool (*is_known)(const char *name),
				 const char *what)
{
	int r = audit_filter_set_word_list(given, list);
	_cleanup_free_ char *unknown = r == 0 ? audit_find_unknown_word(given->value, is_known) : NULL;

	return unknown ? cli_refuse_value(given, "no record has the %s \"%s\"", what, unknown) : r;
}

int audit_filter_set_verdicts(const struct cli_given_option *given, void *list)
{
	return audit_set_known_words(given, list, audit_is_verdict, "verdict");
}

int audit_filter_set_errors(const struct cli_given_option *given, void *list)
{
	return audit_set_known_words(given, list, audit_is_errno, "error");
}

/* Compiles a path pattern of a filter. One that does not begin with "/" matches in every directory. */
static int audit_compile_glob(const struct cli_given_option *given, struct arena *arena, struct glob *ret_glob)
{
	const char *pattern = given->value;
	char *anywhere = *pattern == '/' ? arena_dup(arena, pattern + 1) : arena_printf(arena, "**/%s", pattern);

	if (anywhere && glob_compile(arena, anywhere, true, ret_glob) == 0)
		return 0;
	return cli_refuse_value(given, "not a pattern: * stands for text within a name, ** for any directories");
}

/* Setter of --path: a pattern, anywhere in the tree unless it begins with "/". */
int audit_filter_set_path(const struct cli_given_option *given, void *filter_pointer)
{
	struct audit_filter *filter = filter_pointer;

	filter->by_path = true;
	return audit_compile_glob(given, &filter->arena, &filter->path_glob);
}

/* Setter of --program: a pattern, anywhere in the tree unless it begins with "/". */
int audit_filter_set_program(const struct cli_given_option *given, void *filter_pointer)
{
	struct audit_filter *filter = filter_pointer;

	filter->by_program = true;
	return audit_compile_glob(given, &filter->arena, &filter->program_glob);
}

/* Setter of --event: the name of an event, or "any". */
int audit_filter_set_event(const struct cli_given_option *given, void *event)
{
	for (enum audit_event i = 0; i < AUDIT_EVENT_MAX; i++)
		if (strcmp(given->value, audit_event_get_name(i)) == 0)
			return cli_set_text(given, event);
	if (strcmp(given->value, "any") == 0)
		return cli_set_text(given, event);
	return cli_refuse_value(given, "not one of " AUDIT_EVENT_WORDS "and any");
}

int audit_filter_set_pid(const struct cli_given_option *given, void *pid)
{
	uint64_t number;

	if (text_parse_number(given->value, 1, INT32_MAX, &number) < 0)
		return cli_refuse_value(given, "not a process id");
	*(int64_t *)pid = (int64_t)number;
	return 0;
}

/* Parses a duration as text_parse_duration() does, and accepts microseconds and nanoseconds, too: "500us". */
static int audit_parse_duration(const char *text, uint64_t *ret_ns)
{
	size_t len = strlen(text);
	uint64_t number, unit = len > 2 && strcmp(text + len - 2, "us") == 0 ? 1000 : 1;
	char digits[20];

	if (len < 3 || len - 2 >= sizeof(digits) || (unit == 1 && strcmp(text + len - 2, "ns") != 0))
		return text_parse_duration(text, ret_ns);
	memcpy(digits, text, len - 2);
	digits[len - 2] = '\0';
	if (text_parse_number(digits, 0, INT64_MAX / 1000, &number) < 0)
		return -EINVAL;
	*ret_ns = number * unit;
	return 0;
}

/*
 * Whether the text is the beginning of a time such as 2026-11-21T02:28:18.308, whose fraction may have any number of
 * digits.
 */
static bool audit_is_time_prefix(const char *text)
{
	static const char shape[] = "0000-00-00T00:00:00.000000000";
	size_t len = strlen(text);

	if (len < 4 || len >= sizeof(shape))
		return false;
	for (size_t i = 0; i < len; i++)
		if (shape[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != shape[i])
			return false;
	return true;
}

/* Setter of --since and --until: a time, a prefix of one, or "+5s". */
int audit_filter_set_time(const struct cli_given_option *given, void *filter_pointer)
{
	struct audit_filter *filter = filter_pointer;
	size_t len = strlen(given->value);
	uint64_t *after = given->setter_param ? &filter->until_ns : &filter->since_ns;

	*(given->setter_param ? &filter->until : &filter->since) = given->value;
	if (given->value[0] == '+' && audit_parse_duration(given->value + 1, after) == 0)
		return 0;
	if (len > 10 && given->value[10] == ' ')
		given->value[10] = 'T';
	if (len > 19 && given->value[len - 1] == 'Z')
		given->value[len - 1] = '\0';
	if (audit_is_time_prefix(given->value))
		return 0;
	return cli_refuse_value(given, "not a time in UTC, such as 2026-11-21T02:28:18 or its beginning, nor +5s");
}

/* Setter of --slower-than, a duration that is kept in ns. */
int audit_filter_set_slower_than(const struct cli_given_option *given, void *slower_ns)
{
	if (audit_parse_duration(given->value, slower_ns) == 0 && *(uint64_t *)slower_ns > 0)
		return 0;
	return cli_refuse_value(given, "not a time such as 500us, 2ms or 1s");
}

void audit_filter_release(struct audit_filter *filter)
{
	arena_release(&filter->arena);
}

/* ---- records ---- */

/* Whether the text is one of the words in the list, which commas separate. */
static bool filter_match_word_list(const char *list, const struct scan_text *text)
{
	if (!text->at)
		return false;
	for (const char *word = list; *word;) {
		size_t len = strcspn(word, ",");

		if (len > 0 && len == text->len && memcmp(word, text->at, len) == 0)
			return true;
		word += len + (word[len] == ',');
	}
	return false;
}

/* Whether the glob matches the text, as a path without its leading slashes. */
static bool filter_match_glob(const struct glob *glob, const struct scan_text *text)
{
	char path[PATH_MAX + 1];
	int len = text->at ? scan_copy_unescaped_bytes(text, path, sizeof(path)) : -1;
	size_t slashes = 0;

	if (len < 0)
		return false;
	while (slashes < (size_t)len && path[slashes] == '/')
		slashes++;
	return glob_matches(glob, path + slashes, (size_t)len - slashes);
}

/* Whether one of the record's paths matches: the resolved path, or without it the path as written. */
static bool filter_match_path(const struct glob *glob, const struct scan_record *record)
{
	for (size_t i = 0; i < SCAN_PATHS_PER_RECORD_MAX; i++) {
		const struct scan_path *path = &record->path[i];

		if (filter_match_glob(glob, path->resolved_path.at ? &path->resolved_path : &path->as_written))
			return true;
	}
	return false;
}

/* Whether the record is of the network and its host matches the pattern, such as "*.example.org". */
static bool filter_match_host(const char *pattern, const struct scan_record *record)
{
	char host[NET_HOST_SIZE];

	return record_names_network(record) && record->host.at &&
	       scan_copy_unescaped_bytes(&record->host, host, sizeof(host)) > 0 && net_host_matches(pattern, host);
}

/* Whether the text contains `wanted`. */
static bool filter_match_text(const char *wanted, const struct scan_text *text)
{
	char bytes[4096];

	return text->at && scan_copy_unescaped_bytes(text, bytes, sizeof(bytes)) >= 0 && strstr(bytes, wanted);
}

/* Whether a question about the call was answered so, as --answer says. */
static bool filter_match_answer(const char *list, const struct scan_record *record)
{
	return record->answer.at && (strcmp(list, "any") == 0 || filter_match_word_list(list, &record->answer));
}

static bool filter_match_pid(int64_t pid, const struct scan_record *record)
{
	return record->pid == pid || record->host_pid == pid || record->tid == pid;
}

/* Whether the record is of the event that --event names. */
static bool filter_match_event(const char *event, const struct scan_record *record)
{
	return record->event.at && (strcmp(event, "any") == 0 || scan_text_equals(&record->event, event));
}

/*
 * Compares a record's time with `time`. If `time` is the beginning of a time, such as 2026-11-21T02, only as many
 * characters are compared. If `time` begins with "+", the limit is the time of the log's header plus after_ns.
 */
static int filter_compare_time(const struct audit_entry *entry, const char *time, uint64_t after_ns)
{
	const struct scan_text *own = &entry->record.time;
	size_t len = strlen(time);
	uint64_t limit;

	if (time[0] != '+')
		return own->at && own->len >= len ? memcmp(own->at, time, len) : -1;
	limit = entry->log->start_ns + after_ns;
	return entry->time_ns < limit ? -1 : entry->time_ns > limit;
}

/* Whether the entry lies between --since and --until, both included. */
static bool filter_match_times(const struct audit_filter *filter, const struct audit_entry *entry)
{
	return (!filter->since || filter_compare_time(entry, filter->since, filter->since_ns) >= 0) &&
	       (!filter->until || filter_compare_time(entry, filter->until, filter->until_ns) <= 0);
}

bool audit_filter_matches(const struct audit_filter *filter, const struct audit_entry *entry)
{
	const struct scan_record *record = &entry->record;

	return !entry->json && (!filter->only_denials || record_is_denied(record)) &&
	       (!filter->verdict || filter_match_word_list(filter->verdict, &record->verdict)) &&
	       (!filter->call || filter_match_word_list(filter->call, &record->syscall)) &&
	       (!filter->error || filter_match_word_list(filter->error, &record->error)) &&
	       (!filter->event_name || filter_match_event(filter->event_name, record)) &&
	       (!filter->answer || filter_match_answer(filter->answer, record)) &&
	       (!filter->pid || filter_match_pid(filter->pid, record)) &&
	       (!filter->min_duration_ns || (record->has_ns && record->ns > filter->min_duration_ns)) &&
	       filter_match_times(filter, entry) &&
	       (!filter->rule_text || filter_match_text(filter->rule_text, &record->rule)) &&
	       (!filter->host_pattern || filter_match_host(filter->host_pattern, record)) &&
	       (!filter->by_program || filter_match_glob(&filter->program_glob, &record->exe)) &&
	       (!filter->by_path || filter_match_path(&filter->path_glob, record));
}

bool audit_filter_is_empty(const struct audit_filter *filter)
{
	return !filter->only_denials && !filter->verdict && !filter->call && !filter->error && !filter->event_name &&
	       !filter->answer && !filter->pid && !filter->min_duration_ns && !filter->since && !filter->until &&
	       !filter->rule_text && !filter->host_pattern && !filter->by_program && !filter->by_path;
}
