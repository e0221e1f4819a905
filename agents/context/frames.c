#include "agents/context/frames.h"

#include <string.h>

#include "agents/context/context.h"
#include "base/text.h"

#define FRAMES_RECORD_SEPARATOR '\x1e'

/* Prepares a parser, which may have been used before, for a new interpreter's output. nonce: borrowed. */
void frames_init(struct frames_parser *frames, const char *nonce)
{
	frames_release(frames);
	*frames = (struct frames_parser){.nonce = nonce};
}

void frames_release(struct frames_parser *frames)
{
	buf_release(&frames->event_line);
}

/* ---- output ---- */

/* Returns how many bytes at the end begin a UTF-8 character without completing it. */
static size_t frames_count_incomplete_utf8_bytes(const char *bytes, size_t len)
{
	size_t at = len;

	while (at > 0 && len - at < FRAMES_UTF8_CHARACTER_BYTES_MAX - 1) {
		unsigned char byte = (unsigned char)bytes[--at];
		size_t needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;

		if ((byte & 0xc0) != 0x80)
			return needed > len - at ? len - at : 0;
	}
	return 0;
}

/* Passes on the kept bytes of a character as output, even if the character is incomplete. */
static bool frames_flush_partial_character(struct frames_parser *frames, const struct frames_handler *handler)
{
	size_t len = frames->partial_character_len;

	frames->partial_character_len = 0;
	return len == 0 || handler->on_output(handler->data, frames->partial_character, len);
}

/*
 * Adds bytes to the kept beginning of a character, and passes the character on once it is complete. *ret_taken: how
 * many bytes were used.
 */
static bool frames_complete_character(struct frames_parser *frames, const struct frames_handler *handler,
				      const char *bytes, size_t len, size_t *ret_taken)
{
	size_t taken = 0;

	while (frames->partial_character_len > 0 && taken < len && ((unsigned char)bytes[taken] & 0xc0) == 0x80) {
		frames->partial_character[frames->partial_character_len++] = bytes[taken++];
		if (frames_count_incomplete_utf8_bytes(frames->partial_character, frames->partial_character_len) == 0)
			break;
	}
	*ret_taken = taken;
	return (taken == len &&
		frames_count_incomplete_utf8_bytes(frames->partial_character, frames->partial_character_len) > 0) ||
	       frames_flush_partial_character(frames, handler);
}

/* Passes output on without splitting a UTF-8 character: its incomplete end is kept for the next bytes. */
static bool frames_pass_output(struct frames_parser *frames, const struct frames_handler *handler, const char *bytes,
			       size_t len)
{
	size_t taken, incomplete;

	if (!frames_complete_character(frames, handler, bytes, len, &taken))
		return false;
	bytes += taken;
	len -= taken;
	incomplete = frames_count_incomplete_utf8_bytes(bytes, len);
	if (incomplete > 0) {
		memcpy(frames->partial_character, bytes + (len - incomplete), incomplete);
		frames->partial_character_len = incomplete;
	}
	return len == incomplete || handler->on_output(handler->data, bytes, len - incomplete);
}

/* ---- frames ---- */

/* The bytes matched so far are not the mark of a frame: passes them on as output. */
static bool frames_pass_false_mark_as_output(struct frames_parser *frames, const struct frames_handler *handler)
{
	const char mark = FRAMES_RECORD_SEPARATOR;
	size_t matched = frames->matched_frame_mark_bytes;

	frames->state = FRAMES_OUTPUT;
	return frames_pass_output(frames, handler, &mark, 1) &&
	       (matched <= 1 || frames_pass_output(frames, handler, frames->nonce, matched - 1));
}

/* Handles the next byte after a frame mark's first one. *ret_taken: 0 if the mark was false, and the byte is output. */
static bool frames_match_mark_byte(struct frames_parser *frames, const struct frames_handler *handler, char byte,
				   size_t *ret_taken)
{
	*ret_taken = 0;
	if (byte != frames->nonce[frames->matched_frame_mark_bytes - 1])
		return frames_pass_false_mark_as_output(frames, handler);
	*ret_taken = 1;
	if (frames->nonce[frames->matched_frame_mark_bytes++] != '\0')
		return true;
	frames->state = FRAMES_LENGTH;
	frames->payload_bytes_left = 0;
	/* a character that a frame interrupts stays incomplete */
	return frames_flush_partial_character(frames, handler);
}

/* Reads a byte of the frame's length. Anything malformed is taken for output. */
static void frames_read_length_digit(struct frames_parser *frames, char byte)
{
	if (byte >= '0' && byte <= '9')
		frames->payload_bytes_left = frames->payload_bytes_left * 10 + (size_t)(byte - '0');
	else
		frames->state = byte == ':' && frames->payload_bytes_left > 0 ? FRAMES_BYTES : FRAMES_OUTPUT;
	if (frames->payload_bytes_left > FRAMES_PAYLOAD_BYTES_MAX)
		frames->state = FRAMES_OUTPUT;
}

/* Adds to an event's line. One that becomes too long is dropped as a whole. */
static void frames_add_payload(struct frames_parser *frames, const char *bytes, size_t len)
{
	frames->last_payload_byte = bytes[len - 1];
	frames->payload_bytes_left -= len;
	if (frames->is_dropping_line)
		return;
	buf_add(&frames->event_line, bytes, len);
	if (!frames->event_line.failed && frames->event_line.len <= CONTEXT_EVENT_BYTES_MAX)
		return;
	buf_release(&frames->event_line);
	frames->event_line = (struct buf){0};
	frames->is_dropping_line = true;
}

/* Called when all bytes of a frame were read. Passes on the event line if the last byte is a newline. */
static bool frames_end_frame(struct frames_parser *frames, const struct frames_handler *handler)
{
	_cleanup_buf_ struct buf line = {0};

	frames->state = FRAMES_OUTPUT;
	if (frames->last_payload_byte != '\n')
		return true;
	line = frames->event_line;
	frames->event_line = (struct buf){0};
	if (!frames->is_dropping_line)
		return handler->on_line(handler->data, line.data, line.len - 1);
	frames->is_dropping_line = false;
	return true;
}

bool frames_parse_bytes(struct frames_parser *frames, const struct frames_handler *handler, const char *bytes,
			size_t len)
{
	bool goes_on = true;

	while (len > 0 && goes_on) {
		const char *mark;
		size_t taken = 1;

		switch (frames->state) {
		case FRAMES_OUTPUT:
			mark = memchr(bytes, FRAMES_RECORD_SEPARATOR, len);
			taken = mark ? (size_t)(mark - bytes) + 1 : len;
			if (mark) {
				frames->state = FRAMES_MARK;
				frames->matched_frame_mark_bytes = 1;
			}
			goes_on = taken == (mark ? 1u : 0u) ||
				  frames_pass_output(frames, handler, bytes, taken - (mark ? 1 : 0));
			break;
		case FRAMES_MARK:
			goes_on = frames_match_mark_byte(frames, handler, bytes[0], &taken);
			break;
		case FRAMES_LENGTH:
			frames_read_length_digit(frames, bytes[0]);
			break;
		case FRAMES_BYTES:
			taken = frames->payload_bytes_left < len ? frames->payload_bytes_left : len;
			frames_add_payload(frames, bytes, taken);
			if (frames->payload_bytes_left == 0)
				goes_on = frames_end_frame(frames, handler);
			break;
		}
		bytes += taken;
		len -= taken;
	}
	return goes_on;
}
