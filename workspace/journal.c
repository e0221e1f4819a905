#include "workspace/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup-json.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "supervisor/report.h"

#define JOURNAL_NAME "journal"
#define JOURNAL_DONE "done\n"
#define JOURNAL_FAILED "failed\n"

/* Writes a line, which a value is. The value is taken; NULL: no memory. 0 or -errno. */
static int journal_write(int journal_fd, json_t *value)
{
	_cleanup_json_ json_t *json = value;
	_cleanup_free_ char *text = json ? json_dumps(json, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
	_cleanup_free_ char *line = text ? text_format("%s\n", text) : NULL;

	return line ? io_write_all(journal_fd, line, strlen(line)) : -ENOMEM;
}

/* Returns the first line. Owned by the caller; NULL: no memory. */
static json_t *journal_make_head(const struct dir_id *id)
{
	_cleanup_json_ json_t *head = json_object();

	return head && dir_id_put(head, id) == 0 ? json_incref(head) : NULL;
}

int journal_create(int workspace_fd, const struct dir_id *id)
{
	_cleanup_close_ int fd = openat(workspace_fd, JOURNAL_NAME,
					O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r;

	if (fd < 0)
		return -errno;
	r = journal_write(fd, journal_make_head(id));
	/* The name has to be on the disk before anything is changed: without it, nothing would be recovered. */
	if (r == 0 && (fdatasync(fd) < 0 || fsync(workspace_fd) < 0))
		r = -errno;
	if (r == 0)
		return steal_fd(&fd);
	(void)journal_remove(workspace_fd); /* the first error is the one to report */
	return r;
}

int journal_begin(int journal_fd, const char *path, size_t number, bool on_disk)
{
	json_t *text = report_make_text_json(path);
	const int r = journal_write(journal_fd, number == 0 ? text : json_pack("[o, I]", text, (json_int_t)number));

	if (r < 0)
		return r;
	return on_disk && fdatasync(journal_fd) < 0 ? -errno : 0;
}

int journal_end(int journal_fd, bool is_done)
{
	const char *line = is_done ? JOURNAL_DONE : JOURNAL_FAILED;

	return io_write_all(journal_fd, line, strlen(line));
}

int journal_note_dir(int journal_fd, const char *path, uint64_t inode, mode_t mode)
{
	return journal_write(journal_fd, json_pack("{s:o, s:I, s:i}", "dir", report_make_text_json(path), "inode",
						   (json_int_t)inode, "mode", (int)mode));
}

bool journal_exists(int workspace_fd)
{
	return io_may_have_name(workspace_fd, JOURNAL_NAME);
}

int journal_remove(int workspace_fd)
{
	return unlinkat(workspace_fd, JOURNAL_NAME, 0) < 0 ? -errno : 0;
}

/* The path that a text of report_make_text_json() is of. Owned by the caller; NULL: it is none. */
static char *journal_copy_path(const json_t *text)
{
	char *path = json_is_string(text) ? strdup(json_string_value(text)) : NULL;

	if (path)
		path[text_unescape_backslashes(path, strlen(path))] = '\0';
	return path;
}

/* Parses a line of journal_begin(). Owned by the caller; NULL: it is another line, or was not wholly written. */
static char *journal_parse_path(const char *line, size_t len, size_t *ret_number)
{
	_cleanup_json_ json_t *json = json_loadb(line, len, JSON_DECODE_ANY, NULL);

	*ret_number = (size_t)json_integer_value(json_array_get(json, 1));
	return journal_copy_path(json_is_array(json) ? json_array_get(json, 0) : json);
}

/* Opens the journal for reading. NULL: errno says why. */
static FILE *journal_open(int workspace_fd)
{
	const int fd = openat(workspace_fd, JOURNAL_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? NULL : fdopen(fd, "re");
}

/* Reads the next line. Its length; 0: there is none that was wholly written; or -errno. */
static ssize_t journal_read_line(FILE *file, char **line, size_t *cap)
{
	ssize_t len;

	errno = 0;
	len = getline(line, cap, file);
	if (len < 0)
		return feof(file) ? 0 : errno ? -errno : -EIO;
	return (*line)[len - 1] == '\n' ? len : 0;
}

void journal_read_dir_id(int workspace_fd, struct dir_id *ret_id)
{
	_cleanup_fclose_ FILE *file = journal_open(workspace_fd);
	_cleanup_free_ char *line = NULL;
	_cleanup_json_ json_t *json = NULL;
	size_t cap = 0;
	const ssize_t len = file ? journal_read_line(file, &line, &cap) : 0;

	json = len > 0 ? json_loadb(line, (size_t)len, JSON_DECODE_ANY, NULL) : NULL;
	dir_id_get(json, ret_id);
}

int journal_visit(int workspace_fd, int (*visit)(void *ctx, const char *path, size_t number, bool is_done), void *ctx)
{
	_cleanup_fclose_ FILE *file = journal_open(workspace_fd);
	_cleanup_free_ char *line = NULL, *path = NULL;
	size_t cap = 0, number = 0;
	ssize_t len;
	int r = 0;

	if (!file)
		return -errno;
	while (r == 0 && (len = journal_read_line(file, &line, &cap)) != 0) {
		const bool is_done = len > 0 && strcmp(line, JOURNAL_DONE) == 0;
		const bool has_failed = len > 0 && strcmp(line, JOURNAL_FAILED) == 0;

		if (len < 0)
			return (int)len;
		if (path && !has_failed)
			r = visit(ctx, path, number, is_done);
		free(path);
		path = is_done || has_failed ? NULL : journal_parse_path(line, (size_t)len, &number);
	}
	if (r == 0 && path)
		r = visit(ctx, path, number, false);
	return r;
}

int journal_visit_dirs(int workspace_fd, int (*visit)(void *ctx, const char *path, uint64_t inode, mode_t mode),
		       void *ctx)
{
	_cleanup_fclose_ FILE *file = journal_open(workspace_fd);
	_cleanup_free_ char *line = NULL;
	size_t cap = 0;
	ssize_t len;
	int r = 0;

	if (!file)
		return -errno;
	while (r == 0 && (len = journal_read_line(file, &line, &cap)) != 0) {
		_cleanup_json_ json_t *json = len > 0 ? json_loadb(line, (size_t)len, JSON_DECODE_ANY, NULL) : NULL;
		_cleanup_free_ char *path = journal_copy_path(json_object_get(json, "dir"));

		if (len < 0)
			return (int)len;
		if (path)
			r = visit(ctx, path, (uint64_t)json_integer_value(json_object_get(json, "inode")),
				  (mode_t)json_integer_value(json_object_get(json, "mode")));
	}
	return r;
}
