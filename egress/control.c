#include "egress/control.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fdpass.h"

/* what each message has: the fields before `id` */
#define CONTROL_MESSAGE_HEAD_BYTES offsetof(struct control_message, id)

#define IN_PHASE(phase) (1u << CONTROL_##phase) /* a bit in the set of phases in which a message may be received */

/* Which message is legal in which phase of its receiver: a table as in OpenSSH's monitor.c. */
static const struct control_message_rule {
	size_t body_bytes; /* bytes after the header */
	size_t fds;  /* number of descriptors that come with the message */
	enum control_side receiver;
	unsigned allowed_phases;         /* phases in which the message may come */
	enum control_phase next; /* the phase that begins with the message; CONTROL_STARTING: the phase stays */
} rules[] = {
	[CONTROL_PROGRAM_SOCKETS] = {0, CONTROL_FDS_MAX, CONTROL_EGRESS, IN_PHASE(STARTING), CONTROL_RUNNING},
	[CONTROL_CONNECT] = {sizeof(struct control_connect), 0, CONTROL_EGRESS, IN_PHASE(RUNNING), 0},
	[CONTROL_UDP_ENDPOINT] = {sizeof(struct control_connect), 1, CONTROL_EGRESS, IN_PHASE(RUNNING), 0},
	[CONTROL_CANCEL] = {sizeof(struct control_cancel), 0, CONTROL_EGRESS, IN_PHASE(RUNNING), 0},
	[CONTROL_RECORD_ACK] = {sizeof(struct control_ack), 0, CONTROL_EGRESS, IN_PHASE(RUNNING) | IN_PHASE(ENDING), 0},
	[CONTROL_END] = {0, 0, CONTROL_EGRESS, IN_PHASE(STARTING) | IN_PHASE(RUNNING), CONTROL_ENDING},

	[CONTROL_READY] = {0, 0, CONTROL_SUPERVISOR, IN_PHASE(STARTING), CONTROL_RUNNING},
	[CONTROL_NAME_APPROVED] = {sizeof(struct control_name_approved), 0, CONTROL_SUPERVISOR, IN_PHASE(RUNNING), 0},
	[CONTROL_CONNECTED] = {sizeof(struct control_connected), 0, CONTROL_SUPERVISOR, IN_PHASE(RUNNING), 0},
	[CONTROL_RECORD] = {sizeof(struct control_record), 0, CONTROL_SUPERVISOR, IN_PHASE(RUNNING), 0},
	[CONTROL_QUESTION] = {sizeof(struct control_question), 0, CONTROL_SUPERVISOR, IN_PHASE(RUNNING), 0},
	[CONTROL_REQUEST_DONE] = {sizeof(struct control_request_done), 0, CONTROL_SUPERVISOR, IN_PHASE(RUNNING), 0},
};
_Static_assert(sizeof(rules) / sizeof(rules[0]) == CONTROL_TYPE_MAX, "each message has its rule");

size_t control_get_message_size(enum control_type type)
{
	return CONTROL_MESSAGE_HEAD_BYTES + rules[type].body_bytes;
}

bool control_admits_message(enum control_side receiver, enum control_phase *phase,
			    const struct control_message *message, size_t fds_count)
{
	const struct control_message_rule *rule = &rules[message->type];

	if (rule->receiver != receiver || rule->fds != fds_count || !(rule->allowed_phases & 1u << *phase))
		return false;
	if (rule->next != CONTROL_STARTING)
		*phase = rule->next;
	return true;
}

int control_send_message(int fd, const struct control_message *message, const int *fds, size_t fds_count)
{
	return fdpass_send(fd, message, control_get_message_size((enum control_type)message->type), fds, fds_count,
			   MSG_DONTWAIT);
}

#define HAS_NUL(field) (memchr(field, '\0', sizeof(field)) != NULL)

static bool control_record_is_valid(const struct control_record *record)
{
	return record->event < CONTROL_EVENT_MAX && HAS_NUL(record->host) && HAS_NUL(record->real_address) &&
	       HAS_NUL(record->addresses_not_dialled) && HAS_NUL(record->sni) && HAS_NUL(record->alpn) &&
	       HAS_NUL(record->proto) && HAS_NUL(record->method) && HAS_NUL(record->path) && HAS_NUL(record->rule) &&
	       HAS_NUL(record->reason) && HAS_NUL(record->credential_names) && HAS_NUL(record->close_cause);
}

static bool control_question_is_valid(const struct control_question *question)
{
	return HAS_NUL(question->host) && HAS_NUL(question->method) && HAS_NUL(question->path) &&
	       HAS_NUL(question->query);
}

static bool control_message_is_valid(const struct control_message *message, size_t len)
{
	if (len < CONTROL_MESSAGE_HEAD_BYTES || message->version != CONTROL_VERSION ||
	    message->type >= CONTROL_TYPE_MAX || len != control_get_message_size((enum control_type)message->type))
		return false;
	if (message->type == CONTROL_CONNECT || message->type == CONTROL_UDP_ENDPOINT)
		return HAS_NUL(message->connect.host) && HAS_NUL(message->connect.exe);
	if (message->type == CONTROL_NAME_APPROVED)
		return HAS_NUL(message->name.host);
	if (message->type == CONTROL_QUESTION)
		return control_question_is_valid(&message->question);
	return message->type != CONTROL_RECORD || control_record_is_valid(&message->record);
}

/* Takes the descriptors of a message, and closes those beyond CONTROL_FDS_MAX. Returns how many were taken. */
static size_t control_take_descriptors(struct msghdr *head, int ret_fds[CONTROL_FDS_MAX])
{
	struct cmsghdr *part;
	size_t count = 0;

	for (part = CMSG_FIRSTHDR(head); part; part = CMSG_NXTHDR(head, part)) {
		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < (part->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(fd));
			if (count < CONTROL_FDS_MAX)
				ret_fds[count++] = fd;
			else
				(void)close(fd);
		}
	}
	return count;
}

union control_fds {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int) * CONTROL_FDS_MAX)];
};

int control_receive_message(int fd, struct control_message *ret_message, int ret_fds[CONTROL_FDS_MAX],
			    size_t *ret_fds_count)
{
	struct iovec part = {.iov_base = ret_message, .iov_len = sizeof(*ret_message)};
	union control_fds room;
	struct msghdr head = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room.bytes,
			      .msg_controllen = sizeof(room.bytes)};
	ssize_t got;

	got = TEMP_FAILURE_RETRY(recvmsg(fd, &head, MSG_DONTWAIT | MSG_CMSG_CLOEXEC));
	*ret_fds_count = 0;
	if (got < 0)
		return -errno;
	*ret_fds_count = control_take_descriptors(&head, ret_fds);
	if (got == 0)
		return -EPIPE;
	if (!(head.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) && control_message_is_valid(ret_message, (size_t)got))
		return 0;
	while (*ret_fds_count)
		(void)close(ret_fds[--*ret_fds_count]);
	return -EBADMSG;
}
