#include "audit/sign.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/read.h"
#include "base/cleanup.h"

#define SIGN_FIRST_READ_BYTES 4096u /* how much of the log's end is read at first, to find its last line */

size_t sign_write_subject(const struct sign_subject *subject, char out[SIGN_SUBJECT_TEXT_SIZE])
{
	int len = snprintf(out, SIGN_SUBJECT_TEXT_SIZE,
			   "callgate audit log 1\nrun %s\nfile %u\nrecords %llu\nhead %.*s\n", subject->run,
			   subject->file_number, (unsigned long long)subject->record_count, HASH_DIGITS,
			   subject->trailer_hash);

	return len > 0 && len < SIGN_SUBJECT_TEXT_SIZE ? (size_t)len : 0;
}

/* Reads the last line, which ends at `size`. Owned by the caller. 0 or -errno. */
static int sign_read_last_line(int fd, uint64_t size, char **ret_line, size_t *ret_len)
{
	for (uint64_t want = SIGN_FIRST_READ_BYTES;; want *= 4) {
		uint64_t bytes = want < size ? want : size;
		_cleanup_free_ char *tail = malloc(bytes);
		const char *newline;

		if (!tail)
			return -ENOMEM;
		if (bytes < SIGN_TRAILER_END_BYTES ||
		    TEMP_FAILURE_RETRY(pread(fd, tail, bytes, (off_t)(size - bytes))) != (ssize_t)bytes ||
		    tail[bytes - 1] != '\n')
			return -EBADMSG;
		newline = memrchr(tail, '\n', bytes - 1);
		if (newline || bytes == size) {
			*ret_len = newline ? (size_t)(tail + bytes - newline - 1) : bytes;
			memmove(tail, tail + bytes - *ret_len, *ret_len);
			*ret_line = steal_pointer(&tail);
			return 0;
		}
		if (want > AUDIT_LINE_MAX_BYTES)
			return -EBADMSG;
	}
}

bool sign_trailer_is_unsigned(const char *line, size_t len)
{
	static const char blank[] = SIGN_SIGNATURE_JSON_KEY SIGN_SIGNATURE_BLANK "\"}";
	const char *last = line + len - (SIGN_TRAILER_END_BYTES - 1);

	return len >= SIGN_TRAILER_END_BYTES - 1 &&
	       memcmp(last, SIGN_HEAD_JSON_KEY, sizeof(SIGN_HEAD_JSON_KEY) - 1) == 0 &&
	       memcmp(line + len - (sizeof(blank) - 1), blank, sizeof(blank) - 1) == 0;
}

/*
 * Fills in what is signed (subject) and where the log ends (end) from the trailer. subject->trailer_hash points into
 * the line. 0 or -EBADMSG.
 */
static int sign_read_trailer(const char *line, size_t len, struct sign_subject *subject, struct signed_log_end *end)
{
	json_t *json;
	int r = -EBADMSG;

	if (len == 0 || line[len - 1] != '\n' || !sign_trailer_is_unsigned(line, len - 1))
		return r;
	json = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
	if (json && strcmp(audit_line_get_type(json), "trailer") == 0) {
		subject->file_number = (unsigned)json_integer_value(json_object_get(json, "file"));
		subject->record_count = (uint64_t)json_integer_value(json_object_get(json, "records"));
		subject->trailer_hash = line + len - SIGN_TRAILER_END_BYTES + sizeof(SIGN_HEAD_JSON_KEY) - 1;
		end->line_count = (uint64_t)json_integer_value(json_object_get(json, "seq")) + 1;
		end->record_count = subject->record_count;
		r = 0;
	}
	json_decref(json);
	return r;
}

int sign_trailer(int fd, const struct signing_key *key, const char *run, struct signed_log_end *ret_end)
{
	struct sign_subject subject = {.run = run};
	struct signed_log_end end = {0};
	uint8_t signature[SIGNING_SIGNATURE_BYTES];
	char text[SIGN_SUBJECT_TEXT_SIZE], digits[SIGNING_SIGNATURE_BASE64_SIZE];
	_cleanup_free_ char *line = NULL;
	struct stat file;
	size_t len, text_len, place;
	int r;

	if (fstat(fd, &file) < 0)
		return -errno;
	r = sign_read_last_line(fd, (uint64_t)file.st_size, &line, &len);
	if (r == 0)
		r = sign_read_trailer(line, len, &subject, &end);
	if (r < 0)
		return r;
	text_len = sign_write_subject(&subject, text);
	if (text_len == 0)
		return -EBADMSG;
	signing_sign(key, text, text_len, signature);
	(void)signing_write_base64(digits, signature, sizeof(signature));
	place = len - 3 - SIGN_SIGNATURE_DIGITS;
	memcpy(line + place, digits, SIGN_SIGNATURE_DIGITS);
	if (pwrite(fd, digits, SIGN_SIGNATURE_DIGITS, (off_t)((uint64_t)file.st_size - len + place)) !=
	    (ssize_t)SIGN_SIGNATURE_DIGITS)
		return errno ? -errno : -EIO;
	hash_line(line, len, true, end.trailer_hash);
	end.trailer_hash[HASH_DIGITS] = '\0';
	*ret_end = end;
	return 0;
}
