#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/egress/egress-wire.h"
#include "tests/unit/unit.h"

static struct egress_rig *rig;
static struct sockaddr_in at; /* where the program sends */
static int server = -1;
static uint16_t port;

static int udp_socket(uint16_t *ret_port)
{
	struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(own);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&own, sizeof(own)), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&own, &len), 0);
	*ret_port = ntohs(own.sin_port);
	return fd;
}

static void begin(const char *more)
{
	server = udp_socket(&port);
	rig = wire_begin(port, "udp", more, NULL);
	(void)erig_udp(rig, "a.test", port, &at);
}

static void end(void)
{
	(void)close(server);
	ck_assert_int_eq(erig_end(rig), 0);
}

static void send_to(int fd, const struct sockaddr_in *to, const char *text)
{
	ck_assert_int_eq(sendto(fd, text, strlen(text), 0, (const struct sockaddr *)to, sizeof(*to)),
			 (int)strlen(text));
}

static bool comes(int fd, int ms)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};

	return poll(&ready, 1, ms) == 1;
}

static struct sockaddr_in expect(int fd, const char *text)
{
	struct sockaddr_in from = {0};
	socklen_t len = sizeof(from);
	char data[2048] = {0};

	ck_assert_msg(comes(fd, ERIG_WAIT_MS), "no datagram");
	ck_assert_int_eq(recvfrom(fd, data, sizeof(data) - 1, 0, (struct sockaddr *)&from, &len), (int)strlen(text));
	ck_assert_str_eq(data, text);
	return from;
}

START_TEST(datagrams_and_their_answers_find_their_way)
{
	struct control_record record;
	struct sockaddr_in first, second, from;
	uint16_t mine;
	int one, two;

	begin("");
	one = udp_socket(&mine);
	two = udp_socket(&mine);
	send_to(one, &at, "from one");
	first = expect(server, "from one");
	send_to(two, &at, "from two");
	second = expect(server, "from two");
	ck_assert_uint_ne(first.sin_port, second.sin_port);
	send_to(server, &second, "to two");
	send_to(server, &first, "to one");
	from = expect(one, "to one");
	ck_assert_uint_eq(from.sin_port, at.sin_port); /* as if it came from there */
	ck_assert_uint_eq(from.sin_addr.s_addr, at.sin_addr.s_addr);
	(void)expect(two, "to two");
	send_to(one, &at, ""); /* empty ones count, too */
	(void)expect(server, "");
	/* One record for the endpoint, from any sender. */
	ck_assert_uint_eq(erig_records(rig, 1, CONTROL_EVENT_OPEN), 1);
	record = erig_record(rig, 1, CONTROL_EVENT_OPEN, 0);
	ck_assert_int_eq(record.allow, 1);
	ck_assert_str_eq(record.proto, "udp");
	ck_assert_str_eq(record.host, "a.test");
	(void)close(one);
	(void)close(two);
	end();
}
END_TEST

START_TEST(others_cannot_answer)
{
	struct sockaddr_in flow;
	uint16_t mine, theirs;
	int one, stranger;

	begin("");
	one = udp_socket(&mine);
	stranger = udp_socket(&theirs);
	send_to(one, &at, "ask");
	flow = expect(server, "ask");
	(void)sendto(stranger, "spoof", 5, 0, (struct sockaddr *)&flow, sizeof(flow));
	send_to(server, &flow, "answer");
	(void)expect(one, "answer");
	ck_assert(!comes(one, 50));
	(void)close(one);
	(void)close(stranger);
	end();
}
END_TEST

START_TEST(the_cap_ends_it_with_one_record)
{
	struct control_record record;
	uint16_t mine;
	int one;

	begin(", \"max_bytes_up\": 10");
	one = udp_socket(&mine);
	send_to(one, &at, "0123456789");
	(void)expect(server, "0123456789");
	send_to(one, &at, "x");
	record = erig_record(rig, 1, CONTROL_EVENT_CLOSE, 0);
	ck_assert_str_eq(record.reason, "cap_bytes");
	ck_assert_uint_eq(record.bytes_up, 10);
	ck_assert(!comes(server, 50));
	(void)close(one);
	end();
}
END_TEST

START_TEST(an_endpoint_nobody_approved_is_refused)
{
	begin("");
	(void)erig_udp(rig, "b.test", port, &at);
	ck_assert_str_eq(erig_record(rig, 2, CONTROL_EVENT_OPEN, 0).reason, "no_rule");
	ck_assert_str_eq(erig_record(rig, 2, CONTROL_EVENT_CLOSE, 0).close_cause, "refused");
	/* TCP of the same endpoint is another rule's. */
	ck_assert_int_eq(erig_connect(rig, "a.test", port), -ECONNREFUSED);
	end();
}
END_TEST

#define MANY 400 /* more than there may be flows */

START_TEST(the_longest_idle_flow_makes_room)
{
	static int fd[MANY];
	uint16_t mine;

	begin("");
	for (int i = 0; i < MANY; i++) {
		struct sockaddr_in from;

		fd[i] = udp_socket(&mine);
		send_to(fd[i], &at, "ping");
		from = expect(server, "ping");
		send_to(server, &from, "pong");
		(void)expect(fd[i], "pong");
	}
	send_to(fd[0], &at, "again");
	(void)expect(server, "again");
	for (int i = 0; i < MANY; i++)
		(void)close(fd[i]);
	end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("egress_udp");
	TCase *tcase = tcase_create("udp");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, datagrams_and_their_answers_find_their_way);
	tcase_add_test(tcase, others_cannot_answer);
	tcase_add_test(tcase, the_cap_ends_it_with_one_record);
	tcase_add_test(tcase, an_endpoint_nobody_approved_is_refused);
	tcase_add_test(tcase, the_longest_idle_flow_makes_room);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
