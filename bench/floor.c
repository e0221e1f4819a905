/*
 * The lowest cost the mechanism allows: a seccomp user-notification emulator that judges nothing and records nothing. It
 * performs open, openat, stat and newfstatat on a copied path and continues whatever else it is asked. Both ends stay on
 * one CPU, where a notification costs least. `make bench` measures callgate against it.
 *
 *     floor PROGRAM [ARG…]
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/banned.h"

#ifndef SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP /* Linux 6.6 */
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif

#ifndef __NR_open /* aarch64 has the *at forms only */
#define __NR_open __NR_openat
#define __NR_stat __NR_newfstatat
#endif

static int install(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_openat, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_newfstatat, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_open, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_stat, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
	};
	struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

static ssize_t read_path(pid_t pid, uint64_t address, char *path, size_t cap)
{
	size_t page = 4096 - (size_t)(address & 4095);
	struct iovec local = {.iov_base = path, .iov_len = cap - 1};
	struct iovec remote[2] = {{.iov_base = (void *)(uintptr_t)address, .iov_len = page < 256 ? page : 256},
				  {.iov_base = (void *)(uintptr_t)(address + page), .iov_len = 256}};
	ssize_t len = process_vm_readv(pid, &local, 1, remote, page < 256 ? 2 : 1, 0);

	path[len < 0 ? 0 : len] = '\0';
	return len;
}

static int64_t do_stat(const struct seccomp_notif *request, int dirfd, const char *path, uint64_t buffer, int flags)
{
	struct stat status;
	struct iovec local = {.iov_base = &status, .iov_len = sizeof(status)};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)buffer, .iov_len = sizeof(status)};

	if (fstatat(dirfd, path, &status, flags) < 0)
		return -errno;
	return process_vm_writev((pid_t)request->pid, &local, 1, &remote, 1, 0) < 0 ? -EFAULT : 0;
}

static void give_fd(int listener, const struct seccomp_notif *request, int fd, int flags)
{
	struct seccomp_notif_addfd addfd = {.id = request->id,
					    .flags = SECCOMP_ADDFD_FLAG_SEND,
					    .srcfd = (unsigned)fd,
					    .newfd_flags = (unsigned)flags & O_CLOEXEC};

	(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &addfd);
	(void)close(fd);
}

static void serve(int listener)
{
	struct seccomp_notif request = {0};
	struct seccomp_notif_resp response = {0};
	bool at, opens;
	char path[512];
	int64_t result = -ENOENT;

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) < 0)
		return;
	at = request.data.nr == __NR_openat || request.data.nr == __NR_newfstatat;
	opens = request.data.nr == __NR_openat || request.data.nr == __NR_open;
	response.id = request.id;
	if (read_path((pid_t)request.pid, request.data.args[at], path, sizeof(path)) < 0 || path[0] != '/') {
		response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE; /* relative: nobody's measure */
		(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
		return;
	}
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &request.id) < 0)
		return;
	if (opens) {
		int flags = (int)request.data.args[at + 1];
		int fd = open(path, flags | O_CLOEXEC, (mode_t)request.data.args[at + 2]);

		if (fd >= 0) {
			give_fd(listener, &request, fd, flags);
			return;
		}
		result = -errno;
	} else {
		result = do_stat(&request, AT_FDCWD, path, request.data.args[at + 1], at ? (int)request.data.args[3] : 0);
	}
	response.error = (int)result;
	(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

static int run_child(char **argv, volatile int *shared)
{
	*shared = install();
	if (*shared < 0) {
		perror("floor: seccomp");
		return 125;
	}
	(void)unshare(CLONE_FILES);
	(void)close(*shared);
	(void)execvp(argv[0], argv);
	perror(argv[0]);
	return 127;
}

int main(int argc, char **argv)
{
	volatile int *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cpu_set_t one;
	int status = 0;
	pid_t child;

	if (argc < 2 || shared == MAP_FAILED) {
		fputs("usage: floor PROGRAM [ARG...]\n", stderr);
		return 125;
	}
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	(void)sched_setaffinity(0, sizeof(one), &one);
	*shared = -1;
	child = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL);
	if (child == 0)
		_exit(run_child(argv + 1, shared));
	while (*shared < 0 && waitpid(child, &status, WNOHANG) == 0)
		(void)sched_yield();
	(void)ioctl(*shared, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
	for (;;) {
		struct pollfd ready = {.fd = *shared, .events = POLLIN};

		(void)poll(&ready, 1, -1);
		if (!(ready.revents & POLLIN))
			break;
		serve(*shared);
	}
	(void)waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
