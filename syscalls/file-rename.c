/* rename(2): two names, both judged; a directory takes everything below it along, and that is judged too. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/changes.h"
#include "syscalls/disk.h"
#include "syscalls/file-act.h"
#include "syscalls/file.h"
#include "syscalls/handlers.h"

#include "base/banned.h"

#define RENAME_DEPTH_MAX 128 /* directories open at once while a tree is looked through */

struct end {
	int parent;
	const char *name;
	char plain[NAME_MAX + 1]; /* without trailing slashes, so that looking at it follows no link */
	bool exists;
	bool dir;
};

/* A pair of names that the same object has before and after. */
struct pair {
	const struct policy *policy;
	char from[PATH_MAX], to[PATH_MAX];
	size_t from_len, to_len;
};

/*
 * What a program cannot read or write under its old name it must not get under the new one. (That it could run it
 * there is no gain: whoever may read a file and write there may copy it.)
 */
static bool pair_gains(const struct pair *pair)
{
	unsigned from = policy_rights(pair->policy, pair->from, pair->from_len);
	unsigned to = policy_rights(pair->policy, pair->to, pair->to_len);

	return to & ~from & (POLICY_READ | POLICY_WRITE);
}

static bool add_name(char *path, size_t *len, const char *name)
{
	int added = snprintf(path + *len, PATH_MAX - *len, "/%s", name);

	if (added < 0 || *len + (size_t)added >= PATH_MAX)
		return false;
	*len += (size_t)added;
	return true;
}

/* Looks through the directory `name` of dirfd. True when everything below may move. What cannot be read may not. */
static bool tree_may_move(struct pair *pair, int dirfd, const char *name, unsigned depth)
{
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const size_t from_len = pair->from_len, to_len = pair->to_len;
	struct dirent *entry;
	bool may = true;

	if (!dir) {
		if (fd >= 0)
			(void)close(fd);
		return false;
	}
	while (may && (entry = readdir(dir))) {
		struct stat status;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		may = add_name(pair->from, &pair->from_len, entry->d_name) &&
		      add_name(pair->to, &pair->to_len, entry->d_name) && !pair_gains(pair);
		if (may && fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode))
			may = depth < RENAME_DEPTH_MAX && tree_may_move(pair, fd, entry->d_name, depth + 1);
		pair->from[pair->from_len = from_len] = '\0';
		pair->to[pair->to_len = to_len] = '\0';
	}
	return may;
}

/*
 * EBUSY for the way to a mount; EXDEV, after which mv copies what it may read, when something below would gain
 * rights.
 */
static int check_dir(const struct call *call, const struct end *end, const struct place *from, const struct place *to)
{
	struct pair pair = {.policy = call->sandbox->policy, .from_len = from->virt_len, .to_len = to->virt_len};

	if (!end->dir)
		return 0;
	if (file_holds_mount(call, from) || file_holds_mount(call, to))
		return -EBUSY;
	memcpy(pair.from, from->virt, from->virt_len + 1);
	memcpy(pair.to, to->virt, to->virt_len + 1);
	return tree_may_move(&pair, end->parent, end->plain, 0) ? 0 : -EXDEV;
}

static void look(struct end *end)
{
	struct stat status;
	size_t len = strcspn(end->name, "/");

	if (len > NAME_MAX)
		return; /* rename itself says ENAMETOOLONG */
	memcpy(end->plain, end->name, len);
	end->plain[len] = '\0';
	if (strcmp(end->plain, ".") == 0 || strcmp(end->plain, "..") == 0)
		return; /* EBUSY, the kernel says */
	end->exists = fstatat(end->parent, end->plain, &status, AT_SYMLINK_NOFOLLOW) == 0;
	end->dir = end->exists && S_ISDIR(status.st_mode);
}

static int remember(struct call *call, const struct end *end, unsigned from, unsigned to)
{
	if (end->dir)
		return changes_touch_tree(call->sandbox->changes, &call->place[from], &call->place[to]);
	return changes_touch(call->sandbox->changes, &call->place[from]);
}

/* Everything that speaks against it or has to be remembered. 0, or -1 with the outcome set. */
static int prepare(struct call *call, struct end end[2], unsigned flags)
{
	bool exchange = flags & RENAME_EXCHANGE;
	int r;

	view_changed(call->sandbox->view);
	look(&end[0]);
	look(&end[1]);
	if (!end[0].exists || (exchange && !end[1].exists))
		return call_commit(call) < 0 ? -1 : 0; /* the kernel knows which errno this is */
	r = check_dir(call, &end[0], &call->place[0], &call->place[1]);
	if (r == 0 && exchange)
		r = check_dir(call, &end[1], &call->place[1], &call->place[0]);
	if (r < 0) {
		call_refuse(call, r, NULL, r == -EBUSY ? "holds_mount" : "would_gain_rights");
		return -1;
	}
	r = remember(call, &end[0], 0, 1);
	if (r == 0)
		r = exchange ? remember(call, &end[1], 1, 0) : changes_touch(call->sandbox->changes, &call->place[1]);
	if (r < 0) {
		call_fail(call, r);
		return -1;
	}
	return call_commit(call) < 0 ? -1 : 0;
}

/* Between two mounts of the view that are one of the host. */
static long rename_on_host(const struct call *call, const struct end end[2], unsigned flags)
{
	_cleanup_close_ int from = view_host_twin(&call->place[0], end[0].parent, true);
	_cleanup_close_ int to = view_host_twin(&call->place[1], end[1].parent, true);

	errno = EXDEV;
	return from < 0 || to < 0 ? -1 : syscall(SYS_renameat2, from, end[0].name, to, end[1].name, flags);
}

static void rename_path(struct call *call, unsigned flags)
{
	struct end end[2] = {{.parent = -1}, {.parent = -1}};
	struct disk_removal replaced = {.fd = -1};
	_cleanup_close_ int from = -1, to = -1;
	long r;

	if (flags & ~(unsigned)(RENAME_NOREPLACE | RENAME_EXCHANGE | RENAME_WHITEOUT) ||
	    (flags & RENAME_EXCHANGE && flags & (RENAME_NOREPLACE | RENAME_WHITEOUT))) {
		call_fail(call, -EINVAL);
		return;
	}
	if (flags & RENAME_WHITEOUT) { /* leaves a device node behind */
		call_refuse(call, -EPERM, NULL, "device_node");
		return;
	}
	end[0].parent = from = file_pin_parent(call, 0, &end[0].name);
	if (from < 0)
		return;
	end[1].parent = to = file_pin_parent(call, 1, &end[1].name);
	if (to < 0 || prepare(call, end, flags) < 0)
		return;
	if (!(flags & RENAME_EXCHANGE) && end[1].exists)
		replaced = disk_removing(call, to, end[1].plain);
	r = syscall(SYS_renameat2, from, end[0].name, to, end[1].name, flags);
	file_end(call, r < 0 && errno == EXDEV ? rename_on_host(call, end, flags) : r);
	disk_removed(call, &replaced);
}

void sys_rename(struct call *call)
{
	rename_path(call, 0);
}

void sys_renameat(struct call *call)
{
	rename_path(call, 0);
}

void sys_renameat2(struct call *call)
{
	rename_path(call, call_uint(call, 4));
}
