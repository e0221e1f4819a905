/*
 * exec cannot be done on the program's behalf: it is judged from the copy, continued, and compared at
 * PTRACE_EVENT_EXEC, before the new image runs an instruction, with what was approved. See design.md "exec and chdir".
 */
#ifndef CALLGATE_SYSCALLS_EXEC_EXECVE_H
#define CALLGATE_SYSCALLS_EXEC_EXECVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* An approved file, as the kernel will show it. */
struct exec_image {
	dev_t dev;
	ino_t ino;
	/* How /proc/PID/maps names a mapping of this file (differs from st_dev on btrfs and overlayfs): found by mapping it. */
	unsigned maps_major, maps_minor;
	uint64_t maps_ino;
};

struct exec_plan {
	struct exec_image image;  /* the ELF that will run (the last interpreter of a #! chain) */
	struct exec_image interp; /* its PT_INTERP */
	bool has_interp;
	uint64_t interp_page;     /* AT_BASE plus this is where interp's first page is mapped */
	char *virt;         /* virtual path of image, for the record and tree_exec */
	/* The kernel, resolving the program's own text, would not reach the approved object: rewind and run with these. */
	bool detour;
	char *host;         /* host path of the file to exec (of the interpreter for a script, so that it sees the virtual name) */
	char *execfn;       /* what AT_EXECFN must read afterwards: the name the program gave, as natively */
	/* argv for a detoured script: these texts replace argv[0]; NULL-ended; NULL when argv stays. */
	char **argv_head;
};

void exec_plan_free(struct exec_plan *plan);

/* The identity of an open regular file; `fd` must be readable. Maps one page of it to see the maps_* part. 0 or -errno. */
int exec_image_of(int fd, const struct stat *st, struct exec_image *ret_image);

/*
 * Fills the maps_* part from the mapping that begins at `addr` in /proc/PID/maps ("self" when pid is 0). 0, -ENOENT when
 * no mapping of a file begins there, or -errno when the list cannot be read.
 */
int exec_maps_find(pid_t pid, uint64_t addr, struct exec_image *ret_image);

#endif
