#include "workspace/dir-id.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/times.h"

/* As dir_id_read(), with the status of the file system. */
static int dir_id_read_with_fs(int fd, struct dir_id *ret_id, struct statfs *ret_fs)
{
	struct dir_id id = {.inode = 0};
	struct statx stx;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &stx) < 0 || fstatfs(fd, ret_fs) < 0)
		return -errno;
	id.inode = stx.stx_ino;
	/* overlayfs changes the time when it copies a directory up. */
	if ((stx.stx_mask & STATX_BTIME) && ret_fs->f_type != OVERLAYFS_SUPER_MAGIC)
		id.born = (struct timespec){stx.stx_btime.tv_sec, stx.stx_btime.tv_nsec};
	_Static_assert(sizeof(ret_fs->f_fsid) == sizeof(id.fsid), "statfs(2)");
	memcpy(&id.fsid, &ret_fs->f_fsid, sizeof(id.fsid));
	*ret_id = id;
	return 0;
}

int dir_id_read(int fd, struct dir_id *ret_id)
{
	struct statfs fs;

	return dir_id_read_with_fs(fd, ret_id, &fs);
}

bool dir_id_has_birth(const struct dir_id *id)
{
	return id->born.tv_sec != 0 || id->born.tv_nsec != 0;
}

/* True for the number of a device, as xfs has it, also below an overlay: it may be another one after a reboot. */
static bool dir_id_is_of_device(uint64_t fsid)
{
	return fsid <= UINT32_MAX;
}

/*
 * True unless the file system's numbers are known and differ. They count where they are made of the UUID: elsewhere it
 * may be that of the device. A snapshot of btrfs has the time and inode number of the original, and only this number is
 * another one.
 */
static bool dir_id_may_have_fsid(const struct dir_id *id, const struct dir_id *now, const struct statfs *fs)
{
	const bool is_of_uuid = fs->f_type == BTRFS_SUPER_MAGIC || fs->f_type == EXT4_SUPER_MAGIC ||
				fs->f_type == OVERLAYFS_SUPER_MAGIC || fs->f_type == TMPFS_MAGIC;

	return !is_of_uuid || dir_id_is_of_device(id->fsid) || dir_id_is_of_device(now->fsid) || id->fsid == now->fsid;
}

bool dir_id_is_of(const struct dir_id *id, int fd)
{
	struct dir_id now = {.inode = 0};
	struct statfs fs;

	if (id->inode == 0)
		return true;
	if (dir_id_read_with_fs(fd, &now, &fs) < 0 || now.inode != id->inode)
		return false;
	if (dir_id_has_birth(id) && dir_id_has_birth(&now) && times_compare(&id->born, &now.born) != 0)
		return false;
	return dir_id_may_have_fsid(id, &now, &fs);
}

int dir_id_put(json_t *object, const struct dir_id *id)
{
	const struct {
		const char *name;
		int64_t value;
	} numbers[] = {
		{"inode", (int64_t)id->inode},
		{"born_s", id->born.tv_sec},
		{"born_ns", id->born.tv_nsec},
		{"fsid", (int64_t)id->fsid},
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (json_object_set_new(object, numbers[i].name, json_integer(numbers[i].value)) < 0)
			return -ENOMEM;
	return 0;
}

void dir_id_get(const json_t *object, struct dir_id *ret_id)
{
	*ret_id = (struct dir_id){
		.inode = (uint64_t)json_integer_value(json_object_get(object, "inode")),
		.born = {json_integer_value(json_object_get(object, "born_s")),
			 json_integer_value(json_object_get(object, "born_ns"))},
		.fsid = (uint64_t)json_integer_value(json_object_get(object, "fsid")),
	};
}
