/*
 * Files of /proc that callgate writes itself, because the files of the kernel would tell about the machine: the mounts
 * that the program sees, the counters of the machine as zeros, and the files of "net" that the supervisor gives. They
 * are made in the scratch directory when one of them is first opened (most programs open none), and never change.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "view/private.h"

#define PROVIDED_FILES_DIR "provided" /* directory in the scratch directory; the keeper removes it between phases */
#define GENERATED_PROC_FILES_DIR PROVIDED_FILES_DIR "/facts"
#define MOUNTINFO_FIRST_MOUNT_ID 20u /* first mount id in mountinfo */
#define FACTS_VMSTAT_BYTES_MAX (64u << 10) /* of the host's /proc/vmstat that are read */

/* The files of /proc that callgate generates for the run. */
struct facts {
	struct mount files_mount; /* the mount that shows GENERATED_PROC_FILES_DIR; fd is -1 until facts_make_files() */
	int scratch_fd;     /* borrowed */
	const struct view_provided_file *network_file; /* files of /proc/net; borrowed */
	size_t network_file_count;                     /* entries of network_file[] */
};

int facts_create(struct view *view, int scratch_fd)
{
	static char name[] = "/proc", base[] = ".";
	struct facts *facts = calloc(1, sizeof(*facts));

	if (!facts)
		return -ENOMEM;
	*facts = (struct facts){.files_mount = {.view = view,
					  .virt = name,
					  .virt_len = strlen(name),
					  .host_path = name,
					  .host_path_len = strlen(name),
					  .recorded_host_path = name,
					  .path_below_fd = base,
					  .fd = -1,
					  .copy_fd = -1,
					  .flags = MOUNT_PROC},
				.scratch_fd = scratch_fd};
	view->facts = facts;
	return 0;
}

void facts_free(struct facts *facts)
{
	if (!facts)
		return;
	cleanup_close(&facts->files_mount.fd);
	free(facts);
}

void view_set_network_files(struct view *view, const struct view_provided_file *file, size_t count)
{
	view->has_own_network = count == 0;
	view->facts->network_file = file;
	view->facts->network_file_count = count;
}

const struct mount *facts_get_mount(const struct facts *facts)
{
	return facts ? &facts->files_mount : NULL;
}

/* ---- content ---- */

void facts_write_vmstat(const struct view *view, struct buf *buf)
{
	_cleanup_free_ char *text = NULL;
	char *line, *rest;
	size_t len;

	if (io_read_file(view->proc_fd, "vmstat", FACTS_VMSTAT_BYTES_MAX, &text, &len) < 0)
		return; /* the file stays empty */
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		buf_printf(buf, "%.*s 0\n", (int)strcspn(line, " "), line);
}

/* True for a mount of a directory. Mounts of single files are not shown to the program as mounts. */
static bool facts_lists_mount(const struct view *view, const struct mount *mount)
{
	return mount != view->proc_files_of_no_process &&
	       !(mount->flags & (MOUNT_OF_SINGLE_FILE | MOUNT_SKELETON_FILE | MOUNT_DEVICE)) &&
	       (mount != view->skeleton_mount || view->top == view->skeleton_mount);
}

static const char *facts_get_mount_type(const struct mount *mount)
{
	static const struct {
		unsigned long magic;
		const char *name;
	} types[] = {
		{EXT4_SUPER_MAGIC, "ext4"},   {XFS_SUPER_MAGIC, "xfs"},     {BTRFS_SUPER_MAGIC, "btrfs"},
		{TMPFS_MAGIC, "tmpfs"},       {OVERLAYFS_SUPER_MAGIC, "overlay"}, {NFS_SUPER_MAGIC, "nfs"},
		{PROC_SUPER_MAGIC, "proc"},   {F2FS_SUPER_MAGIC, "f2fs"},   {FUSE_SUPER_MAGIC, "fuse"},
		{V9FS_MAGIC, "9p"},           {0x2fc12fc1, "zfs"},          {SYSFS_MAGIC, "sysfs"},
		{DEVPTS_SUPER_MAGIC, "devpts"}, {SQUASHFS_MAGIC, "squashfs"},
	};
	struct statfs about;

	if (mount->flags & MOUNT_PROC)
		return "proc";
	for (size_t i = 0; fstatfs(mount->fd, &about) == 0 && i < sizeof(types) / sizeof(types[0]); i++)
		if ((unsigned long)about.f_type == types[i].magic)
			return types[i].name;
	return "unknown";
}

/* Returns the mount source. The name of the device would tell about the machine. */
static const char *facts_get_mount_source(const char *type)
{
	return strcmp(type, "tmpfs") == 0 || strcmp(type, "proc") == 0 ? type : "callgate";
}

static const char *facts_get_mount_options(const struct view *view, const struct mount *mount)
{
	if (mount->flags & MOUNT_PROC)
		return "rw,nosuid,nodev,noexec,relatime";
	/* Without a mount namespace, "/" has the device of the trees in it: some tools look only at "/". */
	return (mount->flags & MOUNT_SKELETON && !view->is_attached) ||
			       policy_get_rights(view->policy, mount->virt, mount->virt_len) & POLICY_WRITE
		       ? "rw,nosuid,nodev,relatime"
		       : "ro,nosuid,nodev,relatime";
}

/* Escapes a path as mangle_path() in fs/seq_file.c does. */
static void facts_write_escaped_path(struct buf *buf, const char *path)
{
	for (; *path; path++)
		if (strchr(" \t\n\\#", *path))
			buf_printf(buf, "\\%03o", (unsigned char)*path);
		else
			buf_printf(buf, "%c", *path);
}

/* Returns the index of the innermost listed mount that contains a mount. */
static size_t facts_find_parent_mount(const struct view *view, const struct mount *mount)
{
	size_t best = 0;

	for (size_t i = 0; i < view->mount_count; i++) {
		const struct mount *other = view->mount[i];

		if (other != mount && facts_lists_mount(view, other) && path_is_below(mount->virt, other->virt) &&
		    (best == 0 || other->virt_len > view->mount[best]->virt_len))
			best = i;
	}
	return best;
}

static void facts_write_mountinfo(const struct view *view, struct buf *buf, size_t index, const struct mount *mount)
{
	const char *type = facts_get_mount_type(mount), *options = facts_get_mount_options(view, mount);
	size_t parent = mount->virt_len == 1 ? 0 : MOUNTINFO_FIRST_MOUNT_ID + facts_find_parent_mount(view, mount);
	struct stat st = {0};

	(void)fstat(mount->fd, &st); /* on failure the mount has vanished, and its device is 0:0 */
	buf_printf(buf, "%zu %zu %u:%u / ", MOUNTINFO_FIRST_MOUNT_ID + index, parent, major(st.st_dev),
		   minor(st.st_dev));
	facts_write_escaped_path(buf, mount->virt);
	buf_printf(buf, " %s - %s %s %.2s\n", options, type, facts_get_mount_source(type), options);
}

static void facts_write_mounts(const struct mount *mount, struct buf *buf, const char *options)
{
	const char *type = facts_get_mount_type(mount);

	buf_printf(buf, "%s ", facts_get_mount_source(type));
	facts_write_escaped_path(buf, mount->virt);
	buf_printf(buf, " %s %s 0 0\n", type, options);
}

static void facts_write_mountstats(const struct mount *mount, struct buf *buf)
{
	const char *type = facts_get_mount_type(mount);

	buf_printf(buf, "device %s mounted on ", facts_get_mount_source(type));
	facts_write_escaped_path(buf, mount->virt);
	buf_printf(buf, " with fstype %s\n", type);
}

enum mount_table { TABLE_MOUNTS, TABLE_MOUNTINFO, TABLE_MOUNTSTATS };

/* Writes the generated content of /proc/PID/mounts, mountinfo or mountstats. */
static void facts_write_mount_table(const struct view *view, struct buf *buf, enum mount_table table)
{
	for (size_t i = 0; i < view->mount_count; i++) {
		const struct mount *mount = view->mount[i];

		if (!facts_lists_mount(view, mount))
			continue;
		if (table == TABLE_MOUNTINFO)
			facts_write_mountinfo(view, buf, i, mount);
		else if (table == TABLE_MOUNTS)
			facts_write_mounts(mount, buf, facts_get_mount_options(view, mount));
		else
			facts_write_mountstats(mount, buf);
	}
}

/* ---- files ---- */

static const char *const tables[] = {
	[TABLE_MOUNTS] = "mounts", [TABLE_MOUNTINFO] = "mountinfo", [TABLE_MOUNTSTATS] = "mountstats"};

bool facts_makes_proc_file(const struct facts *facts, const char *leaf, bool of_process)
{
	if (!facts)
		return false;
	if (!of_process)
		return strcmp(leaf, "vmstat") == 0;
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		if (strcmp(leaf, tables[i]) == 0)
			return true;
	for (size_t i = 0; i < facts->network_file_count; i++)
		if (path_is_below(facts->network_file[i].virt, leaf))
			return true;
	return false;
}

static int facts_make_file(int dirfd, const char *name, const void *text, size_t len)
{
	_cleanup_close_ int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);

	return fd < 0 ? -errno : io_write_all(fd, text, len);
}

/* Makes a file of this content. Takes the content. */
static int facts_make_file_from_buf(int dirfd, const char *name, struct buf *buf)
{
	int r = buf->failed ? -ENOMEM : facts_make_file(dirfd, name, buf->data, buf->len);

	buf_release(buf);
	*buf = (struct buf){0};
	return r;
}

/* Writes all generated files of /proc to a directory. 0 or -errno. */
static int facts_make_all_files(const struct view *view, int dirfd)
{
	const struct facts *facts = view->facts;
	_cleanup_buf_ struct buf buf = {0};
	int r;

	facts_write_vmstat(view, &buf);
	r = facts_make_file_from_buf(dirfd, "vmstat", &buf);
	for (size_t i = 0; r == 0 && i < sizeof(tables) / sizeof(tables[0]); i++) {
		facts_write_mount_table(view, &buf, (enum mount_table)i);
		r = facts_make_file_from_buf(dirfd, tables[i], &buf);
	}
	if (r == 0 && facts->network_file_count && mkdirat(dirfd, "net", 0755) < 0)
		r = -errno;
	for (size_t i = 0; r == 0 && i < facts->network_file_count; i++)
		r = facts_make_file(dirfd, facts->network_file[i].virt, facts->network_file[i].text,
				    facts->network_file[i].text_len);
	return r;
}

int facts_make_files(const struct view *view)
{
	struct facts *facts = view->facts;
	_cleanup_close_ int fd = -1;
	mode_t old;
	int r;

	if (facts->files_mount.fd >= 0)
		return 0;
	old = umask(022); /* the umask is that of the task for which this thread last made a file */
	r = mkdirat(facts->scratch_fd, PROVIDED_FILES_DIR, 0700) < 0 && errno != EEXIST ? -errno : 0;
	(void)io_remove_tree(facts->scratch_fd,
			     GENERATED_PROC_FILES_DIR); /* left over when an earlier attempt failed */
	if (r == 0 && mkdirat(facts->scratch_fd, GENERATED_PROC_FILES_DIR, 0755) < 0)
		r = -errno;
	if (r == 0)
		fd = openat(facts->scratch_fd, GENERATED_PROC_FILES_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r == 0)
		r = fd < 0 ? -errno : facts_make_all_files(view, fd);
	(void)umask(old);
	if (r == 0)
		facts->files_mount.fd = steal_fd(&fd);
	return r;
}
