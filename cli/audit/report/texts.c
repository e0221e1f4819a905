#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/texthash.h"
#include "cli/audit/report/report.h"

#define TEXTS_INITIAL_HASH_SLOTS 4096u
#define TEXTS_PER_WRITTEN_BLOCK 8192u

/* A text of the report, in text_bytes. */
struct text_entry {
	size_t offset; /* in text_bytes */
	uint32_t len;
	uint32_t hash;
	bool is_json; /* the text is a JSON value, not a string's content */
};

/* The texts of a report, each stored once and known by its number. */
struct report_texts {
	struct texthash hash;
	struct text_entry *entries; /* the text with number i is entries[i]; owned */
	size_t count, room;
	uint32_t *hash_slots; /* numbers of texts by hash, open addressing; 0: free; owned */
	size_t slot_count;
	char *text_bytes; /* bytes of all texts; owned */
	size_t len, cap;
	bool has_left_out_text; /* at least one text was left out */
};

struct report_texts *report_texts_create(void)
{
	struct report_texts *texts = calloc(1, sizeof(*texts));

	if (!texts)
		return NULL;
	texthash_init(&texts->hash);
	texts->slot_count = TEXTS_INITIAL_HASH_SLOTS;
	texts->hash_slots = calloc(texts->slot_count, sizeof(*texts->hash_slots));
	texts->room = TEXTS_INITIAL_HASH_SLOTS;
	texts->entries = calloc(texts->room, sizeof(*texts->entries));
	texts->count = REPORT_TEXT_NUMBER_OF_LEFT_OUT + 1;
	if (texts->hash_slots && texts->entries)
		return texts;
	report_texts_free(texts);
	return NULL;
}

void report_texts_free(struct report_texts *texts)
{
	if (!texts)
		return;
	free(texts->entries);
	free(texts->hash_slots);
	free(texts->text_bytes);
	free(texts);
}

/* Returns the slot of a text, or the free slot where the text belongs. */
static uint32_t *texts_find_slot(const struct report_texts *texts, const char *bytes, size_t len, uint32_t hash)
{
	size_t at = hash & (texts->slot_count - 1);

	for (;; at = (at + 1) & (texts->slot_count - 1)) {
		const struct text_entry *entry = &texts->entries[texts->hash_slots[at]];

		if (texts->hash_slots[at] == 0 || (entry->hash == hash && entry->len == len &&
						   memcmp(texts->text_bytes + entry->offset, bytes, len) == 0))
			return &texts->hash_slots[at];
	}
}

/* Doubles the table when it is half full. False: no memory. */
static bool texts_grow_slots(struct report_texts *texts)
{
	size_t slots = texts->slot_count * 2;
	uint32_t *slot;

	if (texts->count * 2 < texts->slot_count)
		return true;
	slot = calloc(slots, sizeof(*slot));
	if (!slot)
		return false;
	for (uint32_t i = REPORT_TEXT_NUMBER_OF_LEFT_OUT + 1; i < texts->count; i++) {
		size_t at = texts->entries[i].hash & (slots - 1);

		while (slot[at])
			at = (at + 1) & (slots - 1);
		slot[at] = i;
	}
	free(texts->hash_slots);
	texts->hash_slots = slot;
	texts->slot_count = slots;
	return true;
}

/* Makes room for one more text of `len` bytes. Returns false at REPORT_TEXT_BYTES_MAX, or if memory runs out. */
static bool texts_make_room(struct report_texts *texts, size_t len)
{
	if (texts->len + len > REPORT_TEXT_BYTES_MAX)
		return false;
	if (texts->count == texts->room) {
		struct text_entry *grown = reallocarray(texts->entries, texts->room * 2, sizeof(*grown));

		if (!grown)
			return false;
		texts->entries = grown;
		texts->room *= 2;
	}
	if (texts->len + len > texts->cap) {
		size_t cap = (texts->cap + len) * 2;
		char *bytes = realloc(texts->text_bytes, cap);

		if (!bytes)
			return false;
		texts->text_bytes = bytes;
		texts->cap = cap;
	}
	return texts_grow_slots(texts);
}

uint32_t report_texts_add(struct report_texts *texts, const char *bytes, size_t len, bool json)
{
	uint32_t hash = (uint32_t)texthash_compute(&texts->hash, json, bytes, len);
	uint32_t *slot = texts_find_slot(texts, bytes, len, hash), found = *slot;

	if (found > 0 && texts->entries[found].is_json == json)
		return found;
	/* left out: there is no room, or the same bytes were added as the other type (a JSON value or a string) */
	if (found > 0 || !texts_make_room(texts, len)) {
		texts->has_left_out_text = true;
		return REPORT_TEXT_NUMBER_OF_LEFT_OUT;
	}
	slot = texts_find_slot(texts, bytes, len, hash);
	if (len > 0)
		memcpy(texts->text_bytes + texts->len, bytes, len);
	texts->entries[texts->count] = (struct text_entry){texts->len, (uint32_t)len, hash, json};
	texts->len += len;
	*slot = (uint32_t)texts->count;
	return (uint32_t)texts->count++;
}

uint32_t report_texts_add_field(struct report_texts *texts, const json_t *object, const char *key)
{
	const json_t *field = json_object_get(object, key);

	if (!json_is_string(field))
		return REPORT_TEXT_NUMBER_OF_NO_TEXT;
	return report_texts_add(texts, json_string_value(field), json_string_length(field), false);
}

/* Writes a JSON string in ASCII, without characters that have a meaning in HTML. */
static void texts_write_string(FILE *out, const char *bytes, size_t len)
{
	uint32_t point;
	size_t size, bad;
	char escaped[12] = {0};

	(void)fputc('"', out);
	for (size_t i = 0; i < len; i += size) {
		size = text_decode_utf8(bytes + i, len - i, &point, &bad);
		if (size == 0) { /* cannot happen: the bytes are the text of a JSON string */
			point = 0xfffd;
			size = 1;
		}
		if (point >= 0x20 && point < 0x7f && !strchr("\"\\<>&'", (int)point))
			(void)fputc((int)point, out);
		else
			(void)fwrite(escaped, 1, text_put_json_unicode_escape(escaped, point), out);
	}
	(void)fputc('"', out);
}

void report_texts_write(const struct report_texts *texts, FILE *out)
{
	for (size_t i = REPORT_TEXT_NUMBER_OF_LEFT_OUT + 1; i < texts->count; i++) {
		const struct text_entry *entry = &texts->entries[i];
		bool first = (i - REPORT_TEXT_NUMBER_OF_LEFT_OUT - 1) % TEXTS_PER_WRITTEN_BLOCK == 0;
		bool last =
			i + 1 == texts->count || (i - REPORT_TEXT_NUMBER_OF_LEFT_OUT) % TEXTS_PER_WRITTEN_BLOCK == 0;

		(void)fputs(first ? "<script type=\"application/json\" class=\"texts\">[" : ",", out);
		if (entry->is_json)
			report_write_json(out, texts->text_bytes + entry->offset, entry->len);
		else
			texts_write_string(out, texts->text_bytes + entry->offset, entry->len);
		if (last)
			(void)fputs("]</script>\n", out);
	}
}

bool report_texts_are_complete(const struct report_texts *texts)
{
	return !texts->has_left_out_text;
}
