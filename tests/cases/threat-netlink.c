/* NETLINK_ROUTE: what a program tries with the one netlink socket it can have. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/net_namespace.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/cases/threat.h"

#define LOOPBACK_INDEX 1
#define BUFFER 32768

struct request {
	struct nlmsghdr head;
	unsigned char body[256];
};

static int open_route(void)
{
	const struct timeval patience = {.tv_sec = 10};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	threat_works("a route socket", fd);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return fd;
}

static struct request *prepare(unsigned type, unsigned flags, size_t body)
{
	static struct request request;

	memset(&request, 0, sizeof(request));
	request.head.nlmsg_len = (uint32_t)NLMSG_LENGTH(body);
	request.head.nlmsg_type = (unsigned short)type;
	request.head.nlmsg_flags = (unsigned short)(NLM_F_REQUEST | flags);
	request.head.nlmsg_seq = 7;
	return &request;
}

static void attach(struct request *request, unsigned type, const void *value, size_t len)
{
	struct rtattr *attribute = (void *)((char *)request + NLMSG_ALIGN(request->head.nlmsg_len));

	attribute->rta_type = (unsigned short)type;
	attribute->rta_len = (unsigned short)RTA_LENGTH(len);
	memcpy(RTA_DATA(attribute), value, len);
	request->head.nlmsg_len = (uint32_t)(NLMSG_ALIGN(request->head.nlmsg_len) + RTA_LENGTH(len));
}

/* The error in the first answer: 0 for one that is no error. */
static int ask(int fd, const struct request *request)
{
	static _Alignas(8) unsigned char answer[BUFFER];
	struct nlmsghdr *head = (void *)answer;
	ssize_t got;

	if (send(fd, request, request->head.nlmsg_len, 0) < 0)
		return -errno;
	got = recv(fd, answer, sizeof(answer), 0);
	if (got < (ssize_t)sizeof(*head))
		return got < 0 ? -errno : -EPROTO;
	return head->nlmsg_type == NLMSG_ERROR ? ((struct nlmsgerr *)NLMSG_DATA(head))->error : 0;
}

/* All types but queries: new, delete, set, and those that are unknown. */
static void change_anything(int fd)
{
	const uint32_t index = LOOPBACK_INDEX;
	const struct in_addr address = {.s_addr = htonl(0x0a010203)};

	for (unsigned type = RTM_BASE; type < RTM_BASE + 120; type++) {
		struct request *request;
		int error;

		if ((type - RTM_BASE) % 4 == 2)
			continue;
		request = prepare(type, NLM_F_ACK | NLM_F_CREATE, sizeof(struct ifinfomsg));
		request->body[0] = AF_INET;
		memcpy(request->body + 4, &index, sizeof(index)); /* of a link or an address */
		attach(request, IFA_LOCAL, &address, sizeof(address));
		error = ask(fd, request);
		if (error >= 0)
			threat_got("a message of type %u", type);
	}
}

/* Every link that there is, by its index or in a list: only the loopback's. */
static void look_for_links(int fd)
{
	static _Alignas(8) unsigned char answer[BUFFER];

	for (int index = LOOPBACK_INDEX + 1; index < 500; index++) {
		struct request *request = prepare(RTM_GETLINK, 0, sizeof(struct ifinfomsg));

		memcpy(request->body + offsetof(struct ifinfomsg, ifi_index), &index, sizeof(index));
		if (ask(fd, request) >= 0)
			threat_got("link %d", index);
	}
	for (unsigned type = RTM_GETLINK; type <= RTM_GETROUTE; type += 4) {
		struct request *request = prepare(type, NLM_F_DUMP, sizeof(struct ifinfomsg));
		bool done = false;

		threat_works("a query", send(fd, request, request->head.nlmsg_len, 0));
		while (!done) {
			ssize_t got = recv(fd, answer, sizeof(answer), 0);
			unsigned left = got < 0 ? 0 : (unsigned)got;

			if (got <= 0) {
				threat_missed("query %u is not answered: %s", type, strerror(errno));
				break;
			}
			for (struct nlmsghdr *head = (void *)answer; NLMSG_OK(head, left) && !done;
			     head = NLMSG_NEXT(head, left)) {
				const struct ifinfomsg *link = NLMSG_DATA(head);

				done = head->nlmsg_type == NLMSG_DONE || head->nlmsg_type == NLMSG_ERROR;
				if (head->nlmsg_type == RTM_NEWLINK && link->ifi_index != LOOPBACK_INDEX)
					threat_got("link %d in the list", link->ifi_index);
				if (head->nlmsg_type == RTM_NEWADDR &&
				    ((const struct ifaddrmsg *)NLMSG_DATA(head))->ifa_index != LOOPBACK_INDEX)
					threat_got("an address of another link");
			}
		}
	}
}

/* RTM_GETNSID tells whether a process exists, and RTM_GETLINK may be about another namespace. */
static void look_elsewhere(int fd, uint32_t outsider)
{
	struct request *request = prepare(RTM_GETNSID, 0, sizeof(struct rtgenmsg));
	const int32_t first = 0;

	attach(request, NETNSA_PID, &outsider, sizeof(outsider));
	if (ask(fd, request) >= 0)
		threat_got("the namespace of process %u", outsider);
	request = prepare(RTM_GETLINK, 0, sizeof(struct ifinfomsg));
	attach(request, IFLA_NET_NS_PID, &outsider, sizeof(outsider));
	if (ask(fd, request) >= 0)
		threat_got("a link of process %u", outsider);
	request = prepare(RTM_GETLINK, NLM_F_DUMP, sizeof(struct ifinfomsg));
	attach(request, IFLA_TARGET_NETNSID, &first, sizeof(first));
	(void)ask(fd, request); /* a stand-in ignores it; look_for_links() shows what is told */
	threat_refused("all namespaces", setsockopt(fd, SOL_NETLINK, NETLINK_LISTEN_ALL_NSID, &(int){1}, sizeof(int)),
		       0);
}

/* No message gets to another socket: not of the run, not of the machine. */
static void send_to_others(int fd, uint32_t outsider)
{
	struct sockaddr_nl name = {.nl_family = AF_NETLINK, .nl_pid = 77};
	const uint32_t ports[] = {77, 1, outsider};
	int other = open_route();
	char byte;

	threat_works("bind", bind(other, (const struct sockaddr *)&name, sizeof(name)));
	for (size_t i = 0; i < 3; i++) {
		struct sockaddr_nl to = {.nl_family = AF_NETLINK, .nl_pid = ports[i], .nl_groups = i == 1};

		threat_refused("connect", connect(fd, (const struct sockaddr *)&to, sizeof(to)), EPERM);
		threat_tries(sendto(fd, "x", 1, 0, (const struct sockaddr *)&to, sizeof(to)));
	}
	if (recv(other, &byte, 1, MSG_DONTWAIT) >= 0)
		threat_got("a message for another socket");
	close(other);
}

/* Half-closed sockets and empty messages take none of the supervisor's time, and spoil no other socket. */
static void shut_down(void)
{
	int half = open_route(), empty = open_route();

	threat_tries(shutdown(half, SHUT_WR));
	for (int i = 0; i < 3; i++)
		threat_tries(send(empty, "", 0, 0));
	look_for_links(empty);
	usleep(100000);
	close(empty);
	empty = open_route();
	look_for_links(empty);
	close(empty);
	close(half);
}

/* As many sockets as there are, each full of answers that are not read. */
static void flood(void)
{
	int fds[256], count = 0;

	while (count < 256 && (fds[count] = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK, NETLINK_ROUTE)) >= 0)
		count++;
	for (int i = 0; i < count; i++)
		for (int turn = 0; turn < 400; turn++) {
			const struct request *request = prepare(RTM_GETLINK, NLM_F_DUMP, sizeof(struct rtgenmsg));

			if (send(fds[i], request, request->head.nlmsg_len, 0) < 0)
				break;
		}
	while (count > 0)
		close(fds[--count]);
}

/* netlink PID: of a process outside. */
int threat_netlink(char **arg)
{
	uint32_t outsider = (uint32_t)strtoul(arg[0], NULL, 10);
	int fd;

	for (int protocol = 1; protocol < 40; protocol++)
		for (int type = SOCK_STREAM; type <= SOCK_SEQPACKET; type++)
			threat_refused("another protocol", socket(AF_NETLINK, type, protocol), 0);
	fd = open_route();
	change_anything(fd);
	look_for_links(fd);
	look_elsewhere(fd, outsider);
	close(fd);
	fd = open_route();
	send_to_others(fd, outsider);
	close(fd);
	shut_down();
	flood();
	fd = open_route(); /* there is room again, and what was not read is gone */
	look_for_links(fd);
	return threat_result();
}
