/* Fills in the outcome of a record whose line is on file already. See the drawing in encode.h. */
#include <string.h>

#include "audit/encode.h"
#include "audit/put.h"

#define VALUE_BYTES 17          /* "EPROTONOSUPPORT" with its quotes */
#define VALUE_MAX 99999999999999999 /* fills the field; no judged call returns more */
#define NS_BYTES 14
#define NS_MAX 99999999999999   /* 27 hours */

static const char outcome_empty[AUDIT_ROOM_BYTES + 1] = "\"ret\":  null             ,\"ns\":null          ";
_Static_assert(AUDIT_ROOM_VALUE + VALUE_BYTES + 6 == AUDIT_ROOM_NS, "the drawing in encode.h is wrong");
_Static_assert(AUDIT_ROOM_NS + NS_BYTES == AUDIT_ROOM_BYTES, "the drawing in encode.h is wrong");

typedef uint64_t outcome_word8 __attribute__((aligned(1), may_alias));
typedef uint64_t outcome_word16 __attribute__((vector_size(16), aligned(1), may_alias)); /* movups, or str q */

/*
 * One store instruction each, also when unaligned. SIGKILL takes effect between instructions, so the file holds the
 * text before the store or after it. The barrier keeps the compiler from merging or splitting stores.
 */
static void outcome_store_8_bytes(char *to, const char *from)
{
	uint64_t word;

	memcpy(&word, from, sizeof(word));
	__asm__ volatile("" ::: "memory");
	*(volatile outcome_word8 *)to = word;
}

static void outcome_store_16_bytes(char *to, const char *from)
{
	outcome_word16 word;

	memcpy(&word, from, sizeof(word));
	__asm__ volatile("" ::: "memory");
	*(volatile outcome_word16 *)to = word;
}

/* Stores VALUE_BYTES by two overlapping stores. Between them a name of the full length lacks its last letter. */
static void outcome_store_value(char *room, const char *text)
{
	char first[16];

	memcpy(first, text, sizeof(first));
	if (text[VALUE_BYTES - 1] == '"')
		first[sizeof(first) - 1] = '"';
	outcome_store_16_bytes(room + AUDIT_ROOM_VALUE, first);
	outcome_store_16_bytes(room + AUDIT_ROOM_VALUE + VALUE_BYTES - 16, text + VALUE_BYTES - 16);
}

static void outcome_store_error(const struct encoder *encoder, char *room, uint64_t error)
{
	const struct encoder_name *name = error <= AUDIT_ERRNO_MAX ? &encoder->error[error] : NULL;
	char text[VALUE_BYTES + 7];

	outcome_store_8_bytes(room, "\"errno\":");
	memset(text, ' ', sizeof(text));
	if (!name || !name->text || name->len > VALUE_BYTES - 2) { /* this errno has no name */
		(void)put_uint(text, error <= VALUE_MAX ? error : VALUE_MAX);
	} else {
		text[0] = '"';
		memcpy(text + 1, name->text, name->len);
		text[name->len + 1] = '"';
	}
	outcome_store_value(room, text);
}

static void outcome_store_result(char *room, uint64_t value)
{
	char text[VALUE_BYTES + 7];

	memset(text, ' ', sizeof(text));
	(void)put_uint(text, value <= VALUE_MAX ? value : VALUE_MAX);
	outcome_store_value(room, text);
}

void outcome_store(const struct encoder *encoder, char *room, int64_t ret, uint64_t ns)
{
	char text[24];

	if (ret < 0)
		outcome_store_error(encoder, room, -(uint64_t)ret);
	else
		outcome_store_result(room, (uint64_t)ret);
	memset(text, ' ', sizeof(text));
	(void)put_uint(text, ns <= NS_MAX ? ns : NS_MAX); /* at most NS_BYTES digits */
	memcpy(text + NS_BYTES, "}\n", 2);
	outcome_store_16_bytes(room + AUDIT_ROOM_NS, text);
}

void outcome_write_unknown(char room[AUDIT_ROOM_BYTES])
{
	memcpy(room, outcome_empty, AUDIT_ROOM_BYTES);
}
