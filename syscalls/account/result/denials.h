/* Denied attempts, for the result. Equal attempts are counted. For the supervisor thread only. */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_RESULT_DENIALS_H
#define CALLGATE_SYSCALLS_ACCOUNT_RESULT_DENIALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "policy/policy.h"

struct call;
struct denials;

/*
 * The reason of refusals that are expected: the C library makes such calls in every program, and works without them.
 * They are in the audit log, but not in the result, and do not affect the run's status. See also
 * account/result/probes.h.
 */
#define DENIAL_REASON_PROBE "expected_probe"

#define DENIALS_LISTED_MAX 1000 /* distinct denials that are kept; more are only counted */

/* A denied call or network attempt, and how often it was tried. */
struct denial {
	uint64_t seq;             /* number of the first record */
	const char *syscall_name; /* the denied call; static; NULL: egress has denied */
	/* static; what egress refused: "open", "request", "close" or "dns"; NULL: a system call was refused */
	const char *event;
	/* kind of operation, for the result: "read", "write", "exec", "net", "signal", "process" or "other" */
	const char *op;
	char *target;        /* what the attempt was for: path, address, process … */
	char *resolved_path; /* where the path led; NULL: the same, or no path */
	int error;           /* errno that the program got */
	char *rule;          /* label of the rule that denies, or NULL */
	char *reason;        /* word for why the policy denies, e.g. "no_rule" */
	pid_t pid;
	pid_t host_pid;          /* the pid outside the run's pid namespace; 0: the same pid, or unknown */
	unsigned program_number; /* in a session: the number of the program that made the first attempt; 0: none */
	char *exe;
	uint64_t count; /* equal attempts */
	/* with --mode observe: the call was performed although the judged policy denies it */
	bool was_observed;
	enum policy_on_deny on_deny; /* what "on_deny" did to the process */
	const char *answer;     /* the answer to the question about the first attempt; static; NULL: there was none */
	char *suggested_option; /* a grant that would allow the attempt, e.g. "-r /srv/data", or NULL */
	const char *suggestion_reason; /* why no grant is suggested, static, or NULL */
};

struct denials *denials_create(void);
void denials_free(struct denials *denials);
struct sink;
/* Lets each attempt from now on be sent to the system's log, too. Borrows the sink. */
void denials_set_sink(struct denials *denials, struct sink *sink);
/*
 * For a session: counts each attempt in the denials of its program, too. find returns the denials of the program with
 * that number, or NULL. Borrows what ctx points to.
 */
void denials_set_program_lookup(struct denials *denials, struct denials *(*find)(void *ctx, unsigned program),
				void *ctx);
/* Adds the call's refusal, after it was recorded. Never fails: without memory it is only counted. */
void denials_add(struct denials *denials, const struct call *call);
/*
 * Adds a refusal by egress; copies its texts. A refusal with the same event, target, reason, error and exe as an
 * earlier one is only counted.
 */
void denials_add_event(struct denials *denials, const struct denial *item);
/* The denials, borrowed, in the order of their first records. *ret_unlisted: the number of attempts not in the list. */
const struct denial *denials_get_list(const struct denials *denials, size_t *ret_count, uint64_t *ret_unlisted);

#endif
