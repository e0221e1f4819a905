/* TLS that is not opened, through a whole egress process: it must say whom it is for. */
#include <check.h>
#include <errno.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/io.h"
#include "tests/unit/egress/egress-rig.h"
#include "tests/unit/unit.h"

static struct egress_rig *rig;
static int server = -1;
static uint16_t port;

static void set_up(void)
{
	char policy[1024];

	server = erig_server(&port);
	(void)snprintf(policy, sizeof(policy),
		       "{\"network\": {\"allow\": [{\"host\": \"a.test\", \"port\": %u, \"proto\": \"https\", "
		       "\"private\": true}, {\"host\": \"127.0.0.1\", \"port\": %u, \"proto\": \"https\", \"private\": "
		       "true}], \"resolve\": {\"a.test\": \"127.0.0.1\"}}}",
		       port, port);
	rig = erig_start(policy);
}

static void tear_down(void)
{
	(void)close(server);
	ck_assert_int_eq(erig_end(rig), 0);
}

static size_t hello_for(const char *sni, uint8_t *data, size_t cap)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	SSL *ssl = SSL_new(context);
	int len;

	SSL_set_bio(ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
	if (sni)
		ck_assert_int_eq(SSL_set_tlsext_host_name(ssl, (char *)(uintptr_t)sni), 1);
	ck_assert_int_lt(SSL_connect(ssl), 1);
	len = BIO_read(SSL_get_wbio(ssl), data, (int)cap);
	ck_assert_int_gt(len, 0);
	SSL_free(ssl);
	SSL_CTX_free(context);
	return (size_t)len;
}

/* What comes until the end, at most cap - 1 bytes. */
static size_t hear(int fd, uint8_t *data, size_t cap)
{
	size_t len = 0;

	for (;;) {
		ssize_t got;

		ck_assert_msg(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, ERIG_WAIT_MS) == 1, "still open");
		got = read(fd, data + len, cap - len);
		if (got <= 0)
			return len;
		len += (size_t)got;
	}
}

static void pair(const char *host, int *ret_program, int *ret_upstream)
{
	*ret_program = erig_connect(rig, host, port);
	ck_assert_int_ge(*ret_program, 0);
	*ret_upstream = erig_accept(server);
}

/* All of it arrives as it was sent, and the other way round. */
static void passes(const char *host, const char *sni, size_t pieces)
{
	uint8_t hello[4096], heard[4096];
	size_t len = hello_for(sni, hello, sizeof(hello));
	int program, upstream;

	pair(host, &program, &upstream);
	for (size_t at = 0; at < len; at += pieces) {
		ck_assert_int_eq(io_write_all(program, hello + at, len - at < pieces ? len - at : pieces), 0);
		if (pieces < len)
			(void)poll(NULL, 0, 1);
	}
	ck_assert_int_eq(io_write_all(program, "more", 4), 0);
	ck_assert_int_eq(shutdown(program, SHUT_WR), 0);
	ck_assert_uint_eq(hear(upstream, heard, sizeof(heard)), len + 4);
	ck_assert_int_eq(memcmp(heard, hello, len), 0);
	ck_assert_int_eq(memcmp(heard + len, "more", 4), 0);
	ck_assert_int_eq(io_write_all(upstream, "answer", 6), 0);
	(void)close(upstream);
	ck_assert_uint_eq(hear(program, heard, sizeof(heard)), 6);
	(void)close(program);
	ck_assert_str_eq(erig_record(rig, erig_last(rig), CONTROL_EVENT_CLOSE, 0).sni, sni ? sni : "");
}

static void refused(const char *host, const void *data, size_t len, const char *reason, const char *sni)
{
	static const uint8_t alert[] = {21, 3, 3, 0, 2, 2, 112};
	uint8_t heard[64];
	struct control_record record;
	int program, upstream;

	pair(host, &program, &upstream);
	ck_assert_int_eq(io_write_all(program, data, len), 0);
	ck_assert_uint_eq(hear(program, heard, sizeof(heard)), sizeof(alert));
	ck_assert_int_eq(memcmp(heard, alert, sizeof(alert)), 0);
	ck_assert_uint_eq(hear(upstream, heard, sizeof(heard)), 0); /* not a byte */
	(void)close(program);
	(void)close(upstream);
	record = erig_record(rig, erig_last(rig), CONTROL_EVENT_CLOSE, 0);
	ck_assert_str_eq(record.reason, reason);
	ck_assert_str_eq(record.sni, sni);
	ck_assert_uint_eq(record.bytes_up, 0);
}

static void refused_hello(const char *host, const char *sni, const char *reason)
{
	uint8_t hello[4096];
	size_t len = hello_for(sni, hello, sizeof(hello));

	refused(host, hello, len, reason, sni ? sni : "");
}

START_TEST(right)
{
	passes("a.test", "a.test", 4096);
	passes("a.test", "a.test", 50);
	passes("a.test", "a.test", 3);
	passes("127.0.0.1", NULL, 4096);
}
END_TEST

START_TEST(wrong)
{
	refused_hello("a.test", "b.test", "sni_mismatch");
	refused_hello("a.test", "a.test.evil.example", "sni_mismatch");
	refused_hello("a.test", "127.0.0.1", "sni_mismatch");
	refused_hello("a.test", NULL, "no_sni");
	refused_hello("127.0.0.1", "a.test", "sni_mismatch");
	refused("a.test", "GET / HTTP/1.1\r\n\r\n", 18, "not_tls", "");
	refused("a.test", "\x16\3\1\0\5\2\0\0\1x", 10, "not_tls", "");
}
END_TEST

/* Who goes before having said anything has done no wrong; in the middle of a hello it was no TLS. */
START_TEST(gone)
{
	uint8_t hello[4096], heard[16];
	size_t len = hello_for("a.test", hello, sizeof(hello));
	int program, upstream;

	pair("a.test", &program, &upstream);
	(void)close(program);
	ck_assert_uint_eq(hear(upstream, heard, sizeof(heard)), 0);
	(void)close(upstream);
	ck_assert_str_eq(erig_record(rig, erig_last(rig), CONTROL_EVENT_CLOSE, 0).reason, "");
	pair("a.test", &program, &upstream);
	ck_assert_int_eq(io_write_all(program, hello, len / 2), 0);
	(void)close(program);
	ck_assert_uint_eq(hear(upstream, heard, sizeof(heard)), 0);
	(void)close(upstream);
	ck_assert_str_eq(erig_record(rig, erig_last(rig), CONTROL_EVENT_CLOSE, 0).reason, "not_tls");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("mode_hello");
	TCase *tcase = tcase_create("mode_hello");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, right);
	tcase_add_test(tcase, wrong);
	tcase_add_test(tcase, gone);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
