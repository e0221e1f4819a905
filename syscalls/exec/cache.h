/*
 * Caches what exec needs of the headers of executable files, while they are unchanged and the run cannot write them.
 * Every exec is still judged, and compared with its plan afterwards: a wrong entry can only make an exec fail.
 */
#ifndef CALLGATE_SYSCALLS_EXEC_CACHE_H
#define CALLGATE_SYSCALLS_EXEC_CACHE_H

#include "syscalls/call/call.h"
#include "syscalls/exec/elf.h"
#include "syscalls/exec/execve.h"

#define EXEC_INTERP_BYTES_MAX 64u /* bytes; files with a longer PT_INTERP are not kept */

/* What the cache keeps of an executable ELF file. */
struct exec_program {
	bool is_dynamic;                    /* the file has a PT_INTERP: `interp` */
	char interp[EXEC_INTERP_BYTES_MAX]; /* path of its loader */
	struct elf_layout layout;
};

/* What the cache keeps of a loader of the ABI, such as /lib64/ld-linux-x86-64.so.2. */
struct exec_loader {
	struct exec_image image;
	uint64_t first_page_offset; /* see exec_plan.loader_first_page_offset */
	uint64_t entry_offset;      /* see exec_plan.loader_entry_offset */
	bool path_is_immutable;  /* what exec_path_is_immutable() returned for the loader's path in PT_INTERP */
	char virtual_path[PATH_MAX]; /* the loader's canonical virtual path, for the record */
};

/* Whether the file at a place is in the cache with this status. */
bool exec_cache_find_program(const struct place *place, const struct stat *st, struct exec_program *ret_program);
void exec_cache_add_program(const struct call *call, const struct place *place, const struct stat *st,
			     const struct elf_facts *facts);

/* Whether `text` is the path of a loader of the ABI. */
bool exec_cache_is_system_loader(const char *text);

/* Whether loader `text` (a PT_INTERP) is in the cache and the path still leads to the same file, by one stat(2). */
bool exec_cache_find_loader(const char *text, struct exec_loader *ret_loader);
/* Keeps a loader that was judged, and that the kernel also finds by `text`. Only the ABI's loaders are kept. */
void exec_cache_add_loader(const struct call *call, const struct place *place, const char *text, const struct stat *st,
			    const struct exec_loader *loader);

#endif
