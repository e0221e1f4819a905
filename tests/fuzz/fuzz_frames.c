/*
 * What an interpreter writes to a pipe: however the bytes are cut into reads, the same output and the same events come
 * out; of an event only what context.h promises. '\x01' in the input stands for RS and the nonce.
 */
#include <stdint.h>
#include <string.h>

#include "agents/context/private.h"
#include "tests/fuzz/fuzz.h"

#define NONCE "0123456789abcdef0123456789abcdef"

struct got {
	struct buf output, lines;
};

static bool on_output(void *data, const char *bytes, size_t len)
{
	struct got *got = data;
	json_t *event = event_make_output(SANDBOX_STDOUT, bytes, len);

	promise(len > 0 && json_is_string(json_object_get(event, "text")));
	json_decref(event);
	buf_add(&got->output, bytes, len);
	return true;
}

static bool on_line(void *data, const char *line, size_t len)
{
	struct got *got = data;
	json_t *event = event_parse(line, len);
	char *text = event ? json_dumps(event, JSON_COMPACT) : NULL;

	promise(!event || (text && json_is_string(json_object_get(event, "type")) && !json_object_get(event, "x")));
	free(text);
	json_decref(event);
	buf_add(&got->lines, line, len);
	buf_puts(&got->lines, "\n");
	return true;
}

static void read_in_steps(const struct buf *input, size_t step, struct got *got)
{
	const struct frames_handler handler = {on_output, on_line, got};
	struct frames_parser frames = {0};

	frames_init(&frames, NONCE);
	for (size_t at = 0; at < input->len; at += step)
		promise(frames_parse_bytes(&frames, &handler, input->data + at,
				    step < input->len - at ? step : input->len - at));
	buf_add(&got->output, frames.partial_character, frames.partial_character_len);
	frames_release(&frames);
}

static bool is_equal(const struct buf *a, const struct buf *b)
{
	return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t steps[] = {1, 3, 7, 64};
	struct buf input = {0};
	struct got whole = {{0}, {0}};

	for (size_t i = 0; i < size; i++)
		if (data[i] == 1)
			buf_puts(&input, "\x1e" NONCE);
		else
			buf_add(&input, &data[i], 1);
	read_in_steps(&input, input.len + 1, &whole);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct got parts = {{0}, {0}};

		read_in_steps(&input, steps[i], &parts);
		promise(is_equal(&whole.output, &parts.output) && is_equal(&whole.lines, &parts.lines));
		buf_release(&parts.output);
		buf_release(&parts.lines);
	}
	buf_release(&whole.output);
	buf_release(&whole.lines);
	buf_release(&input);
	return 0;
}
