/*
 * The plan of an approved exec. The supervisor cannot perform an exec for the program: it judges the copied arguments,
 * lets the kernel run the call, and at PTRACE_EVENT_EXEC, before the new image runs an instruction, compares.
 */
#ifndef CALLGATE_SYSCALLS_EXEC_EXECVE_H
#define CALLGATE_SYSCALLS_EXEC_EXECVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* The identity of an approved file. */
struct exec_image {
	dev_t dev;
	ino_t ino;
	/*
	 * As /proc/PID/maps shows its mappings, which on btrfs and overlayfs differs from st_dev: found by mapping it.
	 */
	unsigned maps_major, maps_minor;
	uint64_t maps_ino;
};

struct exec_plan {
	struct exec_image image;  /* the ELF that will run (the last interpreter of a #! chain) */
	struct exec_image interp; /* its PT_INTERP */
	bool has_interp;
	uint64_t interp_page;     /* AT_BASE plus this is the address of interp's first page */
	char *loader;             /* the path of interp as image names it, for the record; NULL: there is none */
	char *loader_virt;        /* and its virtual path */
	char *virt;               /* virtual path of image, for the record and tree_note_exec */
	bool detour;              /* the kernel would not reach image by the program's path: restart with these */
	char *host;               /* host path of the file to exec: the last interpreter for a script */
	char *execfn;             /* AT_EXECFN for the new image: the path that the program gave, as natively */
	char **argv_head;         /* for a script, texts that replace argv[0], NULL-ended; NULL: argv stays */
};

void exec_plan_free(struct exec_plan *plan);

/* The identity of a regular file; fd must be readable. 0 or -errno. */
int exec_image_identify(int fd, const struct stat *st, struct exec_image *ret_image);

/*
 * Fills in maps_* from the mapping that begins at `addr` in /proc/PID/maps (pid 0: this process's). 0, -ENOENT when no
 * mapping of a file begins there, or -errno.
 */
int exec_maps_find_mapping(pid_t pid, uint64_t addr, struct exec_image *ret_image);

#endif
