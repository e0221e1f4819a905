/* Opens and judges terminals of the run, for open.c and ioctl.c. */
#ifndef CALLGATE_SYSCALLS_FILE_TERMINAL_H
#define CALLGATE_SYSCALLS_FILE_TERMINAL_H

#include <sys/stat.h>

#include "syscalls/call/call.h"

/* Opens the controlling terminal of the target process. A descriptor, or -errno; -ENXIO: it has no terminal. */
int terminal_open_controlling(const struct call *call, int flags);

/*
 * Whether a terminal (place[0], of MOUNT_DEV_PTS), opened with these flags, becomes the controlling terminal of the
 * target process: tty_open_proc_set_tty() in drivers/tty/tty_jobctrl.c. The kernel would make it the supervisor's.
 */
bool terminal_becomes_controlling(const struct call *call, unsigned flags);

/*
 * Whether a file with this status is a terminal, pseudo or virtual, that does not belong to the run.
 * call->resolved_place[0] has its name.
 */
bool terminal_is_not_of_run(const struct call *call, const struct stat *status);

/* Refuses an open descriptor of a foreign terminal. Checks only where it may be a device. True: refused. */
bool terminal_refuse_if_not_of_run(struct call *call, int fd);

/*
 * Refuses a mode by which other users could open a slave that has a name on the host. Only the group's write access,
 * which mesg(1) and sshd(8) set, is allowed. True: refused.
 */
bool terminal_refuse_mode_open_to_others(struct call *call, mode_t mode);

#endif
