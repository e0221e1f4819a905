/*
 * The pseudoterminals of the run: /dev/pts and /dev/ptmx of the view. In a mount namespace they are a devpts instance
 * of the run's own. Otherwise they are those pairs of the host's instance that the supervisor has made for the program.
 * Each slave is pinned by an O_PATH descriptor, and its name in /dev/pts leads to that descriptor, not to the instance.
 * The descriptor keeps neither end open: the kernel removes the link of the inode when the last master is closed
 * (devpts_pty_kill()). After that, opening through the descriptor fails, even if another process has got the same
 * number.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "view/private.h"

#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41) /* Linux 4.13 */
#endif

#define DEVPTS_MAGIC 0x1cd1            /* DEVPTS_SUPER_MAGIC: f_type of statfs(2) */
#define TERMINAL_PAIRS_MAX 128u        /* pairs that have not ended; beyond that ENOSPC, as from the kernel */
#define TERMINAL_NUMBER_ATTEMPTS_MAX 8       /* attempts to get a pair whose number no other pair of the run has */
/*
 * No new pair is made when the host has fewer than this left. It is twice the pty.reserve of the kernel, so that other
 * runs and containers still get pairs.
 */
#define TERMINALS_LEFT_TO_HOST 2048u

/* A pseudoterminal of the run: master and slave. */
struct terminal_pair {
	unsigned number; /* N of the slave /dev/pts/N */
	int pin_fd; /* an O_PATH descriptor of the slave */
	bool is_of_tty_option; /* the terminal of --tty: not made by the program */
};

/* The pseudoterminals of the run. */
struct terminals {
	const struct mount *dev_pts_mount; /* the mount at /dev/pts; NULL: there is no devpts */
	bool own;                  /* the devpts is an instance of the run's own */
	bool ptmx_is_of_dev_pts;                /* /dev/ptmx is known to make pairs of the instance at /dev/pts */
	size_t pair_count;                      /* used entries of pair[] */
	struct terminal_pair pair[TERMINAL_PAIRS_MAX];
};

/* ---- the pseudoterminal pairs of the run ---- */

/* Whether the slave still exists, because the master is open. */
static bool pair_is_alive(const struct terminal_pair *pair)
{
	struct stat status;

	return fstat(pair->pin_fd, &status) == 0 && status.st_nlink > 0;
}

/*
 * True when the instance no longer counts a pair. A pair with a closed master still counts while its slave is open. In
 * the host's instance, a pair has ended when the kernel has given its number to another pair.
 */
static bool pair_has_ended(const struct terminals *terminals, const struct terminal_pair *pair)
{
	struct stat status;
	char name[16];

	if (pair_is_alive(pair))
		return false;
	(void)snprintf(name, sizeof(name), "%u", pair->number);
	return terminals->own || fstatat(terminals->dev_pts_mount->fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Forgets pseudoterminals whose master is closed. */
static void terminals_drop_ended_pairs(struct terminals *terminals)
{
	for (size_t i = 0; i < terminals->pair_count;) {
		if (!pair_has_ended(terminals, &terminals->pair[i])) {
			i++;
			continue;
		}
		(void)close(terminals->pair[i].pin_fd);
		terminals->pair[i] = terminals->pair[--terminals->pair_count];
	}
}

static const struct terminal_pair *terminals_find_pair(const struct terminals *terminals, unsigned number)
{
	for (size_t i = 0; i < terminals->pair_count; i++)
		if (terminals->pair[i].number == number && pair_is_alive(&terminals->pair[i]))
			return &terminals->pair[i];
	return NULL;
}

/* True when all pairs have an open master: then none can have ended, and there is no room. */
static bool terminals_are_all_in_use(const struct terminals *terminals)
{
	for (size_t i = 0; i < terminals->pair_count; i++)
		if (!pair_is_alive(&terminals->pair[i]))
			return false;
	return terminals->pair_count == TERMINAL_PAIRS_MAX;
}

/* Parses the number from a name in /dev/pts, as devpts writes it. */
static bool terminals_parse_number(const char *name, unsigned *ret_number)
{
	size_t len = strspn(name, "0123456789");

	if (len == 0 || len > 7 || name[len] != '\0' || (name[0] == '0' && len > 1))
		return false;
	*ret_number = (unsigned)strtoul(name, NULL, 10);
	return true;
}

/*
 * Opens a slave of the run's own instance whose pair is not known: where the kernel decides about reading, the program
 * can make a pair by itself, by opening ptmx for reading only.
 */
static int terminals_open_unknown_slave(const struct terminals *terminals, unsigned number, int flags)
{
	char name[16];
	int fd;

	if (!terminals->own)
		return -ENOENT;
	if (flags & O_DIRECTORY)
		return -ENOTDIR;
	(void)snprintf(name, sizeof(name), "%u", number);
	fd = openat(terminals->dev_pts_mount->fd, name,
		    (flags & ~(O_CREAT | O_EXCL)) | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Opens the slave side of a pseudoterminal anew. A descriptor or -errno. */
static int pair_open_slave(const struct terminal_pair *pair, int flags)
{
	int fd;

	if (flags & O_DIRECTORY)
		return -ENOTDIR;
	fd = open(io_proc_fd_path(pair->pin_fd).path,
		  (flags & ~(O_NOFOLLOW | O_CREAT | O_EXCL)) | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* ---- making new pseudoterminal pairs ---- */

/*
 * True when the host's devpts, whose pairs all users share, has enough pairs left for others if the run makes one more.
 */
static bool terminals_host_has_room(void)
{
	static const char *const file[] = {"/proc/sys/kernel/pty/nr", "/proc/sys/kernel/pty/max"};
	unsigned long value[2];
	char text[24];

	for (size_t i = 0; i < 2; i++) {
		if (io_read_once(AT_FDCWD, file[i], text, sizeof(text)) <= 0)
			return true; /* not visible, as in some containers: the kernel's own limit applies */
		value[i] = strtoul(text, NULL, 10);
	}
	return value[0] + TERMINALS_LEFT_TO_HOST <= value[1];
}

/* True when /dev/ptmx makes pairs of the instance at /dev/pts. Makes a pair to find out. */
static bool terminals_ptmx_is_of_dev_pts(const struct terminals *terminals)
{
	_cleanup_close_ int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC), slave = -1;
	struct stat instance, made;
	int unlocked = 0;

	if (master < 0 || ioctl(master, TIOCSPTLCK, &unlocked) < 0)
		return false;
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	return slave >= 0 && fstat(slave, &made) == 0 && fstat(terminals->dev_pts_mount->fd, &instance) == 0 &&
	       made.st_dev == instance.st_dev;
}

/* Opens the device that makes pairs, with `flags`. */
static int terminals_open_ptmx(struct terminals *terminals, int flags)
{
	const int own = (flags & ~(O_NOFOLLOW | O_CREAT | O_EXCL)) | O_NOCTTY | O_CLOEXEC;
	int fd = openat(terminals->dev_pts_mount->fd, "ptmx", own);

	if (fd >= 0)
		return fd;
	/* Many instances have a ptmx of mode 000; then /dev/ptmx is the device for everybody. */
	if (terminals->own || errno != EACCES)
		return -errno;
	if (!terminals->ptmx_is_of_dev_pts && !terminals_ptmx_is_of_dev_pts(terminals))
		return -EACCES;
	terminals->ptmx_is_of_dev_pts = true;
	fd = open("/dev/ptmx", own);
	return fd < 0 ? -errno : fd;
}

/* Adds the pair of a new master. 0; -EEXIST: its number is that of another pair, or there is no room for it. */
static int terminals_add_pair_of_master(struct terminals *terminals, int master_fd)
{
	struct terminal_pair *pair;
	unsigned number;
	char name[16];

	if (ioctl(master_fd, TIOCGPTN, &number) < 0)
		return -errno;
	terminals_drop_ended_pairs(terminals); /* an ended pair that is still counted may have had the number */
	if (terminals_find_pair(terminals, number) || terminals->pair_count == TERMINAL_PAIRS_MAX)
		return -EEXIST;
	pair = &terminals->pair[terminals->pair_count];
	(void)snprintf(name, sizeof(name), "%u", number);
	/* The master is open, so no other pair can have its number. */
	*pair = (struct terminal_pair){.number = number,
			      .pin_fd = openat(terminals->dev_pts_mount->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC)};
	if (pair->pin_fd < 0)
		return -errno;
	terminals->pair_count++;
	return 0;
}

/*
 * Makes a pair whose number no other pair of the run has. The terminal of --tty belongs to the instance of the host,
 * and /proc/PID/stat names the controlling terminal by number alone. With a full table, the number must be that of a
 * pair which has ended.
 */
static int terminals_open_master(struct terminals *terminals, int flags)
{
	int taken[TERMINAL_NUMBER_ATTEMPTS_MAX], tries = 0, fd = -1, r = -EEXIST;

	terminals_drop_ended_pairs(terminals);
	if (terminals_are_all_in_use(terminals) || (!terminals->own && !terminals_host_has_room()))
		return -ENOSPC;
	while (r == -EEXIST && tries < TERMINAL_NUMBER_ATTEMPTS_MAX) {
		fd = terminals_open_ptmx(terminals, flags);
		r = fd < 0 ? fd : terminals_add_pair_of_master(terminals, fd);
		if (fd >= 0 && r < 0)
			taken[tries++] = fd; /* stays open, so that the next pair gets another number */
	}
	while (tries > 0)
		(void)close(taken[--tries]);
	if (r < 0)
		return r == -EEXIST ? -ENOSPC : r;
	return fd;
}

/* ---- places ---- */

int terminals_open_dev_pts_file(const struct place *place, int flags)
{
	struct terminals *terminals = place->mount->view->terminals;
	const struct terminal_pair *pair;
	unsigned number;

	if (strcmp(place->path_below_mount_fd, "ptmx") == 0) {
		if (flags & O_DIRECTORY)
			return -ENOTDIR;
		if (flags & O_PATH)
			return openat2_retry(place->mount->fd, place->path_below_mount_fd, flags, 0, IO_RESOLVE_BELOW);
		return terminals_open_master(terminals, flags);
	}
	if (!terminals_parse_number(place->path_below_mount_fd, &number))
		return strchr(place->path_below_mount_fd, '/') ? -ENOTDIR : -ENOENT;
	pair = terminals_find_pair(terminals, number);
	return pair ? pair_open_slave(pair, flags) : terminals_open_unknown_slave(terminals, number, flags);
}

bool terminals_place_is_foreign_slave(const struct place *place, bool writes)
{
	const struct terminals *terminals = place->mount->view->terminals;
	struct stat status;
	unsigned number;

	if (terminals->own || place->mount->flags & MOUNT_OF_SINGLE_FILE ||
	    !terminals_parse_number(place->path_below_mount_fd, &number) || terminals_find_pair(terminals, number))
		return false;
	/* mkdir(2) and similar calls would fail with another errno where the host has a slave. */
	return writes ||
	       fstatat(terminals->dev_pts_mount->fd, place->path_below_mount_fd, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

bool terminals_dev_pts_has_name(const struct view *view, const char *name)
{
	unsigned number;

	return strcmp(name, "ptmx") == 0 ||
	       (terminals_parse_number(name, &number) && terminals_find_pair(view->terminals, number));
}

void terminals_visit_entries(const struct view *view, void (*visit)(void *ctx, const char *name, mode_t type),
			     void *ctx)
{
	const struct terminals *terminals = view->terminals;
	char name[16];

	for (size_t i = 0; i < terminals->pair_count; i++) {
		if (!pair_is_alive(&terminals->pair[i]))
			continue;
		(void)snprintf(name, sizeof(name), "%u", terminals->pair[i].number);
		visit(ctx, name, S_IFREG);
	}
	visit(ctx, "ptmx", S_IFREG);
}

int view_open_terminal(const struct view *view, unsigned number, int flags)
{
	const struct terminal_pair *pair = view->terminals ? terminals_find_pair(view->terminals, number) : NULL;

	int fd = pair ? pair_open_slave(pair, flags)
		 : view->terminals ? terminals_open_unknown_slave(view->terminals, number, flags) : -ENOENT;

	return fd == -ENOENT ? -ENXIO : fd;
}

int view_make_terminal(struct view *view, int *ret_master_fd, int *ret_slave_fd)
{
	_cleanup_close_ int master = -1;
	int slave, unlocked = 0;

	if (!view->terminals || !view->terminals->dev_pts_mount)
		return -ENOTTY;
	master = terminals_open_master(view->terminals, O_RDWR | O_NONBLOCK);
	if (master < 0)
		return master;
	if (ioctl(master, TIOCSPTLCK, &unlocked) < 0)
		return -errno;
	/* Not opened by its path: in a container that may be in another instance of devpts. */
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		return -errno;
	*ret_master_fd = steal_fd(&master);
	*ret_slave_fd = slave;
	return 0;
}

bool view_terminal_is_from_program(const struct place *place, bool *ret_shared)
{
	const struct terminal_pair *pair;
	unsigned number;

	if (!place->mount || !(place->mount->flags & MOUNT_DEV_PTS) || place->is_magic_link ||
	    !terminals_parse_number(place->path_below_mount_fd, &number))
		return false;
	pair = terminals_find_pair(place->mount->view->terminals, number);
	*ret_shared = !place->mount->view->terminals->own;
	return pair && !pair->is_of_tty_option;
}

bool view_has_terminals(const struct view *view)
{
	return view->terminals && (view->terminals->dev_pts_mount || view->terminals->pair_count);
}

/* ---- building ---- */

static bool terminals_is_devpts(int fd)
{
	struct statfs status;

	return fd >= 0 && fstatfs(fd, &status) == 0 && status.f_type == DEVPTS_MAGIC;
}

/* Adds /dev/ptmx: the device of the host; or a link, if the host has a link there or the instance is the run's own. */
static int terminals_add_ptmx(struct view *view)
{
	struct held_dir *held;
	struct stat status;
	int r, dev;

	if (view->terminals->own || (lstat("/dev/ptmx", &status) == 0 && S_ISLNK(status.st_mode))) {
		r = view_add_node(view, "/dev/ptmx", NULL, "pts/ptmx");
		return r < 0 ? r : view_add_listing_entry(view, "/dev/ptmx", S_IFLNK, "pts/ptmx");
	}
	held = view_find_held_dir(view, "/dev");
	dev = held ? -1 : io_open_without_links("/dev", O_PATH | O_DIRECTORY);
	if (!held && dev < 0)
		return dev;
	if (!held && !(held = view_add_held_dir(view, "/dev", dev)))
		return -ENOMEM;
	r = view_add_listing_entry(view, "/dev/ptmx", S_IFREG, NULL);
	return r < 0 ? r : view_add_file(view, "/dev/ptmx", "/dev/ptmx", held, MOUNT_DEVICE | MOUNT_DEV_PTS, NULL);
}

int terminals_add_to_view(struct view *view, int own_fd, bool run_has_mount_namespace)
{
	unsigned flags = MOUNT_DEVICE | MOUNT_DEV_PTS | (own_fd >= 0 ? MOUNT_DETACHED : 0);
	_cleanup_close_ int fd = -1;
	size_t before = view->mount_count;
	int r;

	view->terminals = calloc(1, sizeof(*view->terminals));
	if (!view->terminals)
		return -ENOMEM;
	if (own_fd >= 0)
		fd = fcntl(own_fd, F_DUPFD_CLOEXEC, 3);
	else if (!run_has_mount_namespace) /* in a mount namespace the program would see all of the instance */
		fd = io_open_without_links("/dev/pts", O_PATH | O_DIRECTORY);
	if (!terminals_is_devpts(fd))
		return 0;
	r = view_add_listing_entry(view, "/dev/pts", S_IFDIR, NULL);
	if (r == 0)
		r = view_add_mount(view, "/dev/pts", "/dev/pts", steal_fd(&fd), ".", flags, NULL);
	if (r < 0)
		return r;
	view->terminals->dev_pts_mount = view->mount[before];
	view->terminals->own = own_fd >= 0;
	return terminals_add_ptmx(view);
}

void terminals_free(struct view *view)
{
	for (size_t i = 0; view->terminals && i < view->terminals->pair_count; i++)
		(void)close(view->terminals->pair[i].pin_fd);
	free(view->terminals);
}

int view_add_tty_terminal(struct view *view, int terminal_fd)
{
	struct terminals *terminals = view->terminals;
	struct terminal_pair *pair = &terminals->pair[terminals->pair_count];
	struct stat status;

	if (fstat(terminal_fd, &status) < 0)
		return -errno;
	*pair = (struct terminal_pair){.number = minor(status.st_rdev),
				       .pin_fd = open(io_proc_fd_path(terminal_fd).path, O_PATH | O_CLOEXEC),
				       .is_of_tty_option = true};
	if (pair->pin_fd < 0)
		return -errno;
	terminals->pair_count++;
	return 0;
}
