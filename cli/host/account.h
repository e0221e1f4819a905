/*
 * Looks up accounts of this machine: first in /etc/passwd and /etc/group, then by the C library's name service. A
 * callgate-egress process asks the name service (base/helper.h), unless nsswitch.conf(5) has "files" as the only
 * source.
 */
#ifndef CALLGATE_CLI_HOST_ACCOUNT_H
#define CALLGATE_CLI_HOST_ACCOUNT_H

#include <sys/types.h>

/* A user of the host, from the database of users. */
struct account {
	uid_t uid;
	gid_t gid;
	const char *name, *home;
};

/*
 * Finds the account of this name or, with `name` NULL, of this uid. Valid until the next call. NULL: no such account,
 * or the name service cannot be asked.
 */
const struct account *account_find(const char *name, uid_t uid);
/* Finds the gid of the group of this name. 0 or -ENOENT. */
int account_find_group(const char *name, gid_t *ret_gid);
/* Ends the process that asked the name service, if it was started. To be called before a run begins. */
void account_end_lookups(void);

#endif
