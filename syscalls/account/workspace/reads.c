#include "syscalls/account/workspace/reads.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/texthash.h"
#include "syscalls/account/result/changes.h"
#include "syscalls/account/limits/disk.h"
#include "syscalls/account/workspace/layer-file.h"

#define READS_SLOTS_FIRST 1024u
#define READS_BUFFER_BYTES 65536u /* so much is written at a time */

struct reads {
	struct texthash hash;
	uint64_t *slot; /* hashes of the paths that were looked at; 0: free; owned */
	size_t slots, count;
	bool is_full;             /* nothing more is noted */
	struct view_layer *layer; /* of what is in `pending` */
	struct buf pending;
};

/* Adds a hash. False: it is there already. */
static bool reads_put_hash(const struct reads *reads, uint64_t hash)
{
	size_t at = hash & (reads->slots - 1);

	while (reads->slot[at] && reads->slot[at] != hash)
		at = (at + 1) & (reads->slots - 1);
	if (reads->slot[at])
		return false;
	reads->slot[at] = hash;
	return true;
}

/* Makes the table twice as large. False: no memory. */
static bool reads_grow(struct reads *reads)
{
	struct reads larger = {.slots = reads->slots ? reads->slots * 2 : READS_SLOTS_FIRST};

	larger.slot = calloc(larger.slots, sizeof(*larger.slot));
	for (size_t i = 0; larger.slot && i < reads->slots; i++)
		if (reads->slot[i])
			(void)reads_put_hash(&larger, reads->slot[i]);
	if (!larger.slot)
		return false;
	free(reads->slot);
	reads->slot = larger.slot;
	reads->slots = larger.slots;
	return true;
}

/*
 * True for a path that was not looked at before, and for all when there were too many: a program may make and read
 * files of ever new names, for days.
 */
static bool reads_is_new(struct reads *reads, const struct place *place)
{
	if (reads->count > READS_FILES_MAX)
		return true;
	if (reads->count * 2 >= reads->slots && !reads_grow(reads))
		return false;
	if (!reads_put_hash(reads, texthash_compute(&reads->hash, 0, place->virt, place->virt_len) | 1))
		return false;
	reads->count++;
	return true;
}

void reads_flush(struct reads *reads)
{
	struct view_layer *layer = reads ? reads->layer : NULL;
	struct stat before;

	if (!layer || reads->pending.len == 0)
		return;
	if (layer->reads_fd < 0)
		layer->reads_fd = layer_open_records(layer, READS_NAME);
	if (layer->reads_fd < 0 || fstat(layer->reads_fd, &before) < 0 || reads->pending.failed)
		reads->is_full = true;
	else if (io_write_all(layer->reads_fd, reads->pending.data, reads->pending.len) < 0) {
		(void)!ftruncate(layer->reads_fd, before.st_size);
		reads->is_full = true;
	}
	reads->pending.len = 0;
}

/* Adds a record. path "": more files were read. */
static void reads_put_record(struct reads *reads, struct view_layer *layer, const char *path, const struct stat *st)
{
	const struct read_record record = {.inode = st->st_ino,
					   .size = (uint64_t)st->st_size,
					   .mtime_s = st->st_mtim.tv_sec,
					   .mtime_ns = (uint32_t)st->st_mtim.tv_nsec,
					   .ctime_s = st->st_ctim.tv_sec,
					   .ctime_ns = (uint32_t)st->st_ctim.tv_nsec,
					   .path_len = (uint32_t)strlen(path)};

	if (reads->layer != layer || reads->pending.len >= READS_BUFFER_BYTES)
		reads_flush(reads);
	reads->layer = layer;
	buf_add(&reads->pending, (const char *)&record, sizeof(record));
	buf_add(&reads->pending, path, record.path_len);
}

/* Makes the notes of a run. NULL: no memory. */
static struct reads *reads_create(void)
{
	struct reads *reads = calloc(1, sizeof(*reads));

	if (reads)
		texthash_init(&reads->hash);
	return reads;
}

/* Notes a file of the layer. */
static void reads_note_in_layer(struct call *call, const struct place *place, struct view_layer *layer)
{
	struct reads *reads = call->sandbox->reads;
	struct stat st = {.st_ino = 0};

	if (!reads)
		reads = call->sandbox->reads = reads_create();
	if (!reads || reads->is_full || !reads_is_new(reads, place))
		return;
	/* What the run has made, or has changed before, is not what the directory has. */
	if (changes_has_touched_place(call->sandbox->changes, place) ||
	    (layer->lower_fd >= 0 &&
	     (fstatat(layer->lower_fd, place->path_below_mount_fd, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	      !S_ISREG(st.st_mode))))
		return;
	reads->is_full =
		reads->count > READS_FILES_MAX || !disk_take_bytes(call, sizeof(struct read_record) + place->virt_len);
	if (reads->is_full)
		st = (struct stat){.st_ino = 0};
	reads_put_record(reads, layer, reads->is_full ? "" : place->path_below_mount_fd, &st);
}

void reads_note(struct call *call, unsigned i)
{
	const struct place *place = &call->resolved_place[i];

	if (place->mount && place->mount->layer && !place->is_magic_link)
		reads_note_in_layer(call, place, place->mount->layer);
}

void reads_free(struct reads *reads)
{
	if (!reads)
		return;
	buf_release(&reads->pending);
	free(reads->slot);
	free(reads);
}
