/* Terminals of the run, for open.c and ioctl.c. */
#ifndef CALLGATE_SYSCALLS_FILE_TERMINAL_H
#define CALLGATE_SYSCALLS_FILE_TERMINAL_H

#include <sys/stat.h>

#include "syscalls/call/call.h"

/* Opens the controlling terminal of the target process. A descriptor, or -errno; -ENXIO: the process has none. */
int terminal_open_controlling(const struct call *call, int flags);

/*
 * True when a terminal (place[0], of MOUNT_PTS), opened with these flags, becomes the controlling one of the target
 * process: tty_open_proc_set_tty() in drivers/tty/tty_jobctrl.c. The kernel would make it the supervisor's.
 */
bool terminal_becomes_controlling(const struct call *call, unsigned flags);

/* True for a terminal, pseudo or virtual, that is not the run's: place[0] is its name. */
bool terminal_is_foreign(const struct call *call, const struct stat *status);

/* Refuses an open descriptor of a foreign terminal. Looks only where it may be a device. True: the call is refused. */
bool terminal_refuse_foreign(struct call *call, int fd);

/*
 * Refuses a mode by which others could open a slave that has a name on the host. Write access for the group, which
 * mesg(1) and sshd(8) set, is all that it may have. True when the call was refused.
 */
bool terminal_refuse_mode(struct call *call, mode_t mode);

#endif
