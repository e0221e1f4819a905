/*
 * Makes the supervisor and all namespaces by one clone(2). If that fails, nothing was made, and the intermediate
 * process (namespaces.c) finds out which namespaces can be made and why the others cannot.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "confine/namespaces-private.h"

#define USERNS LAYER_BIT(LAYER_USERNS)   /* LAYER_BIT of the user namespace */
#define MOUNTNS LAYER_BIT(LAYER_MOUNTNS) /* LAYER_BIT of the mount namespace */

/* How the id maps of the new user namespace are written. */
struct id_mapping {
	bool is_written_by_child; /* the child itself writes the maps: without privileges it may only map its own ids */
	uid_t uid;
	gid_t gid;
};

/* Calls clone(2), and updates the tid that the C library caches, as fork(3) does, if its address is known. */
static pid_t namespaces_call_clone(unsigned long flags)
{
	unsigned long tid_address = 0;

	if (prctl(PR_GET_TID_ADDRESS, &tid_address, 0, 0, 0) == 0 && tid_address)
		flags |= CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
	return (pid_t)syscall(SYS_clone, flags | SIGCHLD, 0L, 0L, tid_address, 0L);
}

/*
 * In the keeper: writes the id maps. Root can do so at once; others wait for NS_MESSAGE_WRITE_ID_MAPS, when the
 * child is dumpable.
 */
static void namespaces_write_child_id_maps(struct namespaces *namespaces, pid_t child)
{
	struct namespaces_message note = {.kind = NS_MESSAGE_WRITE_ID_MAPS};

	if (geteuid() != 0 && !namespaces_await_message(namespaces, -1, namespaces->run_end_signal_fd, -1, &note))
		return; /* the child is dead, or the run must end: the loop of the keeper handles both */
	note = (struct namespaces_message){.kind = NS_MESSAGE_ID_MAPS_WRITTEN,
					   .result_or_pid = namespaces_write_id_maps(child)};
	(void)namespaces_send_message(namespaces->start_socket_fd, &note);
}

/* In the child: waits for the id maps. False: the child must exit, and has told the keeper why. */
static bool namespaces_await_own_id_maps(struct namespaces *namespaces, const struct id_mapping *mapping)
{
	struct namespaces_message note = {.kind = NS_MESSAGE_WRITE_ID_MAPS};

	/* The /proc files of an undumpable process belong to root. The supervisor resets the flag at once. */
	(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	if (mapping->is_written_by_child) {
		note.result_or_pid = namespaces_write_own_id_map("self", mapping->uid, mapping->gid);
	} else {
		if (mapping->uid != 0 && !namespaces_send_message(namespaces->start_socket_fd, &note))
			return false;
		if (!namespaces_receive_message(namespaces->start_socket_fd, 0, &note))
			return false;
	}
	if (note.result_or_pid < 0)
		namespaces_send_failure(namespaces->start_socket_fd, NS_MESSAGE_SUPERVISOR_FAILED, USERNS,
					"its id map cannot be written: %s", strerror(-note.result_or_pid));
	return note.result_or_pid == 0;
}

/* In the child that clone(2) has made in the namespaces: waits for its id maps. */
static void namespaces_prepare_cloned_child(struct namespaces *namespaces, unsigned made,
					    const struct id_mapping *mapping)
{
	if (made & USERNS && !mapping->is_written_by_child)
		privs_drop_bounding_set(); /* uses the time in which the keeper writes the id maps */
	if (made & USERNS && !namespaces_await_own_id_maps(namespaces, mapping))
		_exit(1);
	namespaces_mark_layers_made(namespaces, made);
	if (made & LAYER_BIT(LAYER_NETNS))
		namespaces_raise_own_loopback(namespaces);
}

pid_t namespaces_fork_with_start_socket(struct namespaces *namespaces, unsigned long flags)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	/* The child inherits these descriptors of the keeper's namespaces. */
	namespaces->host_root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (namespaces_find_layers_to_try(namespaces) & LAYER_BIT(LAYER_PIDNS))
		namespaces->host_pidns_fd = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
	pid = flags ? namespaces_call_clone(flags) : fork();
	if (pid == 0) {
		(void)close(pair[0]);
		namespaces->start_socket_fd = pair[1];
		return 0;
	}
	if (pid < 0)
		pid = -errno;
	(void)close(pair[1]);
	namespaces->start_socket_fd = pair[0];
	close_fd(&namespaces->host_root_fd);
	close_fd(&namespaces->host_pidns_fd);
	return pid;
}

pid_t namespaces_clone_child(struct namespaces *namespaces, unsigned wanted)
{
	const struct id_mapping mapping = {.is_written_by_child = !privs_have_capability(CAP_SETUID) ||
						!privs_have_capability(CAP_SETGID),
					.uid = geteuid(),
					.gid = getegid()};
	unsigned before = USERNS | MOUNTNS, made = wanted;
	pid_t pid;

	/* Making a network namespace takes as long as making all others, so a thread makes it meanwhile. */
	namespaces->network_is_made_in_thread =
		(wanted & before) == before && wanted & LAYER_BIT(LAYER_NETNS);
	if (namespaces->network_is_made_in_thread)
		made &= ~LAYER_BIT(LAYER_NETNS);
	pid = namespaces_fork_with_start_socket(namespaces, namespaces_get_flags(made));
	if (pid == 0)
		namespaces_prepare_cloned_child(namespaces, made, &mapping);
	else if (pid > 0 && made & USERNS && !mapping.is_written_by_child)
		namespaces_write_child_id_maps(namespaces, pid);
	return pid;
}
