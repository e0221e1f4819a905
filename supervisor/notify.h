/* The listener: receives notifications; answer.h responds to them. seccomp_unotify(2). */
#ifndef CALLGATE_SUPERVISOR_NOTIFY_H
#define CALLGATE_SUPERVISOR_NOTIFY_H

#include <linux/seccomp.h>

/* Asks for wake-ups that keep both ends on one CPU (Linux 6.6); without it everything is only slower. */
void notify_prepare(int listener_fd);

/* 0; -ENOENT when the task died or was interrupted meanwhile; other -errno: the listener is unusable. */
int notify_receive(int listener_fd, struct seccomp_notif *ret_notification);

#endif
