/* Ends a log whose writer was killed, so that whoever reads it finds whole lines and how the run ended. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/encode.h"
#include "audit/log.h"
#include "audit/read.h"
#include "base/cleanup.h"
#include "base/text.h"

#include "base/banned.h"

struct found {
	uint64_t seq, records, denied;
	bool header, trailer; /* trailer: it is the last line */
	char run[AUDIT_RUN_MAX * TEXT_ESCAPE_MAX];
	size_t run_len;
};

static void found_run(struct found *found, const json_t *line)
{
	_cleanup_free_ char *run = NULL;
	size_t len;

	run = audit_line_bytes(line, "run", &len);
	if (run)
		found->run_len = text_escape(found->run, run, len < AUDIT_RUN_MAX ? len : AUDIT_RUN_MAX);
}

static void found_line(struct found *found, const struct audit_line *line)
{
	const char *type = audit_line_type(line->json);
	const char *verdict = json_string_value(json_object_get(line->json, "verdict"));

	found->seq = (uint64_t)json_integer_value(json_object_get(line->json, "seq"));
	found->trailer = strcmp(type, "trailer") == 0;
	if (strcmp(type, "header") == 0) {
		found->header = true;
		found_run(found, line->json);
	}
	if (strcmp(type, "record") != 0)
		return;
	found->records++;
	if (verdict &&
	    (strcmp(verdict, verdict_name(VERDICT_DENY)) == 0 || strcmp(verdict, verdict_name(VERDICT_KILL)) == 0))
		found->denied++;
}

/* Reads it all. 0 with where the last whole line ends; -EBADMSG when the file is no log: it must not be cut. */
static int look(int fd, struct found *found, uint64_t *ret_end)
{
	struct audit_reader *reader;
	struct audit_line line;
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3), r;

	if (copy < 0)
		return -errno;
	r = audit_reader_create(copy, &reader);
	if (r < 0)
		return r;
	while ((r = audit_reader_next(reader, &line)) != 0) {
		if (r == 1)
			found_line(found, &line);
		if ((r < 0 && r != -EBADMSG) || !found->header)
			break;
	}
	*ret_end = audit_reader_end(reader);
	audit_reader_free(reader);
	if (r == 0 || found->header)
		return found->header ? r : -EBADMSG;
	return r < 0 ? r : -EBADMSG;
}

static int append_trailer(int fd, const struct found *found, uint64_t end, const char *status)
{
	struct audit_trailer trailer = {
		.status = status, .exit_code = -1, .judged = found->records, .denied = found->denied};
	struct audit_clock clock = {.second = -1};
	_cleanup_free_ char *line = NULL;
	size_t len;

	trailer.allowed = found->records - found->denied;
	line = lines_trailer(&clock, found->run, found->run_len, &trailer, found->seq + 1, found->records, &len);
	if (!line)
		return -ENOMEM;
	return log_write(fd, line, len, end);
}

int audit_recover(const char *path, const char *status)
{
	_cleanup_close_ int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	return fd < 0 ? -errno : audit_recover_fd(fd, status);
}

int audit_recover_fd(int fd, const char *status)
{
	struct found found = {0};
	uint64_t end = 0;
	int r;

	if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return -EBUSY; /* it is still written */
	r = look(fd, &found, &end);
	if (r < 0)
		return r;
	if (ftruncate(fd, (off_t)end) < 0)
		return -errno;
	return found.trailer ? 0 : append_trailer(fd, &found, end, status);
}
