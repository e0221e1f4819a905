/*
 * Accounts of this machine: those of /etc/passwd and /etc/group first, all others by the C library's name service
 * (nsswitch.conf).
 */
#ifndef CALLGATE_CLI_ACCOUNT_H
#define CALLGATE_CLI_ACCOUNT_H

#include <grp.h>
#include <pwd.h>

/*
 * The account, until the next call of any of these. NULL: there is none, or none can be asked for. The first that is not
 * in the file may make this the program with shared libraries (base/shared.h), unless nsswitch.conf(5) names nothing but
 * files.
 */
const struct passwd *account_of_uid(uid_t uid);
const struct passwd *account_named(const char *name);
const struct group *account_group_named(const char *name);

/* The name service's, in programs with shared libraries only (cli/account-service.c). */
struct account_service {
	struct passwd *(*of_uid)(uid_t uid);
	struct passwd *(*named)(const char *name);
	struct group *(*group_named)(const char *name);
};

#endif
