#include "syscalls/net/message.h"

#include <errno.h>
#include <netinet/udp.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/call/decode.h"
#include "syscalls/call/descriptor.h"

#define MESSAGE_BYTES_MAX 0x7ffff000u /* MAX_RW_COUNT: the kernel sends no more bytes by one call */

/* struct user_msghdr of 64-bit architectures. */
struct message_header {
	uint64_t name_addr; /* target address of the destination; 0: none */
	int32_t name_len;   /* bytes of the destination's address */
	uint32_t pad;
	uint64_t parts, parts_len;
	uint64_t control, control_len;
	uint32_t flags, pad2;
};

void message_release(struct message *message)
{
	free(message->part);
	free(message->control);
	for (size_t i = 0; i < message->fds; i++)
		(void)close(message->fd[i]);
	cleanup_close(&message->pin_fd);
	*message = (struct message){.pin_fd = -1};
}

/* Checks the lengths of the iovecs and cuts their sum to MESSAGE_BYTES_MAX, as the kernel's import_iovec() does. */
static int message_check_parts_length(struct message *message)
{
	for (size_t i = 0; i < message->part_count; i++) {
		struct message_part *part = &message->part[i];

		if (part->len > INT64_MAX)
			return -EINVAL;
		if (part->len > MESSAGE_BYTES_MAX - message->total_bytes)
			part->len = MESSAGE_BYTES_MAX - message->total_bytes;
		message->total_bytes += part->len;
	}
	return 0;
}

int message_from_registers(const struct call *call, struct message *ret_message)
{
	struct message *message = ret_message;
	int len = call_get_int(call, 5);

	*message = (struct message){.part_count = 1, .pin_fd = -1};
	message->part = calloc(1, sizeof(*message->part));
	if (!message->part)
		return -ENOMEM;
	message->part[0] = (struct message_part){.addr = call->arg[1], .len = call->arg[2]};
	if (message->part[0].len > MESSAGE_BYTES_MAX)
		message->part[0].len = MESSAGE_BYTES_MAX;
	message->total_bytes = message->part[0].len;
	if (!call->arg[4])
		return 0;
	if (len < 0 || (size_t)len > sizeof(message->name))
		return -EINVAL;
	message->name_len = len;
	return len ? decode_memory_at(call, call->arg[4], &message->name, (size_t)len) : 0;
}

/*
 * Copies the struct msghdr, its address and its iovecs, as copy_msghdr_from_user() and sendmsg_copy_msghdr() in
 * net/socket.c do.
 */
int message_from_memory(const struct call *call, uint64_t addr, struct message *ret_message,
			struct message_part *ret_control)
{
	struct message *message = ret_message;
	struct message_header header;
	int r = decode_memory_at(call, addr, &header, sizeof(header));

	*message = (struct message){.pin_fd = -1};
	if (r < 0)
		return r;
	if (header.name_len < 0)
		return -EINVAL;
	if (header.name_addr && header.name_len) {
		message->name_len = header.name_len;
		if ((size_t)message->name_len > sizeof(message->name))
			message->name_len = sizeof(message->name);
		r = decode_memory_at(call, header.name_addr, &message->name, (size_t)message->name_len);
	}
	if (r == 0 && header.parts_len > MESSAGE_PARTS_MAX)
		r = -EMSGSIZE;
	if (r < 0)
		return r;
	message->part_count = header.parts_len;
	message->part = calloc(message->part_count + 1, sizeof(*message->part));
	if (!message->part)
		return -ENOMEM;
	if (message->part_count)
		r = decode_memory_at(call, header.parts, message->part, message->part_count * sizeof(*message->part));
	if (r == 0)
		r = message_check_parts_length(message);
	*ret_control = (struct message_part){.addr = header.control, .len = header.control ? header.control_len : 0};
	return r;
}

/* Replaces the target's descriptors in SCM_RIGHTS by duplicates in the supervisor. */
static int message_duplicate_fds(struct call *call, struct message *message, struct cmsghdr *item)
{
	size_t count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	int *number = (int *)(void *)CMSG_DATA(item);

	for (size_t i = 0; i < count; i++) {
		if (message->fds == MESSAGE_FDS_MAX)
			return -EINVAL;
		number[i] = descriptor_copy_second_of_call(call, number[i]);
		if (number[i] < 0)
			return -ECHILD;
		message->fd[message->fds++] = number[i];
	}
	return 0;
}

/* The sender's own credentials are accepted. Any others fail with EPERM. */
static int message_check_credentials(const struct call *call, const struct cmsghdr *item)
{
	struct ucred claimed;

	if (item->cmsg_len != CMSG_LEN(sizeof(claimed)))
		return -EINVAL;
	memcpy(&claimed, CMSG_DATA(item), sizeof(claimed));
	if (claimed.pid != call->task->tgid || claimed.uid != call->sandbox->uid || claimed.gid != call->sandbox->gid)
		return -EPERM;
	return 0;
}

enum control_verdict { CONTROL_KEEP, CONTROL_DROP };

/* Judges an item for a unix socket. Credentials are dropped: the kernel would refuse all but the supervisor's. */
static int message_judge_unix_control_data(struct call *call, struct message *message, struct cmsghdr *item)
{
	int r;

	if (item->cmsg_level != SOL_SOCKET)
		return CONTROL_DROP; /* the kernel ignores control messages of other levels */
	if (item->cmsg_type == SCM_RIGHTS) {
		r = message_duplicate_fds(call, message, item);
		return r < 0 ? r : CONTROL_KEEP;
	}
	if (item->cmsg_type != SCM_CREDENTIALS)
		return -EINVAL;
	r = message_check_credentials(call, item);
	return r < 0 ? r : CONTROL_DROP;
}

/* Judges an item for UDP. One that sets source or route (PKTINFO, routing headers) would evade the judged address. */
static int message_judge_inet_control_data(const struct cmsghdr *item)
{
	static const struct {
		int level, type;
	} kept[] = {
		{IPPROTO_IP, IP_TOS},          {IPPROTO_IP, IP_TTL},   {IPPROTO_IPV6, IPV6_TCLASS},
		{IPPROTO_IPV6, IPV6_HOPLIMIT}, {SOL_UDP, UDP_SEGMENT},
	};

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		if (item->cmsg_level == kept[i].level && item->cmsg_type == kept[i].type)
			return CONTROL_KEEP;
	if ((item->cmsg_level == IPPROTO_IP && item->cmsg_type == IP_PKTINFO) ||
	    (item->cmsg_level == IPPROTO_IPV6 && item->cmsg_type == IPV6_PKTINFO))
		return CONTROL_DROP;
	return -EINVAL;
}

/* Judges each item of control data, and removes those to drop. */
static int message_judge_control(struct call *call, int domain, struct message *message)
{
	size_t at = 0, kept = 0, len = message->control_len;

	while (len - at >= sizeof(struct cmsghdr)) {
		struct cmsghdr *item = (struct cmsghdr *)(void *)(message->control + at);
		size_t item_len = item->cmsg_len, space;
		int verdict;

		if (item_len < sizeof(*item) || item_len > len - at)
			return -EINVAL;
		space = CMSG_ALIGN(item_len) < len - at ? CMSG_ALIGN(item_len) : len - at;
		verdict = domain == AF_UNIX ? message_judge_unix_control_data(call, message, item)
					    : message_judge_inet_control_data(item);
		if (verdict < 0)
			return verdict;
		if (verdict == CONTROL_KEEP) {
			memmove(message->control + kept, message->control + at, space);
			kept += space;
		}
		at += space;
	}
	message->control_len = kept;
	return 0;
}

int message_copy_control_data(struct call *call, int domain, const struct message_part *control,
			      struct message *message)
{
	int r;

	if (!control->len)
		return 0;
	if (control->len > MESSAGE_CONTROL_BYTES_MAX)
		return -ENOBUFS;
	message->control = calloc(1, control->len);
	if (!message->control)
		return -ENOMEM;
	message->control_len = control->len;
	r = decode_memory_at(call, control->addr, message->control, control->len);
	return r < 0 ? r : message_judge_control(call, domain, message);
}
