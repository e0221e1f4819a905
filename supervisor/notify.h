/* Receives notifications from the listener; answer.h responds to them. seccomp_unotify(2). */
#ifndef CALLGATE_SUPERVISOR_NOTIFY_H
#define CALLGATE_SUPERVISOR_NOTIFY_H

#include <linux/seccomp.h>
#include <stdbool.h>

/* Asks for wake-ups on the same CPU (Linux 6.6). False: the kernel has none, and is only slower. */
bool notify_request_same_cpu(int listener_fd);

/* Receives a notification. 0; -ENOENT: the thread died or was interrupted; other -errno: the listener is unusable. */
int notify_receive(int listener_fd, struct seccomp_notif *ret_notification);

#endif
