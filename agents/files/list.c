/* The request list: the entries of a directory, and of directories below it. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agents/files/files.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/text.h"

/* The listing of a directory, perhaps with directories below, for a client. */
struct directory_listing {
	struct files_job *job;
	size_t entry_count;
};

char *files_join_path(const char *directory, const char *name)
{
	const size_t len = strlen(directory);

	return text_format("%s%s%s", directory, len > 0 && directory[len - 1] == '/' ? "" : "/", name);
}

/* Filter of scandir(3): all but "." and "..". */
static int list_is_no_dot_name(const struct dirent *entry)
{
	return !path_is_dot_name(entry->d_name);
}

/* Order of scandir(3): by name. */
static int list_compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int list_add_entry(struct directory_listing *list, const char *path)
{
	json_t *entry;
	_cleanup_free_ char *text = NULL;

	if (list->entry_count >= FILES_LISTED_ENTRIES_MAX)
		return job_fail(list->job, EFBIG, "more than %u entries", FILES_LISTED_ENTRIES_MAX);
	entry = entry_describe(path);
	if (!entry)
		return errno == ENOENT ? 0 : job_fail_with_path(list->job, errno, path); /* ENOENT: removed meanwhile */
	text = json_dumps(entry, JSON_COMPACT);
	json_decref(entry);
	if (!text)
		return -ENOMEM;
	if (list->entry_count++ > 0)
		buf_puts(&list->job->answer, ",");
	buf_puts(&list->job->answer, text);
	return list->job->answer.failed ? -ENOMEM : 0;
}

static int list_add_directory_entries(struct directory_listing *list, const char *directory, json_int_t depth,
				      bool is_first);

/* Adds one entry of a directory and, up to `depth` levels, the entries below it. */
static int list_add_tree(struct directory_listing *list, const char *directory, const char *name, json_int_t depth)
{
	_cleanup_free_ char *path = files_join_path(directory, name);
	struct stat st;
	int r = path ? list_add_entry(list, path) : -ENOMEM;

	if (r < 0 || depth <= 1 || lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return r;
	return list_add_directory_entries(list, path, depth - 1, false);
}

/*
 * Adds the entries of a directory. If the directory cannot be read: fails the request if is_first, otherwise leaves the
 * entries out.
 */
static int list_add_directory_entries(struct directory_listing *list, const char *directory, json_int_t depth,
				      bool is_first)
{
	struct dirent **names = NULL;
	int count = scandir(directory, &names, list_is_no_dot_name, list_compare_names), r = 0;

	if (count < 0)
		return is_first ? job_fail_with_path(list->job, errno, directory) : 0;
	for (int i = 0; i < count; i++) {
		if (r == 0)
			r = list_add_tree(list, directory, names[i]->d_name, depth);
		free(names[i]);
	}
	free(names);
	return r;
}

int files_list(struct files_job *job)
{
	const json_int_t depth = json_integer_value(json_object_get(job->request, "depth"));
	struct directory_listing list = {.job = job};
	struct stat st;
	int r;

	if (stat(job->path, &st) < 0)
		return job_fail_with_path(job, errno, job->path);
	if (!S_ISDIR(st.st_mode))
		return job_fail(job, ENOTDIR, "path is not a directory");
	buf_puts(&job->answer, "{\"entries\":[");
	r = list_add_directory_entries(&list, job->path, depth, true);
	buf_puts(&job->answer, "]}");
	return r == 0 && job->answer.failed ? -ENOMEM : r;
}
