/* The outcome of a record, patched into a line that is on file already. See the drawing in encode.h. */
#include <string.h>

#include "audit/encode.h"

#include "base/banned.h"

#define VALUE_BYTES 17          /* "EPROTONOSUPPORT" with its quotes */
#define VALUE_MAX 99999999999999999 /* what fits; no call that is judged returns more */
#define NS_BYTES 14
#define NS_MAX 99999999999999   /* 27 hours */

static const char empty_room[AUDIT_ROOM_BYTES + 1] = "\"ret\":  null             ,\"ns\":null          ";
_Static_assert(AUDIT_ROOM_VALUE + VALUE_BYTES + 6 == AUDIT_ROOM_NS, "the drawing in encode.h is wrong");
_Static_assert(AUDIT_ROOM_NS + NS_BYTES == AUDIT_ROOM_BYTES, "the drawing in encode.h is wrong");

typedef uint64_t word8 __attribute__((aligned(1), may_alias));
typedef uint64_t word16 __attribute__((vector_size(16), aligned(1), may_alias)); /* movups, or str q */

/*
 * One store instruction each, whatever the alignment: SIGKILL comes between instructions, so what is on file is the
 * text before or after it.
 */
static void store8(char *to, const char *from)
{
	uint64_t word;

	memcpy(&word, from, sizeof(word));
	__asm__ volatile("" ::: "memory");
	*(volatile word8 *)to = word;
}

static void store16(char *to, const char *from)
{
	word16 word;

	memcpy(&word, from, sizeof(word));
	__asm__ volatile("" ::: "memory");
	*(volatile word16 *)to = word;
}

static void store_error(const struct encoder *encoder, char *room, uint64_t error)
{
	char text[VALUE_BYTES + 1];
	const struct encoder_name *name = error <= AUDIT_ERRNO_MAX ? &encoder->error[error] : NULL;
	size_t len;

	store8(room, "\"errno\":");
	memset(text, ' ', sizeof(text));
	if (!name || !name->text || name->len > VALUE_BYTES - 2) { /* a number without a name */
		(void)encode_uint(text, error <= VALUE_MAX ? error : VALUE_MAX);
		store16(room + AUDIT_ROOM_VALUE, text);
		return;
	}
	len = name->len;
	text[0] = '"';
	memcpy(text + 1, name->text, len);
	text[len + 1] = '"';
	if (len + 2 == VALUE_BYTES) { /* two overlapping stores; the text between them is a name cut by a letter */
		char cut[16];

		memcpy(cut, text, 15);
		cut[15] = '"';
		store16(room + AUDIT_ROOM_VALUE, cut);
		store16(room + AUDIT_ROOM_VALUE + 1, text + 1);
		return;
	}
	store16(room + AUDIT_ROOM_VALUE, text);
}

static void store_value(char *room, uint64_t value)
{
	char text[VALUE_BYTES + 4];
	const char *end;

	memset(text, ' ', sizeof(text));
	end = encode_uint(text, value <= VALUE_MAX ? value : VALUE_MAX);
	store16(room + AUDIT_ROOM_VALUE, text);
	if (end > text + 16)
		store16(room + AUDIT_ROOM_VALUE + 1, text + 1);
}

void encode_outcome(const struct encoder *encoder, char *room, int64_t ret, uint64_t ns)
{
	char text[24];

	if (ret < 0)
		store_error(encoder, room, -(uint64_t)ret);
	else
		store_value(room, (uint64_t)ret);
	memset(text, ' ', sizeof(text));
	(void)encode_uint(text, ns <= NS_MAX ? ns : NS_MAX); /* 14 digits at most, before what follows */
	memcpy(text + NS_BYTES, "}\n", 2);
	store16(room + AUDIT_ROOM_NS, text);
}

void encode_empty_room(char room[AUDIT_ROOM_BYTES])
{
	memcpy(room, empty_room, AUDIT_ROOM_BYTES);
}
