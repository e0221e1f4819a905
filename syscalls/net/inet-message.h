/* A message of the program's: what of it is copied before anything is judged. */
#ifndef CALLGATE_SYSCALLS_NET_INET_MESSAGE_H
#define CALLGATE_SYSCALLS_NET_INET_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "syscalls/call/call.h"

#define MESSAGE_PARTS_MAX 1024           /* UIO_MAXIOV */
#define MESSAGE_CONTROL_MAX (16u * 1024) /* more than 253 descriptors (SCM_MAX_FD) take; then ENOBUFS */
#define MESSAGE_FDS_MAX 253

struct message_part {
	uint64_t addr, len;
};

struct message {
	struct sockaddr_storage name;
	int name_len;              /* 0: none */
	struct message_part *part; /* owned; the bytes stay with the program */
	size_t parts;
	uint64_t total;   /* bytes, at most MAX_RW_COUNT */
	uint8_t *control; /* owned: what the kernel gets */
	size_t control_len;
	int fd[MESSAGE_FDS_MAX]; /* owned: duplicates of what SCM_RIGHTS names */
	size_t fds;
};

/* From sendto's registers. 0 or -errno. message_done in any case. */
int message_from_registers(const struct call *call, struct message *ret_message);
/* From a struct msghdr of the program, its control data excepted: *ret_control is where that is. */
int message_from_memory(const struct call *call, uint64_t addr, struct message *ret_message,
			struct message_part *ret_control);
/*
 * Copies the control data for a socket of a domain: descriptors are duplicated, what may not be given away is refused. 0,
 * or -errno; -ECHILD: the outcome is set (descriptor.h).
 */
int message_take_control(struct call *call, int domain, const struct message_part *control, struct message *message);

void message_done(struct message *message);

#endif
