/*
 * Accounts of this machine: first /etc/passwd and /etc/group, then the C library's name service, which callgate-egress
 * asks (base/helper.h). It is not asked where nsswitch.conf(5) has "files" as the only source.
 */
#ifndef CALLGATE_CLI_HOST_ACCOUNT_H
#define CALLGATE_CLI_HOST_ACCOUNT_H

#include <sys/types.h>

struct account {
	uid_t uid;
	gid_t gid;
	const char *name, *home;
};

/* Valid until the next call of any of these. NULL: there is none, or the name service cannot be asked. */
const struct account *account_of_uid(uid_t uid);
const struct account *account_named(const char *name);
/* 0 or -ENOENT. */
int account_group_named(const char *name, gid_t *ret_gid);
/* Ends the process that asked the name service, if there is one. Before a run begins. */
void account_end(void);

#endif
