/* Giving up what a process of the run must never have: capabilities and the ways to get them back. */
#ifndef CALLGATE_SUPERVISOR_PRIVS_H
#define CALLGATE_SUPERVISOR_PRIVS_H

/*
 * Sets no_new_privs, locks the securebits and empties the bounding set where that is permitted, drops every capability
 * and checks that none is left. Async-signal-safe and idempotent. 0 or -errno.
 * Sources: capabilities(7), prctl(2) PR_SET_NO_NEW_PRIVS.
 */
int privs_drop(void);

#endif
