/*
 * Accounts of this machine: those of /etc/passwd and /etc/group first, all others by the C library's name service
 * (nsswitch.conf), which callgate-egress asks (base/helper.h), unless nsswitch.conf(5) names nothing but files.
 */
#ifndef CALLGATE_CLI_ACCOUNT_H
#define CALLGATE_CLI_ACCOUNT_H

#include <sys/types.h>

struct account {
	uid_t uid;
	gid_t gid;
	const char *name, *home;
};

/* The account, until the next call of any of these. NULL: there is none, or none can be asked for. */
const struct account *account_of_uid(uid_t uid);
const struct account *account_named(const char *name);
/* 0 or -ENOENT. */
int account_group_named(const char *name, gid_t *ret_gid);
/* Ends the process that asked the name service, if there is one. Before a run begins. */
void account_end(void);

#endif
