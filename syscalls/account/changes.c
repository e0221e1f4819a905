/* Touched paths: a hash set, asked before every effect, so a path seen already must cost next to nothing. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "syscalls/account/changes-private.h"

#include "base/banned.h"

#define SLOTS_FIRST 256

struct changes *changes_create(void)
{
	struct changes *changes = calloc(1, sizeof(*changes));

	if (changes)
		texthash_init(&changes->hash);
	return changes;
}

void changes_free(struct changes *changes)
{
	if (!changes)
		return;
	for (size_t i = 0; i < changes->slots; i++)
		free(changes->slot[i]);
	free(changes->slot);
	changes_forget_moves(changes);
	free(changes);
}

uint64_t changes_unlisted(const struct changes *changes)
{
	return changes->unlisted;
}

/* The slot of this path, or the empty one where it belongs. */
static struct touched **find_slot(struct touched **slot, size_t slots, uint64_t hash, const char *path, size_t len)
{
	size_t at = hash & (slots - 1);

	while (slot[at] && !(slot[at]->hash == hash && slot[at]->path_len == len && memcmp(slot[at]->path, path, len) == 0))
		at = (at + 1) & (slots - 1);
	return &slot[at];
}

static int grow(struct changes *changes)
{
	size_t slots = changes->slots ? changes->slots * 2 : SLOTS_FIRST;
	struct touched **slot = calloc(slots, sizeof(struct touched *));

	if (!slot)
		return -ENOMEM;
	for (size_t i = 0; i < changes->slots; i++) {
		struct touched *entry = changes->slot[i];

		if (entry)
			*find_slot(slot, slots, entry->hash, entry->path, entry->path_len) = entry;
	}
	free(changes->slot);
	changes->slot = slot;
	changes->slots = slots;
	return 0;
}

static void take_state(struct touched *entry, const struct place *place)
{
	_cleanup_close_ int fd = view_open(place, O_PATH | O_NOFOLLOW, 0);
	struct stat now;

	if (fd < 0 || fstat(fd, &now) < 0) {
		/*
		 * Anything but "not there" (a directory that may not be searched, a name just changed) says nothing.
		 * ELOOP: a link is on the way, and nothing has its place below a link.
		 */
		entry->state = fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP ? TOUCHED_ABSENT : TOUCHED_UNKNOWN;
		return;
	}
	entry->state = TOUCHED_PRESENT;
	entry->dev = now.st_dev;
	entry->ino = now.st_ino;
	entry->mode = now.st_mode;
	entry->uid = now.st_uid;
	entry->gid = now.st_gid;
	entry->size = (uint64_t)now.st_size;
	entry->mtime = now.st_mtim;
	entry->ctime = now.st_ctim;
}

static struct touched *new_entry(const struct place *place, uint64_t hash)
{
	struct touched *entry = calloc(1, sizeof(*entry) + place->virt_len + 1);
	const char *rest = place->rest;

	if (!entry)
		return NULL;
	entry->hash = hash;
	entry->mount = place->mount;
	entry->rest = rest >= place->virt && rest <= place->virt + place->virt_len ? (size_t)(rest - place->virt) : SIZE_MAX;
	entry->path_len = place->virt_len;
	memcpy(entry->path, place->virt, place->virt_len);
	return entry;
}

void changes_place(const struct touched *entry, struct place *ret_place)
{
	ret_place->mount = entry->mount;
	ret_place->magic = false;
	ret_place->virt_len = entry->path_len;
	memcpy(ret_place->virt, entry->path, entry->path_len + 1);
	ret_place->rest = entry->rest == SIZE_MAX ? entry->mount->base : ret_place->virt + entry->rest;
}

bool changes_reported(const struct mount *mount)
{
	const unsigned never = MOUNT_SKELETON | MOUNT_PROVIDED | MOUNT_DEVICE | MOUNT_PROC | MOUNT_PRIVATE;

	return mount && !(mount->flags & never);
}

int changes_entry(struct changes *changes, const struct place *place, const struct place *source,
		  struct touched **ret_entry)
{
	uint64_t hash = texthash(&changes->hash, 0, place->virt, place->virt_len);
	struct touched **slot, *entry;
	int r;

	*ret_entry = NULL;
	if (changes->slots > 0) {
		slot = find_slot(changes->slot, changes->slots, hash, place->virt, place->virt_len);
		*ret_entry = *slot;
		if (*slot)
			return 0;
	}
	if (changes->count >= CHANGES_MAX || place->virt_len > CHANGES_BYTES_MAX - changes->bytes) {
		changes->unlisted++;
		return 0;
	}
	if (changes->count * 2 >= changes->slots) {
		r = grow(changes);
		if (r < 0)
			return r;
	}
	entry = new_entry(place, hash);
	if (!entry)
		return -ENOMEM;
	if (source)
		take_state(entry, source);
	*find_slot(changes->slot, changes->slots, hash, entry->path, entry->path_len) = entry;
	changes->count++;
	changes->bytes += entry->path_len;
	*ret_entry = entry;
	return 0;
}

int changes_touch(struct changes *changes, const struct place *place)
{
	struct touched *entry;

	if (changes->moves && place->mount && !place->magic)
		return changes_touch_moved(changes, place);
	return changes_reported(place->mount) && !place->magic ? changes_entry(changes, place, place, &entry) : 0;
}
