/*
 * The short way into the namespaces: one clone(2) that makes the supervisor and all of them. When it fails nothing has
 * been made, and the intermediate (namespaces.c) finds out what can be had and why the rest cannot.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "confine/namespaces-private.h"

#include "base/banned.h"

#define USERNS LAYER_BIT(LAYER_USERNS)
#define MOUNTNS LAYER_BIT(LAYER_MOUNTNS)

/* Who writes the maps of the new user namespace, and as whom. */
struct mapping {
	bool ours; /* the child writes them: his own id alone is what an ordinary user may map */
	uid_t uid;
	gid_t gid;
};

/* As fork(3) tells the C library of its new number; where the place cannot be learned, that is left out. */
static pid_t clone_into(unsigned long flags)
{
	unsigned long tid_address = 0;

	if (prctl(PR_GET_TID_ADDRESS, &tid_address, 0, 0, 0) == 0 && tid_address)
		flags |= CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
	return (pid_t)syscall(SYS_clone, flags | SIGCHLD, 0L, 0L, tid_address, 0L);
}

/* In the keeper. For root the child's files in /proc are there at once; else it says when they are its own. */
static void write_maps(struct namespaces *namespaces, pid_t child)
{
	struct note note = {.kind = NOTE_MAP};

	if (geteuid() != 0 && !note_await(namespaces, -1, &note))
		return; /* it is dead, or the run is to end, which shows elsewhere */
	note = (struct note){.kind = NOTE_MAPPED, .value = namespaces_map(child)};
	(void)note_send(namespaces->peer_fd, &note);
}

/* In the child. False: it must end, and the keeper knows why. */
static bool await_maps(struct namespaces *namespaces, const struct mapping *mapping)
{
	struct note note = {.kind = NOTE_MAP};

	/* Else its files in /proc are root's. The supervisor changes it back at once. */
	(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	if (mapping->ours) {
		note.value = namespaces_map_one("self", mapping->uid, mapping->gid);
	} else {
		if (mapping->uid != 0 && !note_send(namespaces->peer_fd, &note))
			return false;
		if (!note_receive(namespaces->peer_fd, &note))
			return false;
	}
	if (note.value < 0)
		note_refuse(namespaces->peer_fd, NOTE_WITHDREW, USERNS, "its id map cannot be written: %s",
			    strerror(-note.value));
	return note.value == 0;
}

static void be_supervisor(struct namespaces *namespaces, unsigned made, const struct mapping *mapping)
{
	if (made & USERNS && !mapping->ours)
		privs_drop_bounding_set(); /* as later, while the maps are being written */
	if (made & USERNS && !await_maps(namespaces, mapping))
		_exit(1);
	namespaces_note_made(namespaces, made);
	if (made & LAYER_BIT(LAYER_NETNS))
		namespaces_raise_own(namespaces);
}

pid_t namespaces_clone(struct namespaces *namespaces, unsigned wanted)
{
	const struct mapping mapping = {
		.ours = !privs_have(CAP_SETUID) || !privs_have(CAP_SETGID), .uid = geteuid(), .gid = getegid()};
	unsigned before = USERNS | MOUNTNS, made = wanted;
	int pair[2];
	pid_t pid;

	/* The network's takes as long as all the others together. */
	namespaces->net_later =
		namespaces->net_may_wait && (wanted & before) == before && wanted & LAYER_BIT(LAYER_NETNS);
	if (namespaces->net_later)
		made &= ~LAYER_BIT(LAYER_NETNS);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	namespaces->host_root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC); /* of our mounts, which stay */
	namespaces->host_pidns_fd = namespaces_own_pidns(wanted);
	pid = clone_into(namespaces_flags(made));
	if (pid == 0) {
		(void)close(pair[0]);
		namespaces->peer_fd = pair[1];
		be_supervisor(namespaces, made, &mapping);
		return 0;
	}
	if (pid < 0)
		pid = -errno;
	(void)close(pair[1]);
	cleanup_close(&namespaces->host_root_fd);
	cleanup_close(&namespaces->host_pidns_fd);
	namespaces->host_root_fd = namespaces->host_pidns_fd = -1;
	namespaces->peer_fd = pair[0];
	if (pid > 0 && made & USERNS && !mapping.ours)
		write_maps(namespaces, pid);
	return pid;
}
