/* From a name to a socket, with servers on this machine and a resolver that the test plays. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "egress/conn/dial.h"
#include "egress/conn/address.h"
#include "egress/dns/resolver.h"
#include "egress/state.h"
#include "tests/unit/policy/policy-rig.h"
#include "tests/unit/unit.h"

#define PATIENCE_MS 100000

#define POLICY                                                                                                     \
	"{\"network\": {\"allow\": [{\"host\": \"one.test\", \"port\": 7, \"proto\": \"tcp\", \"private\": true}," \
	" {\"host\": \"two.test\", \"port\": 7, \"proto\": \"tcp\", \"private\": true},"                           \
	" {\"host\": \"six.test\", \"port\": 7, \"proto\": \"tcp\", \"private\": true},"                           \
	" {\"host\": \"some.test\", \"port\": 7, \"proto\": \"tcp\", \"private\": true},"                          \
	" {\"host\": \"datagram.test\", \"port\": 7, \"proto\": \"udp\", \"private\": true},"                      \
	" {\"host\": \"asked.test\", \"port\": 7, \"proto\": \"tcp\", \"private\": true},"                         \
	" {\"host\": \"public.test\", \"port\": 7, \"proto\": \"tcp\"}],"                                          \
	" \"deny\": [{\"host\": \"127.0.0.9\"}],"                                                                  \
	" \"resolve\": {\"one.test\": \"127.0.0.1\", \"two.test\": [\"127.0.0.2\", \"127.0.0.1\"], \"six.test\": " \
	"\"::1\","                                                                                                 \
	" \"some.test\": [\"127.0.0.9\", \"127.0.0.1\"], \"datagram.test\": \"127.0.0.1\"}}}"

static struct rig rig;
static struct policy *policy;
static struct egress egress;
static int other = -1; /* the resolver process's end */

static void set_up(void)
{
	int ends[2];

	ck_assert_msg(rig_load(&rig, POLICY, NULL, &policy) == 0, "%s",
		      rig.errors.count ? rig.errors.item[0].text : "?");
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	other = ends[1];
	egress.policy = policy;
	ck_assert_int_eq(loop_create(&egress.loop), 0);
	ck_assert_int_eq(resolver_create(egress.loop, ends[0], &egress.resolver), 0);
}

static void tear_down(void)
{
	resolver_free(egress.resolver);
	loop_free(egress.loop);
	(void)close(other);
	policy_free(policy);
	rig_done(&rig);
}

static const struct net_rule *rule_of(const char *host)
{
	const struct net_rule *rule;
	size_t count;

	rule = policy_net_get_rules(policy, &count);
	for (size_t i = 0; i < count; i++)
		if (strcmp(rule[i].host, host) == 0)
			return &rule[i];
	ck_abort_msg("no rule for %s", host);
}

/* ---- servers ---- */

static socklen_t address_of(const char *text, uint16_t port, struct sockaddr_storage *ret)
{
	struct sockaddr_in *in = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;

	memset(ret, 0, sizeof(*ret));
	if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		return sizeof(*in);
	}
	ck_assert_int_eq(inet_pton(AF_INET6, text, &in6->sin6_addr), 1);
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	return sizeof(*in6);
}

/* port 0: any. backlog < 0: bound only. -1: this machine has no such address. */
static int serve(const char *text, uint16_t *port, int type, int backlog)
{
	struct sockaddr_storage at;
	socklen_t len = address_of(text, *port, &at);
	int fd = socket(at.ss_family, type | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, len) < 0) {
		if (fd >= 0)
			(void)close(fd);
		return -1;
	}
	if (backlog >= 0)
		ck_assert_int_eq(listen(fd, backlog), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	*port = ntohs(((struct sockaddr_in *)&at)->sin_port);
	return fd;
}

/* One that takes no more connections, without saying so: its backlog of one is full. */
static int black_hole(const char *text, uint16_t port, int fillers[3])
{
	int server = serve(text, &port, SOCK_STREAM, 0);
	struct sockaddr_storage at;
	socklen_t len = address_of(text, port, &at);

	ck_assert_int_ge(server, 0);
	for (size_t i = 0; i < 3; i++) {
		fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		(void)connect(fillers[i], (struct sockaddr *)&at, len);
		(void)poll(&(struct pollfd){.fd = fillers[i], .events = POLLOUT}, 1, 50);
	}
	return server;
}

/* ---- dialling ---- */

static struct dial_result result;
static unsigned results;

static void answered(void *ctx, const struct dial_result *answer)
{
	ck_assert_ptr_eq(ctx, &result);
	result = *answer;
	results++;
	loop_stop(egress.loop);
}

static void out_of_patience(struct timer *timer)
{
	(void)timer;
	ck_abort_msg("no answer");
}

static void stop(struct timer *timer)
{
	(void)timer;
	loop_stop(egress.loop);
}

static void run(uint64_t ms, void (*fire)(struct timer *timer))
{
	struct timer timer = {.fire = fire};

	loop_set_timer(egress.loop, &timer, ms);
	ck_assert_int_eq(loop_run(egress.loop), 0);
	loop_clear_timer(egress.loop, &timer);
}

static struct dial *start(const char *host, uint16_t port, const char *rule)
{
	struct dial *dial = dial_start(&egress, host, port, rule_of(rule), answered, &result);

	ck_assert_ptr_nonnull(dial);
	ck_assert_uint_eq(results, 0); /* never before it has returned */
	return dial;
}

static void dial(const char *host, uint16_t port)
{
	results = 0;
	(void)start(host, port, host);
	run(PATIENCE_MS, out_of_patience);
	ck_assert_uint_eq(results, 1);
}

/* What the resolver is asked, answered with these; error 0. */
static void answer_with(const char *const *text, size_t count)
{
	struct pollfd ready = {.fd = other, .events = POLLIN};
	struct resolver_reply reply = {.address_count = (uint32_t)count};
	struct resolver_query query;

	ck_assert_int_eq(poll(&ready, 1, PATIENCE_MS), 1);
	ck_assert_int_eq(recv(other, &query, sizeof(query), 0), (ssize_t)sizeof(query));
	reply.number = query.number;
	reply.error = count ? 0 : -ENOENT;
	for (size_t i = 0; i < count; i++) {
		struct sockaddr_storage at;

		(void)address_of(text[i], 0, &at);
		reply.address[i].family = (uint8_t)at.ss_family;
		if (at.ss_family == AF_INET)
			memcpy(reply.address[i].byte, &((struct sockaddr_in *)&at)->sin_addr, 4);
		else
			memcpy(reply.address[i].byte, &((struct sockaddr_in6 *)&at)->sin6_addr, 16);
	}
	ck_assert_int_eq(send(other, &reply, sizeof(reply), 0), (ssize_t)sizeof(reply));
}

static void dial_asking(const char *host, const char *rule, uint16_t port, const char *const *text, size_t count)
{
	results = 0;
	(void)start(host, port, rule);
	run(0, stop);
	ck_assert_uint_eq(results, 0);
	answer_with(text, count);
	run(PATIENCE_MS, out_of_patience);
	ck_assert_uint_eq(results, 1);
}

static void connected_to(const char *text, uint16_t port)
{
	struct sockaddr_storage want, peer;
	socklen_t len = address_of(text, port, &want), peer_len = sizeof(peer);

	ck_assert_msg(result.error == 0, "%d %s %s", result.error, result.reason, result.addresses_not_dialled);
	ck_assert_ptr_null(result.reason);
	ck_assert_int_eq(memcmp(&result.address, &want, len), 0);
	ck_assert_int_eq(getpeername(result.fd, (struct sockaddr *)&peer, &peer_len), 0);
	ck_assert_int_eq(memcmp(&peer, &want, len), 0);
	ck_assert(fcntl(result.fd, F_GETFL) & O_NONBLOCK);
	ck_assert(fcntl(result.fd, F_GETFD) & FD_CLOEXEC);
	(void)close(result.fd);
}

static void failed(int error, const char *reason, const char *dropped)
{
	ck_assert_int_eq(result.error, error);
	ck_assert_str_eq(result.reason, reason);
	ck_assert_str_eq(result.addresses_not_dialled, dropped);
	ck_assert_int_eq(result.fd, -1);
}

START_TEST(named_by_the_user)
{
	uint16_t port = 0;
	int server = serve("127.0.0.1", &port, SOCK_STREAM, 8), on = 0;
	socklen_t len = sizeof(on);

	dial("one.test", port);
	ck_assert_int_eq(getsockopt(result.fd, IPPROTO_TCP, TCP_NODELAY, &on, &len), 0);
	ck_assert_int_ne(on, 0);
	connected_to("127.0.0.1", port);
	dial("two.test", port); /* no server is at the first */
	connected_to("127.0.0.1", port);
	dial("some.test", port);
	ck_assert_str_eq(result.addresses_not_dialled, "127.0.0.9 denied_by_rule");
	connected_to("127.0.0.1", port);
	results = 0;
	(void)start("127.0.0.1", port, "one.test"); /* a rule's own address */
	run(PATIENCE_MS, out_of_patience);
	connected_to("127.0.0.1", port);
	(void)close(server);
	dial("one.test", port);
	failed(-ECONNREFUSED, "connect_failed", "");
	dial("two.test", port);
	failed(-ECONNREFUSED, "connect_failed", "");
}
END_TEST

START_TEST(ipv6)
{
	uint16_t port = 0;
	int server = serve("::1", &port, SOCK_STREAM, 8);

	if (server < 0)
		return; /* no IPv6 here */
	dial("six.test", port);
	connected_to("::1", port);
	(void)close(server);
	dial("six.test", port);
	failed(-ECONNREFUSED, "connect_failed", "");
}
END_TEST

START_TEST(datagrams)
{
	uint16_t port = 0;
	int server = serve("127.0.0.1", &port, SOCK_DGRAM, -1);

	dial("datagram.test", port);
	connected_to("127.0.0.1", port);
	(void)close(server);
}
END_TEST

/* A name server does not decide: loopback and metadata stay out of reach whatever the rule says. */
START_TEST(rebinding)
{
	static const char *const inside[] = {"127.0.0.1", "::1", "169.254.169.254", "::ffff:127.0.0.1", "0.0.0.0"};
	static const char *const private[] = {"10.1.2.3", "192.168.1.1", "fd00::1"};
	uint16_t port = 0;
	int server = serve("127.0.0.1", &port, SOCK_STREAM, 8);

	dial_asking("asked.test", "asked.test", port, inside, 5);
	ck_assert_int_eq(result.error, -ECONNREFUSED);
	ck_assert_str_eq(result.reason, "denied_addr");
	ck_assert_ptr_nonnull(
		strstr(result.addresses_not_dialled, "127.0.0.1 loopback, ::1 loopback, 169.254.169.254 metadata"));
	dial_asking("public.test", "public.test", port, private, 3);
	failed(-ECONNREFUSED, "denied_addr", "10.1.2.3 private, 192.168.1.1 private, fd00::1 private");
	ck_assert_int_eq(poll(&(struct pollfd){.fd = server, .events = POLLIN}, 1, 0), 0);
	(void)close(server);
}
END_TEST

START_TEST(unknown_names)
{
	dial_asking("asked.test", "asked.test", 7, NULL, 0);
	failed(-EHOSTUNREACH, "dns_fail", "");
	(void)close(other);
	dial("asked.test", 7);
	failed(-EHOSTUNREACH, "dns_fail", "");
	dial("asked.test", 7);
	failed(-EHOSTUNREACH, "dns_fail", "");
	other = -1;
}
END_TEST

/* An address that does not answer costs a quarter of a second, not ten. */
START_TEST(slow_first_address)
{
	uint16_t port = 0;
	int server = serve("127.0.0.1", &port, SOCK_STREAM, 8), fillers[3],
	    hole = black_hole("127.0.0.2", port, fillers);

	dial("two.test", port);
	ck_assert_uint_ge(result.connect_us, 200000);
	connected_to("127.0.0.1", port);
	(void)close(hole);
	(void)close(server);
}
END_TEST

START_TEST(cancelled)
{
	uint16_t port = 0;
	int server = serve("127.0.0.1", &port, SOCK_STREAM, 8), fillers[3],
	    hole = black_hole("127.0.0.2", port, fillers);
	struct dial *under_way;

	results = 0;
	dial_cancel(NULL);
	dial_cancel(start("one.test", port, "one.test"));
	under_way = start("asked.test", port, "asked.test");
	run(20, stop);
	dial_cancel(under_way);
	answer_with((const char *const[]){"10.1.2.3"}, 1);
	under_way = start("two.test", port, "two.test");
	run(20, stop);
	dial_cancel(under_way);
	run(600, stop);
	ck_assert_uint_eq(results, 0);
	ck_assert_int_eq(poll(&(struct pollfd){.fd = server, .events = POLLIN}, 1, 0), 0);
	(void)close(server);
	(void)close(hole);
}
END_TEST

START_TEST(this_machine)
{
	struct sockaddr_storage at;
	struct ifaddrs *list;

	ck_assert_int_eq(getifaddrs(&list), 0);
	for (const struct ifaddrs *one = list; one; one = one->ifa_next) {
		if (!one->ifa_addr || !(one->ifa_flags & IFF_UP) ||
		    (one->ifa_addr->sa_family != AF_INET && one->ifa_addr->sa_family != AF_INET6) ||
		    (one->ifa_addr->sa_family == AF_INET6 &&
		     IN6_IS_ADDR_LINKLOCAL(&((struct sockaddr_in6 *)one->ifa_addr)->sin6_addr)))
			continue;
		ck_assert_msg(address_is_local(one->ifa_addr), "%s", one->ifa_name);
	}
	freeifaddrs(list);
	(void)address_of("127.3.4.5", 0, &at);
	ck_assert(address_is_local((struct sockaddr *)&at));
	(void)address_of("::ffff:127.0.0.1", 0, &at);
	ck_assert(address_is_local((struct sockaddr *)&at));
	(void)address_of("9.9.9.9", 53, &at);
	ck_assert(!address_is_local((struct sockaddr *)&at));
	(void)address_of("2620:fe::fe", 53, &at);
	ck_assert(!address_is_local((struct sockaddr *)&at));
	at.ss_family = AF_UNIX;
	ck_assert(address_is_local((struct sockaddr *)&at));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("dial");
	TCase *tcase = tcase_create("dial");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, named_by_the_user);
	tcase_add_test(tcase, ipv6);
	tcase_add_test(tcase, datagrams);
	tcase_add_test(tcase, rebinding);
	tcase_add_test(tcase, unknown_names);
	tcase_add_test(tcase, slow_first_address);
	tcase_add_test(tcase, cancelled);
	tcase_add_test(tcase, this_machine);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
