/*
 * Keeps what the headers of executable files say, as long as they are unchanged and the run cannot write them. Every
 * exec is still judged, and compared with its plan afterwards: a wrong entry can only make an exec fail.
 */
#ifndef CALLGATE_SYSCALLS_EXEC_CACHE_H
#define CALLGATE_SYSCALLS_EXEC_CACHE_H

#include "syscalls/call/call.h"
#include "syscalls/exec/elf.h"
#include "syscalls/exec/execve.h"

#define EXEC_INTERP_MAX 64u /* longer names of loaders are not kept */

/* What is kept of an ELF file that may be read. */
struct exec_program {
	bool dynamic;
	char interp[EXEC_INTERP_MAX];
};

/* What is kept of one of the system's own loaders. */
struct exec_loader {
	struct exec_image image;
	uint64_t page; /* see exec_plan.interp_page */
	char virt[PATH_MAX]; /* canonical virtual path, for the record */
};

/* True when the file at a place, with this status, is kept. */
bool exec_cache_find_program(const struct place *place, const struct stat *st, struct exec_program *ret_program);
void exec_cache_keep_program(const struct call *call, const struct place *place, const struct stat *st,
			     const struct elf_facts *facts);

/* True for the path of one of the system's own loaders. */
bool exec_cache_is_system_loader(const char *text);

/* True when `text` (a PT_INTERP) is kept and still leads the kernel to the same file, by one stat(2). */
bool exec_cache_find_loader(const char *text, struct exec_loader *ret_loader);
/* text was judged, and leads us and the kernel to the place. Only the loaders of the ABI are kept. */
void exec_cache_keep_loader(const struct call *call, const struct place *place, const char *text, const struct stat *st,
			    const struct exec_loader *loader);

#endif
