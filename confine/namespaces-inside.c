/* The part of the supervisor: in the new namespaces, still with the capabilities for mounting. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/mounts.h"
#include "confine/namespaces-private.h"
#include "confine/pidmax.h"
#include "confine/scheduling.h"
#include "view/prepare.h"

#define PIDNS LAYER_BIT(LAYER_PIDNS)     /* LAYER_BIT of the pid namespace */
#define MOUNTNS LAYER_BIT(LAYER_MOUNTNS) /* LAYER_BIT of the mount namespace */

/*
 * The tmpfs has directories, empty files and provided files: with a network also copies of the system's certificates.
 * Stand-in directories with long listings need many inodes.
 */
static const char *const tmpfs_options[] = {"mode", "0755", "size", "256m", "nr_inodes", "200k"};

/* Options for the procfs of the program: no files about the machine, only processes that the reader may ptrace. */
static const char *const processes_only[] = {"subset", "pid", "hidepid", "ptraceable"};

/*
 * Mount options of the program's procfs in runs in which the kernel decides about reading: view_prepare_kernel_reads()
 * covers the files about the machine that the view does not show. Members of group gid would see all processes, so it
 * is a group without members, which most user namespaces do not map.
 */
static const char *const with_machine[] = {"hidepid", "invisible", "gid", "4294967294"};
#define PROC_MOUNT_OPTION_STRINGS 4u /* number of strings in processes_only and in with_machine */

/*
 * Options for the devpts of the run. max: the whole kernel has 4096 pairs by default (/proc/sys/kernel/pty/max). Group
 * 5 is tty in every distribution. Programs such as sshd set the group of a terminal, and would fail otherwise.
 */
static const char *const pts_options[] = {"ptmxmode", "0666", "max", "128", "mode", "0620", "gid", "5"};

/* Uses SIOCGSKNS instead of /proc/thread-self/ns/net: another thread is changing the root directory. */
static int namespaces_make_network(int *ret_loopback)
{
	_cleanup_close_ int fd = -1;
	int ns_fd;

	if (unshare(CLONE_NEWNET) < 0)
		return -errno;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ns_fd = fd < 0 ? -1 : ioctl(fd, SIOCGSKNS);
	if (ns_fd < 0)
		return -errno;
	*ret_loopback = namespaces_raise_loopback(fd);
	return ns_fd;
}

/* Main function of a thread: makes the network namespace of the run, and ends. */
static void *namespaces_run_network_thread(void *ctx)
{
	struct namespaces *namespaces = ctx;

	namespaces->net_fd = namespaces_make_network(&namespaces->loopback);
	return NULL;
}

/* Starts a thread that makes the network namespace, which takes as long as all others. */
static void namespaces_start_network_thread(struct namespaces *namespaces)
{
	if (!namespaces->network_is_made_in_thread)
		return;
	namespaces->network_is_made_in_thread =
		pthread_create(&namespaces->net_thread, NULL, namespaces_run_network_thread, namespaces) == 0;
	if (namespaces->network_is_made_in_thread)
		scheduling_move_self_off_this_cpu(namespaces->net_thread);
	else
		layers_set_state(namespaces->layers, LAYER_NETNS, false, "no thread can be made for it");
}

/*
 * Waits until the thread that makes the network namespace has ended, because it keeps its capabilities. So this is
 * called before namespaces_drop_caps() drops those of this thread.
 */
static void namespaces_await_network_thread(struct namespaces *namespaces)
{
	_cleanup_close_ int fd = -1;
	int error;

	if (!namespaces->network_is_made_in_thread)
		return;
	namespaces->network_is_made_in_thread = false;
	/* lets the thread run on this CPU again, which becomes idle while this thread waits */
	scheduling_restore_thread(namespaces->net_thread);
	error = -pthread_join(namespaces->net_thread, NULL);
	if (error == 0)
		error = fd = namespaces->net_fd;
	if (error >= 0 && setns(fd, CLONE_NEWNET) < 0)
		error = -errno;
	if (error >= 0)
		namespaces_mark_network_made(namespaces, namespaces->loopback);
	else
		layers_set_state(namespaces->layers, LAYER_NETNS, false, "refused by the system: %s", strerror(-error));
}

/* Tells the keeper which step failed for these layers. Returns error. */
static int namespaces_report_failure(struct namespaces *namespaces, unsigned layers, const char *what, int error)
{
	namespaces_send_failure(namespaces->start_socket_fd, NS_MESSAGE_SUPERVISOR_FAILED, layers, "cannot %s: %s",
				what, strerror(-error));
	return error;
}

/* Makes a procfs. In a user namespace the kernel refuses if parts of the present one are covered (containers). */
static int namespaces_prepare_proc(struct namespaces *namespaces)
{
	int fd;

	if (!(namespaces->made_layers & PIDNS)) {
		fd = namespaces->proc_fd = mounts_clone_tree(AT_FDCWD, "/proc");
		return fd < 0 ? namespaces_report_failure(namespaces, MOUNTNS, "copy the mount of /proc", fd) : 0;
	}
	namespaces->host_proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (namespaces->host_proc_fd < 0)
		return namespaces_report_failure(namespaces, PIDNS, "open /proc", -errno);
	namespaces->proc_fd = mounts_create_fs("proc", NULL, 0);
	if (namespaces->proc_fd < 0)
		return namespaces_report_failure(namespaces, PIDNS, "mount a /proc of its own", namespaces->proc_fd);
	/*
	 * The options need Linux 5.8. On older kernels the program uses the supervisor's procfs; opening its files is
	 * judged.
	 */
	if (namespaces->wants_procfs_of_run_only)
		namespaces->program_proc_fd =
			mounts_create_fs("proc", namespaces->wants_kernel_reads ? with_machine : processes_only,
					 PROC_MOUNT_OPTION_STRINGS);
	return 0;
}

/* Makes a devpts; without it the program has no pseudoterminals. A user namespace may not know group 5. */
static void namespaces_prepare_terminals(struct namespaces *namespaces)
{
	const size_t count = sizeof(pts_options) / sizeof(pts_options[0]);

	namespaces->devpts_mount_fd = mounts_create_fs("devpts", pts_options, count);
	if (namespaces->devpts_mount_fd < 0)
		namespaces->devpts_mount_fd = mounts_create_fs("devpts", pts_options, count - 2);
}

int namespaces_prepare_mounts(struct namespaces *namespaces)
{
	namespaces_start_network_thread(namespaces);
	namespaces->task_limit_is_set = namespaces->made_layers & PIDNS && namespaces->task_limit &&
					   pidmax_set_limit(namespaces->task_limit) == 0;
	if (!(namespaces->made_layers & MOUNTNS))
		return 0;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return namespaces_report_failure(namespaces, MOUNTNS | PIDNS, "make the mounts private", -errno);
	namespaces->tmpfs_fd =
		mounts_create_fs("tmpfs", tmpfs_options, sizeof(tmpfs_options) / sizeof(tmpfs_options[0]));
	if (namespaces->tmpfs_fd < 0)
		return namespaces_report_failure(namespaces, MOUNTNS | PIDNS, "make a tmpfs", namespaces->tmpfs_fd);
	namespaces_prepare_terminals(namespaces);
	return namespaces_prepare_proc(namespaces);
}

bool namespaces_give_up_kernel_reads(struct namespaces *namespaces, const char *why)
{
	return namespaces_send_failure(namespaces->start_socket_fd, NS_MESSAGE_SUPERVISOR_FAILED,
				       LAYER_BIT(LAYER_KERNEL_READS), "%s", why);
}

bool namespaces_can_have_kernel_reads(const struct namespaces *namespaces)
{
	const unsigned needed = MOUNTNS | PIDNS;

	return !(namespaces->refused_layers & LAYER_BIT(LAYER_KERNEL_READS)) &&
	       (namespaces->made_layers & needed) == needed &&
	       (namespaces->made_layers & LAYER_BIT(LAYER_NETNS) || namespaces->network_is_made_in_thread);
}

/*
 * Checks that the network namespace was made. If not, a run whose view was built for one must start again: without it,
 * and with every call judged.
 */
static int namespaces_require_network_of_view(struct namespaces *namespaces, const struct view *view)
{
	if ((!view_kernel_judges_reads(view) && !namespaces->view_needs_network) ||
	    namespaces->made_layers & LAYER_BIT(LAYER_NETNS))
		return 0;
	namespaces_send_failure(namespaces->start_socket_fd, NS_MESSAGE_SUPERVISOR_FAILED, LAYER_BIT(LAYER_NETNS), "%s",
				namespaces->layers->layer[LAYER_NETNS].why);
	return -EPERM;
}

int namespaces_enter_view(struct namespaces *namespaces, struct view *view)
{
	const struct view_attach_fds mounts = {.tmpfs_fd = namespaces->tmpfs_fd,
					   .proc_fd = namespaces->proc_fd,
					   .program_proc_fd = namespaces->program_proc_fd,
					   .host_root_fd = namespaces->host_root_fd,
					   .for_kernel_reads = namespaces->wants_kernel_reads};
	const char *what = "", *obstacle = NULL;
	int r = 0;

	if (namespaces->made_layers & MOUNTNS)
		r = view_attach_mounts(view, &mounts, &what);
	if (r == 0 && namespaces->wants_kernel_reads)
		obstacle = view_prepare_kernel_reads(view);
	namespaces_await_network_thread(namespaces);
	if (r < 0)
		/* What failed may be needed by kernel-reads alone: then the run starts again and judges every call. */
		return namespaces_report_failure(namespaces,
						 namespaces->wants_kernel_reads ? LAYER_BIT(LAYER_KERNEL_READS)
										: MOUNTNS | PIDNS,
						 what, r);
	if (obstacle) {
		/* Not continued if the keeper does not wait: the view lacks the covers of a judged run. */
		(void)namespaces_give_up_kernel_reads(namespaces, obstacle);
		return -ECANCELED;
	}
	return namespaces_require_network_of_view(namespaces, view);
}

int namespaces_drop_caps(struct namespaces *namespaces)
{
	int r = privs_drop_all();

	if (r < 0)
		return r;
	close_fd(&namespaces->tmpfs_fd);
	close_fd(&namespaces->proc_fd);
	close_fd(&namespaces->program_proc_fd);
	close_fd(&namespaces->devpts_mount_fd);
	close_fd(&namespaces->host_root_fd);
	return 0;
}

void namespaces_report_ready(struct namespaces *namespaces)
{
	const struct namespaces_message ready = {.kind = NS_MESSAGE_SUPERVISOR_READY};

	if (namespaces->start_socket_fd >= 0)
		/* Sending fails if the keeper waits no more: no harm. */
		(void)namespaces_send_message(namespaces->start_socket_fd, &ready);
	close_fd(&namespaces->start_socket_fd);
}
