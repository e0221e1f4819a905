#include "syscalls/exec/arguments.h"

#include <string.h>

#define ARGV_POINTERS_MAX 64u         /* arguments of an exec that its record shows at most */
#define ARGV_RECORDED_BYTES_MAX 1024u /* bytes recorded of one argument, with its NUL */
#define ARGV_TRUNCATION_MARK " ..."   /* ends a recorded argv of which the rest is left out */

/* A copied part of target memory. Arguments are usually adjacent in memory, so that one read copies many of them. */
struct argv_read_buffer {
	uint64_t addr; /* where in target memory `bytes` begins */
	size_t len;
	char bytes[2 * ARGV_RECORDED_BYTES_MAX];
};

/* Adds a byte to call->text_arg. False: only ARGV_TRUNCATION_MARK would still fit. */
static bool argv_put_byte(struct call *call, char byte)
{
	if (call->text_arg_len + sizeof(ARGV_TRUNCATION_MARK) >= sizeof(call->text_arg))
		return false;
	call->text_arg[call->text_arg_len++] = byte;
	return true;
}

/* A recorded argument of other bytes is quoted. */
#define ARGV_UNQUOTED_BYTES "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789@%_+=:,./-"

/* Adds an argument to call->text_arg, quoted as for a shell. False: it does not fit. */
static bool argv_append_quoted_to_record(struct call *call, const char *text)
{
	bool plain = *text && !text[strspn(text, ARGV_UNQUOTED_BYTES)];
	bool fits = call->text_arg_len == 0 || argv_put_byte(call, ' ');

	if (!plain)
		fits = fits && argv_put_byte(call, '\'');
	for (; fits && *text; text++) {
		if (*text == '\'')
			fits = argv_put_byte(call, '\'') && argv_put_byte(call, '\\') && argv_put_byte(call, '\'');
		fits = fits && argv_put_byte(call, *text);
	}
	if (!plain)
		fits = fits && argv_put_byte(call, '\'');
	return fits;
}

/* Copies target memory, up to the first inaccessible page. Returns the number of bytes. */
static size_t argv_read_bytes(const struct call *call, uint64_t addr, void *out, size_t len)
{
	ssize_t got = call->sandbox->target_memory->read(call->tid, addr, out, len);

	return got < 0 ? 0 : (size_t)got;
}

/*
 * Returns the text at addr, within the window, NUL-terminated and cut to ARGV_RECORDED_BYTES_MAX. NULL: it cannot be
 * read.
 */
static char *argv_read_argument(const struct call *call, struct argv_read_buffer *window, uint64_t addr,
				bool *ret_whole)
{
	for (int tries = 0; tries < 2; tries++) {
		size_t at = addr - window->addr < window->len ? (size_t)(addr - window->addr) : window->len;
		size_t room = window->len - at < ARGV_RECORDED_BYTES_MAX ? window->len - at : ARGV_RECORDED_BYTES_MAX;
		char *text = window->bytes + at;

		*ret_whole = room && memchr(text, '\0', room);
		if (*ret_whole)
			return text;
		if (room == ARGV_RECORDED_BYTES_MAX) {
			text[ARGV_RECORDED_BYTES_MAX - 1] = '\0';
			window->len = 0; /* the NUL overwrote a byte of the window */
			return text;
		}
		window->addr = addr;
		window->len = argv_read_bytes(call, addr, window->bytes, sizeof(window->bytes));
	}
	return NULL;
}

/* Adds the arguments to call->text_arg. False: not all fit, or they cannot be read. */
static bool argv_put_texts(struct call *call, uint64_t argv)
{
	uint64_t pointer[ARGV_POINTERS_MAX];
	size_t count = argv_read_bytes(call, argv, pointer, sizeof(pointer)) / sizeof(*pointer);
	struct argv_read_buffer window;

	window.addr = window.len = 0; /* the bytes are left uninitialised */
	for (size_t i = 0; i < count; i++) {
		bool whole;
		char *text;

		if (!pointer[i])
			return true;
		text = argv_read_argument(call, &window, pointer[i], &whole);
		if (!text || !argv_append_quoted_to_record(call, text) || !whole)
			return false;
	}
	return false;
}

void exec_record_arguments(struct call *call, uint64_t argv)
{
	call->text_arg_len = 0;
	if (argv && !argv_put_texts(call, argv)) {
		memcpy(call->text_arg + call->text_arg_len, ARGV_TRUNCATION_MARK, sizeof(ARGV_TRUNCATION_MARK));
		call->text_arg_len += sizeof(ARGV_TRUNCATION_MARK) - 1;
	}
	if (!call_thread_still_waits(call))
		call->text_arg_len = 0; /* the tid may have been reused, so the text may be from another process */
}
