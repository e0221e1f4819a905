/* Dropping capabilities and the ways to regain them; changing to the user of the run. */
#ifndef CALLGATE_CONFINE_PRIVS_H
#define CALLGATE_CONFINE_PRIVS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* --user. Not set: the run keeps the uid, gid and groups of who started callgate. */
struct privs_user {
	bool set;
	uid_t uid;
	gid_t gid;
};

/*
 * Changes the process to that user for good: real, effective and saved ids, no supplementary groups. A no-op when not
 * set or already done. Call it before privs_drop_all(), since it needs CAP_SETUID and CAP_SETGID. The kernel resets
 * PR_SET_PDEATHSIG and PR_SET_DUMPABLE. Async-signal-safe; the process must have one thread. 0 or -errno.
 */
int privs_become_user(const struct privs_user *user);

/* What privs_restore_own_user() restores. */
struct privs_before {
	bool borrowed;
	uid_t uid;
	gid_t gid;
	gid_t *group; /* owned */
	int groups;
};

/*
 * Sets effective uid, gid and groups to the user's until privs_restore_own_user(), so that files are made and access is
 * checked as that user. A no-op when not set. 0, or -errno with nothing changed.
 */
int privs_borrow_user(const struct privs_user *user, struct privs_before *ret_before);
/* Restores what privs_borrow_user has changed, and frees. 0; on -errno the process must exit. */
int privs_restore_own_user(struct privs_before *before);

/*
 * Sets no_new_privs, locks the securebits and empties the bounding set if permitted, drops all capabilities and checks
 * that none is left. Async-signal-safe, idempotent. 0 or -errno.
 * Sources: capabilities(7), prctl(2) PR_SET_NO_NEW_PRIVS.
 */
int privs_drop_all(void);

/* True when the calling thread may use the capability (CAP_*) now. */
bool privs_have_capability(int cap);

/*
 * privs_become_user(), but keeps these CAP_* if held. lock: takes what privs_drop_all() takes with CAP_SETPCAP. 0 or
 * -errno.
 */
int privs_keep_capabilities(const struct privs_user *user, const int *caps, size_t count, bool lock);

/* The part of privs_drop_all() that a new user namespace resets. Takes CAP_SETPCAP. */
void privs_drop_bounding_set(void);

#endif
