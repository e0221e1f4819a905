/*
 * The trial of namespaces. Makes namespaces as a run does: all but the network namespace by one clone(2). If that
 * fails, a process unshares them one by one, first the user namespace, which gives the capabilities for the others. In
 * each namespace the process then does what a run does in such a namespace.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/mounts.h"
#include "confine/namespaces.h"
#include "confine/privs.h"
#include "doctor/probe.h"
#include "keeper/scratch.h"

#define TRIAL_STEP_TIMEOUT_MS 5000 /* wait for one step of the trial's child; busy machines take seconds */
#define PROBED_NAMESPACE_FLAGS \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)

enum namespaces_step {
	STEP_USER_NAMESPACE,
	STEP_WRITE_ID_MAPS,
	STEP_MOUNT_NAMESPACE,
	STEP_TMPFS,       /* mounting a tmpfs over "/" */
	STEP_COPY_MOUNTS, /* attaching a copy of a mount in that tmpfs */
	STEP_CHANGE_ROOT,
	STEP_PID_NAMESPACE,
	STEP_MOUNT_PROC,
	STEP_IPC_NAMESPACE,
	STEP_UTS_NAMESPACE,
	STEP_NET_NAMESPACE,
	STEP_LOOPBACK, /* setting the loopback interface up */
	STEP_CGROUP_NAMESPACE,
	STEP_OVERLAY, /* mounting an overlay whose layer is in a scratch directory */
	STEP_MAX,
};

static const struct {
	enum probe probe;
	const char *fails; /* text of the finding if this step fails */
	/* text of the finding if all steps of the probe worked; set for the last step of each probe only */
	const char *works;
} steps[STEP_MAX] = {
	[STEP_USER_NAMESPACE] = {PROBE_USERNS, "cannot be made", NULL},
	[STEP_WRITE_ID_MAPS] = {PROBE_USERNS, "its user ids cannot be mapped", "made, with its ids mapped"},
	[STEP_MOUNT_NAMESPACE] = {PROBE_MOUNTNS, "cannot be made", NULL},
	[STEP_TMPFS] = {PROBE_MOUNTNS, "made, but a tmpfs cannot be mounted in it", NULL},
	[STEP_COPY_MOUNTS] = {PROBE_MOUNTNS, "made, but no mounts can be copied in it (Linux 5.12)", NULL},
	[STEP_CHANGE_ROOT] = {PROBE_MOUNTNS, "made, but its root cannot be changed",
			      "made, with copies of mounts in a root of its own"},
	[STEP_PID_NAMESPACE] = {PROBE_PIDNS, "cannot be made", "made"},
	[STEP_MOUNT_PROC] = {PROBE_FRESHPROC, "none can be mounted",
			     "one was mounted that shows the new processes alone"},
	[STEP_IPC_NAMESPACE] = {PROBE_IPCNS, "cannot be made", "made"},
	[STEP_UTS_NAMESPACE] = {PROBE_UTSNS, "cannot be made", "made"},
	[STEP_NET_NAMESPACE] = {PROBE_NETNS, "cannot be made", NULL},
	[STEP_LOOPBACK] = {PROBE_NETNS, "made, but its loopback stays down", "made, with its loopback up"},
	[STEP_CGROUP_NAMESPACE] = {PROBE_CGROUPNS, "cannot be made", "made"},
	[STEP_OVERLAY] = {PROBE_COW, "overlayfs cannot be mounted with a layer in TMPDIR",
			  "an overlay is mounted over the directory"},
};

/* Memory that the child which tries namespaces shares with its parent. */
struct trial_shared_page {
	/* 1: the parent must write the id maps; 2: unsharing failed, or the child has written them */
	volatile int unshared;
	volatile int mapped;
	volatile int error[STEP_MAX]; /* errno of each step, 0: it worked; -1: not reached */
	volatile bool proc_is_fresh;
	bool clone_made_namespaces; /* clone(2) made all namespaces but the network namespace */
	bool child_writes_id_maps;  /* if so: without privileges the child does, as in a run */
	uid_t uid;                  /* of the parent */
	gid_t gid;                  /* of the parent */
	char scratch_path[PATH_MAX]; /* a directory in which an overlay can be tried; "": there is none */
};

/* ---- in the namespaces ---- */

/* Makes a namespace, unless clone(2) has made it already. 0 or an errno. */
static int probe_unshare_namespace(const struct trial_shared_page *page, int flag)
{
	if (page->clone_made_namespaces && flag & PROBED_NAMESPACE_FLAGS)
		return 0;
	return unshare(flag) < 0 ? errno : 0;
}

/* Raises the loopback interface of the child's network namespace. 0 or a positive errno. */
static int probe_raise_loopback(void)
{
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return -namespaces_raise_loopback(fd);
}

/*
 * Mounts a tmpfs over "/" and, in it, a copy of mounts, as view/attach/attach.c does: before Linux 6.15 nothing can be
 * attached to a detached tmpfs. Returns the tmpfs or -errno.
 */
static int probe_make_mount_tree(struct trial_shared_page *page)
{
	int r = mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ? -errno : 0;
	_cleanup_close_ int copy = -1, tmpfs = r < 0 ? r : mounts_create_fs("tmpfs", NULL, 0);

	r = tmpfs < 0 ? tmpfs : mounts_attach_copy(tmpfs, AT_FDCWD, "/");
	page->error[STEP_TMPFS] = -r;
	if (r < 0)
		return r;
	r = mkdirat(tmpfs, "copy", 0700) < 0 || mkdirat(tmpfs, "proc", 0700) < 0 ? -errno : 0;
	copy = r < 0 ? r : mounts_clone_tree(AT_FDCWD, "/proc");
	r = copy < 0 ? copy : mounts_restrict_copy(copy, MOUNTS_READ_ONLY | MOUNTS_NO_DEVICES | MOUNTS_NO_SETID);
	if (r == 0)
		r = mounts_attach_copy(copy, tmpfs, "copy");
	page->error[STEP_COPY_MOUNTS] = -r;
	return steal_fd(&tmpfs);
}

/* Mounts a procfs in the new pid namespace. The procfs must show the calling process by its new pid, 1 or 2. */
static _Noreturn void probe_mount_proc(struct trial_shared_page *page, int tmpfs)
{
	int proc = mounts_create_fs("proc", NULL, 0), r = proc < 0 ? proc : mounts_attach_copy(proc, tmpfs, "proc");
	char self[16] = "";

	page->error[STEP_MOUNT_PROC] = -r;
	page->proc_is_fresh = r == 0 && getpid() <= 2 && readlinkat(tmpfs, "proc/self", self, sizeof(self) - 1) == 1 &&
			      strtol(self, NULL, 10) == getpid();
	_exit(0);
}

/* Tries a pid namespace and, in a child in it, to mount a new procfs. */
static void probe_make_pidns(struct trial_shared_page *page, int tmpfs)
{
	pid_t pid;
	int status;

	page->error[STEP_PID_NAMESPACE] = probe_unshare_namespace(page, CLONE_NEWPID);
	if (page->error[STEP_PID_NAMESPACE] || tmpfs < 0)
		return;
	pid = fork();
	if (pid == 0)
		probe_mount_proc(page, tmpfs);
	if (pid < 0)
		page->error[STEP_PID_NAMESPACE] = errno;
	else
		/* `status` is not needed: the child wrote its results to the shared page. */
		(void)probe_wait_for_child(pid, TRIAL_STEP_TIMEOUT_MS, &status);
}

/* Makes the mounted tmpfs the root and detaches the old root: pivot_root(2), section "pivot_root(".", ".")". */
static int probe_change_root(int tmpfs)
{
	if (fchdir(tmpfs) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
		return errno;
	return umount2(".", MNT_DETACH) < 0 ? errno : 0;
}

/* Mounts an overlay as --cow does, in the scratch directory. 0 or a positive errno. */
static int probe_mount_overlay(const struct trial_shared_page *page)
{
	_cleanup_close_ int scratch = -1, dir = -1, lower = -1, upper = -1, work = -1, overlay = -1;
	bool user_xattr;

	if (!*page->scratch_path)
		return ENOENT;
	scratch = io_open_without_links(page->scratch_path, O_RDONLY | O_DIRECTORY);
	if (scratch >= 0 && mkdirat(scratch, "overlay", 0700) < 0)
		return errno;
	dir = scratch < 0 ? scratch : io_open_dir(scratch, "overlay");
	if (dir < 0)
		return -dir;
	if (mkdirat(dir, "lower", 0700) < 0 || mkdirat(dir, "upper", 0700) < 0 || mkdirat(dir, "work", 0700) < 0)
		return errno;
	lower = io_open_dir(dir, "lower");
	upper = lower < 0 ? lower : io_open_dir(dir, "upper");
	work = upper < 0 ? upper : io_open_dir(dir, "work");
	overlay = work < 0 ? work : mounts_create_overlay(lower, upper, work, 0, true, &user_xattr);
	return overlay < 0 ? -overlay : 0;
}

/*
 * Writes the id maps from within the namespace. AppArmor may let user namespaces be made and give no capability in
 * them: then a process within cannot write them, though one outside can.
 */
static bool probe_write_own_id_maps(struct trial_shared_page *page)
{
	(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* the /proc files of an undumpable process belong to root */
	page->error[STEP_USER_NAMESPACE] = 0;
	page->error[STEP_WRITE_ID_MAPS] = -namespaces_write_own_id_map("self", page->uid, page->gid);
	page->unshared = 2;
	return page->error[STEP_WRITE_ID_MAPS] == 0;
}

/*
 * Where a run has no mount namespace, clone(2) makes its network namespace, too, which a filter may allow that refuses
 * unshare(2).
 */
static void probe_clone_into_network(struct trial_shared_page *page)
{
	const pid_t pid = (pid_t)syscall(SYS_clone, (unsigned long)(CLONE_NEWNET | SIGCHLD), 0L, 0L, 0L, 0L);
	int status;

	if (pid == 0) {
		page->error[STEP_LOOPBACK] = probe_raise_loopback();
		_exit(0);
	}
	if (pid > 0 && probe_wait_for_child(pid, TRIAL_STEP_TIMEOUT_MS, &status) == 0)
		page->error[STEP_NET_NAMESPACE] = 0;
}

/* Makes a user namespace. False when that failed: then no other namespace can be made. */
static bool probe_make_userns(struct trial_shared_page *page)
{
	if (page->clone_made_namespaces && page->child_writes_id_maps)
		return probe_write_own_id_maps(page);
	page->error[STEP_USER_NAMESPACE] = probe_unshare_namespace(page, CLONE_NEWUSER);
	page->unshared = page->error[STEP_USER_NAMESPACE] ? 2 : 1;
	if (page->error[STEP_USER_NAMESPACE])
		return privs_have_capability(CAP_SYS_ADMIN);
	return probe_await_change_of_word(&page->mapped, 0, TRIAL_STEP_TIMEOUT_MS) &&
	       page->error[STEP_WRITE_ID_MAPS] == 0;
}

/*
 * Tries each namespace, a mount tree and pivot_root in the trial's child; writes each step's errno to the shared page.
 */
static _Noreturn void probe_run_namespaces_child(struct trial_shared_page *page)
{
	int tmpfs = -1;

	if (!probe_make_userns(page))
		_exit(0);
	page->error[STEP_IPC_NAMESPACE] = probe_unshare_namespace(page, CLONE_NEWIPC);
	page->error[STEP_UTS_NAMESPACE] = probe_unshare_namespace(page, CLONE_NEWUTS);
	page->error[STEP_NET_NAMESPACE] = probe_unshare_namespace(page, CLONE_NEWNET);
	if (page->error[STEP_NET_NAMESPACE] == 0)
		page->error[STEP_LOOPBACK] = probe_raise_loopback();
	page->error[STEP_CGROUP_NAMESPACE] = probe_unshare_namespace(page, CLONE_NEWCGROUP);
	page->error[STEP_MOUNT_NAMESPACE] = probe_unshare_namespace(page, CLONE_NEWNS);
	if (page->error[STEP_MOUNT_NAMESPACE] == 0)
		tmpfs = probe_make_mount_tree(page);
	if (page->error[STEP_COPY_MOUNTS] == 0)
		page->error[STEP_OVERLAY] = probe_mount_overlay(page);
	probe_make_pidns(page, tmpfs);
	if (page->error[STEP_COPY_MOUNTS] == 0)
		page->error[STEP_CHANGE_ROOT] = probe_change_root(tmpfs);
	if (page->error[STEP_NET_NAMESPACE] > 0 && page->error[STEP_COPY_MOUNTS] != 0)
		probe_clone_into_network(page);
	_exit(0);
}

/* ---- in the parent ---- */

/* Finds settings of the kernel that forbid user namespaces. */
static void probe_find_userns_traits(struct doctor *doctor)
{
	if (probe_read_number("/proc/sys/user/max_user_namespaces") == 0)
		doctor->traits |= TRAIT_USER_NAMESPACES_MAX_IS_0;
	if (probe_read_number("/proc/sys/kernel/unprivileged_userns_clone") == 0)
		doctor->traits |= TRAIT_UNPRIVILEGED_USERNS_CLONE_IS_0;
	if (probe_read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") > 0)
		doctor->traits |= TRAIT_APPARMOR_DENIES_USERNS;
}

/* Returns the most likely reason why a step failed with `error`. */
static const char *probe_explain_errno(const struct doctor *doctor, enum namespaces_step step, int error)
{
	unsigned traits = doctor->traits;

	if (error == ENOSYS && !(traits & TRAIT_SECCOMP_FILTER))
		return "not in this kernel";
	if (step == STEP_MOUNT_PROC && (error == EPERM || error == EACCES))
		return "parts of /proc are covered, as in containers";
	if (error == EINVAL)
		return "the kernel is built without it";
	if ((error == ENOSPC || error == EUSERS) && step == STEP_USER_NAMESPACE)
		return traits & TRAIT_USER_NAMESPACES_MAX_IS_0 ? "user.max_user_namespaces is 0"
							       : "as many as may be, or too deep, are there";
	if (error == ENOSPC)
		return "its limit below /proc/sys/user is reached";
	if (error == ENOSYS || ((error == EPERM || error == EACCES) && traits & TRAIT_SECCOMP_FILTER))
		return "a filter above refuses it (a container's seccomp profile)";
	if (traits & TRAIT_UNPRIVILEGED_USERNS_CLONE_IS_0 && step == STEP_USER_NAMESPACE)
		return "kernel.unprivileged_userns_clone is 0";
	if (traits & TRAIT_APPARMOR_DENIES_USERNS)
		return "AppArmor keeps user namespaces from programs without a profile, which callgate's package "
		       "brings: kernel.apparmor_restrict_unprivileged_userns is 1";
	if (traits & TRAIT_IN_CHROOT && step == STEP_USER_NAMESPACE)
		return "not from within a chroot";
	return "refused, perhaps by a security module";
}

/* Reports which way --cow takes. Copying works, too. */
static void probe_report_cow(struct doctor *doctor, int error)
{
	if (error == 0)
		finding_set_state(doctor, PROBE_COW, FINDING_WORKS, 0, "%s", steps[STEP_OVERLAY].works);
	else if (error > 0)
		finding_set_state(doctor, PROBE_COW, FINDING_WORKS_WITH_CAVEAT, error,
				  "the directory is copied: %s (%s)", steps[STEP_OVERLAY].fails, strerror(error));
	else
		finding_set_state(doctor, PROBE_COW, FINDING_WORKS_WITH_CAVEAT, 0,
				  "the directory is copied: an overlay takes a mount namespace");
}

static void probe_report_namespaces(struct doctor *doctor, const struct trial_shared_page *page)
{
	int user =
		page->error[STEP_USER_NAMESPACE] ? page->error[STEP_USER_NAMESPACE] : page->error[STEP_WRITE_ID_MAPS];

	probe_report_cow(doctor, page->error[STEP_OVERLAY]);
	for (enum namespaces_step step = 0; step < STEP_MAX; step++) {
		enum probe probe = steps[step].probe;
		int error = page->error[step];

		if (doctor->findings[probe].state != FINDING_NOT_REPORTED)
			continue;
		if (error > 0)
			finding_set_state(doctor, probe, FINDING_FAILS, error, "%s: %s (%s)", steps[step].fails,
				    probe_explain_errno(doctor, step, error), strerror(error));
		else if (error < 0 && step != STEP_WRITE_ID_MAPS)
			finding_set_state(doctor, probe, FINDING_FAILS, user > 0 ? user : ECHILD, "not tried: %s",
					  page->error[STEP_IPC_NAMESPACE] < 0 ? "it takes a user namespace"
									      : "what comes before it failed");
		else if (step == STEP_MOUNT_PROC && !page->proc_is_fresh)
			finding_set_state(doctor, probe, FINDING_FAILS, EIO,
					  "one was mounted but shows other processes");
		else if (steps[step].works)
			finding_set_state(doctor, probe, FINDING_WORKS, 0, "%s", steps[step].works);
	}
}

/* Tries all namespaces in a child, and reports. */
static void probe_try_namespaces(struct doctor *doctor, struct trial_shared_page *page)
{
	pid_t pid;
	int status;

	for (enum namespaces_step step = 0; step < STEP_MAX; step++)
		page->error[step] = -1;
	probe_find_userns_traits(doctor);
	page->clone_made_namespaces = true;
	page->child_writes_id_maps = !privs_have_capability(CAP_SETUID) || !privs_have_capability(CAP_SETGID);
	page->uid = geteuid();
	page->gid = getegid();
	pid = (pid_t)syscall(SYS_clone, (unsigned long)(PROBED_NAMESPACE_FLAGS | SIGCHLD), 0L, 0L, 0L, 0L);
	if (pid < 0) {
		page->clone_made_namespaces = false;
		pid = fork();
	}
	if (pid == 0)
		probe_run_namespaces_child(page);
	if (pid < 0)
		return;
	if (probe_await_change_of_word(&page->unshared, 0, TRIAL_STEP_TIMEOUT_MS) && page->unshared == 1)
		page->error[STEP_WRITE_ID_MAPS] = -namespaces_write_id_maps(pid);
	page->mapped = 1;
	if (probe_wait_for_child(pid, TRIAL_STEP_TIMEOUT_MS, &status) == 0 && page->unshared)
		probe_report_namespaces(doctor, page);
}

void probe_namespaces(struct doctor *doctor)
{
	struct trial_shared_page *page = probe_map_shared(sizeof(*page));
	struct policy_error error = {""};
	struct scratch scratch;
	bool has_scratch;

	if (!page)
		return;
	has_scratch = scratch_create(&scratch, &error) == 0;
	if (has_scratch)
		(void)snprintf(page->scratch_path, sizeof(page->scratch_path), "%s", scratch.path);
	probe_try_namespaces(doctor, page);
	if (has_scratch)
		(void)scratch_remove_run(&scratch); /* the trial of scratch directories tells when that fails */
}
