/* Describes a refused call in words, for the result. */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_RESULT_DENIAL_TEXT_H
#define CALLGATE_SYSCALLS_ACCOUNT_RESULT_DENIAL_TEXT_H

#include "syscalls/call/call.h"

#define DENIAL_TARGET_BYTES_MAX 512 /* bytes; only written for calls without a path: other targets borrow the path */

/* Attempts with equal keys are one denial with a count. Borrows from the call and from the caller's text. */
struct denial_key {
	const char *syscall_name;
	const char *target; /* what the attempt was for */
	const char *exe;
	int error; /* errno that the program got */
};

/* Why the call is refused: the call's own decision or, with --mode observe, the denial by the judged policy. */
struct policy_decision denial_get_decision(const struct call *call);
struct denial_key denial_make_key(const struct call *call, char text[DENIAL_TARGET_BYTES_MAX]);
const char *denial_get_operation(const struct call *call);
/* The canonical virtual path to which the refused path resolved, borrowed from the call; NULL: there is none. */
const char *denial_get_resolved_path(const struct call *call);
/*
 * The smallest grant that would allow the call, as an option such as "-r /srv/data"; owned by the caller. NULL: no
 * grant would allow the call, memory ran out or, if *ret_why (static) is set, none should be suggested for that reason.
 */
char *denial_suggest_grant(const struct call *call, const char **ret_why);

#endif
