/*
 * What an interpreter writes to a pipe: output, and in between events in frames, "RS nonce length : bytes". The bytes
 * of frames make JSON lines. Whoever writes the pipe is hostile.
 */
#ifndef CALLGATE_AGENTS_CONTEXT_FRAMES_H
#define CALLGATE_AGENTS_CONTEXT_FRAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define FRAMES_PAYLOAD_BYTES_MAX 4096u /* of a frame: PIPE_BUF, so that it is written in one piece */
#define FRAMES_UTF8_CHARACTER_BYTES_MAX 4u

/* Borrowed bytes. They return false when no more of this pipe is to be looked at. */
struct frames_handler {
	bool (*on_output)(void *data, const char *bytes, size_t len); /* never half a character of UTF-8 */
	bool (*on_line)(void *data, const char *line, size_t len);    /* without its newline */
	void *data;
};

struct frames {
	const char *nonce; /* borrowed */
	enum { FRAMES_OUTPUT, FRAMES_MARK, FRAMES_LENGTH, FRAMES_BYTES } state;
	size_t matched_mark_bytes; /* FRAMES_MARK: of RS and nonce */
	size_t payload_bytes_left; /* FRAMES_LENGTH: the length so far; FRAMES_BYTES: what is missing */
	char last_payload_byte;    /* of the bytes of frames */
	bool is_dropping_line;     /* it is too long */
	struct buf event_line;
	char partial_character[FRAMES_UTF8_CHARACTER_BYTES_MAX]; /* the beginning of one that is not complete */
	size_t partial_character_len;
};

void frames_init(struct frames *frames, const char *nonce);
void frames_release(struct frames *frames);
/* False: a handler has returned false. */
bool frames_read(struct frames *frames, const struct frames_handler *handler, const char *bytes, size_t len);

#endif
