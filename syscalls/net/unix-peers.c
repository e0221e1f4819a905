#include "syscalls/net/unix-peers.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdint.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/net/address.h"

/* A listening unix socket, and the process of the run that has made it listen. */
struct peer_listener {
	ino_t ino; /* inode number of the listening socket, as fstat(2) tells it */
	pid_t pid;
	int type;                /* SOCK_STREAM or SOCK_SEQPACKET */
	struct sockaddr_un name; /* of getsockname(2) */
	socklen_t name_len;
};

/* A connection between unix sockets, with the processes at its two ends. */
struct peer_connection {
	ino_t client_ino;
	pid_t client_pid;
	pid_t listener_pid; /* 0: not known */
};

/* Both arrays are rings: the counts never stop growing, and a new entry overwrites the oldest. */
struct peers {
	int diag_fd; /* a NETLINK_SOCK_DIAG socket, owned; -1: the kernel does not have this protocol */
	uint32_t sequence; /* of the last request to sock_diag(7) */
	unsigned listeners, connections;
	struct peer_listener listener[PEERS_LISTENERS_MAX];
	struct peer_connection connection[PEERS_CONNECTIONS_MAX];
};

int peers_create(struct peers **ret_peers)
{
	struct peers *peers = calloc(1, sizeof(*peers));

	if (!peers)
		return -ENOMEM;
	peers->diag_fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
	*ret_peers = peers;
	return 0;
}

void peers_free(struct peers *peers)
{
	if (!peers)
		return;
	close_fd(&peers->diag_fd);
	free(peers);
}

void peers_note_listener(struct peers *peers, int socket_fd, pid_t pid)
{
	struct peer_listener *listener = &peers->listener[peers->listeners++ % PEERS_LISTENERS_MAX];

	*listener = (struct peer_listener){.ino = net_get_inode(socket_fd), .pid = pid,
				      .type = net_get_option(socket_fd, SOL_SOCKET, SO_TYPE),
				      .name_len = sizeof(listener->name)};
	if (getsockname(socket_fd, (struct sockaddr *)&listener->name, &listener->name_len) < 0)
		listener->name_len = 0;
}

static bool listener_has_address(const struct peer_listener *listener, const struct sockets_address *address, int type)
{
	if (address->ino || !address->len)
		return listener->ino == address->ino;
	return listener->type == type && listener->name_len == address->len &&
	       memcmp(&listener->name, &address->name, address->len) == 0;
}

/* Searches from the newest entry: an older one may be of an earlier socket that had the same address. */
static pid_t peers_find_pid_of_listener(const struct peers *peers, const struct sockets_address *address, int type)
{
	for (unsigned i = 0; i < peers->listeners && i < PEERS_LISTENERS_MAX; i++) {
		const struct peer_listener *listener =
			&peers->listener[(peers->listeners - 1 - i) % PEERS_LISTENERS_MAX];

		if (listener_has_address(listener, address, type))
			return listener->pid;
	}
	return 0;
}

void peers_note_connection(struct peers *peers, int socket_fd, const struct sockets_address *address, pid_t pid)
{
	const int type = net_get_option(socket_fd, SOL_SOCKET, SO_TYPE);

	if (type == SOCK_DGRAM) /* has no SO_PEERCRED */
		return;
	peers->connection[peers->connections++ % PEERS_CONNECTIONS_MAX] =
		(struct peer_connection){.client_ino = net_get_inode(socket_fd),
					 .client_pid = pid,
					 .listener_pid = peers_find_pid_of_listener(peers, address, type)};
}

static const struct peer_connection *peers_find_connection(const struct peers *peers, ino_t client_ino)
{
	for (unsigned i = 0; client_ino && i < peers->connections && i < PEERS_CONNECTIONS_MAX; i++) {
		const struct peer_connection *connection =
			&peers->connection[(peers->connections - 1 - i) % PEERS_CONNECTIONS_MAX];

		if (connection->client_ino == client_ino)
			return connection;
	}
	return NULL;
}

/* ---- finding the socket that an accepted socket is connected to: sock_diag(7) ---- */

/* The inode number in an answer about one socket; 0: there is none. */
static ino_t peers_read_inode_in_answer(const struct nlmsghdr *header)
{
	const size_t head = sizeof(*header) + sizeof(struct unix_diag_msg); /* both are aligned */
	const char *at = (const char *)header;
	struct nlattr attribute;
	uint32_t ino;

	if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return 0;
	for (size_t i = head; i + sizeof(struct nlattr) <= header->nlmsg_len;) {
		memcpy(&attribute, at + i, sizeof(attribute));
		if (attribute.nla_len < sizeof(attribute) || attribute.nla_len > header->nlmsg_len - i)
			return 0;
		if (attribute.nla_type == UNIX_DIAG_PEER && attribute.nla_len == sizeof(attribute) + sizeof(ino)) {
			memcpy(&ino, at + i + sizeof(attribute), sizeof(ino));
			return ino;
		}
		i += (attribute.nla_len + NLA_ALIGNTO - 1u) & ~(NLA_ALIGNTO - 1u);
	}
	return 0;
}

/* Receives the answer of sock_diag(7) with the inode number of a unix socket's peer. 0: unknown. */
static ino_t diag_receive_peer_inode(int fd, uint32_t sequence)
{
	union {
		struct nlmsghdr header;
		char bytes[1024];
	} answer;
	struct iovec part = {.iov_base = &answer, .iov_len = sizeof(answer)};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	ssize_t len;

	do {
		len = recvmsg(fd, &message, 0);
		if (len < (ssize_t)sizeof(answer.header) || answer.header.nlmsg_len > (size_t)len)
			return 0;
	} while (answer.header.nlmsg_seq != sequence);
	return peers_read_inode_in_answer(&answer.header);
}

static ino_t peers_ask_kernel_for_peer_inode(struct peers *peers, ino_t ino)
{
	struct {
		struct nlmsghdr header;
		struct unix_diag_req asked;
	} request = {.header = {.nlmsg_len = sizeof(request), .nlmsg_type = SOCK_DIAG_BY_FAMILY,
				.nlmsg_flags = NLM_F_REQUEST, .nlmsg_seq = ++peers->sequence},
		     .asked = {.sdiag_family = AF_UNIX, .udiag_states = UINT32_MAX, .udiag_ino = (uint32_t)ino,
			       .udiag_show = UDIAG_SHOW_PEER, .udiag_cookie = {UINT32_MAX, UINT32_MAX}}};
	struct iovec part = {.iov_base = &request, .iov_len = sizeof(request)};
	const struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (!ino || sendmsg(peers->diag_fd, &message, 0) < 0)
		return 0;
	return diag_receive_peer_inode(peers->diag_fd, request.header.nlmsg_seq);
}

pid_t peers_find_peer_process(struct peers *peers, int socket_fd)
{
	const ino_t ino = net_get_inode(socket_fd);
	const struct sockets_address own = {.ino = ino};
	const struct peer_connection *connection = peers_find_connection(peers, ino);

	if (connection)
		return connection->listener_pid;
	connection = peers_find_connection(peers, peers_ask_kernel_for_peer_inode(peers, ino));
	return connection ? connection->client_pid : peers_find_pid_of_listener(peers, &own, 0);
}
