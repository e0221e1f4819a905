/* What a stand-in for a NETLINK_ROUTE socket answers, to queries, to other requests, and to garbage. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "syscalls/net/netlink-answer.h"
#include "tests/unit/unit.h"

#define PORT 4711

static const struct netlink_facts bare;
static struct netlink_facts with_network = {.has_network = true, .pool_v4_bits = 15, .pool_v6_bits = 32};

static _Alignas(8) unsigned char answer[NETLINK_ANSWER_BYTES_MAX];
static size_t answered, used;

struct request {
	struct nlmsghdr head;
	union {
		struct ifinfomsg link;
		struct rtmsg route;
		unsigned char bytes[64];
	};
};

static struct request prepare(unsigned type, unsigned flags, size_t body)
{
	return (struct request){.head = {.nlmsg_len = (uint32_t)NLMSG_LENGTH(body),
					 .nlmsg_type = (unsigned short)type,
					 .nlmsg_flags = (unsigned short)(NLM_F_REQUEST | flags),
					 .nlmsg_seq = 99}};
}

static void ask(const struct netlink_facts *facts, const void *request, size_t len)
{
	answered = netlink_answer_request(facts, PORT, request, len, answer, &used);
	ck_assert_uint_le(answered, sizeof(answer));
}

/* How many messages of this type there are. All have the request's number and the socket's port. */
static unsigned count(unsigned type)
{
	unsigned left = (unsigned)answered, found = 0;
	struct nlmsghdr *head = (void *)answer;

	for (; NLMSG_OK(head, left); head = NLMSG_NEXT(head, left)) {
		ck_assert_uint_eq(head->nlmsg_seq, 99);
		ck_assert_uint_eq(head->nlmsg_pid, PORT);
		found += head->nlmsg_type == type;
	}
	ck_assert_uint_eq(left, 0);
	return found;
}

/* The error in the answer; 1: there is none. */
static int error_of(void)
{
	struct nlmsghdr *head = (void *)answer;

	return answered && head->nlmsg_type == NLMSG_ERROR ? ((struct nlmsgerr *)NLMSG_DATA(head))->error : 1;
}

static void set_up(void)
{
	ck_assert_int_eq(inet_pton(AF_INET, "198.18.0.1", &with_network.own_v4), 1);
	ck_assert_int_eq(inet_pton(AF_INET, "198.18.0.0", &with_network.pool_v4), 1);
	ck_assert_int_eq(inet_pton(AF_INET6, "fd00:5a::1", &with_network.own_v6), 1);
	ck_assert_int_eq(inet_pton(AF_INET6, "fd00:5a::", &with_network.pool_v6), 1);
}

static unsigned dump(const struct netlink_facts *facts, unsigned type, int family)
{
	struct request request = prepare(type, NLM_F_DUMP, sizeof(struct rtgenmsg));

	request.bytes[0] = (unsigned char)family;
	ask(facts, &request, request.head.nlmsg_len);
	ck_assert_uint_eq(used, request.head.nlmsg_len);
	ck_assert_uint_eq(count(NLMSG_DONE), 1);
	return count(type - 2); /* RTM_NEW… */
}

START_TEST(lists)
{
	ck_assert_uint_eq(dump(&bare, RTM_GETLINK, AF_UNSPEC), 1);
	ck_assert_uint_eq(dump(&bare, RTM_GETADDR, AF_UNSPEC), 2);
	ck_assert_uint_eq(dump(&bare, RTM_GETADDR, AF_INET), 1);
	ck_assert_uint_eq(dump(&bare, RTM_GETADDR, AF_INET6), 1);
	ck_assert_uint_eq(dump(&bare, RTM_GETADDR, AF_PACKET), 0);
	ck_assert_uint_eq(dump(&bare, RTM_GETROUTE, AF_INET), 3);
	ck_assert_uint_eq(dump(&with_network, RTM_GETADDR, AF_UNSPEC), 4);
	ck_assert_uint_eq(dump(&with_network, RTM_GETROUTE, AF_INET), 5);
	ck_assert_uint_eq(dump(&with_network, RTM_GETROUTE, AF_UNSPEC), 9);
}
END_TEST

START_TEST(one_link)
{
	struct request request = prepare(RTM_GETLINK, NLM_F_ACK, sizeof(request.link));
	struct rtattr *name = (void *)(request.bytes + sizeof(request.link));

	request.link.ifi_index = 1;
	ask(&bare, &request, request.head.nlmsg_len);
	ck_assert_uint_eq(count(RTM_NEWLINK), 1);
	ck_assert_uint_eq(count(NLMSG_ERROR), 1); /* the acknowledgement */
	request.link.ifi_index = 2;
	ask(&bare, &request, request.head.nlmsg_len);
	ck_assert_int_eq(error_of(), -ENODEV);
	request.link.ifi_index = 0;
	ask(&bare, &request, request.head.nlmsg_len);
	ck_assert_int_eq(error_of(), -EINVAL);
	*name = (struct rtattr){.rta_len = RTA_LENGTH(3), .rta_type = IFLA_IFNAME};
	memcpy(RTA_DATA(name), "lo", 3);
	request.head.nlmsg_len += RTA_SPACE(3);
	ask(&bare, &request, request.head.nlmsg_len);
	ck_assert_uint_eq(count(RTM_NEWLINK), 1);
	memcpy(RTA_DATA(name), "l0", 3);
	ask(&bare, &request, request.head.nlmsg_len);
	ck_assert_int_eq(error_of(), -ENODEV);
	name->rta_len = 3; /* less than its head */
	ask(&bare, &request, request.head.nlmsg_len);
	ck_assert_int_eq(error_of(), -EINVAL);
	name->rta_len = 60; /* past the end */
	ask(&bare, &request, request.head.nlmsg_len);
	ck_assert_int_eq(error_of(), -EINVAL);
}
END_TEST

static int look_up(const struct netlink_facts *facts, const char *address)
{
	int family = strchr(address, ':') ? AF_INET6 : AF_INET;
	size_t len = family == AF_INET ? 4 : 16;
	struct request request = prepare(RTM_GETROUTE, 0, sizeof(request.route));
	struct rtattr *to = (void *)(request.bytes + sizeof(request.route));

	request.route.rtm_family = (unsigned char)family;
	*to = (struct rtattr){.rta_len = (unsigned short)RTA_LENGTH(len), .rta_type = RTA_DST};
	ck_assert_int_eq(inet_pton(family, address, RTA_DATA(to)), 1);
	request.head.nlmsg_len += (uint32_t)RTA_SPACE(len);
	ask(facts, &request, request.head.nlmsg_len);
	return count(RTM_NEWROUTE) == 1 ? 0 : error_of();
}

START_TEST(one_route)
{
	ck_assert_int_eq(look_up(&bare, "127.1.2.3"), 0);
	ck_assert_int_eq(look_up(&bare, "::1"), 0);
	ck_assert_int_eq(look_up(&bare, "128.0.0.1"), -ENETUNREACH);
	ck_assert_int_eq(look_up(&bare, "198.18.0.1"), -ENETUNREACH);
	ck_assert_int_eq(look_up(&bare, "::2"), -ENETUNREACH);
	ck_assert_int_eq(look_up(&with_network, "198.19.255.255"), 0);
	ck_assert_int_eq(look_up(&with_network, "198.20.0.0"), -ENETUNREACH);
	ck_assert_int_eq(look_up(&with_network, "fd00:5a:ffff::1"), 0);
	ck_assert_int_eq(look_up(&with_network, "fd00:5b::1"), -ENETUNREACH);
}
END_TEST

/* Everything that is no query is refused; what is no request is not answered. */
START_TEST(refusals)
{
	struct request request;

	for (unsigned type = RTM_BASE; type < RTM_BASE + 200; type++) {
		request = prepare(type, 0, sizeof(request.link));
		ask(&with_network, &request, request.head.nlmsg_len);
		if (type % 4 != RTM_GETLINK % 4)
			ck_assert_int_eq(error_of(), type > RTM_MAX ? -EOPNOTSUPP : -EPERM);
		else if (type != RTM_GETLINK)
			ck_assert_int_lt(error_of(), 0);
	}
	request = prepare(RTM_GETLINK, NLM_F_DUMP, sizeof(request.link));
	request.head.nlmsg_flags = NLM_F_DUMP;
	ask(&bare, &request, request.head.nlmsg_len);
	ck_assert_uint_eq(answered, 0);
	request = prepare(NLMSG_NOOP, NLM_F_ACK, 0);
	ask(&bare, &request, request.head.nlmsg_len);
	ck_assert_int_eq(error_of(), 0);
}
END_TEST

/* The end of a page after which there is no memory. */
static unsigned char *guarded_end(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *memory =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(memory, MAP_FAILED);
	ck_assert_int_eq(mprotect(memory + page, page, PROT_NONE), 0);
	return memory + page;
}

/* The header lies about the length; nothing past the end is read: the request ends where memory does. */
START_TEST(lengths)
{
	unsigned char *end = guarded_end();

	for (unsigned len = 0; len <= 64; len++)
		for (unsigned told = 0; told <= 80; told++) {
			struct request request = prepare(RTM_GETROUTE, 0, 0);

			request.head.nlmsg_len = told;
			memset(request.bytes, (int)(told % 7), sizeof(request.bytes));
			request.bytes[0] = AF_INET;
			memcpy(end - len, &request, len);
			ask(&with_network, end - len, len);
			ck_assert_uint_le(used, len);
			if (told < sizeof(request.head) || told > len)
				ck_assert_uint_eq(answered, 0);
		}
}
END_TEST

START_TEST(garbage)
{
	unsigned char *end = guarded_end();

	srandom(1);
	for (unsigned turn = 0; turn < 200000; turn++) {
		size_t len = (size_t)random() % 120;
		struct nlmsghdr head = {.nlmsg_len = (uint32_t)len,
					.nlmsg_type = (unsigned short)(RTM_BASE + random() % 16),
					.nlmsg_flags = (unsigned short)random()};

		for (size_t i = 0; i < len; i++)
			(end - len)[i] = (unsigned char)(random() % 5 ? random() % 24 : random());
		if (len >= sizeof(head))
			memcpy(end - len, &head, sizeof(head));
		ask(turn % 2 ? &bare : &with_network, end - len, len);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("netlink");
	TCase *tcase = tcase_create("answers");

	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_add_test(tcase, lists);
	tcase_add_test(tcase, one_link);
	tcase_add_test(tcase, one_route);
	tcase_add_test(tcase, refusals);
	tcase_add_test(tcase, lengths);
	tcase_add_test(tcase, garbage);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
