/*
 * The keeper's side: makes the supervisor in the new namespaces (namespaces-clone.c), or an intermediate that leaves
 * them one by one and forks the supervisor.
 */
#include "confine/namespaces.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "confine/namespaces-private.h"

#include "base/banned.h"

/* A supervisor that takes longer hangs on some file system, and it is time to look after clock and signals. */
#define SETTLE_TIMEOUT_MS 10000
#define STOP_TIMEOUT_MS 500
#define END_TIMEOUT_MS 1000 /* for a child that has nothing to do but to end */

/* CAP_SETFCAP: since Linux 5.12 a map that holds uid 0 takes it. */
const int namespaces_caps[NAMESPACES_CAPS] = {CAP_SYS_ADMIN, CAP_SYS_CHROOT, CAP_NET_ADMIN, CAP_NET_BIND_SERVICE,
					      CAP_SETUID,    CAP_SETGID,     CAP_SETPCAP,   CAP_SETFCAP};

bool note_send(int fd, const struct note *note)
{
	ssize_t sent;

	do
		sent = send(fd, note, sizeof(*note), MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent == (ssize_t)sizeof(*note);
}

static bool receive(int fd, int flags, struct note *ret_note)
{
	ssize_t got;

	do
		got = recv(fd, ret_note, sizeof(*ret_note), flags);
	while (got < 0 && errno == EINTR);
	if (got != (ssize_t)sizeof(*ret_note))
		return false;
	ret_note->why[sizeof(ret_note->why) - 1] = '\0';
	return true;
}

bool note_receive(int fd, struct note *ret_note)
{
	return receive(fd, 0, ret_note);
}

static int wait_ms(const struct namespaces *namespaces, int most_ms)
{
	uint64_t now = io_now_ns(), left;

	if (!namespaces->until_ns)
		return most_ms;
	left = now < namespaces->until_ns ? (namespaces->until_ns - now) / 1000000 + 1 : 0;
	if (left > INT_MAX)
		left = INT_MAX;
	return most_ms < 0 || left < (uint64_t)most_ms ? (int)left : most_ms;
}

/*
 * The keeper's only way to wait for another process here: a child may be killed while a process that it forked still
 * holds the other end, or be stopped, and the run's signals and its time limit count nevertheless.
 */
static bool await(const struct namespaces *namespaces, int pidfd, int stop_fd, int most_ms, struct note *ret_note)
{
	struct pollfd wait_for[] = {{.fd = namespaces->peer_fd, .events = POLLIN},
				    {.fd = pidfd, .events = POLLIN},
				    {.fd = stop_fd, .events = POLLIN}};

	(void)poll(wait_for, 3, wait_ms(namespaces, most_ms)); /* no signal is caught: EINTR cannot be */
	if (!wait_for[0].revents && !wait_for[1].revents && wait_for[2].revents)
		(void)poll(wait_for, 2, STOP_TIMEOUT_MS);
	return receive(namespaces->peer_fd, MSG_DONTWAIT, ret_note);
}

bool note_await(const struct namespaces *namespaces, int pidfd, struct note *ret_note)
{
	return await(namespaces, pidfd, namespaces->end_fd, -1, ret_note);
}

void note_refuse(int fd, enum note_kind kind, unsigned layers, const char *format, ...)
{
	struct note note = {.kind = kind, .layers = layers};
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(note.why, sizeof(note.why), format, arguments); /* cut */
	va_end(arguments);
	(void)note_send(fd, &note); /* the keeper is dead: nothing is forked again */
}

static void refuse(struct namespaces *namespaces, const struct note *note)
{
	namespaces->refused |= note->layers;
	for (enum layer layer = LAYER_USERNS; layer <= LAYER_CGROUPNS; layer++)
		if (note->layers & LAYER_BIT(layer))
			layers_set(namespaces->layers, layer, false, "%s", note->why);
}

int namespaces_own_pidns(unsigned wanted)
{
	return wanted & LAYER_BIT(LAYER_PIDNS) ? open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC) : -1;
}

/* The child of the keeper. Returns only as the supervisor. */
static void be_between(struct namespaces *namespaces, pid_t keeper)
{
	struct note note = {.kind = NOTE_CHILD};
	pid_t pid;

	/* Stopped, it would keep the keeper's ends of all pipes open after the keeper's death. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != keeper)
		_exit(1);
	/* Else the keeper, as an ordinary user, could not open our maps. The supervisor changes it back at once. */
	(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	namespaces->host_root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC); /* of the keeper's mounts, which stay */
	namespaces->host_pidns_fd = namespaces_own_pidns(namespaces_wanted(namespaces));
	if (!namespaces_unshare(namespaces))
		_exit(1);
	pid = fork();
	if (pid == 0)
		return;
	note.value = pid < 0 ? -errno : pid;
	if (!note_send(namespaces->peer_fd, &note) && pid > 0)
		(void)kill(pid, SIGKILL);
	_exit(0); /* the supervisor is the keeper's from here on: it is the subreaper */
}

static int open_pidfd(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Of a child that has nothing to do but to end; one that does not, as it is stopped, is killed. */
static void reap(pid_t pid)
{
	_cleanup_close_ int pidfd = open_pidfd(pid);
	struct pollfd end = {.fd = pidfd, .events = POLLIN};

	if (poll(&end, 1, END_TIMEOUT_MS) <= 0)
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* A note of the supervisor's. */
static void hear(struct namespaces *namespaces, const struct note *note)
{
	if (note->kind == NOTE_WITHDREW)
		refuse(namespaces, note);
	namespaces->withdrew = note->kind == NOTE_WITHDREW;
	namespaces->settled = note->kind == NOTE_SETTLED;
}

/*
 * Serves the intermediate until it has forked: the supervisor's pid, 0 to try again with less, or -errno. The
 * intermediate's own, not yet reaped and namespaces->lost, if it was killed before, or the run is to end.
 */
static pid_t serve(struct namespaces *namespaces, pid_t between)
{
	_cleanup_close_ int pidfd = open_pidfd(between);
	struct note note = {.kind = NOTE_MAP};
	pid_t result = between;

	while (note.kind != NOTE_CHILD && note.kind != NOTE_REFUSED && note_await(namespaces, pidfd, &note)) {
		if (note.kind == NOTE_MAP) {
			struct note mapped = {.kind = NOTE_MAPPED, .value = namespaces_map(between)};

			(void)note_send(namespaces->peer_fd, &mapped); /* its end shows in the next receive */
		} else if (note.kind == NOTE_REFUSED) {
			refuse(namespaces, &note);
			result = 0;
		} else if (note.kind == NOTE_CHILD) {
			result = note.value;
		} else {
			hear(namespaces, &note);
		}
	}
	namespaces->lost = result == between;
	if (namespaces->lost)
		(void)kill(between, SIGKILL);
	else
		reap(between);
	return result;
}

static pid_t fork_once(struct namespaces *namespaces)
{
	pid_t keeper = getpid(), pid;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		(void)close(pair[0]);
		namespaces->peer_fd = pair[1];
		be_between(namespaces, keeper);
		return 0;
	}
	(void)close(pair[1]);
	namespaces->peer_fd = pair[0];
	return pid < 0 ? -errno : serve(namespaces, pid);
}

pid_t namespaces_fork(struct namespaces *namespaces)
{
	for (;;) {
		pid_t keeper = getpid(), pid;
		unsigned wanted = namespaces_wanted(namespaces);

		cleanup_close(&namespaces->peer_fd);
		namespaces->peer_fd = -1;
		namespaces->made = 0;
		namespaces->settled = namespaces->withdrew = namespaces->net_later = false;
		if (wanted == 0) {
			pid = fork();
			return pid < 0 ? -errno : pid;
		}
		pid = namespaces->singly ? -EPERM : namespaces_clone(namespaces, wanted);
		if (pid >= 0)
			return pid;
		namespaces->singly = true;
		pid = fork_once(namespaces);
		if (pid != 0 || getpid() != keeper)
			return pid;
	}
}

bool namespaces_again(struct namespaces *namespaces, pid_t child, int stop_fd)
{
	struct note note;

	if (namespaces->peer_fd < 0 || namespaces->settled || namespaces->lost)
		return false;
	if (namespaces->withdrew) {
		reap(child);
		return true;
	}
	/* Without a pidfd: the child alone has the other end. */
	if (!await(namespaces, -1, stop_fd, SETTLE_TIMEOUT_MS, &note) || note.kind != NOTE_WITHDREW)
		return false;
	refuse(namespaces, &note);
	reap(child);
	return true;
}

void namespaces_done(struct namespaces *namespaces)
{
	cleanup_close(&namespaces->peer_fd);
	cleanup_close(&namespaces->tmpfs_fd);
	cleanup_close(&namespaces->proc_fd);
	cleanup_close(&namespaces->program_proc_fd);
	cleanup_close(&namespaces->host_root_fd);
	cleanup_close(&namespaces->host_proc_fd);
	cleanup_close(&namespaces->host_pidns_fd);
	namespaces->peer_fd = namespaces->tmpfs_fd = namespaces->proc_fd = namespaces->program_proc_fd = -1;
	namespaces->host_root_fd = namespaces->host_proc_fd = namespaces->host_pidns_fd = -1;
}
