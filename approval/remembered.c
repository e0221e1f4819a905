#include "approval/remembered.h"

#include <errno.h>
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

/* Whether a line of the file is the answer for this scope. A line that is no such object grants nothing. */
static bool remembered_line_matches(const char *line, size_t len, const struct approval_question *question,
				    uint64_t now_s)
{
	json_t *entry = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
	const char *scope = json_string_value(json_object_get(entry, "scope"));
	const char *policy = json_string_value(json_object_get(entry, "policy_sha256"));
	json_int_t expires = json_integer_value(json_object_get(entry, "expires"));
	bool matches = scope && policy && strcmp(scope, question->scope) == 0 &&
		       strcmp(policy, question->policy_sha256) == 0 && expires > 0 && (uint64_t)expires > now_s;

	json_decref(entry);
	return matches;
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

bool remembered_find(int fd, const struct approval_question *question, uint64_t now_s)
{
	_cleanup_free_ char *text = remembered_read(fd);

	for (const char *line = text; line && *line;) {
		size_t len = strcspn(line, "\n");

		if (remembered_line_matches(line, len, question, now_s))
			return true;
		line += len + (line[len] == '\n');
	}
	return false;
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
