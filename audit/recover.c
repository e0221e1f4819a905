#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "audit/encode.h"
#include "audit/log.h"
#include "audit/read.h"
#include "audit/scan.h"
#include "audit/verify.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"

/* The log of a dead writer, to which a trailer is to be added. */
struct recover_log {
	int fd;
	struct verify verify;
	uint64_t denied_count;      /* records of denied calls */
	uint64_t sealed_line_count; /* lines whose hash another line had when the writer died */
	bool header, trailer;       /* the log has a header; its last line is a trailer */
	char run[AUDIT_RUN_ID_BYTES * TEXT_ESCAPED_BYTES_PER_BYTE_MAX];
	size_t run_id_len;
	char last_line_hash[HASH_DIGITS]; /* hash of the last line */
	uint64_t seq;                     /* number of the last line */
	char *last_line_text;             /* text of the last line; owned */
	size_t cap;
};

/* Reads the run's id from the header. 0, or -EBADMSG if the line is no header. */
static int recover_read_header(struct recover_log *log, struct audit_reader *reader, struct audit_line *line)
{
	_cleanup_free_ char *run = NULL;
	size_t len;
	int r = audit_reader_parse_line(reader, line);

	if (r < 0 || strcmp(audit_line_get_type(line->json), "header") != 0)
		return -EBADMSG;
	run = audit_line_get_bytes(line->json, "run", &len);
	if (run)
		log->run_id_len =
			text_escape_for_json(log->run, run, len < AUDIT_RUN_ID_BYTES ? len : AUDIT_RUN_ID_BYTES);
	log->header = true;
	return 0;
}

/* Copies the line, with its newline. */
static int recover_copy_line(struct recover_log *log, const struct audit_line *line)
{
	if (line->len + 1 > log->cap) {
		char *copy = realloc(log->last_line_text, line->len + 1);

		if (!copy)
			return -ENOMEM;
		log->last_line_text = copy;
		log->cap = line->len + 1;
	}
	memcpy(log->last_line_text, line->text, line->len);
	log->last_line_text[line->len] = '\n';
	return 0;
}

/* Whether a line has the place of a hash at `start`. A writer that is killed may leave a part of the hash there. */
static bool recover_has_hash_field_at(const char *line, size_t start)
{
	const size_t key = sizeof(HASH_LINE_PREV) - 1;

	return start > key && memcmp(line + start - key, HASH_LINE_PREV, key) == 0 &&
	       strspn(line + start, "-0123456789abcdef") == HASH_DIGITS && line[start + HASH_DIGITS] == '"';
}

/* Fills in the hash of the line before where it is not on file yet. A line without a place for it stays as it is. */
static int recover_seal_line(struct recover_log *log, const struct scan_record *record, const struct audit_line *line)
{
	size_t start = hash_get_prev_offset(record->seq);

	if (line->len < start + HASH_DIGITS || log->verify.is_broken ||
	    !recover_has_hash_field_at(log->last_line_text, start))
		return 0;
	if (!memchr(log->last_line_text + start, '-', HASH_DIGITS)) {
		log->sealed_line_count = log->verify.lines;
		return 0;
	}
	memcpy(log->last_line_text + start, log->last_line_hash, HASH_DIGITS);
	return pwrite(log->fd, log->last_line_hash, HASH_DIGITS, (off_t)(line->offset + start)) == HASH_DIGITS ? 0
													       : -EIO;
}

/* Reads one line: seals it if its hash is missing, counts denials, and notes whether it is a trailer. 0 or -errno. */
static int recover_read_line(struct recover_log *log, struct audit_reader *reader, struct audit_line *line)
{
	struct scan_record record;
	int r = scan_parse_line_fast(line->text, line->len, &record);

	/* The fast scan accepts bytes that are not UTF-8. A line with such bytes is no trailer for readers. */
	log->trailer =
		r == 0 && scan_text_equals(&record.line_type, "trailer") && audit_reader_parse_line(reader, line) == 0;
	if (r == 0 && (scan_text_equals(&record.verdict, verdict_get_name(VERDICT_DENY)) ||
		       scan_text_equals(&record.verdict, verdict_get_name(VERDICT_KILL))))
		log->denied_count++;
	r = recover_copy_line(log, line);
	if (r == 0 && log->verify.lines == 0)
		verify_start_at_header(&log->verify, log->last_line_text, line->len + 1);
	if (r == 0)
		r = recover_seal_line(log, &record, line);
	if (r < 0)
		return r;
	hash_line(log->last_line_text, line->len + 1, true, log->last_line_hash);
	r = verify_add_line(&log->verify, log->last_line_text, line->len + 1);
	log->seq = log->verify.is_broken ? record.seq : log->verify.last_line.place.seq;
	return r;
}

/* Reads the log. 0 with the end of the last complete line, or -errno: -EBADMSG for a file that is no log. */
static int recover_read_log(struct recover_log *log, uint64_t *ret_end)
{
	struct audit_reader *reader;
	struct audit_line line;
	int copy = fcntl(log->fd, F_DUPFD_CLOEXEC, 3), r, more;

	if (copy < 0)
		return -errno;
	r = audit_reader_create(copy, &reader);
	if (r < 0)
		return r;
	verify_begin_file(&log->verify);
	while ((more = audit_reader_read_unparsed(reader, &line)) == 1 && r == 0) {
		if (!log->header)
			r = recover_read_header(log, reader, &line);
		if (r == 0)
			r = recover_read_line(log, reader, &line);
	}
	*ret_end = line.offset;
	audit_reader_free(reader);
	if (r == 0)
		r = more;
	return r == 0 && !log->header ? -EBADMSG : r;
}

/* The hashes of records that got their outcomes after they were sealed. Owned by the caller; NULL: no memory. */
static char *recover_make_outcomes(const struct verify *verify)
{
	_cleanup_buf_ struct buf buf = {0};

	buf_puts(&buf, "");
	for (size_t i = 0; i < verify->late_count; i++)
		buf_printf(&buf, "%s%llu:%.*s", i > 0 ? " " : "", (unsigned long long)verify->late_outcome[i].place.seq,
			   HASH_DIGITS, verify->late_outcome[i].hash);
	return buf_take_text(&buf);
}

/* Ends a log that has no trailer with one, made of what could be read. end: where to write. 0 or -errno. */
static int recover_append_trailer(const struct recover_log *log, uint64_t end, const char *status)
{
	const struct verify *verify = &log->verify;
	/*
	 * Lines that are no records: each file has a header, and all files but the last have a line that names the next
	 * file.
	 */
	const uint64_t others = 2 * (uint64_t)verify->file_number;
	/* A damaged log may contain any numbers. */
	const uint64_t records = log->seq >= others + log->denied_count ? log->seq - others : log->denied_count;
	struct audit_trailer trailer = {.status = status,
					.exit_code = -1,
					.judged = records,
					.denied = log->denied_count,
					.unsealed_line_count = verify->lines - log->sealed_line_count};
	struct line_chain_fields links = {.prev_hash = log->last_line_hash};
	struct audit_clock clock = {.text_second = -1};
	_cleanup_free_ char *line = NULL, *outcomes = recover_make_outcomes(verify);
	size_t len;

	if (!outcomes)
		return -ENOMEM;
	links.outcomes_text = outcomes;
	links.outcomes_text_len = strlen(outcomes);
	trailer.allowed = records - log->denied_count;
	line = lines_make_trailer(&clock, log->run, log->run_id_len, &trailer, &links, verify->file_number,
				  log->seq + 1, records, &len);
	return line ? log_write_line(log->fd, line, len, end) : -ENOMEM;
}

int audit_recover_log(const char *path, const char *status)
{
	_cleanup_close_ int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	return fd < 0 ? -errno : audit_recover_fd(fd, status);
}

int audit_recover_fd(int fd, const char *status)
{
	struct recover_log log = {.fd = fd};
	uint64_t end = 0;
	int r;

	if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return -EBUSY; /* another process is still writing the log */
	verify_init(&log.verify);
	r = recover_read_log(&log, &end);
	if (r == 0 && ftruncate(fd, (off_t)end) < 0)
		r = -errno;
	if (r == 0 && !log.trailer)
		r = recover_append_trailer(&log, end, status);
	verify_release(&log.verify);
	free(log.last_line_text);
	return r;
}
