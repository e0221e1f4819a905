/*
 * Finds what the kernel will do with an ELF file, before the exec is approved. Bytes may be forged; sections are not
 * read.
 */
#ifndef CALLGATE_SYSCALLS_EXEC_ELF_H
#define CALLGATE_SYSCALLS_EXEC_ELF_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* What the kernel tells the new image about the file in the auxiliary vector, less the address of the image. */
struct elf_layout {
	uint64_t entry_minus_phdr; /* AT_ENTRY - AT_PHDR; may have wrapped around */
	uint64_t phdr_count;            /* AT_PHNUM */
};

/* What the headers of an ELF file say. */
struct elf_facts {
	bool is_dynamic;          /* the file has a PT_INTERP */
	char interp[PATH_MAX];    /* the path in PT_INTERP, NUL-terminated */
	/* page address of the first PT_LOAD; in a loader, relative to AT_BASE */
	uint64_t first_vaddr;
	uint64_t entry;           /* e_entry; in a loader, relative to AT_BASE */
	struct elf_layout layout;
};

/*
 * Reads by pread(2), because the program may truncate the file, and a mapping would raise SIGBUS. 0; -ENOEXEC: the
 * kernel refuses the file too (not ELF, no program headers, unterminated interpreter); -ENOTSUP: another class or
 * machine, which only a compat layer or binfmt_misc could run; or -errno from reading.
 */
int elf_inspect_file(int fd, struct elf_facts *ret_facts);

#endif
