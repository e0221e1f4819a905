/*
 * Memory that no process shows, or not as its own: allocates some in one way until it is stopped, holds it for a
 * moment, and prints how much it had.
 *
 *   cases-hoard WAY MIB
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define HUGE (2 * MIB)
#define PAGE ((size_t)4096)
#define HOLD_US 400000 /* some samples */

static long bytes_held; /* as far as they are known */

static int complain(const char *what)
{
	printf("%s: %s\n", what, strerrorname_np(errno));
	return 1;
}

/* ---- shared memory without a name, and what a mapping of it looks like afterwards ---- */

static char *map_shared(size_t len, int fd)
{
	return mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
}

/*
 * `cut` leaves one page of each block mapped; else the block is split into areas, whose pages are taken out of the
 * tables.
 */
static int shared(long mib, bool cut, int fd)
{
	const size_t block = 16 * MIB;

	for (size_t got = 0; got < (size_t)mib * MIB; got += block) {
		char *at = map_shared(block, fd);

		if (at == MAP_FAILED)
			return complain("mmap");
		for (size_t part = 0; part < block; part += MIB) {
			memset(at + part, 1, MIB);
			(void)madvise(at + part, MIB, MADV_DONTNEED);
			bytes_held += (long)MIB;
			if (cut && part > 0)
				(void)munmap(at + part, MIB);
			else if (!cut)
				(void)mprotect(at + part, PAGE, PROT_READ);
		}
		if (cut)
			(void)munmap(at + PAGE, MIB - PAGE);
	}
	return 0;
}

static int shared_cut(long mib)
{
	return shared(mib, true, -1);
}

static int shared_split(long mib)
{
	return shared(mib, false, -1);
}

/* Each mapping of it is memory of its own. */
static int dev_zero(long mib)
{
	int fd = open("/dev/zero", O_RDWR | O_CLOEXEC);

	return fd < 0 ? complain("open") : shared(mib, true, fd);
}

static int dev_zero_again(long mib)
{
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? complain("open") : shared(mib, true, fd);
}

/* Only a child that nobody saw being made has it. The first process is there to the end. */
static int shared_relay(long mib)
{
	if (fork() > 0)
		return usleep(6 * HOLD_US);
	for (long i = 0; i < mib; i += 4) {
		char *at = map_shared(4 * MIB, -1);
		pid_t pid;

		if (at == MAP_FAILED)
			return complain("mmap");
		memset(at, 1, 4 * MIB);
		(void)munmap(at + PAGE, 4 * MIB - PAGE);
		bytes_held += (long)(4 * MIB);
		pid = fork();
		if (pid < 0)
			return complain("fork");
		if (pid > 0)
			_exit(0);
	}
	return 0;
}

static int huge_pages(long mib)
{
	char *at =
		mmap(NULL, (size_t)mib * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

	if (at == MAP_FAILED)
		return complain("mmap");
	memset(at, 1, (size_t)mib * MIB);
	return 0;
}

/* Transparent ones: of each, one page is touched. Says how much there is for that; then it tries to get them again. */
static int huge_cut(long mib)
{
	char *at;
	unsigned char resident[HUGE / PAGE];

	for (long got = 0; got < mib; got += 2) {
		at = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (at == MAP_FAILED)
			return complain("mmap");
		at = (char *)(((uintptr_t)at + HUGE - 1) & ~(uintptr_t)(HUGE - 1));
		(void)madvise(at, HUGE, MADV_HUGEPAGE);
		*at = 1;
		if (mincore(at, HUGE, resident) < 0)
			return complain("mincore");
		for (size_t i = 0; i < sizeof(resident); i++)
			bytes_held += (resident[i] & 1) * (long)PAGE;
	}
	if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) < 0)
		return complain("PR_SET_THP_DISABLE, 1");
	if (prctl(PR_SET_THP_DISABLE, 1, 2, 0, 0) == 0) /* PR_THP_DISABLE_EXCEPT_ADVISED */
		return complain("but advised");
	return prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0) < 0 ? complain("PR_SET_THP_DISABLE, 0") : 0;
}

/* ---- private memory of a process that seems to have none ---- */

static int touch(long mib)
{
	for (long i = 0; i < mib; i++) {
		char *at = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (at == MAP_FAILED)
			return complain("mmap");
		memset(at, 1, MIB);
		bytes_held += (long)MIB;
		(void)usleep(1000); /* slower than samples are taken */
	}
	return 0;
}

_Noreturn static void finish(int result);

static void *touch_and_end(void *arg)
{
	(void)usleep(100000);
	finish(touch((long)(intptr_t)arg));
	return NULL;
}

/* The first thread has ended: /proc/PID shows nothing of the others'. */
static int leaderless(long mib)
{
	pthread_t thread;

	errno = pthread_create(&thread, NULL, touch_and_end, (void *)(intptr_t)mib);
	if (errno)
		return complain("pthread_create");
	pthread_exit(NULL);
}

/*
 * Children as large as their parent, which waits for another one that it vforked: each of them looks like that one,
 * which has its parent's memory.
 */
static int borrowers(long mib)
{
	const long each = 24;
	size_t len = (size_t)each * MIB;
	char *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (at == MAP_FAILED)
		return complain("mmap");
	memset(at, 1, len);
	for (long got = 0; got < mib; got += each) {
		pid_t pid = fork();

		if (pid < 0)
			return complain("fork");
		if (pid > 0)
			continue;
		(void)usleep(50000); /* until the parent waits */
		memset(at, 2, len); /* pages of its own, as many */
		(void)usleep(3 * HOLD_US);
		_exit(0);
	}
	if (vfork() == 0) {
		(void)usleep(2 * HOLD_US);
		_exit(0);
	}
	while (wait(NULL) > 0)
		continue;
	return 0;
}

/* ---- pages that only a pipe or a socket has ---- */

/*
 * For want of descriptors: a process of its own for the next ones, which has none of these. The one before keeps
 * what there is until that has ended. False: it cannot be had.
 */
static bool go_on(void)
{
	pid_t pid;

	if (errno != EMFILE)
		return false;
	pid = fork();
	if (pid == 0) {
		(void)close_range(3, ~0U, 0);
		return true;
	}
	if (pid < 0)
		return false;
	(void)waitpid(pid, NULL, 0);
	finish(0);
}

static int pipe_of(int pair[2])
{
	return pipe2(pair, O_NONBLOCK | O_CLOEXEC) < 0 ? complain("pipe2") : 0;
}

/* A byte of each huge page. */
static int vmspliced(long mib)
{
	int pair[2];

	for (long i = 0; i < mib / 2; i++) {
		char *at = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		char *page = (char *)(((uintptr_t)at + HUGE - 1) & ~(uintptr_t)(HUGE - 1));
		struct iovec vector = {page, 1};

		if (at == MAP_FAILED)
			return complain("mmap");
		if (i % 16 == 0 && pipe_of(pair))
			return 1;
		(void)madvise(page, HUGE, MADV_HUGEPAGE);
		*page = 1;
		if (vmsplice(pair[1], &vector, 1, SPLICE_F_NONBLOCK) < 0)
			return complain("vmsplice");
		(void)munmap(at, 2 * HUGE);
		bytes_held += (long)HUGE;
	}
	return 0;
}

/* A byte of what was a file a moment ago. */
static int cut_file(long mib, bool send)
{
	static char block[MIB];
	int pair[2];

	for (long i = 0; i < mib; i++) {
		int fd = open("cut", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		loff_t at = 0;
		off_t from = 0;

		if (fd < 0)
			return complain("open");
		if (i % 16 == 0 && pipe_of(pair))
			return 1;
		if (write(fd, block, sizeof(block)) < 0)
			return complain("write");
		if ((send ? sendfile(pair[1], fd, &from, 1) : splice(fd, &at, pair[1], NULL, 1, SPLICE_F_NONBLOCK)) < 0)
			return complain(send ? "sendfile" : "splice");
		if (ftruncate(fd, 0) < 0)
			return complain("ftruncate");
		(void)close(fd);
	}
	return 0;
}

static int spliced(long mib)
{
	return cut_file(mib, false);
}

static int sent(long mib)
{
	return cut_file(mib, true);
}

static int wide_pipe(long mib)
{
	int pair[2];

	(void)mib;
	if (pipe_of(pair))
		return 1;
	return fcntl(pair[1], F_SETPIPE_SZ, (int)MIB) < 0 ? complain("F_SETPIPE_SZ") : 0;
}

static long fill(int fd)
{
	static char block[65536];
	long sum = 0, got;

	for (size_t len = sizeof(block); len > 0; len /= 2)
		while ((got = send(fd, block, len, MSG_DONTWAIT | MSG_NOSIGNAL)) > 0 ||
		       (got < 0 && errno == ENOTSOCK && (got = write(fd, block, len)) > 0))
			sum += got;
	return sum;
}

static int pipes(long mib)
{
	while (bytes_held < mib * (long)MIB) {
		int pair[2];

		if (pipe2(pair, O_NONBLOCK | O_CLOEXEC) == 0)
			bytes_held += fill(pair[1]);
		else if (!go_on())
			return complain("pipe2");
	}
	return 0;
}

static int sockets(long mib)
{
	while (bytes_held < mib * (long)MIB) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0)
			bytes_held += fill(pair[0]) + fill(pair[1]);
		else if (!go_on())
			return complain("socketpair");
	}
	return 0;
}

/* Both ends, and later the socket that carries them, are under way in another one: no process has them. */
static int send_pair(int through, const int pair[2])
{
	char control[CMSG_SPACE(2 * sizeof(int))] = {0}, byte = 0;
	struct iovec data = {&byte, 1};
	struct msghdr message = {
		.msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(2 * sizeof(int));
	memcpy(CMSG_DATA(header), pair, 2 * sizeof(int));
	return sendmsg(through, &message, MSG_DONTWAIT) < 0 ? -1 : 0;
}

static int under_way(long mib)
{
	int carrier[2] = {-1, -1};

	while (bytes_held < mib * (long)MIB) {
		int pair[2];
		long sum;

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
			return complain("socketpair");
		sum = fill(pair[0]) + fill(pair[1]);
		if (carrier[0] < 0 || (send_pair(carrier[0], pair) < 0 && errno == EAGAIN)) {
			if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, carrier) < 0)
				return complain("socketpair");
			if (send_pair(carrier[0], pair) < 0)
				return complain("sendmsg");
		} else if (errno == ETOOMANYREFS) {
			return complain("sendmsg");
		}
		(void)close(pair[0]);
		(void)close(pair[1]);
		bytes_held += sum;
		errno = 0;
	}
	return 0;
}

/* Packets whose first has no byte. */
static int packets(long mib)
{
	while (bytes_held < mib * (long)MIB) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
			if (!go_on())
				return complain("socketpair");
			continue;
		}
		(void)send(pair[0], "", 0, MSG_DONTWAIT);
		bytes_held += fill(pair[0]);
		(void)close(pair[0]);
	}
	return 0;
}

/* Connections that nobody accepts, closed at this end. */
static int backlog(long mib)
{
	for (int i = 0; bytes_held < mib * (long)MIB; i++) {
		struct sockaddr_un name = {.sun_family = AF_UNIX};
		int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), r;

		(void)snprintf(name.sun_path, sizeof(name.sun_path), "listener-%d", i);
		if (bind(listener, (struct sockaddr *)&name, sizeof(name)) < 0 || listen(listener, 4096) < 0)
			return complain("listen");
		do {
			int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

			r = connect(fd, (struct sockaddr *)&name, sizeof(name));
			if (r == 0)
				bytes_held += fill(fd);
			(void)close(fd);
		} while (r == 0 && bytes_held < mib * (long)MIB);
	}
	return 0;
}

/* Descriptors of a thread's own, which /proc/PID/fd does not show. */
static void *fill_unseen(void *arg)
{
	const char *how = arg;

	if ((*how == 'u' ? unshare(CLONE_FILES) : (int)syscall(SYS_close_range, 100000U, ~0U, CLOSE_RANGE_UNSHARE)) < 0)
		_exit(complain(how));
	for (int i = 0; i < 200; i++) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
			break;
		bytes_held += fill(pair[0]) + fill(pair[1]);
	}
	(void)pause();
	return NULL;
}

static int unseen(long mib, const char *how)
{
	for (long before = -1; bytes_held < mib * (long)MIB && bytes_held > before;) {
		pthread_t thread;

		before = bytes_held;
		errno = pthread_create(&thread, NULL, fill_unseen, (void *)(uintptr_t)how);
		if (errno)
			return complain("pthread_create");
		(void)usleep(HOLD_US / 2);
	}
	return 0;
}

static int unshared(long mib)
{
	return unseen(mib, "unshare");
}

static int unshared_range(long mib)
{
	return unseen(mib, "close_range");
}

/* A child with memory of its own that its parent waits for as for one that has the parent's. */
static int waited_for(long mib)
{
	long pid = syscall(SYS_clone, (unsigned long)(CLONE_VFORK | SIGCHLD), NULL, NULL, NULL, NULL);

	(void)mib;
	if (pid == 0)
		_exit(0);
	return pid < 0 ? complain("clone") : 0;
}

static int wide_socket(long mib)
{
	int pair[2], size = (int)(mib * (long)MIB);

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return complain("socketpair");
	return setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)) < 0 ? complain("SO_SNDBUF") : 0;
}

/* ---- the kernel's own ---- */

/* Each second page is an area of its own. */
static int areas(long mib)
{
	for (long process = 0; process * 8 < mib; process++) {
		const size_t pages = 60000;
		char *at;
		pid_t pid = fork();

		if (pid < 0)
			return complain("fork");
		if (pid > 0)
			continue;
		at = mmap(NULL, pages * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		for (size_t i = 1; i < pages && at != MAP_FAILED; i += 2)
			if (mprotect(at + i * PAGE, PAGE, PROT_READ) < 0)
				break;
		(void)usleep(4 * HOLD_US);
		_exit(0);
	}
	while (wait(NULL) > 0)
		continue;
	return 0;
}

/* Two kilobytes each. */
static int files(long mib)
{
	char name[32];

	for (long i = 0; i < mib * 512; i++) {
		(void)snprintf(name, sizeof(name), "file-%ld", i % 1000);
		if (open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600) >= 0)
			continue;
		if (!go_on())
			return complain("open");
	}
	return 0;
}

static void *wait_for_ever(void *arg)
{
	(void)pause();
	return arg;
}

static int threads(long mib)
{
	pthread_attr_t attributes;

	(void)pthread_attr_init(&attributes);
	(void)pthread_attr_setstacksize(&attributes, 65536);
	for (long i = 0; i < mib * 40; i++) {
		pthread_t thread;

		errno = pthread_create(&thread, &attributes, wait_for_ever, NULL);
		if (errno)
			return complain("pthread_create");
	}
	return 0;
}

static int event_fds(long mib)
{
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);

	for (long i = 0; i < mib * 512; i++) {
		struct epoll_event event = {.events = EPOLLIN};
		int fd = eventfd(0, EFD_CLOEXEC);

		if (fd < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
			return complain("eventfd");
	}
	return 0;
}

/* Each descriptor in each of many epolls. */
static int epolls(long mib)
{
	enum { MANY = 480 };
	int fds[MANY];

	for (int i = 0; i < MANY; i++)
		if ((fds[i] = eventfd(0, EFD_CLOEXEC)) < 0)
			return complain("eventfd");
	for (long sum = 0; sum < mib * (long)MIB / 256; sum += MANY) {
		struct epoll_event event = {.events = EPOLLIN};
		int epoll_fd = epoll_create1(EPOLL_CLOEXEC);

		for (int i = 0; i < MANY; i++)
			if (epoll_fd < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fds[i], &event) < 0)
				return complain("epoll");
	}
	return 0;
}

/* Events with long names that nobody reads: 8 MiB in each. */
static int events(long mib)
{
	char name[2][251];

	(void)mkdir("watched", 0700);
	for (int i = 0; i < 2; i++) {
		memset(name[i], 'a' + i, sizeof(name[i]) - 1);
		memcpy(name[i], "watched/", 8);
		name[i][sizeof(name[i]) - 1] = '\0';
	}
	for (long i = 0; i < mib / 8; i++) {
		int fd = inotify_init1(IN_CLOEXEC);

		if (fd < 0 || inotify_add_watch(fd, "watched", IN_MODIFY) < 0)
			return complain("inotify");
	}
	int one = open(name[0], O_RDWR | O_CREAT | O_CLOEXEC, 0600),
	    other = open(name[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	for (int i = 0; i < 8200; i++)
		if (pwrite(one, "", 1, 0) < 0 || pwrite(other, "", 1, 0) < 0)
			return complain("pwrite");
	return 0;
}

/* Two hundred bytes each, in each second byte of many files. Says why it ended, and how many there are. */
static int locks_of(long mib, int command)
{
	const long each = 1000;
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1};
	long count = 0;
	int fd = -1, error = 0;

	while (count < mib * 5000 && error == 0) {
		if (count % each == 0) {
			char name[32];

			(void)snprintf(name, sizeof(name), "lock-%ld", count / each % 500);
			fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
			if (fd < 0)
				return complain("open");
		}
		lock.l_start = count % each * 2;
		if (fcntl(fd, command, &lock) < 0)
			error = errno;
		else
			count++;
	}
	printf("count %ld\n", count);
	errno = error;
	return error ? complain("fcntl") : 0;
}

static int locks(long mib)
{
	return locks_of(mib, F_SETLK);
}

static int file_locks(long mib)
{
	return locks_of(mib, F_OFD_SETLK);
}

/* One lock set and removed again and again, for whole files and pieces. */
static int relocks(long mib)
{
	int fd = open("lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	for (long i = 0; i < mib * 5000; i++) {
		struct flock lock = {
			.l_type = i % 2 ? F_UNLCK : F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 9};

		if (fcntl(fd, i % 3 ? F_SETLKW : F_SETLK, &lock) < 0)
			return complain("fcntl");
	}
	return 0;
}

/* Set by one process, kept by another that has its descriptors: no longer under the number of who set them. */
static int locks_left(long mib)
{
	long pid = syscall(SYS_clone, (unsigned long)(CLONE_FILES | SIGCHLD), NULL, NULL, NULL, NULL);

	(void)mib;
	if (pid == 0)
		_exit(0);
	return pid < 0 ? complain("clone") : 0;
}

static int signals(long mib)
{
	sigset_t set;
	long count = 0;

	(void)sigfillset(&set);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	while (count < mib << 13 && sigqueue(getpid(), SIGRTMIN + 1, (union sigval){0}) == 0)
		count++;
	printf("count %ld\n", count);
	return count < mib << 13 ? complain("sigqueue") : 0;
}

static int timers(long mib)
{
	long count = 0;
	timer_t timer;

	while (count < mib << 12 && timer_create(CLOCK_MONOTONIC, NULL, &timer) == 0)
		count++;
	printf("count %ld\n", count);
	return count < mib << 12 ? complain("timer_create") : 0;
}

/* A file in memory: on what is mounted there (tmpfs). */
static int in_file(const char *path, long mib)
{
	static char block[MIB];
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	memset(block, 1, sizeof(block));
	if (fd < 0)
		return complain("open");
	(void)unlink(path);
	for (long i = 0; i < mib; i++) {
		if (write(fd, block, sizeof(block)) < 0)
			return complain("write");
		bytes_held += (long)MIB;
	}
	return 0;
}

static int tmpfs(long mib)
{
	return in_file("hoard", mib);
}

static int shm(long mib)
{
	return in_file("/dev/shm/hoard", mib);
}

static const struct {
	const char *name;
	int (*run)(long mib);
} ways[] = {
	{"shared-cut", shared_cut},
	{"shared-split", shared_split},
	{"shared-relay", shared_relay},
	{"dev-zero", dev_zero},
	{"dev-zero-again", dev_zero_again},
	{"huge-pages", huge_pages},
	{"huge-cut", huge_cut},
	{"leaderless", leaderless},
	{"borrowers", borrowers},
	{"vmsplice", vmspliced},
	{"splice", spliced},
	{"sendfile", sent},
	{"wide-pipe", wide_pipe},
	{"pipes", pipes},
	{"sockets", sockets},
	{"wide-socket", wide_socket},
	{"under-way", under_way},
	{"areas", areas},
	{"files", files},
	{"threads", threads},
	{"locks", locks},
	{"file-locks", file_locks},
	{"relocks", relocks},
	{"locks-left", locks_left},
	{"eventfds", event_fds},
	{"signals", signals},
	{"timers", timers},
	{"packets", packets},
	{"backlog", backlog},
	{"unshare", unshared},
	{"unshare-range", unshared_range},
	{"waited-for", waited_for},
	{"epolls", epolls},
	{"events", events},
	{"tmpfs", tmpfs},
	{"shm", shm},
};

_Noreturn static void finish(int result)
{
	(void)usleep(HOLD_US);
	printf("held %ld MiB\n", bytes_held / (long)MIB);
	_exit(result);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	for (size_t i = 0; argc == 3 && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strcmp(argv[1], ways[i].name) == 0)
			finish(ways[i].run(strtol(argv[2], NULL, 10)));
	return 2;
}
