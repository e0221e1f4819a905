#include "syscalls/exec/argv.h"

#include <string.h>

#include "base/banned.h"

#define POINTERS_MAX 64u
#define TEXT_MAX 1024u /* of one argument, with its NUL */
#define CUT_MARK " ..."

/* Part of the task's memory: programs keep their arguments together, so that one read has many of them. */
struct window {
	uint64_t addr;
	size_t len;
	char bytes[2 * TEXT_MAX];
};

/* Adds a byte while there is room for it and the mark. */
static bool put(struct call *call, char byte)
{
	if (call->text_len + sizeof(CUT_MARK) >= sizeof(call->text))
		return false;
	call->text[call->text_len++] = byte;
	return true;
}

static bool is_plain(const char *text)
{
	size_t len = strlen(text);

	return len && strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789@%_+=:,./-") == len;
}

/* False when there was no room for all of it. */
static bool put_word(struct call *call, const char *text)
{
	bool plain = is_plain(text);
	bool fits = call->text_len == 0 || put(call, ' ');

	if (!plain)
		fits = fits && put(call, '\'');
	for (; fits && *text; text++) {
		if (*text == '\'')
			fits = put(call, '\'') && put(call, '\\') && put(call, '\'');
		fits = fits && put(call, *text);
	}
	if (!plain)
		fits = fits && put(call, '\'');
	return fits;
}

static size_t read_some(const struct call *call, uint64_t addr, void *out, size_t len)
{
	ssize_t got = call->sandbox->guest->read(call->tid, addr, out, len);

	return got < 0 ? 0 : (size_t)got;
}

/* The text at addr, in the window, NUL-terminated and cut after TEXT_MAX. NULL when it cannot be read. */
static char *find_text(const struct call *call, struct window *window, uint64_t addr, bool *ret_whole)
{
	for (int tries = 0; tries < 2; tries++) {
		size_t at = addr - window->addr < window->len ? (size_t)(addr - window->addr) : window->len;
		size_t room = window->len - at < TEXT_MAX ? window->len - at : TEXT_MAX;
		char *text = window->bytes + at;

		*ret_whole = room && memchr(text, '\0', room);
		if (*ret_whole)
			return text;
		if (room == TEXT_MAX) {
			text[TEXT_MAX - 1] = '\0';
			window->len = 0; /* what is behind it is not the task's any more */
			return text;
		}
		window->addr = addr;
		window->len = read_some(call, addr, window->bytes, sizeof(window->bytes));
	}
	return NULL;
}

/* The texts of argv. False when they did not all fit, or cannot be read. */
static bool put_arguments(struct call *call, uint64_t argv)
{
	uint64_t pointer[POINTERS_MAX];
	size_t count = read_some(call, argv, pointer, sizeof(pointer)) / sizeof(*pointer);
	struct window window;

	window.addr = 0;
	window.len = 0;
	for (size_t i = 0; i < count; i++) {
		bool whole;
		char *text;

		if (!pointer[i])
			return true;
		text = find_text(call, &window, pointer[i], &whole);
		if (!text || !put_word(call, text) || !whole)
			return false;
	}
	return false;
}

void exec_note_argv(struct call *call, uint64_t argv)
{
	call->text_len = 0;
	if (argv && !put_arguments(call, argv)) {
		memcpy(call->text + call->text_len, CUT_MARK, sizeof(CUT_MARK));
		call->text_len += sizeof(CUT_MARK) - 1;
	}
	if (!call_valid(call))
		call->text_len = 0; /* it may be the memory of another process that got the number */
}
