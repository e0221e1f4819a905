/* The request watch: reports changes in a directory, by inotify(7), until the program is killed. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agents/files/files.h"
#include "base/cleanup.h"
#include "base/path.h"

#define WATCH_INOTIFY_EVENTS (IN_CREATE | IN_MODIFY | IN_ATTRIB | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)

/* The watching of a directory's changes for a client. */
struct files_watch {
	int inotify_fd;
	const char *root_path;
	bool is_recursive, wants_entries;
	/*
	 * The path of each watched directory, relative to root_path; "" for root_path itself. The index is inotify's
	 * watch descriptor, from 1. Owned; NULL: no such watch.
	 */
	char *directory_path[FILES_WATCHED_DIRECTORIES_MAX + 1];
};

static const struct {
	uint32_t mask;
	const char *type;
} watch_types[] = {
	{IN_MOVED_TO, "EVENT_TYPE_CREATE"}, {IN_MOVED_FROM, "EVENT_TYPE_RENAME"}, {IN_DELETE, "EVENT_TYPE_REMOVE"},
	{IN_ATTRIB, "EVENT_TYPE_CHMOD"},    {IN_MODIFY, "EVENT_TYPE_WRITE"},      {IN_CREATE, "EVENT_TYPE_CREATE"},
};

/* Joins a directory, relative to root_path, and a name: "DIRECTORY/NAME". Owned by the caller; NULL: out of memory. */
static char *watch_join_relative_path(const char *directory, const char *name)
{
	return *directory ? files_join_path(directory, name) : strdup(name);
}

static int watch_add_directory(struct files_watch *watch, const char *directory);

/* Watches all directories below a directory. Those that cannot be read are not watched. */
static void watch_add_subdirectories(struct files_watch *watch, const char *path, const char *directory)
{
	_cleanup_closedir_ DIR *dir = opendir(path);
	const struct dirent *entry;
	struct stat st;

	while (dir && (entry = readdir(dir))) {
		_cleanup_free_ char *child = NULL;

		if (path_is_dot_name(entry->d_name) ||
		    fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
			continue;
		child = watch_join_relative_path(directory, entry->d_name);
		if (child)
			(void)watch_add_directory(watch, child);
	}
}

/* Watches a directory. 0 or -errno. */
static int watch_add_directory(struct files_watch *watch, const char *directory)
{
	_cleanup_free_ char *path =
		*directory ? files_join_path(watch->root_path, directory) : strdup(watch->root_path);
	int number = path ? inotify_add_watch(watch->inotify_fd, path, WATCH_INOTIFY_EVENTS) : -1;

	if (!path || number < 0)
		return path ? -errno : -ENOMEM;
	if ((size_t)number > FILES_WATCHED_DIRECTORIES_MAX) { /* the numbers only grow: inotify does not reuse them */
		(void)inotify_rm_watch(watch->inotify_fd, number);
		return -ENOSPC;
	}
	free(watch->directory_path[number]);
	watch->directory_path[number] = strdup(directory);
	if (watch->is_recursive)
		watch_add_subdirectories(watch, path, directory);
	return 0;
}

/* Tells the client of a change. name: relative to the watched directory. */
static void watch_report_change(struct files_watch *watch, uint32_t mask, const char *name)
{
	_cleanup_free_ char *path = files_join_path(watch->root_path, name);
	const char *type = NULL;
	json_t *entry = NULL;

	for (size_t i = 0; !type && i < sizeof(watch_types) / sizeof(watch_types[0]); i++)
		if (mask & watch_types[i].mask)
			type = watch_types[i].type;
	if (watch->wants_entries && path && !(mask & (IN_DELETE | IN_MOVED_FROM)))
		entry = entry_describe(path);
	files_write_message(json_pack("{s:{s:o, s:s*, s:o*}}", "event", "name", files_make_json_text(name), "type",
				      type, "entry", entry));
}

static void watch_handle_inotify_event(struct files_watch *watch, const struct inotify_event *event)
{
	const bool is_known = event->wd > 0 && (size_t)event->wd <= FILES_WATCHED_DIRECTORIES_MAX && event->len > 0;
	const char *directory = is_known ? watch->directory_path[event->wd] : NULL;
	_cleanup_free_ char *name = directory ? watch_join_relative_path(directory, event->name) : NULL;

	if (!name)
		return;
	if (watch->is_recursive && event->mask & IN_ISDIR && event->mask & (IN_CREATE | IN_MOVED_TO))
		(void)watch_add_directory(watch, name);
	watch_report_change(watch, event->mask, name);
}

/* Reports changes until reading them fails. Returns -errno. */
static int watch_report_changes(struct files_watch *watch)
{
	static char bytes[FILES_CHUNK_BYTES] __attribute__((aligned(__alignof__(struct inotify_event))));
	const struct inotify_event *event;
	ssize_t got;

	files_write_message(json_pack("{s:{}}", "event")); /* tells the client that the watch has begun */
	for (;;) {
		got = read(watch->inotify_fd, bytes, sizeof(bytes));
		if (got <= 0 && errno != EINTR)
			return got < 0 ? -errno : -EIO;
		for (const char *at = bytes; got > 0 && at < bytes + got; at += sizeof(*event) + event->len) {
			event = (const struct inotify_event *)(const void *)at;
			watch_handle_inotify_event(watch, event);
		}
	}
}

int files_watch(struct files_job *job)
{
	static struct files_watch watch;
	struct stat st;
	int r;

	if (stat(job->path, &st) < 0)
		return job_fail_with_path(job, errno, job->path);
	if (!S_ISDIR(st.st_mode))
		return job_fail(job, ENOTDIR, "path is not a directory: %s", job->path);
	watch.inotify_fd = inotify_init1(IN_CLOEXEC);
	watch.root_path = job->path;
	watch.is_recursive = json_is_true(json_object_get(job->request, "recursive"));
	watch.wants_entries = json_is_true(json_object_get(job->request, "entry"));
	r = watch.inotify_fd < 0 ? -errno : watch_add_directory(&watch, "");
	if (r == 0)
		r = watch_report_changes(&watch);
	return job_fail_with_path(job, -r, job->path);
}
