/* Channels, plain and with TLS: early bytes, counters, ends that are orderly and ends that are not. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/rand.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "egress/tls/context.h"
#include "tests/unit/memory-search.h"
#include "tests/unit/egress/tls-rig.h"
#include "tests/unit/unit.h"

static struct ca *ca;
static struct tls *tls;

static void set_up(void)
{
	struct authority authority;

	ck_assert_int_eq(authority_make("test", &authority), 0);
	ck_assert_int_eq(ca_create(&authority, &ca), 0);
	ck_assert_int_eq(tls_create(ca, ca_get_pem(ca), strlen(ca_get_pem(ca)), &tls), 0);
}

static void tear_down(void)
{
	tls_free(tls);
	ca_free(ca);
}

static void put_tls(struct tls_rig *rig)
{
	ck_assert_int_eq(channel_start_tls(&rig->client, tls_create_client(tls, "a.test", "")), 0);
	ck_assert_int_eq(channel_start_tls(&rig->server, tls_create_server(tls, "a.test", "")), 0);
}

static void joined(struct tls_rig *rig, size_t step)
{
	int here, there;

	tls_rig_init(rig, step);
	put_tls(rig);
	tls_rig_handshake(rig, &here, &there);
	ck_assert_int_eq(here, 0);
	ck_assert_int_eq(there, 0);
}

/* ---- plain ---- */

START_TEST(test_plain)
{
	struct tls_rig rig;
	char data[16];

	tls_rig_init(&rig, 0);
	ck_assert_int_eq(channel_read(&rig.server, data, sizeof(data)), -EAGAIN);
	ck_assert_int_eq(channel_write(&rig.client, "hello", 5), 5);
	ck_assert_int_eq(channel_half_close(&rig.client), 0);
	ck_assert_int_eq(channel_half_close(&rig.client), 0);
	ck_assert_int_eq(channel_write(&rig.client, "x", 1), -EPIPE);
	ck_assert_int_eq(channel_read(&rig.server, data, 3), 3);
	ck_assert_int_eq(channel_read(&rig.server, data + 3, 13), 2);
	ck_assert_mem_eq(data, "hello", 5);
	ck_assert(!rig.server.peer_has_ended);
	ck_assert_int_eq(channel_read(&rig.server, data, sizeof(data)), 0);
	ck_assert(rig.server.peer_has_ended);
	ck_assert_int_eq(channel_read(&rig.server, data, sizeof(data)), 0);
	ck_assert_int_eq(channel_write(&rig.server, "back", 4), 4); /* half open */
	ck_assert_int_eq(channel_read(&rig.client, data, sizeof(data)), 4);
	ck_assert_uint_eq(rig.client.bytes_out, 5);
	ck_assert_uint_eq(rig.server.bytes_in, 5);
	channel_close(&rig.server, false);
	channel_close(&rig.server, false);
	ck_assert_int_eq(channel_read(&rig.client, data, sizeof(data)), 0);
	tls_rig_done(&rig);
}
END_TEST

/* Given back once, twice, in parts: the order stays, and nothing is counted twice. */
START_TEST(test_unread)
{
	struct tls_rig rig;
	char data[16];

	tls_rig_init(&rig, 0);
	ck_assert_int_eq(channel_write(&rig.client, "0123456789", 10), 10);
	ck_assert_int_eq(channel_read(&rig.server, data, 6), 6);
	ck_assert_int_eq(channel_put_back_bytes(&rig.server, data, 6), 0);
	ck_assert(channel_has_bytes(&rig.server));
	ck_assert_uint_eq(rig.server.bytes_in, 0);
	ck_assert_int_eq(channel_read(&rig.server, data, 2), 2);
	ck_assert_int_eq(channel_put_back_bytes(&rig.server, "ab", 2), 0);
	ck_assert_int_eq(channel_read(&rig.server, data, sizeof(data)), 6);
	ck_assert_mem_eq(data, "ab2345", 6);
	ck_assert(!channel_has_bytes(&rig.server));
	ck_assert_int_eq(channel_read(&rig.server, data, sizeof(data)), 4);
	ck_assert_mem_eq(data, "6789", 4);
	ck_assert_uint_eq(rig.server.bytes_in, 10);
	ck_assert_int_eq(channel_put_back_bytes(&rig.server, data, 0), 0);
	ck_assert_int_eq(channel_read(&rig.server, data, sizeof(data)), -EAGAIN);
	tls_rig_done(&rig);
}
END_TEST

/* A reset is seen as one; TCP, since a unix socket has none. */
static int end_over_tcp(bool abort)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
	    client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct tls_rig rig;
	char byte;
	ssize_t got;

	ck_assert(!bind(listener, (struct sockaddr *)&address, size) && !listen(listener, 1) &&
		  !getsockname(listener, (struct sockaddr *)&address, &size) &&
		  !connect(client, (struct sockaddr *)&address, size));
	tls_rig_init(&rig, 0);
	channel_close(&rig.server, false);
	channel_init(&rig.server, rig.loop, accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC),
		     rig.client.watch.ready);
	channel_close(&rig.server, abort);
	got = recv(client, &byte, 1, 0);
	got = got < 0 ? -errno : got;
	(void)close(client);
	(void)close(listener);
	tls_rig_done(&rig);
	return (int)got;
}

START_TEST(test_abort)
{
	ck_assert_int_eq(end_over_tcp(false), 0);
	ck_assert_int_eq(end_over_tcp(true), -ECONNRESET);
}
END_TEST

/* ---- TLS ---- */

START_TEST(test_tls_dribble)
{
	static const size_t steps[] = {1, 2, 5, 97, 16384, 0};
	struct tls_rig rig;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		joined(&rig, steps[i]);
		tls_rig_exchange(&rig, &rig.client, &rig.server, steps[i] == 1 ? 3000 : 100000);
		tls_rig_exchange(&rig, &rig.server, &rig.client, steps[i] == 1 ? 40000 : 700000);
		ck_assert_uint_eq(rig.server.bytes_in, rig.client.bytes_out); /* of what is inside TLS only */
		ck_assert_uint_eq(rig.server.bytes_in, steps[i] == 1 ? 3000 : 100000);
		tls_rig_done(&rig);
	}
}
END_TEST

/* The ClientHello was read by another function first, whole or in part: it comes again, below TLS. */
START_TEST(test_tls_early)
{
	uint8_t hello[4096];

	for (size_t part = 1; part < 400; part += 66) {
		struct tls_rig rig;
		ssize_t got = 0;
		int here, there;

		tls_rig_init(&rig, 0);
		ck_assert_int_eq(channel_start_tls(&rig.client, tls_create_client(tls, "a.test", "h2")), 0);
		ck_assert_int_eq(channel_step_tls_handshake(&rig.client), -EAGAIN);
		got = channel_read(&rig.server, hello, part);
		ck_assert_int_gt(got, 0);
		ck_assert_int_eq(channel_put_back_bytes(&rig.server, hello, (size_t)got), 0);
		ck_assert_int_eq(channel_start_tls(&rig.server, tls_create_server(tls, "a.test", "h2")), 0);
		ck_assert(channel_has_bytes(&rig.server));
		tls_rig_handshake(&rig, &here, &there);
		ck_assert(!here && !there && !channel_has_bytes(&rig.server));
		ck_assert_uint_eq(rig.server.bytes_in, 0);
		tls_rig_exchange(&rig, &rig.client, &rig.server, 50);
		/* and above TLS */
		ck_assert_int_eq(channel_put_back_bytes(&rig.server, "again", 5), 0);
		ck_assert_int_eq(channel_read(&rig.server, hello, sizeof(hello)), 5);
		tls_rig_done(&rig);
	}
}
END_TEST

/*
 * Half a record is nothing that can be read: a caller that believed it were would ask again and again until the
 * rest has come.
 */
START_TEST(test_tls_half)
{
	struct tls_rig rig;
	char data[64];

	joined(&rig, 12);
	ck_assert_int_eq(channel_write(&rig.client, "0123456789", 10), 10);
	ck_assert(tls_rig_pass(&rig)); /* a record's head is five bytes */
	ck_assert_int_eq(channel_read(&rig.server, data, sizeof(data)), -EAGAIN);
	ck_assert(!channel_has_bytes(&rig.server));
	while (tls_rig_pass(&rig))
		;
	ck_assert_int_eq(channel_read(&rig.server, data, sizeof(data)), 10);
	tls_rig_done(&rig);
}
END_TEST

/* What is decrypted already does not make the socket readable. */
START_TEST(test_tls_pending)
{
	struct tls_rig rig;
	char data[64];

	joined(&rig, 0);
	ck_assert_int_eq(channel_write(&rig.client, "0123456789", 10), 10);
	ck_assert_int_eq(channel_read(&rig.server, data, 4), 4);
	ck_assert(channel_has_bytes(&rig.server));
	ck_assert_int_eq(channel_read(&rig.server, data, sizeof(data)), 6);
	ck_assert(!channel_has_bytes(&rig.server));
	ck_assert_int_eq(channel_read(&rig.server, data, sizeof(data)), -EAGAIN);
	tls_rig_done(&rig);
}
END_TEST

START_TEST(test_tls_end)
{
	struct tls_rig rig;
	char data[64];

	joined(&rig, 0);
	ck_assert_int_eq(channel_write(&rig.client, "last", 4), 4);
	ck_assert_int_eq(channel_half_close(&rig.client), 0);
	ck_assert_int_eq(channel_write(&rig.client, "x", 1), -EPIPE);
	ck_assert_int_eq(channel_read(&rig.server, data, sizeof(data)), 4);
	ck_assert_int_eq(channel_read(&rig.server, data, sizeof(data)), 0);
	ck_assert(rig.server.peer_has_ended);
	tls_rig_exchange(&rig, &rig.server, &rig.client, 300000); /* the other direction goes on */
	channel_close(&rig.server, false);                         /* by itself it says good-bye */
	ck_assert_int_eq(channel_read(&rig.client, data, sizeof(data)), 0);
	tls_rig_done(&rig);
}
END_TEST

/* A FIN that anybody could have sent, at a record's edge and within one. */
START_TEST(test_tls_truncated)
{
	char data[64];

	for (int inside = 0; inside < 2; inside++) {
		struct tls_rig rig;

		joined(&rig, 1);
		ck_assert_int_eq(channel_write(&rig.client, "cut here", 8), 8);
		for (int i = 0; inside ? i < 12 : true; i++)
			if (!tls_rig_pass(&rig))
				break;
		ck_assert_int_eq(shutdown(rig.far, SHUT_WR), 0);
		if (!inside)
			ck_assert_int_eq(channel_read(&rig.server, data, sizeof(data)), 8);
		ck_assert_int_eq(channel_read(&rig.server, data, sizeof(data)), -ECONNRESET);
		ck_assert_int_eq(channel_read(&rig.server, data, sizeof(data)), -ECONNRESET);
		ck_assert(!rig.server.peer_has_ended);
		/* and from it follows no orderly end of ours */
		ck_assert_int_eq(channel_half_close(&rig.server), -ECONNRESET);
		tls_rig_done(&rig);
	}
}
END_TEST

START_TEST(test_tls_garbled)
{
	struct tls_rig rig;
	char data[64];
	uint8_t record[128];
	ssize_t got;

	joined(&rig, 1);
	ck_assert_int_eq(channel_write(&rig.client, "garble me", 9), 9);
	got = read(rig.near, record, sizeof(record));
	ck_assert_int_gt(got, 10);
	record[got - 3] ^= 4;
	ck_assert_int_eq(write(rig.far, record, (size_t)got), got);
	ck_assert_int_eq(channel_read(&rig.server, data, sizeof(data)), -EPROTO);
	ck_assert_int_eq(channel_write(&rig.server, "x", 1), -EPROTO);
	ck_assert_int_eq(channel_half_close(&rig.server), -EPROTO);
	tls_rig_done(&rig);
}
END_TEST

/* Without a reader: what was taken stays bounded, the end waits for it, and all of it arrives. */
START_TEST(test_tls_blocked)
{
	struct tls_rig rig;
	uint8_t *data = calloc(1, 1 << 20);
	uint64_t taken = 0, got = 0;
	ssize_t count;

	joined(&rig, 0);
	while ((count = channel_write(&rig.client, data, 1 << 20)) > 0)
		taken += (uint64_t)count;
	ck_assert_int_eq(count, -EAGAIN);
	ck_assert_uint_eq(rig.client.bytes_out, taken);
	ck_assert_uint_lt(rig.client.out.len - rig.client.out.at, 20000);
	ck_assert_int_eq(channel_half_close(&rig.client), -EAGAIN);
	channel_set_events(&rig.client, false, false);
	ck_assert_uint_eq(rig.client.watch.interest, (unsigned)EPOLLOUT); /* there is still something to be sent */
	while ((count = channel_read(&rig.server, data, 1 << 20)) != 0) {
		ck_assert(count > 0 || count == -EAGAIN);
		got += count > 0 ? (uint64_t)count : 0;
		channel_set_events(&rig.client, true, false); /* sends it, and the FIN after it */
	}
	ck_assert_uint_eq(got, taken);
	ck_assert(rig.client.fin_was_sent && !rig.client.out.data);
	ck_assert_uint_eq(rig.client.watch.interest, (unsigned)EPOLLIN);
	free(data);
	tls_rig_done(&rig);
}
END_TEST

/* An end that does not fit is not taken for one that was sent. */
START_TEST(test_tls_wait_ended)
{
	struct tls_rig rig;
	char data[8];

	joined(&rig, 0);
	ck_assert_int_eq(channel_half_close(&rig.client), 0);
	ck_assert_int_eq(channel_read(&rig.server, data, sizeof(data)), 0);
	channel_set_events(&rig.server, true, false); /* would be readable for ever */
	ck_assert_uint_eq(rig.server.watch.interest, 0);
	channel_set_events(&rig.server, true, true);
	ck_assert_uint_eq(rig.server.watch.interest, (unsigned)EPOLLOUT);
	tls_rig_done(&rig);
}
END_TEST

/* Requests for new keys, whose answers are not read, do not fill memory. */
START_TEST(test_tls_key_updates)
{
	struct tls_rig rig;
	char data[8];
	ssize_t got = -EAGAIN;

	joined(&rig, 0);
	for (int i = 0; i < 100000 && got == -EAGAIN; i++) {
		if (SSL_key_update(rig.client.ssl, SSL_KEY_UPDATE_REQUESTED) != 1 ||
		    channel_step_tls_handshake(&rig.client) < 0)
			break;
		got = channel_read(&rig.server, data, sizeof(data));
		ck_assert_uint_lt(rig.server.out.len - rig.server.out.at, 256 * 1024);
	}
	tls_rig_done(&rig);
}
END_TEST

/* Tickets without end, all there at once: one call takes some of them, and the socket stays readable for the rest. */
START_TEST(test_tls_tickets)
{
	struct tls_rig rig;
	struct pollfd more;
	char data[8];
	ssize_t got = -EAGAIN;
	int calls = 0;

	joined(&rig, 0);
	SSL_clear_options(rig.server.ssl, SSL_OP_NO_TICKET);
	for (int i = 0; i < 120; i++) {
		ck_assert_int_eq(SSL_new_session_ticket(rig.server.ssl), 1);
		ck_assert_int_eq(channel_step_tls_handshake(&rig.server), 0);
	}
	ck_assert_int_eq(channel_write(&rig.server, "data", 4), 4);
	while (got == -EAGAIN) {
		more = (struct pollfd){.fd = rig.client.watch.fd, .events = POLLIN};
		ck_assert_int_eq(poll(&more, 1, 0), 1);
		got = channel_read(&rig.client, data, sizeof(data));
		calls++;
	}
	ck_assert_int_eq(got, 4);
	ck_assert_int_gt(calls, 3);
	tls_rig_done(&rig);
}
END_TEST

/* Idle ones: what the handshake and the records needed is given back. */
START_TEST(test_tls_memory)
{
	enum { COUNT = 64 };
	struct tls_rig *rig = calloc(COUNT, sizeof(*rig));
	long before, after;
	FILE *file;

#define RSS(into)                                                        \
	do {                                                             \
		file = fopen("/proc/self/statm", "re");                  \
		ck_assert(file &&fscanf(file, "%*d %ld", &(into)) == 1); \
		(void)fclose(file);                                      \
	} while (0)
	joined(&rig[0], 0);
	tls_rig_exchange(&rig[0], &rig[0].client, &rig[0].server, 300000);
	tls_rig_done(&rig[0]);
	RSS(before);
	for (int i = 0; i < COUNT; i++) {
		joined(&rig[i], 0);
		tls_rig_exchange(&rig[i], &rig[i].client, &rig[i].server, 300000);
	}
	RSS(after);
	/* two TLS ends each, as a connection that is opened has */
	ck_assert_msg(!memory_search_possible() || (after - before) * 4 / COUNT < 100, "%ld KiB each",
		      (after - before) * 4 / COUNT);
	for (int i = 0; i < COUNT; i++)
		tls_rig_done(&rig[i]);
	free(rig);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("channel");
	TCase *tcase = tcase_create("channel");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, test_plain);
	tcase_add_test(tcase, test_unread);
	tcase_add_test(tcase, test_abort);
	tcase_add_test(tcase, test_tls_dribble);
	tcase_add_test(tcase, test_tls_early);
	tcase_add_test(tcase, test_tls_half);
	tcase_add_test(tcase, test_tls_pending);
	tcase_add_test(tcase, test_tls_end);
	tcase_add_test(tcase, test_tls_truncated);
	tcase_add_test(tcase, test_tls_garbled);
	tcase_add_test(tcase, test_tls_blocked);
	tcase_add_test(tcase, test_tls_wait_ended);
	tcase_add_test(tcase, test_tls_key_updates);
	tcase_add_test(tcase, test_tls_tickets);
	tcase_add_test(tcase, test_tls_memory);
	tcase_set_timeout(tcase, 60); /* bytes one by one, on a machine that is busy */
	return unit_run(suite);
}
