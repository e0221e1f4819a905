/* The name server of a whole egress process, asked over UDP and TCP. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/io.h"
#include "tests/unit/egress/dns-ask.h"
#include "tests/unit/egress/egress-rig.h"
#include "tests/unit/unit.h"

#define POLICY                                                                                        \
	"{\"network\": {\"allow\": [{\"host\": \"a.test\"}, {\"host\": \"*.wild.test\"},"               \
	" {\"host\": \"real.test\", \"dns\": \"real\", \"private\": true},"                             \
	" {\"host\": \"same.test\", \"dns\": \"real\", \"private\": true}],"                            \
	" \"resolve\": {\"real.test\": [\"10.1.2.3\", \"fd12::7\"], \"same.test\": \"10.1.2.3\"}}}"

static struct egress_rig *rig;

static int open_socket(int type)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	at.sin_port = htons(type == SOCK_DGRAM ? erig_dns_udp_port(rig) : erig_dns_tcp_port(rig));
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

static bool readable(int fd, int ms)
{
	return poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, ms) == 1;
}

static void send_udp(int fd, uint16_t id, const char *name, unsigned type)
{
	const struct dns_bytes query = dns_ask(id, name, type, 0);

	ck_assert_int_eq(send(fd, query.at, query.len, 0), (ssize_t)query.len);
}

static struct dns_told receive_udp(int fd)
{
	uint8_t data[4096];
	struct dns_told told;
	ssize_t got;

	ck_assert_msg(readable(fd, ERIG_WAIT_MS), "no answer");
	got = recv(fd, data, sizeof(data), 0);
	ck_assert(got > 0 && dns_tell(data, (size_t)got, &told));
	return told;
}

static struct dns_told ask(int fd, const char *name, unsigned type)
{
	struct dns_told told;

	send_udp(fd, 77, name, type);
	told = receive_udp(fd);
	ck_assert_uint_eq(told.id, 77);
	ck_assert_str_eq(told.name, name);
	return told;
}

static void add_tcp(struct dns_bytes *stream, uint16_t id, const char *name, unsigned type)
{
	const struct dns_bytes query = dns_ask(id, name, type, 0);

	stream->at[stream->len++] = (uint8_t)(query.len >> 8);
	stream->at[stream->len++] = (uint8_t)query.len;
	memcpy(stream->at + stream->len, query.at, query.len);
	stream->len += query.len;
}

static size_t read_exactly(int fd, uint8_t *data, size_t len)
{
	size_t have = 0;

	while (have < len) {
		ssize_t got;

		ck_assert_msg(readable(fd, ERIG_WAIT_MS), "no answer");
		got = read(fd, data + have, len - have);
		if (got <= 0)
			break;
		have += (size_t)got;
	}
	return have;
}

static struct dns_told receive_tcp(int fd)
{
	uint8_t data[4096];
	struct dns_told told;
	size_t len;

	ck_assert_uint_eq(read_exactly(fd, data, 2), 2);
	len = (size_t)data[0] << 8 | data[1];
	ck_assert_uint_le(len, sizeof(data));
	ck_assert_uint_eq(read_exactly(fd, data, len), len);
	ck_assert(dns_tell(data, len, &told));
	return told;
}

static void closed(int fd)
{
	uint8_t data[1];

	ck_assert_msg(readable(fd, ERIG_WAIT_MS), "still open");
	ck_assert_int_le(read(fd, data, 1), 0);
	(void)close(fd);
}

/* It was sent before the answer; the rig's thread may still have to read it. */
static struct control_name_approved named(const char *host)
{
	uint64_t until = erig_ms() + ERIG_WAIT_MS;
	struct control_name_approved name;

	while (!erig_name(rig, host, &name)[0])
		ck_assert_msg(erig_ms() < until, "%s was not told of", host);
	return name;
}

static void begin(void)
{
	rig = erig_start(POLICY);
}

static void end(void)
{
	ck_assert_int_eq(erig_end(rig), 0);
}

START_TEST(udp)
{
	struct control_record record;
	struct control_name_approved name;
	int fd;

	begin();
	fd = open_socket(SOCK_DGRAM);
	ck_assert_str_eq(ask(fd, "A.test", 1).text, "A 198.18.0.16 60");
	ck_assert_str_eq(ask(fd, "a.test", 28).text, "AAAA fd00:5a::10 60");
	ck_assert_uint_eq(ask(fd, "a.test", 65).code, 0);
	ck_assert_uint_eq(ask(fd, "B.test", 1).code, 3);
	record = erig_record(rig, 0, CONTROL_EVENT_DNS, 0);
	ck_assert_str_eq(record.host, "b.test");
	ck_assert_str_eq(record.reason, "no_rule");
	ck_assert_str_eq(record.method, "A");
	ck_assert(!record.allow && record.refusal_count == 1);
	ck_assert_str_eq(ask(fd, "x.wild.test", 1).text, "A 198.18.0.19 60");
	name = named("x.wild.test");
	ck_assert_uint_eq(name.pool_index, 19);
	ck_assert_str_eq(ask(fd, "localhost", 1).text, "A 127.0.0.1 60");
	/* what is no query has no answer or a refusal, and harms no other query */
	ck_assert_int_eq(send(fd, "x", 1, 0), 1);
	ck_assert_int_eq(send(fd, "", 0, 0), 0);
	ck_assert_int_eq(send(fd, (char[2000]){0}, 2000, 0), 2000);
	ck_assert_uint_eq(receive_udp(fd).code, 1);
	ck_assert_str_eq(ask(fd, "a.test", 1).text, "A 198.18.0.16 60");
	(void)close(fd);
	end();
}
END_TEST

/* glibc's way: both families at once. */
START_TEST(two_at_once)
{
	unsigned seen = 0;
	int fd;

	begin();
	fd = open_socket(SOCK_DGRAM);
	send_udp(fd, 1, "a.test", 1);
	send_udp(fd, 2, "a.test", 28);
	for (unsigned i = 0; i < 2; i++)
		seen |= receive_udp(fd).id;
	ck_assert_uint_eq(seen, 3);
	(void)close(fd);
	end();
}
END_TEST

START_TEST(tcp)
{
	struct dns_bytes stream = {.len = 0};
	int fd;

	begin();
	fd = open_socket(SOCK_STREAM);
	for (uint16_t i = 0; i < 40; i++)
		add_tcp(&stream, i, i % 2 ? "a.test" : "x.wild.test", i % 3 ? 1 : 28);
	ck_assert_int_eq(io_write_all(fd, stream.at, stream.len), 0);
	for (uint16_t i = 0; i < 40; i++) {
		const struct dns_told told = receive_tcp(fd);

		ck_assert_uint_eq(told.id, i);
		ck_assert_str_eq(told.name, i % 2 ? "a.test" : "x.wild.test");
		ck_assert_uint_eq(told.answers, 1);
	}
	/* byte by byte, and the end after it */
	stream.len = 0;
	add_tcp(&stream, 99, "a.test", 1);
	for (size_t i = 0; i < stream.len; i++)
		ck_assert_int_eq(io_write_all(fd, stream.at + i, 1), 0);
	ck_assert_int_eq(shutdown(fd, SHUT_WR), 0);
	ck_assert_uint_eq(receive_tcp(fd).id, 99);
	closed(fd);
	/* longer than a query is */
	fd = open_socket(SOCK_STREAM);
	ck_assert_int_eq(io_write_all(fd, (char[1500]){0x20, 1}, 1500), 0);
	closed(fd);
	end();
}
END_TEST

/* Who holds connections without asking does not keep others from it. */
START_TEST(many_streams)
{
	struct dns_bytes query = {.len = 0};
	int idle[200], fd;

	begin();
	add_tcp(&query, 5, "a.test", 1);
	for (size_t i = 0; i < 200; i++) {
		idle[i] = open_socket(SOCK_STREAM);
		ck_assert_int_eq(io_write_all(idle[i], query.at, 1), 0);
	}
	fd = open_socket(SOCK_STREAM);
	ck_assert_int_eq(io_write_all(fd, query.at, query.len), 0);
	ck_assert_uint_eq(receive_tcp(fd).id, 5);
	closed(idle[0]); /* the first to come has gone first */
	for (size_t i = 1; i < 200; i++)
		(void)close(idle[i]);
	(void)close(fd);
	end();
}
END_TEST

/* A flood of refused names: few records, and none of it is lost in the counts. */
START_TEST(rate_limit)
{
	enum { FLOOD = 500 };
	uint64_t counted = 0, from = erig_ms();
	size_t records;
	char name[64];
	int fd;

	begin();
	fd = open_socket(SOCK_DGRAM);
	for (unsigned i = 0; i < FLOOD; i++) {
		(void)snprintf(name, sizeof(name), "n%u.evil.example", i);
		ck_assert_uint_eq(ask(fd, name, 1).code, 3);
	}
	for (records = 0; counted < FLOOD; records++) {
		const struct control_record record = erig_record(rig, 0, CONTROL_EVENT_DNS, records);

		counted += record.refusal_count;
		ck_assert_str_eq(record.reason, record.refusal_count > 1 ? "rate_limited" : "no_rule");
	}
	ck_assert_uint_eq(counted, FLOOD);
	ck_assert_uint_le(records, 12 * (1 + (erig_ms() - from) / 1000));
	(void)close(fd);
	end();
	rig = NULL;
}
END_TEST

/* What is counted only is told at the end at the latest. */
START_TEST(counted_at_the_end)
{
	int fd;

	begin();
	fd = open_socket(SOCK_DGRAM);
	for (unsigned i = 0; i < 30; i++)
		(void)ask(fd, "evil.example", 1);
	(void)close(fd);
	end(); /* the rig frees nothing that the test could look at: that it ends well has to do */
}
END_TEST

START_TEST(real)
{
	struct control_name_approved name;
	int fd;

	begin();
	fd = open_socket(SOCK_DGRAM);
	ck_assert_str_eq(ask(fd, "real.test", 1).text, "A 10.1.2.3 60");
	ck_assert_str_eq(ask(fd, "real.test", 28).text, "AAAA fd12::7 60");
	name = named("real.test");
	ck_assert_uint_eq(name.pool_index, UINT32_MAX);
	/* it is real.test's already */
	ck_assert_str_eq(ask(fd, "same.test", 1).text, "A 198.18.0.18 60");
	ck_assert_str_eq(ask(fd, "same.test", 28).text, "");
	(void)close(fd);
	end();
}
END_TEST

/* No process has read which name an address stands for: then none has the address. Policies' own names are known. */
START_TEST(supervisor_is_slow)
{
	const struct erig_options options = {.silent = true};
	size_t answered = 0;
	char name[64];
	int fd;

	rig = erig_start_with(POLICY, &options);
	fd = open_socket(SOCK_DGRAM);
	for (unsigned i = 0; i < 3000 && answered == i; i++) {
		(void)snprintf(name, sizeof(name), "n%u.wild.test", i);
		send_udp(fd, (uint16_t)i, name, 1);
		if (readable(fd, 1500)) {
			(void)receive_udp(fd);
			answered++;
		}
	}
	ck_assert_uint_lt(answered, 3000);
	ck_assert_str_eq(ask(fd, "a.test", 1).text, "A 198.18.0.16 60");
	erig_speak(rig);
	if (!readable(fd, 5000)) /* it was held for too long: any resolver asks again */
		send_udp(fd, (uint16_t)answered, name, 1);
	ck_assert_uint_eq(receive_udp(fd).id, answered);
	(void)close(fd);
	end();
}
END_TEST

START_TEST(exhausted)
{
	struct control_record record;
	char name[64];
	int fd;

	begin();
	fd = open_socket(SOCK_DGRAM);
	for (unsigned i = 0; i < 4096 - 3; i++) {
		(void)snprintf(name, sizeof(name), "n%u.wild.test", i);
		ck_assert_uint_eq(ask(fd, name, 1).code, 0);
	}
	ck_assert_uint_eq(ask(fd, "more.wild.test", 1).code, 2);
	record = erig_record(rig, 0, CONTROL_EVENT_DNS, 0);
	ck_assert_str_eq(record.reason, "pool_exhausted");
	ck_assert_str_eq(ask(fd, "a.test", 1).text, "A 198.18.0.16 60");
	(void)close(fd);
	end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("dns_server");
	TCase *tcase = tcase_create("dns_server");

	tcase_add_test(tcase, udp);
	tcase_add_test(tcase, two_at_once);
	tcase_add_test(tcase, tcp);
	tcase_add_test(tcase, many_streams);
	tcase_add_test(tcase, rate_limit);
	tcase_add_test(tcase, counted_at_the_end);
	tcase_add_test(tcase, real);
	tcase_add_test(tcase, supervisor_is_slow);
	tcase_add_test(tcase, exhausted);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
