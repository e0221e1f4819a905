/* A hash set of files by (dev, inode), and a list of those among them that can still grow. */
#include "syscalls/account/disk-private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "syscalls/file/resolve.h"

#include "base/banned.h"

#define BUCKETS_FIRST 256
#define BLOCK_BYTES 512 /* of st_blocks, whatever the file system's blocks are: inode(7) */

/* How long a file is left alone that somebody had open when last asked: doubled each time. */
#define PATIENCE_FIRST_NS UINT64_C(10000000)
#define PATIENCE_MOST_NS UINT64_C(1000000000)

/* Between two searches through all mappings. */
#define SEARCH_PAUSE_NS UINT64_C(10000000)
#define SEARCH_SHARE 20 /* a search takes one part in so many of the time */

static uint64_t blocks_of(const struct stat *status)
{
	return (uint64_t)status->st_blocks * BLOCK_BYTES;
}

static uint64_t growth(const struct disk_file *file)
{
	return file->bytes > file->base_bytes ? file->bytes - file->base_bytes : 0;
}

static void set_bytes(struct disk_files *files, struct disk_file *file, uint64_t bytes)
{
	uint64_t before = growth(file);

	file->bytes = bytes;
	files->bytes += growth(file) - before; /* unsigned: it comes out right where it shrinks */
	if (file->in_memory)
		files->memory_bytes += growth(file) - before;
}

/* Inode numbers are mostly consecutive: Fibonacci hashing spreads them. */
static struct disk_file **bucket_of(struct disk_file **bucket, size_t buckets, dev_t dev, ino_t ino)
{
	uint64_t hash = ((uint64_t)ino ^ (uint64_t)dev << 40) * UINT64_C(0x9e3779b97f4a7c15);

	return &bucket[(hash >> 32) & (buckets - 1)];
}

struct disk_file *disk_files_find(const struct disk_files *files, const struct stat *status)
{
	struct disk_file *file = NULL;

	if (files->buckets)
		file = *bucket_of(files->bucket, files->buckets, status->st_dev, status->st_ino);
	while (file && !(file->dev == status->st_dev && file->ino == status->st_ino))
		file = file->next;
	return file;
}

static int grow(struct disk_files *files)
{
	size_t buckets = files->buckets ? files->buckets * 2 : BUCKETS_FIRST;
	struct disk_file **bucket = calloc(buckets, sizeof(struct disk_file *));

	if (!bucket)
		return -ENOMEM;
	for (size_t i = 0; i < files->buckets; i++) {
		struct disk_file *next;

		for (struct disk_file *file = files->bucket[i]; file; file = next) {
			struct disk_file **into = bucket_of(bucket, buckets, file->dev, file->ino);

			next = file->next;
			file->next = *into;
			*into = file;
		}
	}
	free(files->bucket);
	files->bucket = bucket;
	files->buckets = buckets;
	return 0;
}

int disk_files_add(struct disk_files *files, const struct stat *status, uint64_t base_bytes, bool in_memory,
		   struct disk_file **ret_file)
{
	struct disk_file *file, **into;
	int r = files->count >= files->buckets ? grow(files) : 0;

	if (r < 0)
		return r;
	file = malloc(sizeof(*file));
	if (!file)
		return -ENOMEM;
	into = bucket_of(files->bucket, files->buckets, status->st_dev, status->st_ino);
	*file = (struct disk_file){
		.next = *into, .dev = status->st_dev, .ino = status->st_ino, .base_bytes = base_bytes,
		.in_memory = in_memory, .fd = -1};
	*into = file;
	files->count++;
	set_bytes(files, file, blocks_of(status));
	*ret_file = file;
	return 0;
}

void disk_files_changed(struct disk_files *files, const struct stat *status)
{
	struct disk_file *file = disk_files_find(files, status);

	if (file)
		set_bytes(files, file, blocks_of(status));
}

static void release(struct disk_files *files, struct disk_file *file)
{
	struct disk_file *last = files->held[--files->held_count];

	files->held[file->held_at] = last;
	last->held_at = file->held_at;
	(void)close(file->fd);
	file->fd = -1;
}

/* Its blocks are free by now, or will be with our descriptor. */
static void forget(struct disk_files *files, struct disk_file *file)
{
	struct disk_file **at = bucket_of(files->bucket, files->buckets, file->dev, file->ino);

	set_bytes(files, file, 0);
	release(files, file);
	while (*at != file)
		at = &(*at)->next;
	*at = file->next;
	files->count--;
	free(file);
}

/*
 * The file behind an O_PATH descriptor, for reading. One that even its owner may not read is made readable for the
 * moment when no name leads to it any more: nobody else can be told of that. Else -1.
 */
static int open_to_ask(int fd)
{
	const struct file_link link = file_link(fd);
	int probe = open(link.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat status;

	if (probe >= 0 || errno != EACCES || fstat(fd, &status) < 0 || status.st_nlink > 0 ||
	    (status.st_mode & (S_ISUID | S_ISGID)) || chmod(link.path, S_IRUSR) < 0)
		return probe;
	probe = open(link.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	(void)chmod(link.path, status.st_mode & 07777); /* as permitted as the one before */
	return probe;
}

/*
 * Whether somebody but us has the file open: at all (F_WRLCK), or for writing (F_RDLCK); by a descriptor, a mapping or
 * a message on its way. The kernel gives a lease on these very conditions (check_conflicting_open() in fs/locks.c); an
 * O_PATH descriptor is no opening (see pinned). The lease is given back at once: who opens the file meanwhile waits
 * that long, and we would get a SIGIO. A file whose lease we cannot get for another reason (not ours, unreadable, a
 * file system without leases) counts as open: what it has grown by is then not given back.
 */
static bool is_open(int fd, int lease)
{
	_cleanup_close_ int probe = open_to_ask(fd);

	if (probe < 0 || fcntl(probe, F_SETLEASE, lease) < 0)
		return true;
	(void)fcntl(probe, F_SETLEASE, F_UNLCK);
	return false;
}

/*
 * Nobody can write it any more, nor has it open when its last name is gone: then it is no business of ours. What may be
 * mapped unseen can still fill its holes, as no mapping makes a file longer; and be there without a name.
 */
static void settle(struct disk_files *files, struct disk_file *file, nlink_t names)
{
	struct stat status;

	file->unused = false;
	if (names == 0 && !file->pinned) {
		file->unused = !is_open(file->fd, F_WRLCK);
		if (file->unused && !file->hides)
			forget(files, file);
	} else if (!is_open(file->fd, F_RDLCK)) {
		/* It may have been written and closed between the look and this. */
		if (fstat(file->fd, &status) < 0)
			return;
		set_bytes(files, file, blocks_of(&status));
		if (!file->hides || file->bytes >= (uint64_t)status.st_size)
			release(files, file);
	}
}

/* The files that nobody has open: asked again, since an O_PATH descriptor may have been opened meanwhile. */
static bool any_unused(struct disk_files *files)
{
	bool any = false;

	for (size_t i = 0; i < files->held_count; i++) {
		struct disk_file *file = files->held[i];

		if (file->unused)
			file->unused = !file->pinned && !is_open(file->fd, F_WRLCK);
		any = any || file->unused;
	}
	return any;
}

static void forget_unused(struct disk_files *files)
{
	uint64_t start_ns = io_now_ns();

	if (!any_unused(files))
		return;
	if (!disk_deleted_is_mapped())
		for (size_t i = files->held_count; i > 0; i--)
			if (files->held[i - 1]->unused)
				forget(files, files->held[i - 1]);
	files->search_ns = start_ns + SEARCH_PAUSE_NS + (io_now_ns() - start_ns) * SEARCH_SHARE;
}

void disk_files_sweep(struct disk_files *files, uint64_t now_ns)
{
	if (now_ns >= files->search_ns)
		forget_unused(files);
}

bool disk_files_look(struct disk_files *files, struct disk_file *file, uint64_t now_ns)
{
	uint64_t before = file->bytes;
	struct stat status;
	bool grown;

	if (fstat(file->fd, &status) < 0)
		return false; /* a network file system's moment: the next look tells */
	set_bytes(files, file, blocks_of(&status));
	grown = file->bytes > before;
	if ((status.st_nlink > 0 && grown) || now_ns < file->ask_ns)
		return grown;
	file->ask_ns = now_ns + file->patience_ns;
	if (file->patience_ns < PATIENCE_MOST_NS)
		file->patience_ns *= 2;
	settle(files, file, status.st_nlink);
	return grown;
}

void disk_files_settle(struct disk_files *files)
{
	struct stat status;

	for (size_t i = files->held_count; i > 0; i--)
		if (fstat(files->held[i - 1]->fd, &status) == 0)
			settle(files, files->held[i - 1], status.st_nlink);
	forget_unused(files);
}

static int make_room(struct disk_files *files)
{
	size_t room = files->held_room ? files->held_room * 2 : 64;
	struct disk_file **held;

	if (files->held_count >= files->held_max)
		disk_files_settle(files);
	if (files->held_count >= files->held_max)
		return -ENFILE;
	if (files->held_count < files->held_room)
		return 0;
	held = reallocarray(files->held, room, sizeof(struct disk_file *));
	if (!held)
		return -ENOMEM;
	files->held = held;
	files->held_room = room;
	return 0;
}

int disk_files_hold(struct disk_files *files, struct disk_file *file, int fd, uint64_t now_ns)
{
	int r = file->fd < 0 ? make_room(files) : 0;

	file->patience_ns = PATIENCE_FIRST_NS;
	file->ask_ns = now_ns;
	if (file->fd >= 0 || r < 0)
		return r;
	/* Never a second opening for writing: it would keep the program from executing what it has just written. */
	file->fd = open(file_link(fd).path, O_PATH | O_CLOEXEC);
	if (file->fd < 0)
		return -errno;
	file->hides = disk_hides_mappings(file->fd);
	file->held_at = files->held_count;
	files->held[files->held_count++] = file;
	return 0;
}

void disk_files_done(struct disk_files *files)
{
	for (size_t i = 0; i < files->held_count; i++)
		(void)close(files->held[i]->fd);
	for (size_t i = 0; i < files->buckets; i++) {
		struct disk_file *next;

		for (struct disk_file *file = files->bucket[i]; file; file = next) {
			next = file->next;
			free(file);
		}
	}
	free(files->bucket);
	free(files->held);
	*files = (struct disk_files){0};
}
