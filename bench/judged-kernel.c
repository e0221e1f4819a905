/* The program's memory, which is served from here, and the system calls that valgrind does not know. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bench/judged-calls.h"

char judged_memory[PATH_MAX * 2];

static ssize_t memory_read(pid_t tid, uint64_t addr, void *out, size_t len)
{
	(void)tid;
	if (addr < JUDGED_MEMORY || addr - JUDGED_MEMORY >= sizeof(judged_memory))
		return -EFAULT;
	if (len > sizeof(judged_memory) - (addr - JUDGED_MEMORY))
		len = sizeof(judged_memory) - (addr - JUDGED_MEMORY);
	memcpy(out, judged_memory + (addr - JUDGED_MEMORY), len);
	return (ssize_t)len;
}

static ssize_t memory_write(pid_t tid, uint64_t addr, const void *from, size_t len)
{
	(void)tid;
	(void)addr;
	(void)from;
	return (ssize_t)len;
}

const struct memory_ops judged_guest = {.read = memory_read, .write = memory_write};

/* ---- what is not there under valgrind; the linker puts these in the place of libc's (--wrap) ---- */

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_now);

long __wrap_syscall(long number, ...)
{
	long arg[6];
	va_list args;

	va_start(args, number);
	for (unsigned i = 0; i < 6; i++)
		arg[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_pidfd_getfd)
		return fcntl((int)arg[1], F_DUPFD_CLOEXEC, 3);
	if (number == SYS_openat2)
		return openat((int)arg[0], (const char *)arg[1],  /* NOLINT(performance-no-int-to-ptr) */
			      (int)((const struct open_how *)arg[2])->flags); /* NOLINT(performance-no-int-to-ptr) */
	return __real_syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

/* The listener: every notification is still waited for. */
int __wrap_ioctl(int fd, unsigned long request, ...)
{
	(void)fd;
	(void)request;
	return 0;
}

/*
 * Hash nothing. valgrind knows no SHA instructions, so it would count the generic implementation: 25,000 instructions a
 * record. With SHA instructions it is about 0.25 us.
 */
void __wrap_nettle_sha256_update(void *context, size_t len, const unsigned char *bytes);
void __wrap_nettle_sha256_digest(void *context, size_t len, unsigned char *ret_digest);
void __wrap_nettle_sha256_update(void *context, size_t len, const unsigned char *bytes)
{
	(void)context;
	(void)len;
	(void)bytes;
}

void __wrap_nettle_sha256_digest(void *context, size_t len, unsigned char *ret_digest)
{
	(void)context;
	memset(ret_digest, 0, len);
}

/* A microsecond later at each look: what is done again after some time must not depend on the machine's load. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_now)
{
	static long looks;

	(void)clock;
	looks++;
	*ret_now = (struct timespec){.tv_sec = 1000 + looks / 1000000, .tv_nsec = looks % 1000000 * 1000};
	return 0;
}
