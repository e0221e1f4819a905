#include "approval/remembered.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "approval/show.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"

#define REMEMBERED_LOCK_TRIES_MAX 10         /* how often a lock is tried that another approver has */
#define REMEMBERED_LOCK_INTERVAL_NS 10000000 /* and after which time again */

int remembered_open(const char *path, const char **ret_why)
{
	_cleanup_close_ int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		*ret_why = strerror(errno);
		return -errno;
	}
	if (!S_ISREG(st.st_mode)) {
		*ret_why = "it is no regular file";
		return -EINVAL;
	}
	if (st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH)) {
		*ret_why = "others could write answers there; name a file of your own, with the mode 600";
		return -EPERM;
	}
	return steal_fd(&fd);
}

void remembered_follow(const char *path, int *fd)
{
	const bool was_open = *fd >= 0;
	struct stat named, opened;
	const char *why;

	if (was_open && lstat(path, &named) == 0 && fstat(*fd, &opened) == 0 && named.st_dev == opened.st_dev &&
	    named.st_ino == opened.st_ino)
		return;
	close_fd(fd);
	*fd = remembered_open(path, &why);
	if (*fd < 0 && was_open)
		(void)text_printf(stderr, "callgate: --approvals: %s: %s; nothing is remembered\n", path, why);
	if (*fd < 0)
		*fd = -1;
}

/* When the answer of a line of the file ends, if it is for this scope; else 0. */
static uint64_t remembered_read_line(const char *line, size_t len, const struct approval_question *question,
				     uint64_t now_s)
{
	json_t *entry = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
	const char *scope = json_string_value(json_object_get(entry, "scope"));
	const char *policy = json_string_value(json_object_get(entry, "policy_sha256"));
	json_int_t expires = json_integer_value(json_object_get(entry, "expires"));
	const bool matches = scope && policy && strcmp(scope, question->scope) == 0 &&
			     strcmp(policy, question->policy_sha256) == 0 && expires > 0 && (uint64_t)expires > now_s &&
			     (uint64_t)expires - now_s <= REMEMBERED_LONGEST_S;

	json_decref(entry);
	return matches ? (uint64_t)expires : 0;
}

/* Locks the file, or waits a moment for others that write to it. 0 or -errno. */
static int remembered_lock(int fd, int how)
{
	const struct timespec pause = {.tv_nsec = REMEMBERED_LOCK_INTERVAL_NS};

	for (unsigned i = 0; flock(fd, how | LOCK_NB) < 0; i++) {
		if (errno != EWOULDBLOCK || i == REMEMBERED_LOCK_TRIES_MAX)
			return -errno;
		(void)nanosleep(&pause, NULL);
	}
	return 0;
}

/* Reads the file, without what is being added and may be taken out again. Owned; NULL: it cannot be read now. */
static char *remembered_read(int fd)
{
	_cleanup_free_ char *text = NULL;
	struct stat st;
	ssize_t got = -1;

	if (remembered_lock(fd, LOCK_SH) < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && st.st_size > 0 && st.st_size <= REMEMBERED_FILE_BYTES_MAX)
		text = malloc((size_t)st.st_size + 1);
	if (text)
		got = pread(fd, text, (size_t)st.st_size, 0);
	(void)flock(fd, LOCK_UN);
	if (got <= 0)
		return NULL;
	text[got] = '\0';
	return steal_pointer(&text);
}

uint64_t remembered_find(int fd, const struct approval_question *question, uint64_t now_s)
{
	_cleanup_free_ char *text = remembered_read(fd);
	uint64_t last = 0;

	for (const char *line = text; line && *line;) {
		const size_t len = strcspn(line, "\n");
		const uint64_t expires_s = remembered_read_line(line, len, question, now_s);

		last = expires_s > last ? expires_s : last;
		line += len + (line[len] == '\n');
	}
	return last;
}

/* The line of an answer, with '\n'. Owned; NULL: no memory. */
static char *remembered_make_line(const struct approval_question *question, const char *text, uint64_t expires_s)
{
	json_t *asked = json_loads(text, 0, NULL);
	json_t *entry =
		json_pack("{s:s, s:s, s:I, s:O?, s:O*, s:O*, s:O?}", "scope", question->scope, "policy_sha256",
			  question->policy_sha256, "expires", (json_int_t)expires_s, "path",
			  json_object_get(asked, "resolved"), "endpoint", json_object_get(asked, "endpoint"), "request",
			  json_object_get(asked, "request"), "right", json_object_get(asked, "right"));
	_cleanup_free_ char *json = show_as_json(entry, JSON_COMPACT);

	json_decref(asked);
	json_decref(entry);
	return json ? text_format("%s\n", json) : NULL;
}

/* Adds a line to a locked file of `size` bytes, on the disk as well. The last line may lack its end. 0 or -errno. */
static int remembered_write_line(int fd, off_t size, const char *line)
{
	char last = '\n';
	int r = 0;

	if ((size_t)size + 1 + strlen(line) > REMEMBERED_FILE_BYTES_MAX)
		return -EFBIG;
	if (size > 0 && pread(fd, &last, 1, size - 1) != 1)
		return -EIO;
	if (last != '\n')
		r = io_write_all(fd, "\n", 1);
	if (r == 0)
		r = io_write_all(fd, line, strlen(line));
	return r == 0 && fsync(fd) < 0 ? -errno : r;
}

int remembered_add(int fd, const struct approval_question *question, const char *text, uint64_t expires_s,
		   off_t *ret_size)
{
	_cleanup_free_ char *line = remembered_make_line(question, text, expires_s);
	struct stat st;
	int r;

	if (!line)
		return -ENOMEM;
	r = remembered_lock(fd, LOCK_EX);
	if (r < 0)
		return r;
	r = fstat(fd, &st) < 0 ? -errno : 0;
	if (r == 0) {
		*ret_size = st.st_size;
		r = remembered_write_line(fd, st.st_size, line);
		if (r < 0)
			remembered_end(fd, st.st_size, false);
	} else {
		(void)flock(fd, LOCK_UN);
	}
	return r;
}

void remembered_end(int fd, off_t size, bool keep)
{
	if (!keep && ftruncate(fd, size) < 0)
		(void)text_printf(stderr,
				  "callgate: --approvals: an answer that does not count cannot be taken out "
				  "of the file: %s\n",
				  strerror(errno));
	(void)flock(fd, LOCK_UN);
}
