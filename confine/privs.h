/* Giving up what a process of the run must never have: capabilities and the ways to get them back. */
#ifndef CALLGATE_CONFINE_PRIVS_H
#define CALLGATE_CONFINE_PRIVS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Whom the run is done as. Not set: as whoever started callgate, with his groups. */
struct privs_user {
	bool set;
	uid_t uid;
	gid_t gid;
};

/*
 * Makes the calling thread's process that user for good: real, effective and saved ids, no supplementary group. A no-op
 * when not set or when it is so already; before privs_drop(), since it needs CAP_SETUID and CAP_SETGID. The kernel
 * resets PR_SET_PDEATHSIG and PR_SET_DUMPABLE. Async-signal-safe except for threads: the process must have one only. 0
 * or -errno.
 */
int privs_become(const struct privs_user *user);

/* What privs_return() goes back to. */
struct privs_before {
	bool borrowed;
	uid_t uid;
	gid_t gid;
	gid_t *group; /* owned */
	int groups;
};

/*
 * Takes on the user's effective ids and groups until privs_return(): what is made meanwhile is his, and what he may not
 * do fails. A no-op when not set. 0, or -errno with nothing changed.
 */
int privs_borrow(const struct privs_user *user, struct privs_before *ret_before);
/* 0, or -errno: the process must not go on then. Releases. */
int privs_return(struct privs_before *before);

/*
 * Sets no_new_privs, locks the securebits and empties the bounding set where that is permitted, drops every capability
 * and checks that none is left. Async-signal-safe and idempotent. 0 or -errno.
 * Sources: capabilities(7), prctl(2) PR_SET_NO_NEW_PRIVS.
 */
int privs_drop(void);

/* True when the calling thread may use the capability (CAP_*) now. */
bool privs_have(int cap);

/*
 * As privs_become(), keeping of the capabilities held just these (`count` CAP_*), for as long as something is being
 * made that takes them; privs_drop() is to follow. lock: privs_lock() as well, now. 0 or -errno.
 */
int privs_keep(const struct privs_user *user, const int *caps, size_t count, bool lock);

/* Parts of it, while the capability for them is still there: in a new user namespace everything is as new. */
void privs_lock(void);
void privs_drop_bounding_set(void);

#endif
