/* A message of sendto, sendmsg or sendmmsg, copied from target memory. Used by send.c and transfer.c. */
#ifndef CALLGATE_SYSCALLS_NET_MESSAGE_H
#define CALLGATE_SYSCALLS_NET_MESSAGE_H

#include "syscalls/call/call.h"

#define MESSAGE_PARTS_MAX 1024           /* iovecs of a message: UIO_MAXIOV */
/* bytes; room for more than SCM_MAX_FD descriptors. Larger control data fails with ENOBUFS */
#define MESSAGE_CONTROL_BYTES_MAX (16u * 1024)
#define MESSAGE_FDS_MAX 253              /* SCM_MAX_FD */

/* An element of msg_iov: a range of target memory. */
struct message_part {
	uint64_t addr, len;
};

/* A message of sendmsg(2), copied from the target, with its data still in target memory. */
struct message {
	struct sockaddr_storage name; /* the destination: msg_name */
	int name_len;              /* 0: the message has no address */
	struct message_part *part; /* owned; the bytes stay in target memory until they are sent */
	size_t part_count;         /* entries of part[] */
	uint64_t total_bytes;   /* bytes, at most MAX_RW_COUNT */
	uint8_t *control; /* owned: the control data that is passed to the kernel */
	size_t control_len;      /* bytes of `control` */
	int fd[MESSAGE_FDS_MAX]; /* owned: duplicates of the descriptors in SCM_RIGHTS */
	size_t fds;
	int pin_fd; /* owned: must stay open while the routed address is used (unix-route.h); -1: none */
};

/* Makes a message from the arguments of sendto. 0 or -errno. The caller calls message_release() in either case. */
int message_from_registers(const struct call *call, struct message *ret_message);
/*
 * Makes a message from a struct msghdr in target memory. Control data is not copied: *ret_control says where it is. 0
 * or -errno. The caller calls message_release() in either case.
 */
int message_from_memory(const struct call *call, uint64_t addr, struct message *ret_message,
			struct message_part *ret_control);
/*
 * Copies the control data for a socket of this domain. Descriptors in it are duplicated; items that must not be sent
 * are refused. 0 or -errno; -ECHILD: the outcome is set (descriptor.h).
 */
int message_copy_control_data(struct call *call, int domain, const struct message_part *control,
			      struct message *message);

void message_release(struct message *message);

#endif
