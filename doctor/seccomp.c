/* Trials of seccomp: the filters on this process, installing a filter, a listener and its features. */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "confine/filter.h"
#include "doctor/probe.h"
#include "supervisor/answer.h"
#include "supervisor/notify.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV /* flag of Linux 5.19, which older headers lack */
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif
#ifndef SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP /* flag of Linux 6.6, which older headers lack */
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif

#define TRIAL_STEP_TIMEOUT_MS 5000 /* wait for one step of the trial's child; busy machines take seconds */
#define PROBE_SYSCALL_RETURN_VALUE 424242

/* Installs a filter: `action` for getppid(2), allow for other calls. Does not check arch: only callgate's code runs. */
static long probe_install_filter(unsigned long flags, unsigned action)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

/* Says what an errno of seccomp(2) means for the user. */
static const char *probe_explain_seccomp_errno(int error)
{
	switch (error) {
	case EINVAL:
		return "the kernel lacks it (CONFIG_SECCOMP_FILTER, Linux 5.0 for a listener)";
	case EBUSY:
		return "a process above listens already, and the kernel allows one listener";
	case ENOSYS:
	case EPERM:
	case EACCES:
		return "refused by a filter above (a container's seccomp profile)";
	default:
		return "refused";
	}
}

/* Tries whether a seccomp filter refuses a call. */
void probe_seccomp_filter(struct doctor *doctor)
{
	if (probe_install_filter(0, SECCOMP_RET_ERRNO | ENOTTY) < 0)
		finding_set_state(doctor, PROBE_FILTER, FINDING_FAILS, errno, "%s: %s",
				  probe_explain_seccomp_errno(errno), strerror(errno));
	else if (syscall(SYS_getppid) >= 0 || errno != ENOTTY)
		finding_set_state(doctor, PROBE_FILTER, FINDING_FAILS, ENOTTY,
				  "a filter is installed but does nothing");
	else
		finding_set_state(doctor, PROBE_FILTER, FINDING_WORKS, 0, "a filter was installed and refused a call");
}

/* ---- the listener ---- */

enum { FEATURE_WAIT_KILLABLE = 1 << 0, FEATURE_SYNC_WAKE_UP = 1 << 1 };

/* Memory that the doctor shares with the child in which it tries a listener. */
struct listener_shared_page {
	volatile int listener; /* the listener's descriptor; -2: no filter yet; -1: the filter failed with `error` */
	volatile int error;
	volatile int working_features; /* the features that work: FEATURE_WAIT_KILLABLE, FEATURE_SYNC_WAKE_UP */
	volatile long first_call_result;
	/* 1: the descriptor that was added to the child refers to the expected file */
	volatile int child_got_right_fd;
	dev_t device;
	ino_t inode;
};

/* Runs the child, which makes notified calls. The child shares its parent's descriptors, and so the listener. */
static _Noreturn void probe_run_listener_child(struct listener_shared_page *page)
{
	long listener = probe_install_filter(SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
					     SECCOMP_RET_USER_NOTIF);
	struct stat st;

	if (listener >= 0)
		page->working_features = FEATURE_WAIT_KILLABLE;
	else if (errno == EINVAL)
		listener = probe_install_filter(SECCOMP_FILTER_FLAG_NEW_LISTENER, SECCOMP_RET_USER_NOTIF);
	page->error = listener < 0 ? errno : 0;
	page->listener = listener < 0 ? -1 : (int)listener;
	if (listener < 0)
		_exit(1);
	page->first_call_result = syscall(SYS_getppid);
	page->child_got_right_fd =
		fstat((int)syscall(SYS_getppid), &st) == 0 && st.st_dev == page->device && st.st_ino == page->inode;
	_exit(0);
}

/* Waits for a notification, and receives it. 0 or -errno. */
static int probe_receive_notification(int listener, struct seccomp_notif *ret_notification)
{
	struct pollfd ready = {.fd = listener, .events = POLLIN};

	if (poll(&ready, 1, TRIAL_STEP_TIMEOUT_MS) != 1 || !(ready.revents & POLLIN))
		return -ETIMEDOUT;
	return notify_receive(listener, ret_notification);
}

/* Receives a notification of the child and responds. Returns the step that failed, or NULL. */
static const char *probe_respond_to_child(struct listener_shared_page *page, int fd, pid_t pid, int *ret_error)
{
	struct seccomp_notif notification;
	int listener = page->listener, status;

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP) == 0)
		page->working_features |= FEATURE_SYNC_WAKE_UP;
	*ret_error = probe_receive_notification(listener, &notification);
	if (*ret_error == 0)
		*ret_error = answer_with_value(listener, notification.id, PROBE_SYSCALL_RETURN_VALUE);
	if (*ret_error < 0)
		return "a call could not be received and answered";
	*ret_error = probe_receive_notification(listener, &notification);
	if (*ret_error == 0)
		*ret_error = answer_add_descriptor(listener, notification.id, fcntl(fd, F_DUPFD_CLOEXEC, 0), true);
	if (*ret_error >= 0)
		*ret_error = answer_with_value(listener, notification.id, *ret_error);
	if (*ret_error >= 0)
		*ret_error = probe_wait_for_child(pid, TRIAL_STEP_TIMEOUT_MS, &status);
	if (*ret_error < 0)
		return "a descriptor could not be injected (ADDFD, Linux 5.9)";
	*ret_error = -EIO;
	if (page->first_call_result != PROBE_SYSCALL_RETURN_VALUE)
		return "the answer did not arrive";
	return page->child_got_right_fd ? NULL : "the descriptor did not arrive";
}

/* Only in a run of callgate does name_to_handle_at(2) fail with EOPNOTSUPP for a missing path; natively with ENOENT. */
static bool probe_is_inside_callgate(void)
{
	struct {
		unsigned bytes;
		int type;
		char handle[128];
	} handle = {.bytes = sizeof(handle.handle)};
	int mount;

	return syscall(SYS_name_to_handle_at, AT_FDCWD, "/nowhere/at/all", &handle, &mount, 0) < 0 &&
	       errno == EOPNOTSUPP;
}

/* Reports that there is no listener, and why, such as that this is a run of callgate already. */
static void probe_report_no_listener(struct doctor *doctor, int error)
{
	/* gVisor's name_to_handle_at(2) fails so, too */
	if (!(doctor->traits & TRAIT_GVISOR) && probe_is_inside_callgate())
		doctor->traits |= TRAIT_IN_CALLGATE | TRAIT_SECCOMP_LISTENER;
	if (error == EBUSY)
		doctor->traits |= TRAIT_SECCOMP_LISTENER;
	if (doctor->traits & TRAIT_IN_CALLGATE)
		finding_set_state(doctor, PROBE_LISTENER, FINDING_FAILS, error,
			    "this is a program of a callgate run, which listens already");
	else
		finding_set_state(doctor, PROBE_LISTENER, FINDING_FAILS, error, "no listener: %s: %s",
				  probe_explain_seccomp_errno(error), strerror(error));
}

/* Tries whether a child's notified call can be answered. */
void probe_seccomp_listener(struct doctor *doctor)
{
	struct listener_shared_page *page = probe_map_shared(sizeof(*page));
	_cleanup_close_ int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *failed;
	struct stat st;
	int error = 0;
	long pid;

	if (!page || fstat(fd, &st) < 0)
		return;
	*page = (struct listener_shared_page){.listener = -2, .device = st.st_dev, .inode = st.st_ino};
	pid = syscall(SYS_clone, (unsigned long)(CLONE_FILES | SIGCHLD), 0L, 0L, 0L, 0L);
	if (pid == 0)
		probe_run_listener_child(page);
	if (pid < 0 || !probe_await_change_of_word(&page->listener, -2, TRIAL_STEP_TIMEOUT_MS))
		return;
	if (page->listener < 0) {
		probe_report_no_listener(doctor, page->error);
		return;
	}
	failed = probe_respond_to_child(page, fd, (pid_t)pid, &error);
	if (failed)
		probe_set_failing(doctor, PROBE_LISTENER, -error, failed);
	else
		finding_set_state(doctor, PROBE_LISTENER,
				  page->working_features == (FEATURE_WAIT_KILLABLE | FEATURE_SYNC_WAKE_UP)
					  ? FINDING_WORKS
					  : FINDING_WORKS_WITH_CAVEAT,
				  0, "a call was received, answered, and given a descriptor%s%s",
				  page->working_features & FEATURE_SYNC_WAKE_UP
					  ? ""
					  : "; without SYNC_WAKE_UP (Linux 6.6): slower",
				  page->working_features & FEATURE_WAIT_KILLABLE
					  ? ""
					  : "; without WAIT_KILLABLE_RECV (Linux 5.19): signals may "
					    "interrupt calls");
}

/* ---- filters on this process ---- */

/* Tries the calls that the profile of a container may refuse. refused: the names of the calls that failed. */
static void probe_find_refused_calls(char *refused, size_t size)
{
	char from = 1, to = 0;
	const struct iovec local = {&to, 1}, remote = {&from, 1};
	_cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	_cleanup_close_ int copy = pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, pidfd, 0);
	/* CLOSE_RANGE_UNSHARE, and nothing to close */
	const char *closed = syscall(SYS_close_range, ~0U - 1, ~0U, CLOSE_RANGE_UNSHARE) == 0 ? "" : ", close_range";
	const char *unshared = unshare(CLONE_FILES) == 0 ? "" : ", unshare";
	const char *read = process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1 ? "" : ", process_vm_readv";
	/* Tried last: from then on signals stop this process. */
	const char *traced = ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0 ? "" : ", ptrace";

	(void)snprintf(refused, size, "%s%s%s%s%s", copy >= 0 ? "" : ", pidfd_getfd", closed, unshared, read, traced);
}

/* Counts the filters on this process: "Seccomp_filters:" (Linux 5.9), or 1 for "Seccomp:\t2". 0: none; -1: unknown. */
static int probe_count_filters(void)
{
	_cleanup_free_ char *status = NULL;
	const char *at;
	size_t len;

	if (io_read_file(AT_FDCWD, "/proc/self/status", 65536, &status, &len) < 0)
		return -1;
	at = strstr(status, "\nSeccomp_filters:\t");
	if (at)
		return (int)strtol(at + 18, NULL, 10);
	at = strstr(status, "\nSeccomp:\t");
	return at ? at[10] == '2' : -1;
}

/* Reports whether a seccomp filter is on this process already, and which calls it refuses. */
void probe_outer_filter(struct doctor *doctor)
{
	bool taken = doctor->traits & TRAIT_SECCOMP_LISTENER, callgate = doctor->traits & TRAIT_IN_CALLGATE;
	char refused[120] = "";
	int filters = probe_count_filters();

	if (filters <= 0) {
		finding_set_state(doctor, PROBE_OUTER, filters < 0 ? FINDING_WORKS_WITH_CAVEAT : FINDING_WORKS, 0, "%s",
				  filters < 0 ? "/proc does not tell whether a seccomp filter is on this process"
					      : "no seccomp filter is on this process");
		return;
	}
	doctor->traits |= TRAIT_SECCOMP_FILTER;
	if (filter_outer_kills_unlisted_calls()) {
		doctor->traits |= TRAIT_SECCOMP_FILTER_KILLS;
		finding_set_state(doctor, PROBE_OUTER, FINDING_FAILS, EPERM,
				  "the seccomp filter on this process kills for calls that it does not list");
		return;
	}
	probe_find_refused_calls(refused, sizeof(refused));
	doctor->pidfd_getfd_is_refused = strstr(refused, "pidfd_getfd") != NULL;
	if (strstr(refused, "close_range")) {
		finding_set_state(
			doctor, PROBE_OUTER, FINDING_FAILS, EPERM,
			"a seccomp filter is on this process; it refuses close_range with CLOSE_RANGE_UNSHARE "
			"(or the kernel lacks it, before Linux 5.9), which every run needs");
		return;
	}
	finding_set_state(doctor, PROBE_OUTER, taken || *refused ? FINDING_WORKS_WITH_CAVEAT : FINDING_WORKS, 0,
			  "%s%s%s%s",
			  callgate ? "the filter of a callgate run is on this process"
			  : taken  ? "a process above listens to this one's calls: callgate or a container's agent"
				   : "a seccomp filter is on this process: a container's profile",
			  *refused ? "; it refuses " : "", *refused ? refused + strlen(", ") : "",
			  doctor->pidfd_getfd_is_refused && !taken ? " (without pidfd_getfd there is no inotify)" : "");
}
