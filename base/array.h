/* Arrays that grow. The caller keeps a pointer to the items, their count, and the number of items that fit. */
#ifndef CALLGATE_BASE_ARRAY_H
#define CALLGATE_BASE_ARRAY_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for at least one more item. Returns false when out of memory; the array is unchanged then. */
#define array_reserve(array, count, room) \
	((count) < *(room) || array_reserve_((array), sizeof(**(array)), (room)))

/* Makes room for one more item, doubling *room. array: address of the pointer. False: no memory. */
static inline bool array_reserve_(void *array, size_t item_bytes, size_t *room)
{
	size_t more = *room ? *room * 2 : 16;
	void *items, *grown;

	memcpy(&items, array, sizeof(items)); /* pointers to all object types have the same representation */
	grown = reallocarray(items, more, item_bytes);
	if (!grown)
		return false;
	memcpy(array, &grown, sizeof(grown));
	*room = more;
	return true;
}

#endif
