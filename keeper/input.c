#include "keeper/input.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

/* Limits for copying a directory. A larger directory had better be granted than copied for each run. */
#define INPUT_ENTRIES_MAX 100000u           /* files and directories in one --input */
#define INPUT_ENTRIES_MAX_TEXT "100000"     /* INPUT_ENTRIES_MAX, for messages */
#define INPUT_BYTES_MAX (UINT64_C(4) << 30) /* bytes of the files of one --input */
#define INPUT_BYTES_MAX_TEXT "4G"           /* INPUT_BYTES_MAX, for messages */
#define INPUT_DIRECTORY_DEPTH_MAX 64u       /* nested directories in an --input */
#define INPUT_NAME_TAKEN_MESSAGE "the workdir has a file of this name already; rename one of them"

static int input_set_error(struct policy_error *ret_error, const char *path, int error, const char *what)
{
	(void)snprintf(ret_error->text, sizeof(ret_error->text), "--input %s: %s", path,
		       what ? what : strerror(-error));
	return error;
}

/* Opens an input. With O_NONBLOCK, opening a FIFO does not block; the caller refuses the FIFO. */
static int input_open_file(const struct input_file *file)
{
	struct stat st;

	if (file->path)
		return io_open_without_links(file->path, O_RDONLY | O_NOCTTY | O_NONBLOCK);
	/* -EINVAL: the file exists, but has no canonical path, such as a pipe */
	return stat(file->path_as_given, &st) < 0 ? -errno : -EINVAL;
}

/* The state of copying the file or directory of one --input. */
struct input_copy_state {
	const struct privs_user *user;
	const char *path_as_given; /* the path as the user gave it, for messages */
	struct stat workdir_stat; /* the workdir, which must not be in the tree that is copied into it */
	unsigned entries, depth;
	uint64_t remaining_bytes; /* of INPUT_BYTES_MAX, for files not copied yet */
	struct policy_error *ret_error;
};

/* Sets a message about `name`, an entry of the directory being copied; NULL: about that directory. */
static int input_set_error_at(const struct input_copy_state *input, const char *name, int error, const char *what)
{
	char path[512];

	(void)snprintf(path, sizeof(path), "%s%s%s", input->path_as_given, name ? ": " : "", name ? name : "");
	return input_set_error(input->ret_error, path, error, what);
}

/* Sets the permissions, times and owner of a copy. 0 or -errno. */
static int input_set_attributes(const struct input_copy_state *input, int fd, const struct stat *st)
{
	const struct timespec times[2] = {st->st_atim, st->st_mtim};

	if (fchmod(fd, st->st_mode & 0777) < 0 || futimens(fd, times) < 0 ||
	    (input->user->set && fchown(fd, input->user->uid, input->user->gid) < 0))
		return -errno;
	return 0;
}

static int input_copy_regular(struct input_copy_state *input, int from, const struct stat *st, int to_dirfd,
			      const char *name)
{
	_cleanup_close_ int to = -1;
	uint64_t copied = 0;
	int error;

	to = openat(to_dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return -errno;
	error = io_copy_bytes(from, to, input->remaining_bytes, &copied);
	if (error < 0)
		return error;
	input->remaining_bytes -= copied;
	return input_set_attributes(input, to, st);
}

/*
 * Whether a symbolic link leads to a name in the copied tree: its target is relative and does not go above the root of
 * the tree. depth: levels between the root and the link's directory.
 */
static bool input_link_stays_in_tree(const char *target, unsigned depth)
{
	unsigned at = depth;

	if (target[0] == '/' || target[0] == '\0')
		return false;
	for (const char *part = target; *part; part += strspn(part, "/")) {
		size_t len = strcspn(part, "/");

		if (len == 2 && strncmp(part, "..", 2) == 0) {
			if (at-- == 0)
				return false;
		} else if (len != 1 || *part != '.') {
			at++;
		}
		part += len;
	}
	return true;
}

/* Copies a symbolic link as a link, without following it. A link that leads out of the tree is an error. */
static int input_copy_link(struct input_copy_state *input, int from_dirfd, int to_dirfd, const char *name)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(from_dirfd, name, target, sizeof(target) - 1);

	if (len < 0)
		return input_set_error_at(input, name, -errno, NULL);
	target[len] = '\0';
	if (!input_link_stays_in_tree(target, input->depth - 1))
		return input_set_error_at(input, name, -EXDEV,
					  "is a link that leads out of the directory; remove it, or "
					  "grant the directory with -r");
	if (symlinkat(target, to_dirfd, name) < 0 ||
	    (input->user->set && fchownat(to_dirfd, name, input->user->uid, input->user->gid, AT_SYMLINK_NOFOLLOW) < 0))
		return input_set_error_at(input, name, -errno, NULL);
	return 0;
}

static int input_copy_tree(struct input_copy_state *input, int from, const struct stat *st, int to_dirfd,
			   const char *name);

static int input_copy_entry(struct input_copy_state *input, int from_dirfd, int to_dirfd, const char *name)
{
	_cleanup_close_ int from = -1;
	struct stat st;
	int error;

	if (++input->entries > INPUT_ENTRIES_MAX)
		return input_set_error_at(input, NULL, -E2BIG, "has more than " INPUT_ENTRIES_MAX_TEXT
							  " files; grant it with -r instead");
	if (fstatat(from_dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return input_set_error_at(input, name, -errno, NULL);
	if (S_ISLNK(st.st_mode))
		return input_copy_link(input, from_dirfd, to_dirfd, name);
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return input_set_error_at(input, name, -EINVAL, "is neither a regular file nor a directory");
	/* Tested again once it is open, because the file may have been replaced. */
	from = openat(from_dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (from < 0 || fstat(from, &st) < 0)
		return input_set_error_at(input, name, -errno, NULL);
	if (S_ISDIR(st.st_mode))
		return input_copy_tree(input, from, &st, to_dirfd, name);
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > input->remaining_bytes)
		return input_set_error_at(input, name, -EFBIG,
					  "does not fit: --input copies at most " INPUT_BYTES_MAX_TEXT);
	error = input_copy_regular(input, from, &st, to_dirfd, name);
	return error < 0 ? input_set_error_at(input, name, error, NULL) : 0;
}

static int input_copy_entries(struct input_copy_state *input, int from, int to)
{
	_cleanup_closedir_ DIR *dir = NULL;
	const struct dirent *entry;
	int fd = fcntl(from, F_DUPFD_CLOEXEC, 3), error = 0, unread;

	dir = io_take_dir_stream(fd < 0 ? -errno : fd);
	unread = dir ? 0 : -errno;
	while (error == 0 && unread == 0 && (entry = io_read_entry(dir, &unread)))
		error = input_copy_entry(input, from, to, entry->d_name);
	return unread < 0 ? input_set_error_at(input, NULL, unread, NULL) : error;
}

static int input_copy_tree(struct input_copy_state *input, int from, const struct stat *st, int to_dirfd,
			   const char *name)
{
	_cleanup_close_ int to = -1;
	int error;

	if (st->st_dev == input->workdir_stat.st_dev && st->st_ino == input->workdir_stat.st_ino)
		return input_set_error_at(input, NULL, -EINVAL, "contains the workdir that it would be copied into");
	if (input->depth == INPUT_DIRECTORY_DEPTH_MAX)
		return input_set_error_at(input, name, -ELOOP, "lies too deep; grant the directory with -r instead");
	if (mkdirat(to_dirfd, name, 0700) < 0)
		return input_set_error_at(input, name, -errno, NULL);
	to = openat(to_dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (to < 0)
		return input_set_error_at(input, name, -errno, NULL);
	input->depth++;
	error = input_copy_entries(input, from, to);
	input->depth--;
	if (error == 0 && (error = input_set_attributes(input, to, st)) < 0)
		return input_set_error_at(input, name, error, NULL);
	return error;
}

/* Returns the last name of the canonical path: the path as the user gave it may be "." or end in "/". */
static const char *input_get_name(const struct input_file *file)
{
	const char *path = file->path ? file->path : file->path_as_given, *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool input_name_is_taken(int workdir_fd, int to_fd, const char *name)
{
	return faccessat(workdir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
	       faccessat(to_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int input_copy_file(int workdir_fd, int to_fd, const struct input_file *file, const struct privs_user *user,
			   struct policy_error *ret_error)
{
	struct input_copy_state input = {.user = user,
					 .path_as_given = file->path_as_given,
					 .remaining_bytes = UINT64_MAX,
					 .ret_error = ret_error};
	const char *path = file->path_as_given;
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	_cleanup_close_ int from = input_open_file(file);
	struct stat st;
	int error;

	if (from == -ELOOP)
		return input_set_error(ret_error, path, from,
				  "has become a symbolic link, or lies behind one, since it was resolved");
	if (from == -EINVAL)
		return input_set_error(ret_error, path, from, "is not a regular file");
	if (from < 0 || fstat(from, &st) < 0 || fstat(workdir_fd, &input.workdir_stat) < 0)
		return input_set_error(ret_error, path, from < 0 ? from : -errno, NULL);
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return input_set_error(ret_error, path, -EINVAL, "is not a regular file");
	if (S_ISDIR(st.st_mode)) {
		if (*input_get_name(file) == '\0')
			return input_set_error(ret_error, path, -EINVAL, "is the root; name a directory below it");
		if (input_name_is_taken(workdir_fd, to_fd, input_get_name(file)))
			return input_set_error(ret_error, path, -EEXIST, INPUT_NAME_TAKEN_MESSAGE);
		input.remaining_bytes = INPUT_BYTES_MAX;
		return input_copy_tree(&input, from, &st, to_fd, input_get_name(file));
	}
	error = to_fd != workdir_fd && input_name_is_taken(workdir_fd, to_fd, name)
			? -EEXIST
			: input_copy_regular(&input, from, &st, to_fd, name);
	return error < 0 ? input_set_error(ret_error, path, error, error == -EEXIST ? INPUT_NAME_TAKEN_MESSAGE : NULL)
			 : 0;
}

int input_copy_files(int workdir_fd, int to_fd, const struct input_file *files, size_t count,
		     const struct privs_user *user, struct policy_error *ret_error)
{
	int error = 0;

	for (size_t i = 0; i < count && error == 0; i++)
		error = input_copy_file(workdir_fd, to_fd, &files[i], user, ret_error);
	return error;
}
