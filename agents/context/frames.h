/*
 * Parses what an interpreter writes to a pipe: output, with events in between. Events are sent in frames, "RS nonce
 * length : bytes": a mark (the byte RS and the nonce), the number of bytes, and the bytes. The bytes of all frames
 * together are lines of JSON, one event a line. Whatever is written to the pipe is hostile.
 */
#ifndef CALLGATE_AGENTS_CONTEXT_FRAMES_H
#define CALLGATE_AGENTS_CONTEXT_FRAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/*
 * Most bytes of events in one frame. The runner writes frames of at most PIPE_BUF bytes, because such writes are
 * atomic.
 */
#define FRAMES_PAYLOAD_BYTES_MAX 4096u
#define FRAMES_UTF8_CHARACTER_BYTES_MAX 4u

/* Callbacks of frames_parse_bytes(). The bytes are borrowed. Each returns false to stop the parsing of this pipe. */
struct frames_handler {
	bool (*on_output)(void *data, const char *bytes, size_t len); /* `bytes` do not end within a UTF-8 character */
	bool (*on_line)(void *data, const char *line, size_t len);    /* an event, without the line's newline */
	void *data;
};

/* Separates an interpreter's output on one stream from the frames between it. */
struct frames_parser {
	const char *nonce; /* borrowed */
	enum { FRAMES_OUTPUT, FRAMES_MARK, FRAMES_LENGTH, FRAMES_BYTES } state;
	size_t matched_frame_mark_bytes; /* in state FRAMES_MARK: how many bytes of RS and nonce have matched */
	/* in state FRAMES_LENGTH: the length read so far; in state FRAMES_BYTES: the bytes still to come */
	size_t payload_bytes_left;
	char last_payload_byte; /* last byte of the frame so far; a newline ends an event */
	bool is_dropping_line;  /* the event line is too long: the rest of it is dropped */
	struct buf event_line;
	char partial_character[FRAMES_UTF8_CHARACTER_BYTES_MAX]; /* the beginning of an incomplete UTF-8 character */
	size_t partial_character_len;
};

void frames_init(struct frames_parser *frames, const char *nonce);
void frames_release(struct frames_parser *frames);
/* Parses bytes read from the pipe, and calls the handler's callbacks. False: a callback has returned false. */
bool frames_parse_bytes(struct frames_parser *frames, const struct frames_handler *handler, const char *bytes,
			size_t len);

#endif
