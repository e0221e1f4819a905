/*
 * Whom the client's side of TLS believes, what the server's side shows, and that neither needs anything once locked
 * down.
 */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "confine/selffilter.h"
#include "egress/tls/context.h"
#include "tests/unit/memory-search.h"
#include "tests/unit/egress/tls-rig.h"
#include "tests/unit/unit.h"

#define DAY (24 * 60 * 60L)

static struct ca *ca;

static void set_up(void)
{
	struct authority authority;

	ck_assert_int_eq(authority_make("0123-test", &authority), 0);
	ck_assert_int_eq(ca_create(&authority, &ca), 0);
}

static void tear_down(void)
{
	ca_free(ca);
}

static struct tls *tls_with(const char *roots)
{
	struct tls *tls;

	ck_assert_int_eq(tls_create(ca, roots, roots ? strlen(roots) : 0, &tls), 0);
	return tls;
}

/* ---- who is believed ---- */

struct case_of {
	const char *host;  /* asked for */
	X509 *certificate; /* shown, with its key */
	EVP_PKEY *key;
	const char *roots;
	const char *text; /* of the error; NULL: none */
};

static void attempt(const struct case_of *of)
{
	struct tls *tls = tls_with(of->roots);
	char text[TLS_ERROR_TEXT_SIZE] = "";
	struct tls_rig rig;
	SSL *server;
	int here, there;

	tls_rig_init(&rig, 0);
	server = tls_create_server(tls, "unused.test", "");
	if (of->certificate)
		ck_assert(SSL_use_certificate(server, of->certificate) == 1 &&
			  SSL_use_PrivateKey(server, of->key) == 1);
	ck_assert_int_eq(channel_start_tls(&rig.server, server), 0);
	ck_assert_int_eq(channel_start_tls(&rig.client, tls_create_client(tls, of->host, "h2,http/1.1")), 0);
	for (here = -EAGAIN, there = -EAGAIN; here == -EAGAIN;
	     there = there == -EAGAIN ? channel_step_tls_handshake(&rig.server) : there)
		here = channel_step_tls_handshake(&rig.client);
	if (of->text) {
		ck_assert_int_eq(here, -EPROTO);
		/* asked late, the queue of errors is another's; what the verification said is not */
		ck_assert_str_eq(tls_describe_error(rig.client.ssl, false, here, text), "upstream_tls");
		ck_assert_msg(strstr(text, of->text) != NULL, "%s: \"%s\" instead of \"%s\"", of->host, text, of->text);
	} else {
		ck_assert_msg(here == 0, "%s: %d", of->host, here);
	}
	tls_rig_done(&rig);
	tls_free(tls);
}

START_TEST(test_verification)
{
	EVP_PKEY *root_key, *key, *self_key, *old_key, *young_key;
	X509 *root = tls_rig_certificate("root.test", NULL, NULL, -DAY, DAY, &root_key);
	X509 *good = tls_rig_certificate("a.test", root, root_key, -DAY, DAY, &key);
	X509 *self = tls_rig_certificate("a.test", NULL, NULL, -DAY, DAY, &self_key);
	X509 *old = tls_rig_certificate("a.test", root, root_key, -2 * DAY, -DAY, &old_key);
	X509 *young = tls_rig_certificate("a.test", root, root_key, DAY, 2 * DAY, &young_key);
	_cleanup_free_ char *roots = tls_rig_pem(root), *itself = tls_rig_pem(self);
	_cleanup_free_ char *both = malloc(strlen(roots) + strlen(itself) + 64);

	(void)snprintf(both, strlen(roots) + strlen(itself) + 64, "# first\n%s# second\n%s", itself, roots);
	attempt(&(struct case_of){"a.test", good, key, roots, NULL});
	attempt(&(struct case_of){"a.test", good, key, both, NULL});
	attempt(&(struct case_of){"b.test", good, key, roots, "hostname mismatch"});
	attempt(&(struct case_of){"a.test.evil.test", good, key, roots, "hostname mismatch"});
	attempt(&(struct case_of){"127.0.0.1", good, key, roots, "IP address mismatch"});
	attempt(&(struct case_of){"a.test", good, key, itself, "unable to get local issuer certificate"});
	attempt(&(struct case_of){"a.test", good, key, NULL, "unable to get local issuer certificate"});
	attempt(&(struct case_of){"a.test", good, key, "no certificate at all",
				  "unable to get local issuer certificate"});
	attempt(&(struct case_of){"a.test", self, self_key, roots, "self-signed certificate"});
	attempt(&(struct case_of){"a.test", self, self_key, itself, NULL}); /* named by the user */
	attempt(&(struct case_of){"b.test", self, self_key, itself, "hostname mismatch"});
	attempt(&(struct case_of){"a.test", old, old_key, roots, "certificate has expired"});
	attempt(&(struct case_of){"a.test", young, young_key, roots, "certificate is not yet valid"});
	/* The run's own certificate is no root for servers. */
	attempt(&(struct case_of){"unused.test", NULL, NULL, roots, "unable to get local issuer certificate"});
	X509_free(root);
	X509_free(good);
	X509_free(self);
	X509_free(old);
	X509_free(young);
	EVP_PKEY_free(root_key);
	EVP_PKEY_free(key);
	EVP_PKEY_free(self_key);
	EVP_PKEY_free(old_key);
	EVP_PKEY_free(young_key);
}
END_TEST

/* ---- what is offered and chosen ---- */

static void negotiated(const char *client, const char *server, const char *expected)
{
	struct tls *tls = tls_with(ca_get_pem(ca));
	struct tls_rig rig;
	char alpn[16] = "?";
	int here, there;

	tls_rig_init(&rig, 0);
	ck_assert_int_eq(channel_start_tls(&rig.client, tls_create_client(tls, "a.test", client)), 0);
	ck_assert_int_eq(channel_start_tls(&rig.server, tls_create_server(tls, "a.test", server)), 0);
	tls_rig_handshake(&rig, &here, &there);
	ck_assert(!here && !there);
	tls_get_chosen_alpn(rig.client.ssl, alpn, sizeof(alpn));
	ck_assert_str_eq(alpn, expected);
	tls_get_chosen_alpn(rig.server.ssl, alpn, sizeof(alpn));
	ck_assert_str_eq(alpn, expected);
	ck_assert_str_eq(SSL_get_servername(rig.server.ssl, TLSEXT_NAMETYPE_host_name), "a.test");
	ck_assert(!SSL_session_reused(rig.client.ssl));
	tls_rig_done(&rig);
	tls_free(tls);
}

START_TEST(test_alpn)
{
	negotiated("h2,http/1.1", "h2", "h2");
	negotiated("h2,http/1.1", "http/1.1", "http/1.1");
	negotiated("h2,http/1.1", "", "");
	negotiated("http/1.1", "http/1.1", "http/1.1");
	negotiated("http/1.1", "h2", ""); /* never what was not offered */
	negotiated("", "h2", "");
}
END_TEST

/* Nothing to resume with is handed out, in either version, and what is older than TLS 1.2 is refused. */
START_TEST(test_versions)
{
	static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION, TLS1_1_VERSION};
	struct tls *tls = tls_with(ca_get_pem(ca));

	for (size_t i = 0; i < 3; i++) {
		SSL *ssl = tls_create_client(tls, "a.test", "");
		struct tls_rig rig;
		int here, there;

		SSL_set_security_level(ssl, 0);
		ck_assert(SSL_set_min_proto_version(ssl, versions[i]) && SSL_set_max_proto_version(ssl, versions[i]));
		SSL_clear_options(ssl, SSL_OP_NO_TICKET);
		tls_rig_init(&rig, 0);
		ck_assert_int_eq(channel_start_tls(&rig.client, ssl), 0);
		ck_assert_int_eq(channel_start_tls(&rig.server, tls_create_server(tls, "a.test", "")), 0);
		tls_rig_handshake(&rig, &here, &there);
		ck_assert_int_eq(here == 0, versions[i] != TLS1_1_VERSION);
		if (here == 0) {
			tls_rig_exchange(&rig, &rig.server, &rig.client, 100);
			ck_assert(!SSL_SESSION_has_ticket(SSL_get0_session(ssl)));
			ck_assert(versions[i] == TLS1_3_VERSION || !SSL_renegotiate(rig.server.ssl) ||
				  SSL_do_handshake(rig.server.ssl) != 1);
		}
		tls_rig_done(&rig);
	}
	tls_free(tls);
}
END_TEST

/* No name is sent for an address, and its certificate has it as one. */
START_TEST(test_addresses)
{
	static const char *const hosts[] = {"127.0.0.1", "2001:db8::7"};
	struct tls *tls = tls_with(ca_get_pem(ca));

	for (size_t i = 0; i < 2; i++) {
		struct tls_rig rig;
		int here, there;

		tls_rig_init(&rig, 0);
		ck_assert_int_eq(channel_start_tls(&rig.client, tls_create_client(tls, hosts[i], "")), 0);
		ck_assert_int_eq(channel_start_tls(&rig.server, tls_create_server(tls, hosts[i], "")), 0);
		tls_rig_handshake(&rig, &here, &there);
		ck_assert(!here && !there);
		ck_assert_ptr_null(SSL_get_servername(rig.server.ssl, TLSEXT_NAMETYPE_host_name));
		tls_rig_done(&rig);
	}
	tls_free(tls);
}
END_TEST

/* ---- what a program that does not trust it says ---- */

START_TEST(test_rejected)
{
	char text[TLS_ERROR_TEXT_SIZE];

	for (int i = 0; i < 3; i++) {
		struct tls *tls = tls_with(i == 0 ? NULL : ca_get_pem(ca));
		struct tls_rig rig;
		int there = -EAGAIN;

		tls_rig_init(&rig, 0);
		ck_assert_int_eq(channel_start_tls(&rig.client, tls_create_client(tls, "a.test", "")), 0);
		ck_assert_int_eq(channel_start_tls(&rig.server, tls_create_server(tls, i == 1 ? "b.test" : "a.test",
										  "")), 0);
		ck_assert_int_eq(channel_step_tls_handshake(&rig.client), -EAGAIN);
		ck_assert_int_eq(channel_step_tls_handshake(&rig.server), -EAGAIN);
		if (i < 2)
			ck_assert_int_eq(channel_step_tls_handshake(&rig.client), -EPROTO); /* it sends its alert */
		else
			channel_close(&rig.client, false); /* it is gone without a word */
		there = channel_step_tls_handshake(&rig.server);
		ck_assert_int_eq(there, i < 2 ? -EPROTO : -ECONNRESET);
		ck_assert_str_eq(tls_describe_error(rig.server.ssl, true, there, text), "client_rejected_ca");
		ck_assert_msg(strstr(text, "certificate") != NULL, "%s", text);
		tls_rig_done(&rig);
		tls_free(tls);
	}
}
END_TEST

/* No protocol in common is not the certificate's fault. */
START_TEST(test_not_rejected)
{
	struct tls *tls = tls_with(ca_get_pem(ca));
	SSL *ssl = tls_create_client(tls, "a.test", "");
	char text[TLS_ERROR_TEXT_SIZE];
	struct tls_rig rig;
	int there;

	SSL_set_security_level(ssl, 0);
	(void)SSL_set_min_proto_version(ssl, TLS1_VERSION);
	(void)SSL_set_max_proto_version(ssl, TLS1_1_VERSION);
	tls_rig_init(&rig, 0);
	ck_assert_int_eq(channel_start_tls(&rig.client, ssl), 0);
	ck_assert_int_eq(channel_start_tls(&rig.server, tls_create_server(tls, "a.test", "")), 0);
	ck_assert_int_eq(channel_step_tls_handshake(&rig.client), -EAGAIN);
	there = channel_step_tls_handshake(&rig.server);
	ck_assert_str_eq(tls_describe_error(rig.server.ssl, true, there, text), "client_tls");
	ck_assert_msg(strstr(text, "protocol") != NULL, "%s", text);
	tls_rig_done(&rig);
	tls_free(tls);
}
END_TEST

/* ---- the authority ---- */

/* The serial number of host's leaf, to be freed. */
static char *serial(struct tls *tls, const char *host)
{
	SSL *ssl = tls_create_server(tls, host, "");
	char *hex;
	BIGNUM *number;

	ck_assert_ptr_nonnull(ssl);
	number = ASN1_INTEGER_to_BN(X509_get0_serialNumber(SSL_get_certificate(ssl)), NULL);
	hex = BN_bn2hex(number);
	BN_free(number);
	SSL_free(ssl);
	return hex;
}

static bool same_leaf(struct tls *tls, const char *host, const char *was)
{
	char *now = serial(tls, host);
	bool same = !strcmp(now, was);

	OPENSSL_free(now);
	return same;
}

START_TEST(test_leaves)
{
	struct tls *tls = tls_with(NULL);
	char *first = serial(tls, "first.test"), *second = serial(tls, "second.test");

	ck_assert_str_ne(first, second);
	for (int i = 0; i < 300; i++) {
		char host[32];
		char *made;

		(void)snprintf(host, sizeof(host), "h%d.test", i);
		made = serial(tls, host);
		OPENSSL_free(made);
		ck_assert(same_leaf(tls, "first.test", first)); /* used all the time, so it stays */
	}
	ck_assert(!same_leaf(tls, "second.test", second));
	OPENSSL_free(first);
	OPENSSL_free(second);
	tls_free(tls);
}
END_TEST

static X509 *parse(const char *pem)
{
	BIO *bio = BIO_new_mem_buf(pem, -1);
	X509 *certificate = PEM_read_bio_X509(bio, NULL, NULL, NULL);

	BIO_free(bio);
	ck_assert_ptr_nonnull(certificate);
	return certificate;
}

/* As strict as a client can be; the longest name there is as well. */
START_TEST(test_leaf_is_strict)
{
	char host[254], name[256];
	struct tls *tls = tls_with(NULL);
	X509 *root = parse(ca_get_pem(ca));
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *context = X509_STORE_CTX_new();
	SSL *ssl;

	memset(host, 'a', sizeof(host) - 1);
	for (size_t i = 60; i < sizeof(host) - 10; i += 61)
		host[i] = '.';
	host[sizeof(host) - 1] = '\0';
	ssl = tls_create_server(tls, host, "");
	ck_assert(ssl && X509_STORE_add_cert(store, root) &&
		  X509_STORE_CTX_init(context, store, SSL_get_certificate(ssl), NULL));
	X509_VERIFY_PARAM_set_flags(X509_STORE_CTX_get0_param(context),
				    X509_V_FLAG_X509_STRICT | X509_V_FLAG_CHECK_SS_SIGNATURE);
	ck_assert(X509_VERIFY_PARAM_set1_host(X509_STORE_CTX_get0_param(context), host, 0));
	ck_assert(X509_STORE_CTX_set_purpose(context, X509_PURPOSE_SSL_SERVER));
	ck_assert_msg(X509_verify_cert(context) == 1, "%s",
		      X509_verify_cert_error_string(X509_STORE_CTX_get_error(context)));

	ck_assert_int_eq(X509_check_ca(root), 1);
	ck_assert_int_eq(X509_check_ca(SSL_get_certificate(ssl)), 0);
	ck_assert_uint_eq(X509_get_key_usage(root), KU_KEY_CERT_SIGN | KU_CRL_SIGN);
	ck_assert_uint_eq(X509_get_key_usage(SSL_get_certificate(ssl)), KU_DIGITAL_SIGNATURE);
	ck_assert_uint_eq(X509_get_extended_key_usage(SSL_get_certificate(ssl)), XKU_SSL_SERVER);
	ck_assert_int_gt(ASN1_STRING_length(X509_get0_serialNumber(SSL_get_certificate(ssl))), 12);
	(void)X509_NAME_oneline(X509_get_subject_name(root), name, sizeof(name));
	ck_assert_str_eq(name, "/CN=callgate run 0123-test");
	X509_STORE_CTX_free(context);
	X509_STORE_free(store);
	X509_free(root);
	SSL_free(ssl);
	tls_free(tls);
}
END_TEST

/* The key's number as it is in memory: words of the machine, so backwards on a little-endian one. */
START_TEST(test_wiped)
{
	struct tls *tls = tls_with(NULL);
	SSL *ssl = tls_create_server(tls, "a.test", "");
	uint8_t number[32];
	BIGNUM *private_number = NULL;

	if (!memory_search_possible()) {
		SSL_free(ssl);
		tls_free(tls);
		return;
	}
	ck_assert(EVP_PKEY_get_bn_param(SSL_get_privatekey(ssl), OSSL_PKEY_PARAM_PRIV_KEY, &private_number));
	ck_assert_int_eq(BN_bn2nativepad(private_number, number, sizeof(number)), sizeof(number));
	BN_clear_free(private_number);
	memory_invert(number, sizeof(number));
	SSL_free(ssl);
	ck_assert_uint_ge(memory_search(number, sizeof(number)), 1);
	tls_free(tls);
	ca_free(ca);
	ca = NULL;
	ck_assert_uint_eq(memory_search(number, sizeof(number)), 0);
}
END_TEST

/* ---- locked down ---- */

#define RIGS 6

static void handshake_of(struct tls_rig *rig, struct tls *tls, int i)
{
	char host[32];
	int here, there;

	(void)snprintf(host, sizeof(host), "host%d.test", i);
	if (channel_start_tls(&rig->client, tls_create_client(tls, host, i % 2 ? "h2" : "")) ||
	    channel_start_tls(&rig->server, tls_create_server(tls, host, "h2")))
		_exit(2);
	(void)SSL_set_max_proto_version(rig->client.ssl, i % 3 ? TLS1_3_VERSION : TLS1_2_VERSION);
	tls_rig_handshake(rig, &here, &there);
	if (here || there)
		_exit(3);
	tls_rig_exchange(rig, &rig->client, &rig->server, 100000);
	tls_rig_done(rig);
}

/* After a fork, as in a run, and under egress' own filter: all that is left is to have nothing to ask for any more. */
static _Noreturn void locked_down(void)
{
	struct tls_rig rig[RIGS];
	struct tls *tls;

	if (tls_create(ca, ca_get_pem(ca), strlen(ca_get_pem(ca)), &tls) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		_exit(4);
	for (int i = 0; i < RIGS; i++)
		tls_rig_init(&rig[i], 0);
	if (selffilter_install(SELF_EGRESS))
		_exit(5);
	if (open("/dev/urandom", O_RDONLY | O_CLOEXEC) >= 0)
		_exit(6);
	for (int i = 0; i < RIGS; i++)
		handshake_of(&rig[i], tls, i);
	_exit(0);
}

START_TEST(test_locked_down)
{
	const char *why;
	int status;
	pid_t pid;

	if (!selffilter_works_in_this_build(&why))
		return;
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		locked_down();
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", (unsigned)status);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tls");
	TCase *tcase = tcase_create("tls");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, test_verification);
	tcase_add_test(tcase, test_alpn);
	tcase_add_test(tcase, test_versions);
	tcase_add_test(tcase, test_addresses);
	tcase_add_test(tcase, test_rejected);
	tcase_add_test(tcase, test_not_rejected);
	tcase_add_test(tcase, test_leaves);
	tcase_add_test(tcase, test_leaf_is_strict);
	tcase_add_test(tcase, test_wiped);
	tcase_add_test(tcase, test_locked_down);
	return unit_run(suite);
}
