#include "cli/audit/tally.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* The slot of the item with this name, or the free one where it belongs. */
static uint32_t *tally_find_slot(const struct tally *tally, const char *name, size_t len)
{
	size_t at = texthash_compute(&tally->hash, 0, name, len) & (tally->slot_count - 1);

	while (tally->hash_slots[at]) {
		const struct tally_item *item = tally->items[tally->hash_slots[at] - 1];

		if (item->len == len && memcmp(item->name, name, len) == 0)
			break;
		at = (at + 1) & (tally->slot_count - 1);
	}
	return &tally->hash_slots[at];
}

/* Keeps at least half of the slots free. */
static bool tally_grow_slots(struct tally *tally)
{
	size_t slots = tally->slot_count ? tally->slot_count * 2 : 64;
	uint32_t *slot, *old = tally->hash_slots;

	if (tally->slot_count > 2 * tally->item_count + 2)
		return true;
	slot = calloc(slots, sizeof(*slot));
	if (!slot)
		return false;
	if (!old)
		texthash_init(&tally->hash);
	tally->hash_slots = slot;
	tally->slot_count = slots;
	for (size_t i = 0; i < tally->item_count; i++)
		*tally_find_slot(tally, tally->items[i]->name, tally->items[i]->len) = (uint32_t)i + 1;
	free(old);
	return true;
}

static struct tally_item *tally_add_item(struct tally *tally, uint32_t *slot, const char *name, size_t len)
{
	struct tally_item *item;

	if (!array_reserve(&tally->items, tally->item_count, &tally->item_room))
		return NULL;
	item = calloc(1, sizeof(*item) + len + 1);
	if (!item)
		return NULL;
	item->name = (char *)(item + 1);
	item->len = len;
	memcpy(item->name, name, len);
	tally->items[tally->item_count++] = item;
	tally->name_bytes += len;
	*slot = (uint32_t)tally->item_count;
	return item;
}

struct tally_item *tally_find_or_add_item(struct tally *tally, const char *name, size_t len)
{
	uint32_t *slot;

	if (!tally_grow_slots(tally))
		return NULL;
	slot = tally_find_slot(tally, name, len);
	if (*slot)
		return tally->items[*slot - 1];
	if (tally->item_count >= TALLY_ITEMS_MAX || tally->name_bytes + len > TALLY_BYTES_MAX) {
		if (tally->item_of_all_other_names)
			return tally->item_of_all_other_names;
		name = TALLY_OTHERS_NAME;
		len = sizeof(TALLY_OTHERS_NAME) - 1;
		slot = tally_find_slot(tally, name, len);
		tally->item_of_all_other_names =
			*slot ? tally->items[*slot - 1] : tally_add_item(tally, slot, name, len);
		return tally->item_of_all_other_names;
	}
	return tally_add_item(tally, slot, name, len);
}

struct tally_item *tally_find_item(const struct tally *tally, const char *name, size_t len)
{
	const uint32_t *slot = tally->slot_count ? tally_find_slot(tally, name, len) : NULL;

	return slot && *slot ? tally->items[*slot - 1] : NULL;
}

/* Order for qsort_r(3): by the count whose index is *which, highest first, then by name. */
static int tally_compare_items(const void *a, const void *b, void *which)
{
	const struct tally_item *one = *(struct tally_item *const *)a, *other = *(struct tally_item *const *)b;
	size_t by = *(size_t *)which, len = one->len < other->len ? one->len : other->len;
	int order;

	if (by < TALLY_COUNTS_PER_ITEM && one->counts[by] != other->counts[by])
		return one->counts[by] < other->counts[by] ? 1 : -1;
	order = memcmp(one->name, other->name, len);
	return order ? order : (one->len > other->len) - (one->len < other->len);
}

struct tally_item **tally_sort_items_by_count(const struct tally *tally, size_t which)
{
	struct tally_item **sorted = calloc(tally->item_count + 1, sizeof(struct tally_item *));

	if (!sorted)
		return NULL;
	if (tally->item_count > 0)
		memcpy(sorted, tally->items, tally->item_count * sizeof(struct tally_item *));
	qsort_r(sorted, tally->item_count, sizeof(struct tally_item *), tally_compare_items, &which);
	return sorted;
}

void tally_release(struct tally *tally)
{
	for (size_t i = 0; i < tally->item_count; i++) {
		free(tally->items[i]->data);
		free(tally->items[i]);
	}
	free(tally->items);
	free(tally->hash_slots);
	*tally = (struct tally){0};
}
