/* What the kernel will make of an ELF file, found before it is approved. Works on hostile bytes, and reads no sections. */
#ifndef CALLGATE_SYSCALLS_EXEC_ELF_H
#define CALLGATE_SYSCALLS_EXEC_ELF_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct elf_facts {
	bool dynamic;             /* has PT_INTERP */
	char interp[PATH_MAX];    /* its text, NUL-terminated within the file */
	uint64_t first_vaddr;     /* page of the first PT_LOAD: AT_BASE plus this is where an interpreter's first page is mapped */
};

/*
 * Reads the file by pread(2), never by mmap: the program may cut it at any time. 0 with facts; -ENOEXEC when the kernel
 * would refuse it as well (not ELF, no program headers, interpreter text not terminated); -ENOTSUP when it is ELF of
 * another class or machine, which only a compat layer or binfmt_misc could run; -EIO and the like from reading.
 */
int elf_inspect(int fd, struct elf_facts *ret_facts);

#endif
