/* A tally: counts by name, in bounded memory. The names come from programs, so the hash has a random key. */
#ifndef CALLGATE_CLI_AUDIT_TALLY_H
#define CALLGATE_CLI_AUDIT_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/texthash.h"

#define TALLY_COUNTS_PER_ITEM 6     /* how many counts a tally keeps for each name */
#define TALLY_ITEMS_MAX 200000u     /* most items of a tally; all further names count as one item, TALLY_OTHERS_NAME */
#define TALLY_BYTES_MAX (64u << 20) /* of all names */
#define TALLY_OTHERS_NAME "(others)"

/* A name that a tally counts, and its counts. */
struct tally_item {
	char *name; /* NUL-terminated, and may contain other NULs */
	size_t len;
	uint64_t counts[TALLY_COUNTS_PER_ITEM]; /* counts; the user of the tally gives each index its meaning */
	void *data;                   /* data of the tally's user; freed with free(3) */
};

/* Zero-initialise; tally_release releases. */
struct tally {
	struct texthash hash;
	struct tally_item **items; /* in the order in which the names were added */
	size_t item_count, item_room, name_bytes;
	uint32_t *hash_slots; /* open addressing: index of the item plus 1; 0: free */
	size_t slot_count;    /* number of slots: a power of two */
	/* the item TALLY_OTHERS_NAME, which is also in items[]; NULL: there was room for all names */
	struct tally_item *item_of_all_other_names;
};

/* Finds the item of a name, added with zeroes at first use. NULL: no memory. */
struct tally_item *tally_find_or_add_item(struct tally *tally, const char *name, size_t len);
/* Finds the item of a name. NULL: no such name was added. */
struct tally_item *tally_find_item(const struct tally *tally, const char *name, size_t len);

/*
 * Returns all items, by descending counts[which] and then by name; with which == TALLY_COUNTS_PER_ITEM by name alone.
 * The array is owned by the caller, the items are not. NULL: no memory.
 */
struct tally_item **tally_sort_items_by_count(const struct tally *tally, size_t which);
void tally_release(struct tally *tally);

#endif
