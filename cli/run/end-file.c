/*
 * Files that callgate itself writes when the run has ended, such as the file of --metrics. Each is written under
 * another name and renamed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "cli/run/private.h"
#include "keeper/store.h"

#define RUN_END_FILE_MODE 0644

int run_end_file_open(const char *path, struct run_end_file *ret_file)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *dir = strndup(path, (size_t)(slash - path) + 1);
	_cleanup_close_ int dir_fd = dir ? io_open_without_links(dir, O_RDONLY | O_DIRECTORY) : -ENOMEM;
	_cleanup_close_ int content_fd = -1;
	struct stat st;

	if (dir_fd < 0)
		return dir_fd;
	if (faccessat(dir_fd, ".", W_OK | X_OK, AT_EACCESS) < 0)
		return -errno;
	if (!slash[1] || strcmp(slash, "/.") == 0 || strcmp(slash, "/..") == 0 ||
	    (fstatat(dir_fd, slash + 1, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode)))
		return -EISDIR;
	/* Created before the run, because the keeper's own filter permits no new memfd later. */
	content_fd = memfd_create("callgate-end-file", MFD_CLOEXEC);
	ret_file->base_name = content_fd < 0 || fchmod(content_fd, RUN_END_FILE_MODE) < 0 ? NULL : strdup(slash + 1);
	if (!ret_file->base_name)
		return -ENOMEM;
	ret_file->dir_fd = steal_fd(&dir_fd);
	ret_file->content_fd = steal_fd(&content_fd);
	return 0;
}

int run_store_end_file(const struct run *run, enum custodian_dir dir, const struct run_end_file *file,
		       const char *text)
{
	struct stat st;
	int error = io_write_all(file->content_fd, text, strlen(text));

	if (error == 0 && run->custodian.pid > 0)
		return custodian_store_file(&run->custodian, dir, file->content_fd, file->base_name);
	if (error == 0 && fstat(file->content_fd, &st) < 0)
		error = -errno;
	return error < 0 ? error : store_file(file->dir_fd, file->content_fd, &st, file->base_name);
}

void run_end_file_release(struct run_end_file *file)
{
	cleanup_close(&file->dir_fd);
	cleanup_close(&file->content_fd);
	free(file->base_name);
	*file = RUN_END_FILE_INIT;
}
