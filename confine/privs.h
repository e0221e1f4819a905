/* Drops capabilities and the ways to regain them. Changes to the user of the run. */
#ifndef CALLGATE_CONFINE_PRIVS_H
#define CALLGATE_CONFINE_PRIVS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The user of --user. Not set: the run keeps the uid, gid and groups of the user who started callgate. */
struct privs_user {
	bool set;
	uid_t uid;
	gid_t gid;
};

/*
 * Changes the process to that user for good: real, effective and saved ids, no supplementary groups. Does nothing when
 * the user is not set or the ids are right. Needs CAP_SETUID and CAP_SETGID, so call it before privs_drop_all(). The
 * kernel resets PR_SET_PDEATHSIG and PR_SET_DUMPABLE. Async-signal-safe; the process must have one thread. 0 or -errno.
 */
int privs_become_user(const struct privs_user *user);

/* The ids and groups that privs_restore_effective_user() restores. */
struct privs_saved_ids {
	bool ids_were_changed; /* they are to be restored */
	uid_t uid;
	gid_t gid;
	gid_t *group; /* supplementary groups; owned */
	int group_count; /* number of supplementary groups */
};

/*
 * Sets effective uid, gid and groups to those of the user, until privs_restore_effective_user(): files are made, and
 * access is checked, as that user. Does nothing when the user is not set. 0, or -errno with nothing changed.
 */
int privs_set_effective_user(const struct privs_user *user, struct privs_saved_ids *ret_before);
/*
 * Restores the ids that privs_set_effective_user() has saved in `before`, and releases `before`. 0; -errno: the process
 * must exit.
 */
int privs_restore_effective_user(struct privs_saved_ids *before);

/*
 * Sets no_new_privs, locks the securebits and empties the bounding set if permitted, drops all capabilities and checks
 * that none is left. Async-signal-safe, idempotent. 0 or -errno.
 * Sources: capabilities(7), prctl(2) PR_SET_NO_NEW_PRIVS.
 */
int privs_drop_all(void);

/* True when the calling thread may use the capability (CAP_*) now. */
bool privs_have_capability(int cap);

/*
 * As privs_become_user(), but keeps these capabilities (CAP_*), as far as it has them. lock: also does what
 * privs_drop_all() needs CAP_SETPCAP for. 0 or -errno.
 */
int privs_keep_capabilities(const struct privs_user *user, const int *caps, size_t count, bool lock);

/* Does the part of privs_drop_all() that a new user namespace resets. Needs CAP_SETPCAP. */
void privs_drop_bounding_set(void);

#endif
