#include "syscalls/file/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/proc/stat.h"

/* Major numbers of linux/major.h. */
#define CONSOLE_MAJOR 4  /* virtual consoles have minor numbers up to 63, serial lines the others */
#define CONSOLE_MINOR_LAST 63u /* /dev/tty63: the last virtual console */
#define VCS_MAJOR 7   /* /dev/vcs*: what virtual consoles show */
#define BSD_PTY_MASTER_MAJOR 2  /* BSD pseudoterminals */
#define BSD_PTY_SLAVE_MAJOR 3   /* device number of /dev/ttyp0 and the like */
#define TTY_MAJOR 5       /* /dev/tty, /dev/console, /dev/ptmx */
#define PTY_SLAVE_MAJOR_FIRST 136u
#define PTY_SLAVE_MAJOR_LAST 143u

/* Decodes the major number from /proc/PID/stat: new_encode_dev() in include/linux/kdev_t.h. */
static unsigned terminal_major(unsigned number)
{
	return number >> 8 & 0xfff;
}

/* Minor number of a terminal's device number, as stat(2) encodes it. */
static unsigned terminal_minor(unsigned number)
{
	return (number & 0xff) | (number >> 12 & 0xfff00);
}

int terminal_open_controlling(const struct call *call, int flags)
{
	struct procstat stat;

	if (procstat_read(call->tid, &stat) < 0 || terminal_major(stat.terminal_device) != PTY_SLAVE_MAJOR_FIRST)
		return -ENXIO;
	return view_open_terminal(call->sandbox->view, terminal_minor(stat.terminal_device), flags);
}

bool terminal_becomes_controlling(const struct call *call, unsigned flags)
{
	const struct place *place = &call->resolved_place[0];
	struct procstat stat;

	if (place->is_magic_link || flags & (O_NOCTTY | O_PATH) || (flags & O_ACCMODE) == O_WRONLY ||
	    strcmp(place->path_below_mount_fd, "ptmx") == 0 || place->virt_len == place->mount->virt_len)
		return false;
	return procstat_read(call->tid, &stat) == 0 && stat.session == call->task->tgid && stat.terminal_device == 0;
}

bool terminal_is_not_of_run(const struct call *call, const struct stat *status)
{
	const struct place *place = &call->resolved_place[0];
	unsigned number = major(status->st_rdev);

	if (!S_ISCHR(status->st_mode) || place->is_magic_link ||
	    (place->mount && place->mount->flags & (MOUNT_DEV_PTS | MOUNT_TTY | MOUNT_DEVICE)))
		return false;
	return (number == CONSOLE_MAJOR && minor(status->st_rdev) <= CONSOLE_MINOR_LAST) || number == TTY_MAJOR ||
	       number == VCS_MAJOR || number == BSD_PTY_MASTER_MAJOR || number == BSD_PTY_SLAVE_MAJOR ||
	       (number >= PTY_SLAVE_MAJOR_FIRST && number <= PTY_SLAVE_MAJOR_LAST);
}

bool terminal_refuse_if_not_of_run(struct call *call, int fd)
{
	const struct mount *mount = call->resolved_place[0].mount;
	struct stat status;

	/* In a mount namespace no other mounts have devices: view_get_mount_restrictions() in view/create/grant.c. */
	if (mount && view_is_attached(call->sandbox->view) &&
	    strncmp(mount->recorded_host_path, "/dev", strlen("/dev")) != 0)
		return false;
	/* Every open of a file comes here: lseek(2), which fails for terminals (ESPIPE), is cheaper. */
	if (lseek(fd, 0, SEEK_CUR) >= 0 || fstat(fd, &status) < 0 || !terminal_is_not_of_run(call, &status))
		return false;
	call_refuse(call, -EACCES, NULL, "foreign_terminal");
	return true;
}

bool terminal_refuse_mode_open_to_others(struct call *call, mode_t mode)
{
	bool shared;

	if (!view_terminal_is_from_program(&call->resolved_place[0],
					   &shared) || !shared || !(mode & (S_IRGRP | S_IXGRP | S_IRWXO)))
		return false;
	call_refuse(call, -EPERM, NULL, "device_metadata");
	return true;
}
