/*
 * Finds what the kernel will do with an ELF file, before it is approved. The bytes are hostile; sections are not read.
 */
#ifndef CALLGATE_SYSCALLS_EXEC_ELF_H
#define CALLGATE_SYSCALLS_EXEC_ELF_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct elf_facts {
	bool dynamic;             /* has PT_INTERP */
	char interp[PATH_MAX];    /* path in PT_INTERP, NUL-terminated within the file */
	uint64_t first_vaddr;     /* page of the first PT_LOAD, relative to AT_BASE for a loader */
};

/*
 * Reads by pread(2), not mmap(2), because the program may truncate the file. 0 with facts; -ENOEXEC where the kernel
 * refuses the file, too (not ELF, no program headers, unterminated interpreter); -ENOTSUP for another class or machine,
 * which only a compat layer or binfmt_misc could run; -errno from reading.
 */
int elf_inspect_file(int fd, struct elf_facts *ret_facts);

#endif
