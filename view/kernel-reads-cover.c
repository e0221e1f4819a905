/*
 * Covers: mounts over names that a program must not read while the kernel judges reading. A name that is no directory
 * is covered by a symbolic link, which is the root of its own mount: stat(2) and open(2) follow it to nothing, or into
 * a directory that no process can enter, and fail as in a judged run. Only lstat(2) and readlink(2) show the link.
 *
 * A directory that does not exist for the program is covered by the supervisor's directory of the program's procfs. By
 * hidepid=invisible it is ENOENT for all who cannot trace the supervisor (proc_pid_permission() and pid_getattr() in
 * fs/proc/base.c), and that no program of the run can, because the supervisor is not dumpable.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/mounts.h"
#include "view/kernel-reads.h"

/* Each cover takes about 7 us, and as long again when the run ends. */
#define COVERS_MAX 2000u

/* the covers' directory; in that of the stand-in directories, of which there are none when the kernel judges reads */
#define COVERS_DIR_NAME "covers"
#define COVERS_ABSENT_LINK_TARGET "/dev/.callgate-nothing" /* where nothing is: the program's /dev is never written */
#define COVERS_UNENTERABLE_DIR VIEW_PATHLESS_MOUNTS_DIR_PATH /* a directory of mode 0 */

/* Notes why the kernel cannot judge reads, so that all calls are judged. Returns 1. */
int reads_set_reason_to_judge_all(struct kernel_reads *reads, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(reads->view->why_reads_are_judged, sizeof(reads->view->why_reads_are_judged), format, args);
	va_end(args);
	return 1;
}

/* True when a directory of this name can be made in the view's own /dev: not when the policy grants /dev. */
static bool covers_view_has_own_dev(const struct view *view)
{
	struct place place;

	return view_locate_path(view, NULL, "/", COVERS_UNENTERABLE_DIR, 0, &place) == 0 &&
	       place.mount == view->skeleton_mount;
}

/* Makes the directory of mode 0 that links lead into. For all calls that are judged, it does not exist. */
static int covers_make_unenterable_dir(const struct kernel_reads *reads)
{
	struct view *view = reads->view;

	if (mkdirat(view->skeleton_mount->fd, &COVERS_UNENTERABLE_DIR[1], 0) < 0)
		return -errno;
	return view_add_node(view, COVERS_UNENTERABLE_DIR, NULL, NULL) < 0 ? -ENOMEM : 0;
}

/* Opens an object of objects_dir_fd to be mounted over names. */
static int covers_open_object(const struct kernel_reads *reads, const char *name)
{
	int fd = openat(reads->objects_dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Makes the objects for what is no directory. Without a /dev of the view's own, all of them are files of mode 0. */
static int covers_make_links(struct kernel_reads *reads)
{
	static const char *const target[COVER_MAX] = {[COVER_ABSENT] = COVERS_ABSENT_LINK_TARGET,
						      [COVER_DENIED] = COVERS_UNENTERABLE_DIR "/denied"};
	const bool own = covers_view_has_own_dev(reads->view);
	int r = own ? covers_make_unenterable_dir(reads) : 0;

	for (unsigned i = 0; r == 0 && i < COVER_MAX; i++) {
		const char name[] = {(char)('0' + i), '\0'};

		r = own && target[i] ? symlinkat(target[i], reads->objects_dir_fd, name)
				     : mknodat(reads->objects_dir_fd, name, S_IFREG, 0);
		if (r < 0)
			return -errno;
		reads->nondir_cover_fd[i] = covers_open_object(reads, name);
		if (reads->nondir_cover_fd[i] < 0)
			return reads->nondir_cover_fd[i];
	}
	return r;
}

/* Opens the directory for each kind of cover. */
static int covers_make_dirs(struct kernel_reads *reads)
{
	char own[32];

	(void)snprintf(own, sizeof(own), "proc/%d", getpid());
	for (unsigned i = 0; i < COVER_MAX; i++) {
		int fd = i != COVER_ABSENT ? covers_open_object(reads, "dir")
					   : openat2_retry(reads->root_fd, own, O_PATH | O_DIRECTORY, 0,
							  IO_RESOLVE_BELOW);

		if (fd < 0)
			return fd;
		reads->dir_cover_fd[i] = fd;
	}
	return 0;
}

int covers_make_objects(struct kernel_reads *reads)
{
	int r;

	if (mkdirat(reads->view->standin_fd, COVERS_DIR_NAME, 0700) < 0)
		return -errno;
	reads->objects_dir_fd = openat(reads->view->standin_fd, COVERS_DIR_NAME, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (reads->objects_dir_fd < 0 || mkdirat(reads->objects_dir_fd, "dir", 0) < 0)
		return -errno;
	r = covers_make_dirs(reads);
	return r < 0 ? r : covers_make_links(reads);
}

/* Opens a name of the program's root, through no link: a descriptor, or -errno. */
static int covers_open_point(const struct kernel_reads *reads, const char *virt, struct stat *ret_stat)
{
	_cleanup_close_ int fd = openat2_retry(reads->root_fd, virt + 1, O_PATH | O_NOFOLLOW, 0, IO_RESOLVE_BELOW);

	if (fd >= 0 && fstat(fd, ret_stat) < 0)
		return -errno;
	return steal_fd(&fd);
}

bool covers_has_cover_at(const struct kernel_reads *reads, const char *virt, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(reads->point[i].virt, virt) == 0)
			return true;
	return false;
}

int reads_check_owner_of_unreadable_dir(struct kernel_reads *reads, const char *virt)
{
	struct stat st, own;
	char path[PATH_MAX];
	int fd;

	(void)snprintf(path, sizeof(path), "%s", virt);
	while ((fd = covers_open_point(reads, path, &st)) == -EACCES && strrchr(path, '/') != path)
		*strrchr(path, '/') = '\0';
	if (fd == -ENOENT)
		return 0; /* removed meanwhile */
	if (fd < 0)
		return fd;
	(void)close(fd);
	if (fstat(reads->view->standin_fd, &own) < 0)
		return -errno;
	/* the directory is itself a cover, which a judged run has as well */
	if (st.st_uid != reads->uid || st.st_dev == own.st_dev)
		return 0;
	return reads_set_reason_to_judge_all(reads, "%s cannot be looked into, but the program could change its mode",
					    path);
}

int covers_add(struct kernel_reads *reads, const char *virt, enum cover cover)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (virt[1] == '\0')
		return reads_set_reason_to_judge_all(reads, "all of / is denied");
	if (covers_has_cover_at(reads, virt, reads->points))
		return 0;
	/* Most names that rules deny do not exist: fstatat(2) finds that out faster than opening them. */
	if (fstatat(reads->root_fd, virt + 1, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
		return 0;
	fd = covers_open_point(reads, virt, &st);
	if (fd == -EACCES)
		return reads_check_owner_of_unreadable_dir(reads, virt);
	/* ELOOP: a link is on the way; the object has another name without links, which is looked at separately */
	if (fd < 0)
		return fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP || fd == -ENAMETOOLONG ? 0 : fd;
	if (reads->points == COVERS_MAX)
		return reads_set_reason_to_judge_all(reads, "more than %u names would need a cover", COVERS_MAX);
	if (!array_reserve(&reads->point, reads->points, &reads->room))
		return -ENOMEM;
	reads->point[reads->points] =
		(struct cover_point){.virt = strdup(virt), .cover = cover, .device = st.st_dev, .ino = st.st_ino};
	return reads->point[reads->points++].virt ? 0 : -ENOMEM;
}

int covers_mount(struct kernel_reads *reads, int dirfd, const char *name, bool directory, enum cover cover)
{
	const int root = directory ? reads->dir_cover_fd[cover] : reads->nondir_cover_fd[cover];
	_cleanup_close_ int copy = mounts_clone_restricted(root, "", MOUNTS_READ_ONLY | MOUNTS_NO_DEVICES |
									     MOUNTS_NO_SETID);

	return copy < 0 ? copy : mounts_attach_copy(copy, dirfd, name);
}

/* Notes why a name has no cover, with the rule that denies it. Returns 1. */
static int covers_note_failure(struct kernel_reads *reads, const char *virt, int error)
{
	const char *rule = policy_decide_access(reads->view->policy, virt, strlen(virt), POLICY_READ).rule;

	return reads_set_reason_to_judge_all(reads, "%s (%s) cannot be covered: %s", virt,
					    rule ? rule : "by no grant", strerror(-error));
}

/*
 * Mounts the cover of one name. 0 or -errno; 1: the name leads to another object than before, because a process outside
 * the run changes the tree, so every call has to be judged.
 */
static int covers_mount_point(struct kernel_reads *reads, const struct cover_point *point)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	int r;

	fd = covers_open_point(reads, point->virt, &st);
	if (fd < 0 || st.st_dev != point->device || st.st_ino != point->ino)
		return reads_set_reason_to_judge_all(reads, "%s was replaced while it was being covered", point->virt);
	r = covers_mount(reads, fd, "", S_ISDIR(st.st_mode), point->cover);
	return r < 0 ? covers_note_failure(reads, point->virt, r) : 0;
}

/* Sorts names below a directory before the directory itself. */
static int covers_compare_inner_first(const void *a, const void *b)
{
	return strcmp(((const struct cover_point *)b)->virt, ((const struct cover_point *)a)->virt);
}

/*
 * A cover over a directory hides the names below it, so these get their covers first. They are not left out: what a
 * process outside the run moves out of the directory keeps its cover.
 */
int covers_mount_all(struct kernel_reads *reads)
{
	int r = 0;

	if (reads->points > 1)
		qsort(reads->point, reads->points, sizeof(*reads->point), covers_compare_inner_first);
	for (size_t i = 0; r == 0 && i < reads->points; i++)
		r = covers_mount_point(reads, &reads->point[i]);
	return r;
}
