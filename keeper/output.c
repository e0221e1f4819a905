#include "keeper/output.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "base/text.h"
#include "keeper/store.h"

/* Creates a directory without following symbolic links: a link made since the path was resolved could lead anywhere. */
static int output_make_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *parent = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	_cleanup_close_ int fd = parent ? io_open_without_links(parent, O_PATH | O_DIRECTORY) : -ENOMEM;

	if (fd < 0)
		return fd;
	if (slash && !slash[1])
		return 0; /* the root directory */
	return mkdirat(fd, slash ? slash + 1 : path, 0777) < 0 && errno != EEXIST ? -errno : 0;
}

int output_open_directory(const char *directory, struct policy_error *ret_error)
{
	int fd, error = output_make_directory(directory);

	fd = error < 0 ? error : io_open_without_links(directory, O_RDONLY | O_DIRECTORY);
	if (fd >= 0 && faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) == 0)
		return fd;
	if (error == 0)
		error = fd < 0 ? fd : -errno;
	cleanup_close(&fd);
	(void)snprintf(ret_error->text, sizeof(ret_error->text),
		       "--output %s: %s; name a directory that can be written", directory, strerror(-error));
	return error;
}

static bool output_matches_globs(const struct output_options *options, const char *rest)
{
	bool match = options->glob_count == 0;

	for (size_t i = 0; i < options->glob_count && !match; i++)
		match = fnmatch(options->globs[i], rest, 0) == 0;
	return match;
}

/* Stores one file. 1: stored; 0: it is missing or no regular file; -errno. */
static int output_store_one_file(const struct output_options *options, int workdir_fd, const char *rest)
{
	_cleanup_close_ int from =
		openat2_retry(workdir_fd, rest, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, IO_RESOLVE_BELOW);
	struct stat st;
	int error;

	/* A file that its owner cannot read is an error. Symbolic links and missing files are left out. */
	if (from == -EACCES)
		return from;
	if (from < 0 || fstat(from, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	if (options->custodian->pid > 0)
		error = custodian_store_file(options->custodian, CUSTODIAN_OUTPUT_DIR, from, rest);
	else
		error = store_file(options->directory_fd, from, &st, rest);
	return error < 0 ? error : 1;
}

int output_store_files(const struct output_options *options, const json_t *changes, size_t *ret_files,
		       struct policy_error *ret_error)
{
	_cleanup_close_ int workdir_fd = io_open_without_links(options->workdir_host, O_RDONLY | O_DIRECTORY);
	int kept = workdir_fd < 0 ? workdir_fd : 0;
	size_t files = 0, index;
	const char *rest = "";
	json_t *change;

	json_array_foreach(changes, index, change)
	{
		_cleanup_free_ char *path = NULL;

		if (kept < 0 || strcmp(json_string_value(json_object_get(change, "kind")), "deleted") == 0)
			continue;
		path = strdup(json_string_value(json_object_get(change, "path")));
		if (!path)
			kept = -ENOMEM;
		else
			path[text_unescape_backslashes(path, strlen(path))] = '\0';
		rest = path ? path_get_rest_below(path, options->workdir_virt) : NULL;
		if (!rest || !*rest || !output_matches_globs(options, rest))
			continue;
		kept = output_store_one_file(options, workdir_fd, rest);
		files += kept > 0;
		if (kept < 0)
			(void)snprintf(ret_error->text, sizeof(ret_error->text), "--output %s: cannot keep %s: %s",
				       options->directory_path, rest, strerror(-kept));
	}
	if (kept < 0 && ret_error->text[0] == '\0')
		(void)snprintf(ret_error->text, sizeof(ret_error->text), "--output %s: cannot read the workdir: %s",
			       options->directory_path, strerror(-kept));
	*ret_files = files;
	return kept < 0 ? kept : 0;
}
