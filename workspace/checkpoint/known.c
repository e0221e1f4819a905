#include "workspace/checkpoint/known.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/io.h"

#define KNOWN_NAME ".latest"
#define KNOWN_NEW_NAME ".latest-new"
#define KNOWN_FORMAT 1u
#define KNOWN_BYTES_MAX (UINT64_C(1) << 30) /* of the file */

/* The beginning of the file. What follows for each file: struct known_entry and its path with a NUL. */
struct known_head {
	uint32_t format, compares_contents;
	uint64_t count;
	char checkpoint[KNOWN_CHECKPOINT_SIZE];
};

struct known_entry {
	uint64_t ino, size;
	int64_t ctime_s, ctime_ns;
};

void known_file_set_status(struct known_file *file, const struct stat *st)
{
	file->ino = st->st_ino;
	file->size = (uint64_t)st->st_size;
	file->ctime_s = st->st_ctim.tv_sec;
	file->ctime_ns = st->st_ctim.tv_nsec;
}

int known_files_add(struct known_files *known, const char *path, const struct stat *st)
{
	char *copy;

	if (!array_reserve(&known->item, known->count, &known->room))
		return -ENOMEM;
	copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	known->item[known->count].path = copy;
	known_file_set_status(&known->item[known->count++], st);
	return 0;
}

static int known_compare_paths(const void *left, const void *right)
{
	const struct known_file *a = left, *b = right;

	return strcmp(a->path, b->path);
}

bool known_files_has(const struct known_files *known, const char *path, const struct stat *st)
{
	struct known_file key = {.path = (char *)(uintptr_t)path};
	const struct known_file *found =
		known->count > 0 ? bsearch(&key, known->item, known->count, sizeof(key), known_compare_paths) : NULL;

	return found && found->ino == st->st_ino && found->size == (uint64_t)st->st_size &&
	       found->ctime_s == st->st_ctim.tv_sec && found->ctime_ns == st->st_ctim.tv_nsec;
}

static void known_sort(struct known_files *known)
{
	if (known->count > 0)
		qsort(known->item, known->count, sizeof(*known->item), known_compare_paths);
}

/* ---- writing ---- */

static bool known_write_stream(const struct known_files *known, FILE *stream)
{
	struct known_head head = {
		.format = KNOWN_FORMAT, .compares_contents = known->compares_contents, .count = known->count};

	memcpy(head.checkpoint, known->checkpoint, sizeof(head.checkpoint));
	if (fwrite(&head, sizeof(head), 1, stream) != 1)
		return false;
	for (size_t i = 0; i < known->count; i++) {
		const struct known_file *file = &known->item[i];
		const struct known_entry entry = {file->ino, file->size, file->ctime_s, file->ctime_ns};

		if (fwrite(&entry, sizeof(entry), 1, stream) != 1 ||
		    fwrite(file->path, strlen(file->path) + 1, 1, stream) != 1)
			return false;
	}
	return true;
}

int known_files_write(struct known_files *known, int dir_fd)
{
	const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
	const int fd = openat(dir_fd, KNOWN_NEW_NAME, flags, 0600);
	_cleanup_fclose_ FILE *stream = fd < 0 ? NULL : fdopen(fd, "w");

	if (!stream) {
		cleanup_close(&fd);
		return -errno;
	}
	known_sort(known);
	if (!known_write_stream(known, stream) || fflush(stream) != 0)
		return errno ? -errno : -EIO;
	return renameat(dir_fd, KNOWN_NEW_NAME, dir_fd, KNOWN_NAME) < 0 ? -errno : 0;
}

int known_files_remove(int dir_fd)
{
	return unlinkat(dir_fd, KNOWN_NAME, 0) < 0 && errno != ENOENT ? -errno : 0;
}

/* ---- reading ---- */

/* Adds the entries that follow the head. False: the text is no such file. */
static bool known_parse_entries(struct known_files *known, uint64_t count, const char *text, size_t len)
{
	size_t at = sizeof(struct known_head);

	for (; count > 0; count--) {
		struct known_entry entry;
		struct stat st = {0};
		const char *end;

		if (len - at < sizeof(entry))
			return false;
		memcpy(&entry, text + at, sizeof(entry));
		at += sizeof(entry);
		end = memchr(text + at, '\0', len - at);
		st.st_ino = entry.ino;
		st.st_size = (off_t)entry.size;
		st.st_ctim = (struct timespec){.tv_sec = entry.ctime_s, .tv_nsec = entry.ctime_ns};
		if (!end || known_files_add(known, text + at, &st) < 0)
			return false;
		at = (size_t)(end - text) + 1;
	}
	return at == len;
}

static bool known_parse(struct known_files *known, const char *text, size_t len)
{
	struct known_head head;

	if (len < sizeof(head))
		return false;
	memcpy(&head, text, sizeof(head));
	if (head.format != KNOWN_FORMAT || head.checkpoint[sizeof(head.checkpoint) - 1] != '\0')
		return false;
	memcpy(known->checkpoint, head.checkpoint, sizeof(known->checkpoint));
	known->compares_contents = head.compares_contents;
	return known_parse_entries(known, head.count, text, len);
}

void known_files_read(struct known_files *ret_known, int dir_fd)
{
	_cleanup_free_ char *text = NULL;
	size_t len;

	*ret_known = (struct known_files){.checkpoint = ""};
	if (io_read_file(dir_fd, KNOWN_NAME, KNOWN_BYTES_MAX, &text, &len) < 0)
		return;
	if (!known_parse(ret_known, text, len))
		known_files_release(ret_known);
	known_sort(ret_known);
}

void known_files_release(struct known_files *known)
{
	for (size_t i = 0; i < known->count; i++)
		free(known->item[i].path);
	free(known->item);
	*known = (struct known_files){.checkpoint = ""};
}
