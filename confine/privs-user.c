/* Another user's identity: for good, or for a moment. */
#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "confine/privs.h"

#include "base/banned.h"

/* The system calls themselves: glibc's would signal each thread, and there is one. */
static bool is_already(const struct privs_user *user)
{
	uid_t uid[3];
	gid_t gid[3];

	return syscall(SYS_getresuid, &uid[0], &uid[1], &uid[2]) == 0 &&
	       syscall(SYS_getresgid, &gid[0], &gid[1], &gid[2]) == 0 && uid[0] == user->uid && uid[1] == user->uid &&
	       uid[2] == user->uid && gid[0] == user->gid && gid[1] == user->gid && gid[2] == user->gid &&
	       syscall(SYS_getgroups, 0, NULL) == 0;
}

int privs_become(const struct privs_user *user)
{
	if (!user->set)
		return 0;
	privs_drop_bounding_set(); /* CAP_SETPCAP goes with root's uid */
	if (is_already(user))
		return 0;
	if (syscall(SYS_setgroups, 0, NULL) < 0 || syscall(SYS_setresgid, user->gid, user->gid, user->gid) < 0 ||
	    syscall(SYS_setresuid, user->uid, user->uid, user->uid) < 0)
		return -errno;
	return is_already(user) ? 0 : -EPERM; /* a kernel that says 0 and does less is not trusted */
}

static int set_groups(int count, const gid_t *group)
{
	return setgroups((size_t)count, group) < 0 ? -errno : 0;
}

/* The user last: with root's effective uid go the capabilities that the others take. */
static int take_on(const struct privs_user *user)
{
	int error = set_groups(0, NULL);

	if (error == 0 && setegid(user->gid) < 0)
		error = -errno;
	if (error == 0 && seteuid(user->uid) < 0)
		error = -errno;
	return error;
}

int privs_borrow(const struct privs_user *user, struct privs_before *ret_before)
{
	struct privs_before before = {.borrowed = user->set, .uid = geteuid(), .gid = getegid()};
	int error;

	*ret_before = (struct privs_before){0};
	if (!user->set)
		return 0;
	before.groups = getgroups(0, NULL);
	if (before.groups < 0)
		return -errno;
	before.group = calloc((size_t)before.groups + 1, sizeof(*before.group));
	if (!before.group)
		return -ENOMEM;
	before.groups = getgroups(before.groups, before.group);
	error = before.groups < 0 ? -errno : take_on(user);
	if (error < 0) {
		(void)privs_return(
			&before); /* the first error is the one to tell; what was changed is the less of it */
		return error;
	}
	*ret_before = before;
	return 0;
}

int privs_return(struct privs_before *before)
{
	int error = 0;

	if (!before->borrowed)
		return 0;
	if (seteuid(before->uid) < 0 || setegid(before->gid) < 0)
		error = -errno;
	if (error == 0 && before->groups >= 0)
		error = set_groups(before->groups, before->group);
	free(before->group);
	*before = (struct privs_before){0};
	return error;
}
