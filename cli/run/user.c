/* Finds the user that the program runs as: --user, or the policy's "user". */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/host/account.h"
#include "cli/run/private.h"

#define USER_OR_GROUP_ID_MAX (UINT32_MAX - 1) /* -1 means "unchanged" to setresuid(2) */

/* Parses a numeric id. Digits are always an id, even if an account has such a name. 0, -ERANGE, or -ENOENT: a name. */
static int user_parse_id(const char *text, uint32_t *ret_id)
{
	uint64_t number;

	if (!*text || text[strspn(text, "0123456789")])
		return -ENOENT;
	if (text_parse_number(text, 0, USER_OR_GROUP_ID_MAX, &number) < 0)
		return -ERANGE;
	*ret_id = (uint32_t)number;
	return 0;
}

static int user_find_ids(const char *name, uid_t *ret_uid, gid_t *ret_gid)
{
	int error = user_parse_id(name, ret_uid);
	const struct account *account = error == -ERANGE ? NULL : account_find(error ? name : NULL, *ret_uid);

	if (error && !account)
		return error;
	*ret_uid = account ? account->uid : *ret_uid;
	*ret_gid = account ? account->gid : *ret_uid;
	return 0;
}

static int user_find_group(const char *name, gid_t *ret_gid)
{
	int error = user_parse_id(name, ret_gid);

	return error == -ENOENT ? account_find_group(name, ret_gid) : error;
}

/* Sets the message of an error, truncated where it is too long. The value is -EINVAL. */
#define user_fail(ret_error, ...) ((void)snprintf((ret_error)->text, sizeof((ret_error)->text), __VA_ARGS__), -EINVAL)

int run_find_user(const char *option, const char *text, struct privs_user *ret_user, struct policy_error *ret_error)
{
	_cleanup_free_ char *name = strdup(text);
	struct privs_user user = {.set = true};
	struct privs_saved_ids before;
	char *colon = name ? strchr(name, ':') : NULL;
	int error;

	if (!name)
		return user_fail(ret_error, "out of memory");
	if (colon)
		*colon++ = '\0';
	error = user_find_ids(name, &user.uid, &user.gid);
	if (error < 0)
		return user_fail(ret_error, "%s %s: %s; write a number or a name of passwd(5)", option, text,
			    error == -ERANGE ? "no user has that number" : "no such user");
	error = colon ? user_find_group(colon, &user.gid) : 0;
	if (error < 0)
		return user_fail(ret_error, "%s %s: %s; write a number or a name of group(5)", option, text,
			    error == -ERANGE ? "no group has that number" : "no such group");
	user.set = user.uid != geteuid() || user.gid != getegid();
	/* Tries the change of user: root in a container may lack the capabilities. */
	if (user.set && (privs_set_effective_user(&user, &before) < 0 || privs_restore_effective_user(&before) < 0))
		return user_fail(ret_error,
			    "%s %s: only root (with CAP_SETUID and CAP_SETGID) can run a program as another user; "
			    "leave it out to run as yourself",
			    option, text);
	*ret_user = user;
	return 0;
}

int run_call_with_user_ids(struct run *run, int (*prepare)(struct run *run))
{
	struct privs_saved_ids before;
	int exit_code, error = privs_set_effective_user(&run->user, &before);

	if (error < 0)
		return run_report_refusal(run, "user_failed", "cannot become user %u: %s", run->user.uid,
					  strerror(-error));
	exit_code = prepare(run);
	error = privs_restore_effective_user(&before);
	if (error < 0 && exit_code == 0)
		exit_code = run_report_refusal(run, "user_failed", "cannot return from user %u: %s", run->user.uid,
					       strerror(-error));
	return exit_code;
}
