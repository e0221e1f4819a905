/*
 * mode_tls in a whole egress process under its own filter: the test is the program and the server, each with its own
 * TLS.
 */
#include <check.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "tests/unit/egress/egress-rig.h"
#include "confine/selffilter.h"
#include "tests/unit/egress/tls-rig.h"
#include "tests/unit/unit.h"

#define DAY (24 * 60 * 60L)
#define RESPONSE "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

/* ---- the server: one connection, one request ---- */

static struct server {
	int fd;
	uint16_t port;
	pthread_t thread;
	X509 *root, *certificate;
	EVP_PKEY *root_key, *key;
	const char *alpn; /* that it chooses, as on the wire ("\2h2"); NULL: it knows none */
	const char *response;
	const char *plain; /* says this instead of TLS */
	bool cut;          /* ends without close_notify */
	char asked[8192], sni[256], offered[64];
	bool shaken;
} server;

static int server_alpn(SSL *ssl, const unsigned char **ret, unsigned char *ret_len, const unsigned char *offered,
		       unsigned len, void *ctx)
{
	(void)ssl;
	(void)ctx;
	memcpy(server.offered, offered, len < sizeof(server.offered) ? len : sizeof(server.offered) - 1);
	*ret = (const unsigned char *)server.alpn + 1;
	*ret_len = (unsigned char)server.alpn[0];
	return SSL_TLSEXT_ERR_OK;
}

static void speak(SSL *ssl)
{
	const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
	size_t len = 0, got;

	(void)snprintf(server.sni, sizeof(server.sni), "%s", name ? name : "");
	while (!strstr(server.asked, "\r\n\r\n") &&
	       SSL_read_ex(ssl, server.asked + len, sizeof(server.asked) - 1 - len, &got))
		len += got;
	if (!len)
		return;
	(void)SSL_write(ssl, server.response, (int)strlen(server.response));
	if (!server.cut)
		(void)SSL_shutdown(ssl);
}

static void *serve(void *ctx)
{
	int fd = accept(server.fd, NULL, NULL);
	SSL_CTX *context = SSL_CTX_new(TLS_server_method());
	SSL *ssl;

	if (fd < 0)
		return ctx;
	if (server.plain) {
		(void)io_write_all(fd, server.plain, strlen(server.plain));
		(void)shutdown(fd, SHUT_WR);
		while (read(fd, server.asked, sizeof(server.asked)) > 0)
			;
	} else {
		if (server.alpn)
			SSL_CTX_set_alpn_select_cb(context, server_alpn, NULL);
		ssl = SSL_new(context);
		(void)SSL_use_certificate(ssl, server.certificate);
		(void)SSL_use_PrivateKey(ssl, server.key);
		(void)SSL_set_fd(ssl, fd);
		server.shaken = SSL_accept(ssl) == 1;
		if (server.shaken)
			speak(ssl);
		SSL_free(ssl);
	}
	(void)close(fd);
	SSL_CTX_free(context);
	return ctx;
}

/* ---- the run around it ---- */

static struct egress_rig *rig;
static struct ca *ca;
static char *roots;

static int lock_down(void *ctx)
{
	const char *why;

	(void)ctx;
	if (!selffilter_works_in_this_build(&why))
		return 0;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : selffilter_install(SELF_EGRESS);
}

/* The server's certificate is for `name`, and its root known if `known`. */
static void begin(const char *name, bool known)
{
	struct erig_options options = {.lock_down = lock_down};
	struct authority authority;
	char policy[512];

	server.root = tls_rig_certificate("root.test", NULL, NULL, -DAY, DAY, &server.root_key);
	server.certificate = tls_rig_certificate(name, server.root, server.root_key, -DAY, DAY, &server.key);
	server.fd = erig_server(&server.port);
	if (!server.response)
		server.response = RESPONSE;
	ck_assert_int_eq(authority_make("rig", &authority), 0);
	ck_assert_int_eq(ca_create(&authority, &ca), 0);
	roots = tls_rig_pem(server.root);
	options.ca = ca;
	options.roots = known ? roots : "";
	(void)snprintf(policy, sizeof(policy),
		       "{\"network\": {\"allow\": [{\"host\": \"a.test\", \"port\": %u, \"proto\": \"https\", "
		       "\"private\": true, \"http\": [\"GET /**\"]}], \"resolve\": {\"a.test\": \"127.0.0.1\"}}}",
		       server.port);
	rig = erig_start_with(policy, &options);
	ck_assert_int_eq(pthread_create(&server.thread, NULL, serve, NULL), 0);
}

static struct control_record end(void)
{
	struct control_record record = erig_record(rig, erig_last(rig), CONTROL_EVENT_CLOSE, 0);

	ck_assert_int_eq(pthread_join(server.thread, NULL), 0);
	(void)close(server.fd);
	ck_assert_int_eq(erig_end(rig), 0);
	X509_free(server.root);
	X509_free(server.certificate);
	EVP_PKEY_free(server.root_key);
	EVP_PKEY_free(server.key);
	ca_free(ca);
	free(roots);
	return record;
}

/* ---- the program ---- */

static SSL *program(const char *alpn, bool trusts)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	BIO *bio = BIO_new_mem_buf(ca_get_pem(ca), -1);
	X509 *root = PEM_read_bio_X509(bio, NULL, NULL, NULL);
	SSL *ssl;

	ck_assert(context && root);
	if (trusts)
		ck_assert(X509_STORE_add_cert(SSL_CTX_get_cert_store(context), root));
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	ssl = SSL_new(context);
	ck_assert(ssl && SSL_set_tlsext_host_name(ssl, "a.test") && SSL_set1_host(ssl, "a.test"));
	if (*alpn)
		ck_assert_int_eq(SSL_set_alpn_protos(ssl, (const unsigned char *)alpn, (unsigned)strlen(alpn)), 0);
	X509_free(root);
	BIO_free(bio);
	SSL_CTX_free(context);
	return ssl;
}

static SSL *connected(const char *alpn, bool trusts, int *ret_fd)
{
	SSL *ssl = program(alpn, trusts);

	*ret_fd = erig_connect(rig, "a.test", server.port);
	ck_assert_int_ge(*ret_fd, 0);
	ck_assert_int_eq(SSL_set_fd(ssl, *ret_fd), 1);
	return ssl;
}

static char heard[65536];

/* Asks, and reads to the end: SSL_ERROR_ZERO_RETURN for an orderly one. */
static int ask(SSL *ssl, const char *request)
{
	size_t len = 0, got;
	int result;

	ck_assert_int_eq(SSL_write(ssl, request, (int)strlen(request)), (int)strlen(request));
	while ((result = SSL_read_ex(ssl, heard + len, sizeof(heard) - 1 - len, &got)) == 1)
		len += got;
	heard[len] = '\0';
	return SSL_get_error(ssl, result);
}

static const char *get(const char *more)
{
	static char text[512];

	(void)snprintf(text, sizeof(text), "GET /x HTTP/1.1\r\nHost: a.test:%u\r\n%sConnection: close\r\n\r\n",
		       server.port, more);
	return text;
}

static void chosen(const SSL *ssl, const char *expected)
{
	const unsigned char *name;
	unsigned len;

	SSL_get0_alpn_selected(ssl, &name, &len);
	ck_assert_msg(len == strlen(expected) && (!len || !memcmp(name, expected, len)), "%.*s", (int)len,
		      (const char *)name);
}

/* ---- opened ---- */

START_TEST(test_opened)
{
	struct control_record close_record, request;
	SSL *ssl;
	int fd;

	begin("a.test", true);
	ssl = connected("", true, &fd);
	ck_assert_int_eq(SSL_connect(ssl), 1);
	chosen(ssl, "");
	ck_assert_int_eq(ask(ssl, get("X-A: b\r\n")), SSL_ERROR_ZERO_RETURN);
	ck_assert_msg(strstr(heard, "200 OK") && strstr(heard, "\r\n\r\nok"), "%s", heard);
	ck_assert_msg(strstr(server.asked, "GET /x HTTP/1.1\r\n") && strstr(server.asked, "X-A: b\r\n"), "%s",
		      server.asked);
	ck_assert_str_eq(server.sni, "a.test");
	request = erig_record(rig, erig_last(rig), CONTROL_EVENT_REQUEST, 0);
	ck_assert(request.allow && !strcmp(request.path, "/x") && !strcmp(request.sni, "a.test"));
	SSL_free(ssl);
	(void)close(fd);
	close_record = end();
	ck_assert_str_eq(close_record.reason, "");
	ck_assert_uint_gt(close_record.bytes_down, 0);
}
END_TEST

/* The program's hello arrives byte by byte. */
START_TEST(test_dribble)
{
	SSL *ssl;
	BIO *out = BIO_new(BIO_s_mem()), *in = BIO_new(BIO_s_mem());
	char byte, data[4096];
	int fd;
	ssize_t got;

	begin("a.test", true);
	ssl = program("\2h2\10http/1.1", true);
	fd = erig_connect(rig, "a.test", server.port);
	ck_assert_int_ge(fd, 0);
	SSL_set_bio(ssl, in, out);
	while (SSL_connect(ssl) != 1) {
		while (BIO_read(out, &byte, 1) == 1)
			ck_assert_int_eq(send(fd, &byte, 1, MSG_NOSIGNAL), 1);
		got = recv(fd, data, sizeof(data), 0);
		ck_assert_int_gt(got, 0);
		ck_assert_int_eq(BIO_write(in, data, (int)got), (int)got);
	}
	SSL_free(ssl);
	(void)close(fd);
	(void)end();
	ck_assert(server.shaken);
}
END_TEST

/* The program is offered what the server chose, from what both know. */
static void alpn(const char *program_offers, const char *server_chooses, const char *offered, const char *expected)
{
	SSL *ssl;
	int fd;

	memset(&server, 0, sizeof(server));
	server.alpn = server_chooses;
	begin("a.test", true);
	ssl = connected(program_offers, true, &fd);
	ck_assert_int_eq(SSL_connect(ssl), 1);
	chosen(ssl, expected);
	SSL_free(ssl);
	(void)close(fd);
	(void)end();
	ck_assert_str_eq(server.offered, offered);
}

START_TEST(test_alpn)
{
	alpn("\2h2\10http/1.1", "\10http/1.1", "\2h2\10http/1.1", "http/1.1");
	alpn("\2h2\10http/1.1", "\2h2", "\2h2\10http/1.1", "h2");
	alpn("\10http/1.1\2h2", "\2h2", "\10http/1.1\2h2", "h2");
	alpn("\6spdy/3\2h2\10http/1.0\10http/1.1\2h3", "\2h2", "\2h2\10http/1.1", "h2");
	alpn("\2h2\10http/1.1", NULL, "", "");
	alpn("\4mqtt", NULL, "", "");
}
END_TEST

/* ---- not opened ---- */

static void is_502(const char *detail)
{
	ck_assert_msg(strstr(heard, "HTTP/1.1 502 Bad Gateway\r\n") && strstr(heard, "\"upstream_tls\"") &&
			      strstr(heard, "\"host\": \"a.test\"") && strstr(heard, detail),
		      "%s", heard);
}

static void refused_upstream(const char *name, bool known, const char *detail)
{
	struct control_record record;
	SSL *ssl;
	int fd;

	begin(name, known);
	ssl = connected("\2h2\10http/1.1", true, &fd);
	ck_assert_int_eq(SSL_connect(ssl), 1);
	chosen(ssl, "http/1.1");
	ck_assert_int_eq(ask(ssl, get("")), SSL_ERROR_ZERO_RETURN);
	is_502(detail);
	SSL_free(ssl);
	(void)close(fd);
	record = end();
	ck_assert_str_eq(record.reason, "upstream_tls");
	ck_assert_str_eq(record.close_cause, "refused");
	ck_assert_uint_eq(record.http_status, 502);
	ck_assert_str_eq(server.asked, ""); /* no byte of the request went there */
}

START_TEST(test_unknown_root)
{
	refused_upstream("a.test", false, "unable to get local issuer certificate");
}
END_TEST

START_TEST(test_wrong_name)
{
	refused_upstream("b.test", true, "hostname mismatch");
}
END_TEST

START_TEST(test_no_tls)
{
	struct control_record record;
	SSL *ssl;
	int fd;

	server.plain = "220 this is not TLS\r\n";
	begin("a.test", true);
	ssl = connected("", true, &fd);
	ck_assert_int_eq(SSL_connect(ssl), 1);
	ck_assert_int_eq(ask(ssl, get("")), SSL_ERROR_ZERO_RETURN);
	is_502("handshake with the server");
	SSL_free(ssl);
	(void)close(fd);
	record = end();
	ck_assert_str_eq(record.reason, "upstream_tls");
	ck_assert_ptr_null(strstr(server.asked, "GET"));
}
END_TEST

/* It speaks HTTP/2 only: SETTINGS and GOAWAY, which carries the reason. */
START_TEST(test_goaway)
{
	SSL *ssl;
	int fd;

	begin("b.test", true);
	ssl = connected("\2h2", true, &fd);
	ck_assert_int_eq(SSL_connect(ssl), 1);
	chosen(ssl, "h2");
	ck_assert_int_eq(ask(ssl, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), SSL_ERROR_ZERO_RETURN);
	ck_assert_mem_eq(heard, "\0\0\0\4\0\0\0\0\0", 9);
	ck_assert_int_eq(heard[11], (char)(8 + strlen(heard + 26)));
	ck_assert_mem_eq(heard + 12, "\7\0\0\0\0\0\0\0\0\0\0\0\0\2", 14);
	ck_assert_msg(strstr(heard + 26, "mismatch") != NULL, "%s", heard + 26);
	SSL_free(ssl);
	(void)close(fd);
	ck_assert_str_eq(end().reason, "upstream_tls");
}
END_TEST

/* ---- the program does not trust us ---- */

START_TEST(test_rejected)
{
	struct control_record record;
	SSL *ssl;
	int fd;

	begin("a.test", true);
	ssl = connected("", false, &fd);
	ck_assert_int_ne(SSL_connect(ssl), 1);
	SSL_free(ssl);
	(void)close(fd);
	record = end();
	ck_assert_str_eq(record.reason, "client_rejected_ca");
	ck_assert_str_eq(record.close_cause, "client");
	ck_assert_str_eq(server.asked, "");
}
END_TEST

/* It says hello and goes. */
START_TEST(test_gone)
{
	SSL *ssl;
	BIO *out = BIO_new(BIO_s_mem());
	char data[4096];
	int fd, len;

	begin("a.test", true);
	ssl = program("", true);
	fd = erig_connect(rig, "a.test", server.port);
	SSL_set_bio(ssl, BIO_new(BIO_s_mem()), out);
	(void)SSL_connect(ssl);
	len = BIO_read(out, data, sizeof(data));
	ck_assert_int_eq(send(fd, data, (size_t)len, MSG_NOSIGNAL), len);
	ck_assert_int_gt(recv(fd, data, sizeof(data), 0), 0); /* has seen the certificate */
	(void)close(fd);
	SSL_free(ssl);
	ck_assert_str_eq(end().reason, "client_rejected_ca");
}
END_TEST

/* It pins, and looks after the handshake: nothing else tells it from one that has nothing to ask. */
START_TEST(test_gone_after)
{
	struct control_record record;
	SSL *ssl;
	int fd;

	begin("a.test", true);
	ssl = connected("", true, &fd);
	ck_assert_int_eq(SSL_connect(ssl), 1);
	(void)SSL_shutdown(ssl);
	SSL_free(ssl);
	(void)close(fd);
	record = end();
	ck_assert_str_eq(record.close_cause, "client_rejected_ca");
	ck_assert_str_eq(record.reason, "");
}
END_TEST

/* ---- ends ---- */

/* A response that ends with its connection, cut off by anybody: the program must see that. */
START_TEST(test_truncated)
{
	SSL *ssl;
	int fd;

	server.cut = true;
	server.response = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\npart of";
	begin("a.test", true);
	ssl = connected("", true, &fd);
	ck_assert_int_eq(SSL_connect(ssl), 1);
	ck_assert_int_ne(ask(ssl, get("")), SSL_ERROR_ZERO_RETURN);
	SSL_free(ssl);
	(void)close(fd);
	(void)end();
}
END_TEST

START_TEST(test_until_close)
{
	SSL *ssl;
	int fd;

	server.response = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of it";
	begin("a.test", true);
	ssl = connected("", true, &fd);
	ck_assert_int_eq(SSL_connect(ssl), 1);
	ck_assert_int_eq(ask(ssl, get("")), SSL_ERROR_ZERO_RETURN);
	ck_assert_msg(strstr(heard, "all of it") != NULL, "%s", heard);
	SSL_free(ssl);
	(void)close(fd);
	(void)end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("egress-tls");
	TCase *tcase = tcase_create("egress-tls");

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, test_opened);
	tcase_add_test(tcase, test_dribble);
	tcase_add_test(tcase, test_alpn);
	tcase_add_test(tcase, test_unknown_root);
	tcase_add_test(tcase, test_wrong_name);
	tcase_add_test(tcase, test_no_tls);
	tcase_add_test(tcase, test_goaway);
	tcase_add_test(tcase, test_rejected);
	tcase_add_test(tcase, test_gone);
	tcase_add_test(tcase, test_gone_after);
	tcase_add_test(tcase, test_truncated);
	tcase_add_test(tcase, test_until_close);
	return unit_run(suite);
}
