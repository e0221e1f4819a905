#include "confine/privs.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Securebits with which uid 0 gives no capabilities, for good: capabilities(7). */
#define SECUREBITS_LOCKED                                                                                \
	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED | \
	 SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

static int privs_read_capabilities(struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3])
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};

	return syscall(SYS_capget, &header, data) < 0 ? -errno : 0;
}

bool privs_have_capability(int cap)
{
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	return privs_read_capabilities(data) == 0 && data[CAP_TO_INDEX(cap)].effective & CAP_TO_MASK(cap);
}

/*
 * Drops all capabilities from the bounding set, up to EINVAL, because their number is not known here. Without
 * CAP_SETPCAP none can be dropped, and only no_new_privs protects.
 */
void privs_drop_bounding_set(void)
{
	int held;

	if (!privs_have_capability(CAP_SETPCAP))
		return;
	for (int cap = 0; (held = prctl(PR_CAPBSET_READ, cap, 0, 0, 0)) >= 0; cap++)
		if (held)
			(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
}

static int privs_drop_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	memset(data, 0, sizeof(data));
	if (syscall(SYS_capset, &header, data) < 0)
		return -errno;
	memset(data, 0xff, sizeof(data));
	if (syscall(SYS_capget, &header, data) < 0)
		return -errno;
	for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		if (data[i].effective | data[i].permitted | data[i].inheritable)
			return -EPERM;
	return 0;
}

/*
 * Locks the securebits, which needs CAP_SETPCAP. A part of privs_drop_all(). A new user namespace resets the
 * securebits.
 */
static void privs_lock_securebits(void)
{
	privs_drop_bounding_set();
	/* Without CAP_SETPCAP locking fails, but then there are no capabilities to lock. */
	(void)prctl(PR_SET_SECUREBITS, SECUREBITS_LOCKED, 0, 0, 0);
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

int privs_drop_all(void)
{
	privs_lock_securebits();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return privs_drop_capabilities();
}

/* True when all ids are those of the user. Uses system calls: the wrappers of glibc synchronise all threads. */
static bool privs_process_is_user(const struct privs_user *user)
{
	uid_t uid[3];
	gid_t gid[3];

	return syscall(SYS_getresuid, &uid[0], &uid[1], &uid[2]) == 0 &&
	       syscall(SYS_getresgid, &gid[0], &gid[1], &gid[2]) == 0 && uid[0] == user->uid && uid[1] == user->uid &&
	       uid[2] == user->uid && gid[0] == user->gid && gid[1] == user->gid && gid[2] == user->gid &&
	       syscall(SYS_getgroups, 0, NULL) == 0;
}

int privs_become_user(const struct privs_user *user)
{
	if (!user->set)
		return 0;
	privs_drop_bounding_set(); /* before CAP_SETPCAP is lost together with uid 0 */
	if (privs_process_is_user(user))
		return 0;
	if (syscall(SYS_setgroups, 0, NULL) < 0 || syscall(SYS_setresgid, user->gid, user->gid, user->gid) < 0 ||
	    syscall(SYS_setresuid, user->uid, user->uid, user->uid) < 0)
		return -errno;
	return privs_process_is_user(user) ? 0 : -EPERM; /* check that uid, gid and groups have really changed */
}

int privs_set_effective_user(const struct privs_user *user, struct privs_saved_ids *ret_before)
{
	struct privs_saved_ids before = {.ids_were_changed = user->set, .uid = geteuid(), .gid = getegid()};
	int error;

	*ret_before = (struct privs_saved_ids){0};
	if (!user->set)
		return 0;
	before.group_count = getgroups(0, NULL);
	if (before.group_count < 0)
		return -errno;
	before.group = calloc((size_t)before.group_count + 1, sizeof(*before.group));
	if (!before.group)
		return -ENOMEM;
	before.group_count = getgroups(before.group_count, before.group);
	/* The uid comes last: without effective uid 0, the capabilities for the other changes are lost. */
	if (before.group_count < 0 || setgroups(0, NULL) < 0 || setegid(user->gid) < 0 || seteuid(user->uid) < 0) {
		error = -errno;
		/* A second failure is ignored: the caller gets the first error. */
		(void)privs_restore_effective_user(&before);
		return error;
	}
	*ret_before = before;
	return 0;
}

int privs_restore_effective_user(struct privs_saved_ids *before)
{
	int error = 0;

	if (!before->ids_were_changed)
		return 0;
	if (seteuid(before->uid) < 0 || setegid(before->gid) < 0 ||
	    (before->group_count >= 0 && setgroups((size_t)before->group_count, before->group) < 0))
		error = -errno;
	free(before->group);
	*before = (struct privs_saved_ids){0};
	return error;
}

int privs_keep_capabilities(const struct privs_user *user, const int *caps, size_t count, bool lock)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3], keep[_LINUX_CAPABILITY_U32S_3];
	int r;

	(void)prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0); /* fails when locked: then there is nothing to keep */
	r = privs_become_user(user);
	(void)prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0);
	if (r == 0)
		r = privs_read_capabilities(data);
	if (r < 0)
		return r;
	if (lock)
		privs_lock_securebits(); /* lock the securebits before CAP_SETPCAP may be lost */
	memset(keep, 0, sizeof(keep));
	for (size_t i = 0; i < count; i++) {
		keep[CAP_TO_INDEX(caps[i])].permitted |= CAP_TO_MASK(caps[i]) & data[CAP_TO_INDEX(caps[i])].permitted;
		keep[CAP_TO_INDEX(caps[i])].effective = keep[CAP_TO_INDEX(caps[i])].permitted;
	}
	return syscall(SYS_capset, &header, keep) < 0 ? -errno : 0;
}
