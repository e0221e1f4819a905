#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/expand.h"
#include "audit/read.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "policy/policy.h"

#define LOG_READ_BUFFER_BYTES (64u << 10)

/* Reads a log line by line. */
struct audit_reader {
	int fd;
	char *buffer; /* bytes read from the file; owned */
	size_t cap, len, at;
	uint64_t offset; /* offset of buffer[0] in the file */
	uint64_t line_number; /* of the line that was read last */
	uint64_t torn_bytes;  /* length of an incomplete line at the end */
	json_t *json; /* the JSON of the last line that was parsed */
	struct compact_reader compact;
};

int audit_reader_create(int fd, struct audit_reader **ret_reader)
{
	_cleanup_close_ int owned = fd;
	struct audit_reader *reader;
	struct stat file;

	if (fstat(fd, &file) < 0)
		return -errno;
	if (S_ISDIR(file.st_mode))
		return -EISDIR;
	if (!S_ISREG(file.st_mode)) /* only a regular file: pread(2) needs a seekable file */
		return -ESPIPE;
	reader = calloc(1, sizeof(*reader));
	if (!reader)
		return -ENOMEM;
	reader->fd = steal_fd(&owned);
	*ret_reader = reader;
	return 0;
}

int audit_reader_open(const char *path, struct audit_reader **ret_reader)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	return fd < 0 ? -errno : audit_reader_create(fd, ret_reader);
}

void audit_reader_free(struct audit_reader *reader)
{
	if (!reader)
		return;
	json_decref(reader->json);
	expand_free_fields(&reader->compact);
	free(reader->buffer);
	(void)close(reader->fd);
	free(reader);
}

/* Moves the unread bytes to the start of the buffer, and reads more. Returns their number, 0 at the end, or -errno. */
static ssize_t reader_read_more(struct audit_reader *reader)
{
	ssize_t n;

	if (reader->at > 0) {
		memmove(reader->buffer, reader->buffer + reader->at, reader->len - reader->at);
		reader->offset += reader->at;
		reader->len -= reader->at;
		reader->at = 0;
	}
	if (reader->len == reader->cap) {
		size_t cap = reader->cap ? reader->cap * 2 : LOG_READ_BUFFER_BYTES;
		char *buffer;

		if (cap > 2 * AUDIT_LINE_MAX_BYTES)
			return -E2BIG;
		buffer = realloc(reader->buffer, cap);
		if (!buffer)
			return -ENOMEM;
		reader->buffer = buffer;
		reader->cap = cap;
	}
	n = TEMP_FAILURE_RETRY(pread(reader->fd, reader->buffer + reader->len, reader->cap - reader->len,
				     (off_t)(reader->offset + reader->len)));
	if (n > 0)
		reader->len += (size_t)n;
	return n < 0 ? -errno : n;
}

/* Finds the end of the line at reader->at. 1 with its length, 0 when the file ends before the line does, or -errno. */
static int reader_find_end_of_line(struct audit_reader *reader, size_t *ret_len)
{
	size_t seen = 0;

	for (;;) {
		/* Adding 0 to NULL, which the buffer is at first, is undefined. */
		const char *start = reader->at > 0 ? reader->buffer + reader->at : reader->buffer;
		size_t have = reader->len - reader->at;
		const char *newline = have > seen ? memchr(start + seen, '\n', have - seen) : NULL;
		ssize_t n;

		if (newline) {
			*ret_len = (size_t)(newline - start);
			return 1;
		}
		/* Lines contain no NUL: unused space begins at the first NUL. */
		if (have > seen && memchr(start + seen, '\0', have - seen))
			return 0;
		seen = have;
		n = reader_read_more(reader);
		if (n <= 0)
			return (int)n;
	}
}

/* Parses a line of a log. NULL: it is no JSON object with a number "seq". */
static json_t *reader_parse_line(const char *text, size_t len)
{
	json_t *json = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);

	if (json && json_is_object(json) && json_is_integer(json_object_get(json, "seq")))
		return json;
	json_decref(json);
	return NULL;
}

/* Reads the line again: during the first read the writer may have been storing the outcome. */
static json_t *reader_reread_line(const struct audit_reader *reader, const struct audit_line *line)
{
	char *text = reader->buffer + (line->offset - reader->offset);
	ssize_t n = pread(reader->fd, text, line->len, (off_t)line->offset);

	return n == (ssize_t)line->len ? reader_parse_line(text, line->len) : NULL;
}

/* Sets reader->torn_bytes to the number of bytes from reader->at to the last byte that is not NUL. */
static int reader_measure_torn_tail(struct audit_reader *reader)
{
	const uint64_t start = reader->offset + reader->at;
	uint64_t last = 0, position = start;
	ssize_t n;

	for (;;) {
		for (; reader->at < reader->len; reader->at++, position++) {
			if (reader->buffer[reader->at] != '\0')
				last = position + 1 - start;
		}
		n = reader_read_more(reader);
		if (n <= 0)
			break;
	}
	reader->torn_bytes = last;
	return (int)n;
}

int audit_reader_read_unparsed(struct audit_reader *reader, struct audit_line *ret_line)
{
	size_t len = 0;
	int r;

	json_decref(reader->json);
	reader->json = NULL;
	*ret_line = (struct audit_line){.line_number = reader->line_number + 1, .offset = reader->offset + reader->at};
	r = reader_find_end_of_line(reader, &len);
	if (r == 0)
		return reader_measure_torn_tail(reader);
	if (r < 0)
		return r;
	ret_line->text = reader->buffer + reader->at;
	ret_line->len = len;
	if (memchr(ret_line->text, '\0', len)) /* an incomplete line: memcpy(3) may store its end first */
		return reader_measure_torn_tail(reader);
	reader->line_number++;
	reader->at += len + 1;
	return 1;
}

int audit_reader_parse_line(struct audit_reader *reader, struct audit_line *line)
{
	json_decref(reader->json);
	reader->json = reader_parse_line(line->text, line->len);
	if (!reader->json)
		reader->json = reader_reread_line(reader, line);
	if (!reader->json)
		return -EBADMSG;
	line->has_expanded_fields = expand_compact_line(&reader->compact, reader->json);
	line->json = reader->json;
	return 0;
}

int audit_reader_read_line(struct audit_reader *reader, struct audit_line *ret_line)
{
	int r = audit_reader_read_unparsed(reader, ret_line);

	if (r <= 0)
		return r;
	r = audit_reader_parse_line(reader, ret_line);
	return r < 0 ? r : 1;
}

void audit_reader_seek(struct audit_reader *reader, uint64_t offset, uint64_t number)
{
	reader->at = reader->len = 0;
	reader->offset = offset;
	reader->line_number = number - 1;
	reader->torn_bytes = 0;
}

int audit_reader_get_fd(const struct audit_reader *reader)
{
	return reader->fd;
}

uint64_t audit_reader_get_torn_bytes(const struct audit_reader *reader)
{
	return reader->torn_bytes;
}

bool audit_header_lacks_records_of_reads(const json_t *header)
{
	const char *judge = json_string_value(json_object_get(header, "judge"));

	return judge && strcmp(judge, policy_judge_get_name(POLICY_JUDGE_CHANGES)) == 0;
}

const char *audit_line_get_type(const json_t *line)
{
	const char *type = json_string_value(json_object_get(line, "type"));

	return type ? type : "record";
}

char *audit_line_get_bytes(const json_t *line, const char *key, size_t *ret_len)
{
	const json_t *field = json_object_get(line, key);
	size_t len = json_string_length(field);
	char *bytes;

	if (!json_is_string(field))
		return NULL;
	bytes = malloc(len + 1);
	if (!bytes)
		return NULL;
	memcpy(bytes, json_string_value(field), len);
	len = text_unescape_backslashes(bytes, len);
	bytes[len] = '\0';
	*ret_len = len;
	return bytes;
}

char *audit_line_get_resolved_path(const json_t *line, int second, size_t *ret_len)
{
	const char *key = second ? "resolved2" : "resolved";
	char *bytes;

	if (json_object_get(line, key)) /* "resolved":null means that nothing was resolved */
		return audit_line_get_bytes(line, key, ret_len);
	bytes = audit_line_get_bytes(line, second ? "path2" : "path", ret_len);
	if (bytes && bytes[0] != '/') { /* a relative path was not resolved */
		free(bytes);
		return NULL;
	}
	return bytes;
}

int64_t audit_line_get_tid(const json_t *line)
{
	const json_t *tid = json_object_get(line, "tid");

	return json_integer_value(tid ? tid : json_object_get(line, "pid"));
}
