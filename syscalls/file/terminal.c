#include "syscalls/file/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/procstat.h"

/* Major numbers of linux/major.h. */
#define CONSOLES_MAJOR 4  /* virtual consoles have minors up to 63, serial lines the rest */
#define CONSOLES_LAST 63u
#define SCREENS_MAJOR 7   /* /dev/vcs*: what virtual consoles show */
#define LEGACY_MASTERS 2  /* BSD pseudoterminals */
#define LEGACY_SLAVES 3
#define TTY_MAJOR 5       /* /dev/tty, /dev/console, /dev/ptmx */
#define SLAVES_FIRST 136u
#define SLAVES_LAST 143u

/* Decodes the number in /proc/PID/stat: new_encode_dev() in include/linux/kdev_t.h. */
static unsigned terminal_major(unsigned number)
{
	return number >> 8 & 0xfff;
}

static unsigned terminal_minor(unsigned number)
{
	return (number & 0xff) | (number >> 12 & 0xfff00);
}

int terminal_open_controlling(const struct call *call, int flags)
{
	struct procstat stat;

	if (procstat_read(call->tid, &stat) < 0 || terminal_major(stat.terminal) != SLAVES_FIRST)
		return -ENXIO;
	return view_open_terminal(call->sandbox->view, terminal_minor(stat.terminal), flags);
}

bool terminal_becomes_controlling(const struct call *call, unsigned flags)
{
	const struct place *place = &call->place[0];
	struct procstat stat;

	if (place->magic || flags & (O_NOCTTY | O_PATH) ||
	    (flags & O_ACCMODE) == O_WRONLY || strcmp(place->rest, "ptmx") == 0 ||
	    place->virt_len == place->mount->virt_len)
		return false;
	return procstat_read(call->tid, &stat) == 0 && stat.session == call->task->tgid && stat.terminal == 0;
}

bool terminal_is_foreign(const struct call *call, const struct stat *status)
{
	const struct place *place = &call->place[0];
	unsigned number = major(status->st_rdev);

	if (!S_ISCHR(status->st_mode) || place->magic ||
	    (place->mount && place->mount->flags & (MOUNT_PTS | MOUNT_TTY | MOUNT_DEVICE)))
		return false;
	return (number == CONSOLES_MAJOR && minor(status->st_rdev) <= CONSOLES_LAST) || number == TTY_MAJOR ||
	       number == SCREENS_MAJOR || number == LEGACY_MASTERS || number == LEGACY_SLAVES ||
	       (number >= SLAVES_FIRST && number <= SLAVES_LAST);
}

bool terminal_refuse_foreign(struct call *call, int fd)
{
	const struct mount *mount = call->place[0].mount;
	struct stat status;

	/* In the mount namespace no other mount has devices: view_get_restrictions() in view/build.c. */
	if (mount && view_is_root(call->sandbox->view) && strncmp(mount->origin, "/dev", strlen("/dev")) != 0)
		return false;
	/* Every open of a file comes here: lseek(2) is cheaper, and fails for terminals (ESPIPE). */
	if (lseek(fd, 0, SEEK_CUR) >= 0 || fstat(fd, &status) < 0 || !terminal_is_foreign(call, &status))
		return false;
	call_refuse(call, -EACCES, NULL, "foreign_terminal");
	return true;
}

bool terminal_refuse_mode(struct call *call, mode_t mode)
{
	bool shared;

	if (!view_made_terminal(&call->place[0], &shared) || !shared || !(mode & (S_IRGRP | S_IXGRP | S_IRWXO)))
		return false;
	call_refuse(call, -EPERM, NULL, "device_metadata");
	return true;
}
