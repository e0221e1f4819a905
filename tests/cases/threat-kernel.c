/* Threats 13 to 15: other architectures, high bits of narrow arguments, calls that are refused whatever they say. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/keyctl.h>

#include "syscalls/table/table.h"
#include "tests/cases/threat.h"

/*
 * A program of 32 bits, of i386 or 32-bit Arm: mkdir("by-foreign", 0700), and exit with whether that failed. On arm64
 * only a process in which such a program was executed can make calls of that architecture.
 */
#define FOREIGN_BASE 0x10000u
#define FOREIGN_BEGIN (sizeof(Elf32_Ehdr) + sizeof(Elf32_Phdr))
#if defined(__x86_64__)
#define FOREIGN_MACHINE EM_386
#define FOREIGN_FLAGS 0
static const char foreign_code[] = "\xb8\x27\0\0\0"     /* mov $39, %eax (mkdir) */
				   "\xbb\x71\0\1\0"     /* mov $0x10071, %ebx, which is the text below */
				   "\xb9\xc0\1\0\0"     /* mov $0700, %ecx */
				   "\xcd\x80"           /* int $0x80 */
				   "\x89\xc3\x83\xe3\1" /* mov %eax, %ebx; and $1, %ebx: 0, or 1 for most errors */
				   "\xb8\1\0\0\0"       /* mov $1, %eax (exit) */
				   "\xcd\x80"           /* int $0x80 */
				   "by-foreign";
#elif defined(__aarch64__)
#define FOREIGN_MACHINE EM_ARM
#define FOREIGN_FLAGS EF_ARM_EABI_VER5
static const uint32_t foreign_code[] = {
	0xe3a07027,                         /* mov r7, #39 (mkdir) */
	0xe28f0014,                         /* add r0, pc, #20 */
	0xe3a01d07,                         /* mov r1, #0700 */
	0xef000000,                         /* svc #0 */
	0xe3a07001,                         /* mov r7, #1 (exit) */
	0xe2000001,                         /* and r0, r0, #1: 0, or 1 for most errors */
	0xef000000,                         /* svc #0 */
	0xe1a00000,                         /* nop */
	0x662d7962, 0x6965726f, 0x00006e67, /* "by-foreign" */
};
#endif

static int make_foreign_program(const char *name)
{
	const Elf32_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, EV_CURRENT},
				   .e_type = ET_EXEC,
				   .e_machine = FOREIGN_MACHINE,
				   .e_version = EV_CURRENT,
				   .e_entry = FOREIGN_BASE + FOREIGN_BEGIN,
				   .e_phoff = sizeof(Elf32_Ehdr),
				   .e_flags = FOREIGN_FLAGS,
				   .e_ehsize = sizeof(Elf32_Ehdr),
				   .e_phentsize = sizeof(Elf32_Phdr),
				   .e_phnum = 1};
	const Elf32_Phdr segment = {.p_type = PT_LOAD,
				    .p_vaddr = FOREIGN_BASE,
				    .p_paddr = FOREIGN_BASE,
				    .p_filesz = FOREIGN_BEGIN + sizeof(foreign_code),
				    .p_memsz = FOREIGN_BEGIN + sizeof(foreign_code),
				    .p_flags = PF_R | PF_X,
				    .p_align = 0x10000};
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	bool is_written = fd >= 0 && write(fd, &header, sizeof(header)) == (ssize_t)sizeof(header) &&
			  write(fd, &segment, sizeof(segment)) == (ssize_t)sizeof(segment) &&
			  write(fd, foreign_code, sizeof(foreign_code)) == (ssize_t)sizeof(foreign_code);

	if (fd >= 0)
		(void)close(fd);
	return is_written ? 0 : 2;
}

#if defined(__x86_64__)
static long int80(long nr, const void *a, long b)
{
	long ret;

	__asm__ volatile("int $0x80"
			 : "=a"(ret)
			 : "a"(nr), "b"(a), "c"(b), "d"(0)
			 : "memory", "r8", "r9", "r10", "r11");
	return ret;
}

/* mkdir under the numbers of i386 and x32. The path is below 4 GiB, as i386 needs it. */
static int try_foreign_numbers(void)
{
	char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	pid_t pid;

	if (low == MAP_FAILED)
		return 2;
	memcpy(low, "by-int80", 9);
	pid = fork(); /* may be killed for it, which is an answer as well */
	if (pid == 0)
		_exit(int80(39, low, 0755) >= 0);
	waitpid(pid, NULL, 0);
	if (access("by-int80", F_OK) == 0)
		threat_got("mkdir by int 0x80");
	pid = fork();
	if (pid == 0)
		_exit(int80(20, NULL, 0) == getpid());
	{
		int status;

		waitpid(pid, &status, 0);
		if (WIFEXITED(status) && WEXITSTATUS(status) == 1)
			threat_got("getpid by int 0x80");
	}
	pid = fork();
	if (pid == 0)
		_exit(syscall(0x40000000 | SYS_mkdir, "by-x32", 0755) >= 0);
	waitpid(pid, NULL, 0);
	if (access("by-x32", F_OK) == 0)
		threat_got("mkdir by an x32 number");
	/* the kernel drops them, so it is a mkdir, judged as one */
	threat_refused("a number with high bits", syscall((1L << 32) | SYS_mkdir, "/by-high", 0755), 0);
	return threat_result();
}
#elif defined(__aarch64__)
/* A program of 64 bits can make no call of 32-bit Arm. */
static int try_foreign_numbers(void)
{
	threat_refused("a number of x32", syscall(0x40000000 | SYS_mkdirat, AT_FDCWD, "by-x32", 0755), ENOSYS);
	/* the kernel drops them, so it is a mkdirat, judged as one */
	threat_refused("a number with high bits", syscall((1L << 32) | SYS_mkdirat, AT_FDCWD, "/by-high", 0755), 0);
	return threat_result();
}
#endif

/* arches PROGRAM: makes a program of 32 bits where there is none (outside, first), or else tries to run it. */
int threat_arches(char **arg)
{
	if (access(arg[0], F_OK) < 0)
		return make_foreign_program(arg[0]);
	threat_refused("a program of 32 bits", execl(arg[0], arg[0], NULL), ENOEXEC);
	return try_foreign_numbers();
}

/* highbits: what the kernel ignores above bit 31, a filter must ignore as well. */
int threat_highbits(char **arg)
{
	static const unsigned long high[] = {0, 1UL << 32, 1UL << 40, 1UL << 63, 0xffffffff00000000UL};
	static const unsigned long ioctls[] = {0x5412 /* TIOCSTI */, 0x541c /* TIOCLINUX */, 0x5410 /* TIOCSPGRP */,
					       0x540e /* TIOCSCTTY */, 0x8901 /* FIOSETOWN */, 0x8902 /* SIOCSPGRP */,
					       0x40086602 /* FS_IOC_SETFLAGS */, 0x5423 /* TIOCSETD */,
					       0x541d /* TIOCCONS */};
	static const long domains[] = {AF_PACKET, 38 /* ALG */, 40 /* VSOCK */, AF_INET, 44 /* XDP */};

	(void)arg; /* takes none */
	for (size_t h = 0; h < sizeof(high) / sizeof(high[0]); h++) {
		char byte = 'x';

		for (size_t i = 0; i < sizeof(ioctls) / sizeof(ioctls[0]); i++)
			for (int fd = 0; fd < 3; fd++)
				threat_refused("ioctl", syscall(SYS_ioctl, fd, ioctls[i] | high[h], &byte), 0);
		for (size_t i = 0; i < sizeof(domains) / sizeof(domains[0]); i++)
			threat_refused("socket",
				       syscall(SYS_socket, (unsigned long)domains[i] | high[h], SOCK_DGRAM, 0), 0);
		threat_refused("SOCK_DIAG", syscall(SYS_socket, AF_NETLINK | high[h], SOCK_RAW, 4 | high[h]), 0);
		threat_works("prctl dumpable", (int)syscall(SYS_prctl, 4 | high[h], 0, 0, 0, 0)); /* without effect */
		if (syscall(SYS_prctl, 3, 0, 0, 0, 0) != 1)
			threat_got("an undumpable process");
		threat_refused("prctl mm", syscall(SYS_prctl, 35 | high[h], 1, 0, 0, 0), 0);
		threat_refused("clone", syscall(SYS_clone, 0x10000000UL | 17 | high[h], 0, 0, 0, 0), EPERM);
		threat_refused("unshare", syscall(SYS_unshare, 0x10000000UL | high[h]), EPERM);
		threat_refused("fcntl", syscall(SYS_fcntl, 0, 8 | high[h], getppid()), ESRCH);
		threat_refused("personality", syscall(SYS_personality, 0x0400000UL | high[h]), 0);
		threat_refused("socketpair dgram", syscall(SYS_socketpair, AF_UNIX | high[h], SOCK_DGRAM, 0, &byte), 0);
	}
	return threat_result();
}

/* uretprobe and uprobe pass every filter by design and kill a caller that is no probe (arch/x86/kernel/uprobes.c). */
static bool is_probe(const struct syscall_row *row)
{
	return strcmp(row->name, "uretprobe") == 0 || strcmp(row->name, "uprobe") == 0;
}

/* refusals: every row that is refused whatever its arguments, with the row's error. */
int threat_refusals(char **arg)
{
	size_t count;
	const struct syscall_row *rows = table_get_rows(&count);

	(void)arg; /* takes none */
	for (size_t i = 0; i < count; i++)
		if (rows[i].nr >= 0 && (rows[i].class == ROW_REFUSE || rows[i].class == ROW_REFUSE_UNRECORDED) &&
		    !is_probe(&rows[i]))
			threat_refused(rows[i].name, syscall(rows[i].nr, 0, 0, 0, 0, 0, 0), rows[i].error);
	return threat_result();
}

/* sweep FROM TO: those of these numbers that no row has are ENOSYS. */
int threat_sweep(char **arg)
{
	long to = strtol(arg[1], NULL, 10);

	for (long nr = strtol(arg[0], NULL, 10); nr <= to; nr++) {
		if (table_find_row((int)nr))
			continue;
		errno = 0;
		threat_refused("an unknown number", syscall(nr, 0, 0, 0, 0, 0, 0), ENOSYS);
	}
	threat_refused("the highest number", syscall(0x3fffffff, 0, 0, 0, 0, 0, 0), ENOSYS);
	return threat_result();
}
