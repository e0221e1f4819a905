/* Fills in the outcome of a record whose line is already in the file. encode.h shows the space for it. */
#include <string.h>

#include "audit/encode.h"
#include "audit/put.h"

#define OUTCOME_VALUE_BYTES 17          /* for the longest name, "EPROTONOSUPPORT", with its quotes */
#define OUTCOME_VALUE_MAX 99999999999999999 /* the largest value that fits; no judged call returns more */
#define OUTCOME_NS_BYTES 14                 /* space for the duration in ns */
#define OUTCOME_NS_MAX 99999999999999   /* the largest time that fits: 27 hours */

static const char outcome_empty[AUDIT_OUTCOME_BYTES + 1] = "\"ret\":  null             ,\"ns\":null          ";
_Static_assert(AUDIT_OUTCOME_VALUE_OFFSET + OUTCOME_VALUE_BYTES + 6 == AUDIT_OUTCOME_NS_OFFSET,
	       "the drawing in encode.h is wrong");
_Static_assert(AUDIT_OUTCOME_NS_OFFSET + OUTCOME_NS_BYTES == AUDIT_OUTCOME_BYTES, "the drawing in encode.h is wrong");

typedef uint64_t outcome_word8 __attribute__((aligned(1), may_alias));
/* two words that one instruction stores */
typedef uint64_t outcome_word16 __attribute__((vector_size(16), aligned(1), may_alias));

/*
 * Stores 8 or 16 bytes by one instruction, even if unaligned. SIGKILL takes effect between instructions, so the file
 * has the text before the store or after it. The barrier keeps the compiler from merging or splitting stores.
 */
static void outcome_store_8_bytes(char *to, const char *from)
{
	uint64_t word;

	memcpy(&word, from, sizeof(word));
	__asm__ volatile("" ::: "memory");
	*(volatile outcome_word8 *)to = word;
}

/* Stores 16 bytes by one instruction. */
static void outcome_store_16_bytes(char *to, const char *from)
{
	outcome_word16 word;

	memcpy(&word, from, sizeof(word));
	__asm__ volatile("" ::: "memory");
	*(volatile outcome_word16 *)to = word;
}

/* Stores a whole value by two overlapping stores. After the first, a name of full length lacks its last letter. */
static void outcome_store_value(char *room, const char *text)
{
	char first[16];

	memcpy(first, text, sizeof(first));
	if (text[OUTCOME_VALUE_BYTES - 1] == '"')
		first[sizeof(first) - 1] = '"';
	outcome_store_16_bytes(room + AUDIT_OUTCOME_VALUE_OFFSET, first);
	outcome_store_16_bytes(room + AUDIT_OUTCOME_VALUE_OFFSET + OUTCOME_VALUE_BYTES - 16,
			       text + OUTCOME_VALUE_BYTES - 16);
}

/* Writes "errno" with the error's name, or its number if it has none, in place of an unknown outcome. */
static void outcome_store_error(const struct encoder *encoder, char *room, uint64_t error)
{
	const struct encoder_name *name = error <= AUDIT_ERRNO_MAX ? &encoder->error[error] : NULL;
	char text[OUTCOME_VALUE_BYTES + 7];

	outcome_store_8_bytes(room, "\"errno\":");
	memset(text, ' ', sizeof(text));
	if (!name || !name->text || name->len > OUTCOME_VALUE_BYTES - 2) { /* the errno has no name */
		(void)put_uint(text, error <= OUTCOME_VALUE_MAX ? error : OUTCOME_VALUE_MAX);
	} else {
		text[0] = '"';
		memcpy(text + 1, name->text, name->len);
		text[name->len + 1] = '"';
	}
	outcome_store_value(room, text);
}

/* Writes the value that a call returned, in place of an unknown outcome. */
static void outcome_store_result(char *room, uint64_t value)
{
	char text[OUTCOME_VALUE_BYTES + 7];

	memset(text, ' ', sizeof(text));
	(void)put_uint(text, value <= OUTCOME_VALUE_MAX ? value : OUTCOME_VALUE_MAX);
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
	/* put_uint() writes at most OUTCOME_NS_BYTES digits here. */
	(void)put_uint(text, ns <= OUTCOME_NS_MAX ? ns : OUTCOME_NS_MAX);
	memcpy(text + OUTCOME_NS_BYTES, "}\n", 2);
	outcome_store_16_bytes(room + AUDIT_OUTCOME_NS_OFFSET, text);
}

/* Fills the room for an outcome with one that is not known yet. */
void outcome_write_unknown(char room[AUDIT_OUTCOME_BYTES])
{
	memcpy(room, outcome_empty, AUDIT_OUTCOME_BYTES);
}
