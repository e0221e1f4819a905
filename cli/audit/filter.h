/* Selects records: the filter options of `callgate audit`. All conditions must hold. */
#ifndef CALLGATE_CLI_AUDIT_FILTER_H
#define CALLGATE_CLI_AUDIT_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "audit/record.h"
#include "cli/audit/logs.h"
#include "cli/options.h"
#include "policy/arena.h"
#include "policy/paths/glob.h"

/* Zero-initialise; audit_filter_release releases. Texts are borrowed from main's argv; NULL: no condition. */
struct audit_filter {
	bool only_denials;                  /* only records of denied calls */
	const char *verdict, *call, *error; /* lists separated by commas */
	const char *event_name;             /* name of an event; "any": all that is about no system call */
	const char *answer;                 /* list, or "any": calls that were asked about */
	const char *host_pattern; /* host pattern, as in a network rule */
	const char *rule_text; /* part of the label of the record's rule */
	/* a wall-clock time or the beginning of one; or +DURATION after the time of the log's header */
	const char *since, *until;
	uint64_t since_ns, until_ns; /* of +DURATION */
	uint64_t min_duration_ns; /* 0: no condition */
	int64_t pid;         /* pid, host_pid or tid of the record; 0: any */
	bool by_path, by_program;
	struct glob path_glob; /* must match a resolved path, or, where a record has none, a path as named */
	struct glob program_glob;
	struct arena arena;
};

/*
 * The filter options, as rows of a verb's option table. at: offset of a struct audit_filter in the structure that the
 * table fills. clang-format would make the lines longer than 120 columns.
 */
/* clang-format off */
#define AUDIT_FILTER_OPTIONS(at)                                                                                       \
	CLI_FLAG("denied", 0, "only what was denied", (at) + offsetof(struct audit_filter, only_denials)),             \
		{"verdict",                                                                                            \
		 0,                                                                                                    \
		 "LIST",                                                                                               \
		 "only these verdicts, such as deny,kill",                                                             \
		 audit_filter_set_verdicts,                                                                            \
		 (at) + offsetof(struct audit_filter, verdict),                                                        \
		 0},                                                                                                   \
		{"call",                                                                                               \
		 0,                                                                                                    \
		 "LIST",                                                                                               \
		 "only these system calls, such as openat,unlink",                                                     \
		 audit_filter_set_word_list,                                                                           \
		 (at) + offsetof(struct audit_filter, call),                                                           \
		 0},                                                                                                   \
		CLI_TEXT("syscall", "NAME", "the same as --call", (at) + offsetof(struct audit_filter, call)),         \
		{"errno",                                                                                              \
		 0,                                                                                                    \
		 "LIST",                                                                                               \
		 "only calls that failed with these errors, such as EACCES",                                           \
		 audit_filter_set_errors,                                                                              \
		 (at) + offsetof(struct audit_filter, error),                                                          \
		 0},                                                                                                   \
		{"path",                                                                                               \
		 0,                                                                                                    \
		 "GLOB",                                                                                               \
		 "only records about a matching path; * within a name, ** across;\nwithout a leading / at any depth",  \
		 audit_filter_set_path,                                                                                \
		 (at),                                                                                                 \
		 0},                                                                                                   \
		{"program", 0, "GLOB", "only what this program did, as for --path", audit_filter_set_program,          \
		 (at), 0},                                                                                             \
		CLI_TEXT("rule", "TEXT", "only what a rule with this text decided",                                    \
			 (at) + offsetof(struct audit_filter, rule_text)),                                             \
		{"event",                                                                                              \
		 0,                                                                                                    \
		 "NAME",                                                                                               \
		 "only this event, which is no system call:\n" AUDIT_EVENT_WORDS "or any",                             \
		 audit_filter_set_event,                                                                               \
		 (at) + offsetof(struct audit_filter, event_name),                                                     \
		 0},                                                                                                   \
		{"answer",                                                                                             \
		 0,                                                                                                    \
		 "LIST",                                                                                               \
		 "only calls that were asked about, with these answers, such as\nno,once; or any",                     \
		 audit_filter_set_word_list,                                                                           \
		 (at) + offsetof(struct audit_filter, answer),                                                         \
		 0},                                                                                                   \
		CLI_TEXT("host", "NAME",                                                                               \
			 "only records about this host; *.NAME one label before it, **.NAME any number",               \
			 (at) + offsetof(struct audit_filter, host_pattern)),                                          \
		{"pid", 0, "PID", "only this process", audit_filter_set_pid,                                           \
		 (at) + offsetof(struct audit_filter, pid), 0},                                                        \
		{"since",                                                                                              \
		 0,                                                                                                    \
		 "TIME",                                                                                               \
		 "only from this time on, such as 2026-11-21T02:28 (UTC), or +5s after\nthe start of the run",         \
		 audit_filter_set_time,                                                                                \
		 (at),                                                                                                 \
		 0},                                                                                                   \
		{"until", 0, "TIME", "only up to this time, which is included", audit_filter_set_time, (at), 1},       \
	{                                                                                                              \
		"slower-than", 0, "TIME", "only what took longer, such as 500us or 2ms", audit_filter_set_slower_than, \
			(at) + offsetof(struct audit_filter, min_duration_ns), 0                                      \
	}
/* clang-format on */

int audit_filter_set_word_list(const struct cli_given_option *given, void *list);
int audit_filter_set_verdicts(const struct cli_given_option *given, void *list);
int audit_filter_set_errors(const struct cli_given_option *given, void *list);
int audit_filter_set_path(const struct cli_given_option *given, void *filter_pointer);
int audit_filter_set_program(const struct cli_given_option *given, void *filter_pointer);
int audit_filter_set_event(const struct cli_given_option *given, void *event);
int audit_filter_set_pid(const struct cli_given_option *given, void *pid);
int audit_filter_set_time(const struct cli_given_option *given, void *filter_pointer);
int audit_filter_set_slower_than(const struct cli_given_option *given, void *slower_ns);

void audit_filter_release(struct audit_filter *filter);

/* True for a record that the filter selects; false for headers and trailers. */
bool audit_filter_matches(const struct audit_filter *filter, const struct audit_entry *entry);
/* True if no condition was given. */
bool audit_filter_is_empty(const struct audit_filter *filter);

#endif
