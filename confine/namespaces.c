/*
 * Makes the namespaces of a run, as far as the keeper does it. The keeper clones the supervisor into all namespaces at
 * once (namespaces-clone.c). If that fails, it forks an intermediate process, which unshares them one by one and then
 * forks the supervisor.
 */
#include "confine/namespaces.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "confine/namespaces-private.h"

/*
 * How long the keeper waits for a supervisor that is starting. Then it enters its loop, which enforces the time limit
 * of the run: the supervisor may hang on a file system.
 */
#define SUPERVISOR_READY_TIMEOUT_MS 10000
#define NAMESPACES_CHILD_EXIT_TIMEOUT_MS 1000 /* for a child that should exit; after that it is killed */

/* CAP_SETFCAP: since Linux 5.12 mapping uid 0 needs it. */
const int namespaces_caps[NAMESPACES_CAPS_COUNT] = {CAP_SYS_ADMIN, CAP_SYS_CHROOT, CAP_NET_ADMIN, CAP_NET_BIND_SERVICE,
					      CAP_SETUID,    CAP_SETGID,     CAP_SETPCAP,   CAP_SETFCAP};

/*
 * Whether this user namespace has a number for uid 0. Without, an overlay cannot copy a file with capabilities, which
 * are those of a namespace's root (cap_convert_nscap() in security/commoncap.c): EPERM, and with CAP_SETFCAP EINVAL.
 */
static bool namespaces_have_root(void)
{
	unsigned first, outside, count;
	char map[64];

	return io_read_once(AT_FDCWD, "/proc/self/uid_map", map, sizeof(map)) >= 0 &&
	       sscanf(map, " %u %u %u", &first, &outside, &count) == 3 && first == 0;
}

size_t namespaces_get_needed_caps(size_t count, bool overlays, int ret_caps[NAMESPACES_CAPS_COUNT_MAX])
{
	static const int of_overlays[] = {CAP_DAC_OVERRIDE, CAP_CHOWN, CAP_FOWNER, CAP_FSETID, CAP_MKNOD};

	memcpy(ret_caps, namespaces_caps, count * sizeof(*ret_caps));
	for (size_t i = 0; overlays && i < sizeof(of_overlays) / sizeof(of_overlays[0]); i++)
		ret_caps[count++] = of_overlays[i];
	if (overlays && namespaces_have_root())
		ret_caps[count++] = CAP_SETFCAP;
	return count;
}

/* Notes which layers the system refuses, so that the run is started again without them. */
static void namespaces_mark_layers_refused(struct namespaces *namespaces, const struct namespaces_message *note)
{
	namespaces->refused_layers |= note->layers;
	for (enum layer layer = LAYER_USERNS; layer <= LAYER_CGROUPNS; layer++)
		if (note->layers & LAYER_BIT(layer))
			layers_set_state(namespaces->layers, layer, false, "%s", note->why);
	if (note->layers & LAYER_BIT(LAYER_KERNEL_READS))
		layers_set_state(namespaces->layers, LAYER_KERNEL_READS, false, "every call is judged: %s", note->why);
}

/* The intermediate process, a child of the keeper. Returns only in the supervisor. */
static void namespaces_run_intermediate(struct namespaces *namespaces, pid_t keeper)
{
	struct namespaces_message note = {.kind = NS_MESSAGE_SUPERVISOR_PID};
	pid_t pid;

	/* A stopped process would keep its ends of the pipes open after the death of the keeper. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != keeper)
		_exit(1);
	/*
	 * Dumpable, so that a keeper without privileges can open our uid_map. The supervisor resets the flag at once.
	 */
	(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	if (!namespaces_unshare_wanted_layers(namespaces))
		_exit(1);
	pid = fork();
	if (pid == 0)
		return;
	note.result_or_pid = pid < 0 ? -errno : pid;
	if (!namespaces_send_message(namespaces->start_socket_fd, &note) && pid > 0)
		(void)kill(pid, SIGKILL);
	_exit(0); /* the supervisor is then a child of the keeper, which is a subreaper */
}

static int namespaces_open_pidfd(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Reaps a child that should exit. If it does not, for example because it is stopped, kills it. */
static void namespaces_reap_child(pid_t pid)
{
	_cleanup_close_ int pidfd = namespaces_open_pidfd(pid);
	struct pollfd end = {.fd = pidfd, .events = POLLIN};

	if (poll(&end, 1, NAMESPACES_CHILD_EXIT_TIMEOUT_MS) <= 0)
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Notes whether the supervisor is ready or has failed. */
static void namespaces_handle_supervisor_message(struct namespaces *namespaces, const struct namespaces_message *note)
{
	if (note->kind == NS_MESSAGE_SUPERVISOR_FAILED)
		namespaces_mark_layers_refused(namespaces, note);
	namespaces->supervisor_failed = note->kind == NS_MESSAGE_SUPERVISOR_FAILED;
	namespaces->supervisor_ready = note->kind == NS_MESSAGE_SUPERVISOR_READY;
}

/*
 * Handles the messages of the intermediate process until that has forked. Returns the pid of the supervisor, 0 to try
 * again with fewer layers, or -errno. If the intermediate process was killed or the run is to end, sets
 * namespaces->intermediate_was_killed and returns the pid of the intermediate process.
 */
static pid_t namespaces_await_intermediate_fork(struct namespaces *namespaces, pid_t between)
{
	_cleanup_close_ int pidfd = namespaces_open_pidfd(between);
	struct namespaces_message note = {.kind = NS_MESSAGE_WRITE_ID_MAPS};
	pid_t result = between;

	while (note.kind != NS_MESSAGE_SUPERVISOR_PID && note.kind != NS_MESSAGE_INTERMEDIATE_FAILED &&
	       namespaces_await_message(namespaces, pidfd, namespaces->run_end_signal_fd, -1, &note)) {
		if (note.kind == NS_MESSAGE_WRITE_ID_MAPS) {
			struct namespaces_message mapped = {.kind = NS_MESSAGE_ID_MAPS_WRITTEN,
							    .result_or_pid = namespaces_write_id_maps(between)};

			(void)namespaces_send_message(namespaces->start_socket_fd,
						   &mapped); /* if the child has died, the next receive fails */
		} else if (note.kind == NS_MESSAGE_INTERMEDIATE_FAILED) {
			namespaces_mark_layers_refused(namespaces, &note);
			result = 0;
		} else if (note.kind == NS_MESSAGE_SUPERVISOR_PID) {
			result = note.result_or_pid;
		} else {
			namespaces_handle_supervisor_message(namespaces, &note);
		}
	}
	namespaces->intermediate_was_killed = result == between;
	if (namespaces->intermediate_was_killed)
		(void)kill(between, SIGKILL);
	else
		namespaces_reap_child(between);
	return result;
}

pid_t namespaces_fork_supervisor(struct namespaces *namespaces)
{
	pid_t keeper = getpid(), pid = 0;

	while (pid == 0) {
		unsigned wanted = namespaces_find_layers_to_try(namespaces);

		close_fd(&namespaces->start_socket_fd);
		namespaces->made_layers = 0;
		namespaces->supervisor_ready = namespaces->supervisor_failed = namespaces->network_is_made_in_thread =
			false;
		if (wanted == 0) {
			pid = fork();
			return pid < 0 ? -errno : pid;
		}
		if (!namespaces->must_unshare_one_by_one) {
			pid = namespaces_clone_child(namespaces, wanted);
			if (pid >= 0)
				return pid;
			namespaces->must_unshare_one_by_one = true;
			pid = 0;
			continue;
		}
		pid = namespaces_fork_with_start_socket(namespaces, 0);
		if (pid == 0) {
			namespaces_run_intermediate(namespaces, keeper);
			return 0;
		}
		if (pid > 0)
			pid = namespaces_await_intermediate_fork(namespaces, pid);
	}
	return pid;
}

bool namespaces_await_supervisor_or_retry(struct namespaces *namespaces, pid_t child, int stop_fd)
{
	struct namespaces_message note;

	if (namespaces->start_socket_fd < 0 || namespaces->supervisor_ready || namespaces->intermediate_was_killed)
		return false;
	/* No pidfd: only the child has the other end, so its death is an end of file. */
	if (!namespaces->supervisor_failed &&
	    namespaces_await_message(namespaces, -1, stop_fd, SUPERVISOR_READY_TIMEOUT_MS, &note))
		namespaces_handle_supervisor_message(namespaces, &note);
	if (namespaces->supervisor_failed)
		namespaces_reap_child(child);
	return namespaces->supervisor_failed;
}

void namespaces_release(struct namespaces *namespaces)
{
	close_fd(&namespaces->start_socket_fd);
	close_fd(&namespaces->tmpfs_fd);
	close_fd(&namespaces->proc_fd);
	close_fd(&namespaces->program_proc_fd);
	close_fd(&namespaces->devpts_mount_fd);
	close_fd(&namespaces->host_root_fd);
	close_fd(&namespaces->host_proc_fd);
	close_fd(&namespaces->host_pidns_fd);
}
