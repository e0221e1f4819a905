/* The listener: receive a notification, answer it. seccomp_unotify(2). */
#ifndef CALLGATE_SUPERVISOR_NOTIFY_H
#define CALLGATE_SUPERVISOR_NOTIFY_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>

/* Asks for wake-ups that keep both ends on one CPU (Linux 6.6); without it everything is only slower. */
void notify_prepare(int listener_fd);

/* 0; -ENOENT when the task died or was interrupted meanwhile; other -errno: the listener is unusable. */
int notify_receive(int listener_fd, struct seccomp_notif *ret_notification);

/* Each answer: 0 or more, or -ENOENT when nobody waits any more. */
int notify_value(int listener_fd, uint64_t id, int64_t value);
int notify_error(int listener_fd, uint64_t id, int error);
int notify_continue(int listener_fd, uint64_t id);
/* Injects fd and answers with its number in one step; returns the number. Borrows fd. */
int notify_fd(int listener_fd, uint64_t id, int fd, bool cloexec);
/* The same for a caller whom no signal can come in between; it saves two system calls. */
int notify_fd_undisturbed(int listener_fd, uint64_t id, int fd, bool cloexec);

/* Injects fd, close-on-exec, without an answer: the call goes on waiting. Returns the number or -errno. Borrows fd. */
int notify_add(int listener_fd, uint64_t id, int fd);

#endif
