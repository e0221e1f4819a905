/*
 * The plan of an approved exec. The supervisor cannot perform an exec for the program. It judges the copied arguments
 * and lets the kernel run the call. At PTRACE_EVENT_EXEC, before the new image runs, it compares the image with the
 * plan.
 */
#ifndef CALLGATE_SYSCALLS_EXEC_EXECVE_H
#define CALLGATE_SYSCALLS_EXEC_EXECVE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include "syscalls/exec/elf.h"
#include "syscalls/exec/environment.h"

/* Identifies the approved file, by which the image that the kernel has loaded is verified. */
struct exec_image {
	dev_t dev;
	ino_t ino;
	/*
	 * The device and inode that /proc/PID/maps shows for a mapping of the file; on btrfs and overlayfs the device
	 * differs from st_dev.
	 */
	unsigned maps_major, maps_minor;
	uint64_t maps_ino; /* inode number as /proc/PID/maps shows it */
};

/* What judging an exec has found: the files that the kernel must load. The tracer compares what it has loaded. */
struct exec_plan {
	struct exec_image image;  /* the ELF file that will run: the program, or the last interpreter of a "#!" chain */
	struct exec_image loader_image; /* the program's dynamic loader (PT_INTERP) */
	bool has_loader;                /* the program is dynamic: loader_image is set */
	uint64_t loader_first_page_offset;     /* AT_BASE plus this is the address of the loader's first page */
	/*
	 * True: the name that the kernel has used proves which files it has loaded, because the run can change neither
	 * the files nor what their names lead to. Then `layout` and `loader_entry_offset` describe these files.
	 */
	bool path_proves_loaded_files;
	struct elf_layout layout;        /* of the program: where its headers and entry point are */
	uint64_t loader_entry_offset;    /* AT_BASE plus this is the loader's first instruction */
	char *loader_path;             /* the loader's path in PT_INTERP, for the record; NULL: no loader */
	char *loader_virtual_path;        /* the loader's virtual path */
	char *virtual_path;               /* virtual path of `image`, for the record and task_table_set_exe */
	/*
	 * the path that the program gave does not lead the kernel to `image`, so the call is restarted with
	 * `host_path`, `execfn` and `argv_head`
	 */
	bool needs_restart;
	/* the kernel's path of the file to exec; for a script, of the last interpreter */
	char *host_path;
	char *execfn;             /* AT_EXECFN for the new image: the path that the program gave */
	struct exec_asked *asked; /* owned; NULL: the exec was not asked about */
	/* for a script: replaces argv[0], NULL-terminated; NULL: argv stays */
	char **argv_head;
};

#define EXEC_ASKED_BYTES_MAX 16384u /* most bytes of arguments with which an exec is asked about */

/* What identifies a file and its content, as far as the kernel notes changes. */
struct exec_stamp {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec mtime, ctime;
};

/* Of an exec that an approver is asked about: what the question shows, and what the new image must agree with. */
struct exec_asked {
	char argv[EXEC_ASKED_BYTES_MAX]; /* the program's arguments, each with a NUL behind it */
	size_t argv_len;
	char command[2 * EXEC_ASKED_BYTES_MAX]; /* the arguments that the new image must have: for scripts, others */
	size_t command_len;
	/* the file that the program named, and for a script its interpreter: supervisor's paths, and what was there */
	char path[2][PATH_MAX];
	struct exec_stamp stamp[2];
	unsigned path_count;
	char cwd[PATH_MAX]; /* the directory in which the program would run, as it sees it; "": not known */
	struct exec_environment environment;
	dev_t cwd_dev;      /* and which one it is; zeros: not known */
	ino_t cwd_ino;
};

/* Fills in a stamp with what is at a path; zeros: nothing. Padding is zero, so that stamps compare by memcmp(3). */
void exec_stamp_read(const char *path, struct exec_stamp *ret_stamp);

/* Whether a process stopped at its exec has the arguments and environment, and the files the content, asked about. */
bool exec_asked_is_what_runs(const struct exec_asked *asked, pid_t pid);

void exec_plan_free(struct exec_plan *plan);

/* Identifies a regular file; fd must be readable. 0 or -errno. */
int exec_image_read_identity(int fd, const struct stat *st, struct exec_image *ret_image);

/*
 * Sets maps_* from the mapping that begins at `addr` in /proc/PID/maps; pid 0: this process's. 0; -ENOENT: no file is
 * mapped there; or -errno.
 */
int exec_maps_find_mapping(pid_t pid, uint64_t addr, struct exec_image *ret_image);

#endif
