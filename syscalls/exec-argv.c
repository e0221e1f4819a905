#include "syscalls/exec-argv.h"

#include <errno.h>
#include <string.h>

#include "syscalls/decode.h"

#include "base/banned.h"

#define POINTERS_MAX 64u
#define CUT_MARK " ..."

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

/* The next text of argv. True when there is one; *ret_more is false at its end. */
static bool put_argument(struct call *call, uint64_t slot, bool *ret_more)
{
	char text[1024];
	uint64_t addr;
	ssize_t len;

	*ret_more = false;
	if (decode_at(call, slot, &addr, sizeof(addr)) < 0)
		return false;
	if (!addr)
		return true;
	len = decode_string_at(call, addr, text, sizeof(text), -E2BIG);
	if (len == -E2BIG)
		text[sizeof(text) - 1] = '\0'; /* the copy is whole but for the end */
	else if (len < 0)
		return false;
	*ret_more = true;
	return put_word(call, text) && len >= 0;
}

void exec_note_argv(struct call *call, uint64_t argv)
{
	bool more = argv != 0, whole = true;

	call->text_len = 0;
	for (unsigned i = 0; more && whole && i < POINTERS_MAX; i++)
		whole = put_argument(call, argv + i * sizeof(uint64_t), &more);
	if (more || !whole) {
		memcpy(call->text + call->text_len, CUT_MARK, sizeof(CUT_MARK));
		call->text_len += sizeof(CUT_MARK) - 1;
	}
	if (!call_valid(call))
		call->text_len = 0; /* it may be the memory of another process that got the number */
}
