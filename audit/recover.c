#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "audit/encode.h"
#include "audit/log.h"
#include "audit/read.h"
#include "base/cleanup.h"
#include "base/text.h"

struct recover_log {
	uint64_t seq, records, denied;
	bool header, trailer; /* trailer: the last line is a trailer */
	char run[AUDIT_RUN_MAX * TEXT_ESCAPE_MAX];
	size_t run_len;
};

static void recover_read_run(struct recover_log *log, const json_t *line)
{
	size_t len;
	_cleanup_free_ char *run = audit_line_get_bytes(line, "run", &len);

	if (run)
		log->run_len = text_escape_for_json(log->run, run, len < AUDIT_RUN_MAX ? len : AUDIT_RUN_MAX);
}

static void recover_read_line(struct recover_log *log, const struct audit_line *line)
{
	const char *type = audit_line_get_type(line->json);
	const char *verdict = json_string_value(json_object_get(line->json, "verdict"));

	log->seq = (uint64_t)json_integer_value(json_object_get(line->json, "seq"));
	log->trailer = strcmp(type, "trailer") == 0;
	if (strcmp(type, "header") == 0) {
		log->header = true;
		recover_read_run(log, line->json);
	}
	if (strcmp(type, "record") != 0)
		return;
	log->records++;
	if (verdict && (strcmp(verdict, verdict_get_name(VERDICT_DENY)) == 0 ||
			strcmp(verdict, verdict_get_name(VERDICT_KILL)) == 0))
		log->denied++;
}

/* Reads the log. 0 with the end of the last complete line, or -errno: -EBADMSG for a file that is no log. */
static int recover_read_log(int fd, struct recover_log *log, uint64_t *ret_end)
{
	struct audit_reader *reader;
	struct audit_line line;
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3), r;

	if (copy < 0)
		return -errno;
	r = audit_reader_create(copy, &reader);
	if (r < 0)
		return r;
	while ((r = audit_reader_read_line(reader, &line)) != 0) {
		if (r == 1)
			recover_read_line(log, &line);
		if ((r < 0 && r != -EBADMSG) || !log->header)
			break;
	}
	*ret_end = line.offset;
	audit_reader_free(reader);
	if (r == 0 || log->header)
		return log->header ? r : -EBADMSG;
	return r < 0 ? r : -EBADMSG;
}

static int recover_append_trailer(int fd, const struct recover_log *log, uint64_t end, const char *status)
{
	struct audit_trailer trailer = {
		.status = status, .exit_code = -1, .judged = log->records, .denied = log->denied};
	struct audit_clock clock = {.second = -1};
	_cleanup_free_ char *line = NULL;
	size_t len;

	trailer.allowed = log->records - log->denied;
	line = lines_make_trailer(&clock, log->run, log->run_len, &trailer, log->seq + 1, log->records, &len);
	return line ? log_write_line(fd, line, len, end) : -ENOMEM;
}

int audit_recover_log(const char *path, const char *status)
{
	_cleanup_close_ int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	return fd < 0 ? -errno : audit_recover_fd(fd, status);
}

int audit_recover_fd(int fd, const char *status)
{
	struct recover_log log = {0};
	uint64_t end = 0;
	int r;

	if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return -EBUSY; /* another process is still writing the log */
	r = recover_read_log(fd, &log, &end);
	if (r < 0)
		return r;
	if (ftruncate(fd, (off_t)end) < 0)
		return -errno;
	return log.trailer ? 0 : recover_append_trailer(fd, &log, end, status);
}
