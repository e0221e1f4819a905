/* Denied attempts for the result: the same attempt again is counted, not repeated. Bounded. */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_DENIALS_H
#define CALLGATE_SYSCALLS_ACCOUNT_DENIALS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct call;
struct denials;

/*
 * The reason of a refusal that is no denial: every program with a C library asks so by itself, takes no for an answer
 * and goes on. It is on record; the result and the status of the run do not know of it.
 */
#define DENIAL_EXPECTED "expected_probe"

#define DENIALS_MAX 1000 /* distinct ones kept; further ones only counted */

struct denial {
	uint64_t seq; /* of the first record */
	const char *syscall; /* static; NULL: an event of the network's */
	const char *event;   /* static; "open", "request", "close", "dns" */
	const char *op; /* read write exec net signal process other */
	char *target;
	char *resolved;
	int error;
	char *rule;
	char *reason;
	pid_t pid;
	pid_t host_pid; /* outside of the run's pid namespace; 0: the same, or unknown */
	char *exe;
	uint64_t count;
	char *suggest; /* the grant that would allow it, e.g. "-r /etc/shadow", or NULL */
};

struct denials *denials_create(void);
void denials_free(struct denials *denials);
/* After the decision is on record. Never fails: memory exhausted means "counted only". */
void denials_add(struct denials *denials, const struct call *call);
/*
 * What egress refused. Borrows item's texts and copies them; count is how many of it. Two are the same when event,
 * target, reason and exe are.
 */
void denials_add_event(struct denials *denials, const struct denial *item);
const struct denial *denials_list(const struct denials *denials, size_t *ret_count, uint64_t *ret_unlisted);

#endif
