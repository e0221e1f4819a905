/*
 * /proc while the kernel judges reading. The program has a procfs of its processes and of the machine. What a judged
 * /proc does not have is covered; /proc/sys is replaced by a tree of copies; vmstat and meminfo by files of callgate's.
 * Of the run's own processes the kernel shows all that it has: doc/security.md.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/mounts.h"
#include "view/kernel-reads.h"
#include "view/meminfo.h"

#define PROC_SYS_DIR "sys"                     /* the directory below /proc */
#define PROC_SYS_FILE_BYTES_MAX 4096           /* content of a file of /proc/sys that is copied */
#define PROC_SYS_UUID "sys/kernel/random/uuid" /* each read makes another one: the kernel's file is mounted */

/* The copying of a directory of /proc, to cover the rest of it. */
struct proc_cover {
	struct kernel_reads *reads;
	int proc_fd;       /* the program's /proc */
	const char *copied_dir; /* the directory of /proc that is copied: "sys/kernel" */
	int result_so_far;      /* 0, or the -errno of the first entry that could not be copied */
};

/* Mounts a copy of the object (fd, name) over a name of the program's /proc. 0 or -errno. */
static int proc_mount_over(int from_fd, const char *name, int proc_fd, const char *over)
{
	_cleanup_close_ int copy = -1, point = openat2_retry(proc_fd, over, O_PATH | O_NOFOLLOW, 0, IO_RESOLVE_BELOW);

	if (point < 0)
		return point;
	copy = mounts_clone_restricted(from_fd, name, MOUNTS_READ_ONLY | MOUNTS_NO_DEVICES | MOUNTS_NO_SETID);
	return copy < 0 ? copy : mounts_attach_copy(copy, point, "");
}

/* Makes a file of these bytes among the objects of the covers. 0 or -errno. */
static int proc_make_file(int dir_fd, const char *name, const void *text, size_t len)
{
	_cleanup_close_ int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);

	return fd < 0 ? -errno : io_write_all(fd, text, len);
}

/* ---- covering what /proc would not show if its reads were judged ---- */

/* Covers an entry of /proc that the view does not show. */
static int proc_cover_entry(struct kernel_reads *reads, int proc_fd, const struct dirent *entry)
{
	const char *name = entry->d_name;
	int r;

	if (name[0] == '.' || (name[0] >= '0' && name[0] <= '9') ||
	    proc_classify_path(reads->view, NULL, name) != PROC_ABSENT)
		return 0;
	r = covers_mount(reads, proc_fd, name, entry->d_type == DT_DIR, COVER_ABSENT);
	return r == -ENOENT ? 0 : r; /* a module of the kernel has removed it */
}

/* Covers what /proc has and the view does not show. */
static int proc_cover_entries_absent_in_view(struct kernel_reads *reads, int proc_fd)
{
	_cleanup_closedir_ DIR *dir = io_take_dir_stream(io_open_dir(proc_fd, "."));
	const struct dirent *entry;
	int r = dir ? 0 : -errno;

	while (r == 0 && (entry = io_read_entry(dir, &r)))
		r = proc_cover_entry(reads, proc_fd, entry);
	return r;
}

/* ---- /proc/sys ---- */

/* Copies an entry of /proc/sys, with its present content. */
static void proc_copy_sys_entry(void *ctx, const char *name, mode_t type)
{
	struct proc_cover *cover = ctx;
	char path[128], text[PROC_SYS_FILE_BYTES_MAX];
	ssize_t len;

	if (cover->result_so_far < 0)
		return;
	(void)snprintf(path, sizeof(path), "%s/%s", cover->copied_dir, name);
	if (type == S_IFDIR) {
		struct proc_cover inner = {.reads = cover->reads, .proc_fd = cover->proc_fd, .copied_dir = path};

		if (mkdirat(cover->reads->objects_dir_fd, path, 0755) < 0)
			inner.result_so_far = -errno;
		else
			proc_visit_machine_entries(path, proc_copy_sys_entry, &inner);
		cover->result_so_far = inner.result_so_far;
		return;
	}
	len = io_read_once(cover->proc_fd, path, text, sizeof(text));
	if (len >= 0) /* else the kernel does not have it */
		cover->result_so_far = proc_make_file(cover->reads->objects_dir_fd, path, text, (size_t)len);
}

/* Mounts a copy of those files of /proc/sys that the view shows over /proc/sys. */
static int proc_replace_sys(struct kernel_reads *reads, int proc_fd)
{
	struct proc_cover cover = {.reads = reads, .proc_fd = proc_fd, .copied_dir = PROC_SYS_DIR};
	_cleanup_close_ int uuid = mounts_clone_restricted(proc_fd, PROC_SYS_UUID, MOUNTS_READ_ONLY | MOUNTS_NO_SETID);
	_cleanup_close_ int point = -1;
	int r;

	if (mkdirat(reads->objects_dir_fd, PROC_SYS_DIR, 0755) < 0)
		return -errno;
	proc_visit_machine_entries(PROC_SYS_DIR, proc_copy_sys_entry, &cover);
	r = cover.result_so_far == 0 ? proc_mount_over(reads->objects_dir_fd, PROC_SYS_DIR, proc_fd, PROC_SYS_DIR)
				     : cover.result_so_far;
	if (r < 0 || uuid < 0)
		return r;
	point = openat2_retry(proc_fd, PROC_SYS_UUID, O_PATH, 0, IO_RESOLVE_BELOW);
	return point < 0 ? point : mounts_attach_copy(uuid, point, "");
}

/* ---- files that callgate makes ---- */

/* Mounts the generated file over /proc/vmstat. */
static int proc_replace_vmstat(struct kernel_reads *reads, int proc_fd)
{
	_cleanup_buf_ struct buf text = {0};
	int r;

	facts_write_vmstat(reads->view, &text);
	r = text.failed ? -ENOMEM : proc_make_file(reads->objects_dir_fd, "vmstat", text.data, text.len);
	return r < 0 ? r : proc_mount_over(reads->objects_dir_fd, "vmstat", proc_fd, "vmstat");
}

/*
 * If the run's memory is limited, replaces meminfo by a file with the limit. The file never changes: it shows the usage
 * that the run has at its start, none.
 */
static int proc_replace_meminfo(struct kernel_reads *reads, int proc_fd)
{
	const uint64_t limit = policy_get_settings(reads->view->policy)->limits.memory_bytes;
	char text[MEMINFO_BYTES_MAX], limited[MEMINFO_BYTES_MAX];
	ssize_t len;
	int r;

	if (limit == 0)
		return 0;
	len = io_read_once(proc_fd, "meminfo", text, sizeof(text));
	if (len < 0)
		return (int)len;
	if (!meminfo_limit_is_below_total(text, limit))
		return 0;
	r = meminfo_write_limited(text, limit, 0, limited, sizeof(limited));
	if (r == 0)
		r = proc_make_file(reads->objects_dir_fd, "meminfo", limited, strlen(limited));
	return r < 0 ? r : proc_mount_over(reads->objects_dir_fd, "meminfo", proc_fd, "meminfo");
}

int reads_prepare_proc(struct kernel_reads *reads)
{
	_cleanup_close_ int proc_fd = openat2_retry(reads->root_fd, "proc", O_PATH | O_DIRECTORY, 0, IO_RESOLVE_BELOW);
	int r = proc_fd < 0 ? proc_fd : proc_replace_sys(reads, proc_fd);

	if (r == 0)
		r = proc_replace_vmstat(reads, proc_fd);
	if (r == 0)
		r = proc_replace_meminfo(reads, proc_fd);
	return r == 0 ? proc_cover_entries_absent_in_view(reads, proc_fd) : r;
}
