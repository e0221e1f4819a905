/*
 * What the bytes of an executable file say, remembered as long as the file is the same and the run cannot change it.
 * Whether it may be executed is judged at every exec, and what ran is compared with what was approved after every exec
 * (trace.h): an entry that is wrong can make an exec fail, it cannot let another file run.
 */
#ifndef CALLGATE_SYSCALLS_EXEC_CACHE_H
#define CALLGATE_SYSCALLS_EXEC_CACHE_H

#include "syscalls/call/call.h"
#include "syscalls/exec/elf.h"
#include "syscalls/exec/execve.h"

#define EXEC_INTERP_MAX 64u /* longer names of loaders are not remembered */

/* A file that may be read and executed, and is no script. */
struct exec_program {
	bool dynamic;
	char interp[EXEC_INTERP_MAX];
};

/* One of the system's own loaders. */
struct exec_loader {
	struct exec_image image;
	uint64_t page; /* see exec_plan.interp_page */
};

/* True when the file at a place, of this status, is known. */
bool exec_cache_program(const struct place *place, const struct stat *st, struct exec_program *ret_program);
void exec_cache_keep_program(const struct call *call, const struct place *place, const struct stat *st,
			     const struct elf_facts *facts);

/*
 * True when `text` (a PT_INTERP) is known, and still leads the kernel to the very file it led to when it was judged: asks
 * by one stat(2).
 */
bool exec_cache_loader(const char *text, struct exec_loader *ret_loader);
/* text was judged, led to the place and leads the kernel there. Only what the architecture's ABI names is kept. */
void exec_cache_keep_loader(const struct call *call, const struct place *place, const char *text, const struct stat *st,
			    const struct exec_loader *loader);

#endif
