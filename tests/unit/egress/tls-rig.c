#include "tests/unit/egress/tls-rig.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROUNDS 2000000

static void ready(struct watch *watch)
{
	(void)watch;
}

static void pair(int fd[2])
{
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd), 0);
}

void tls_rig_init(struct tls_rig *rig, size_t step)
{
	int one[2], two[2];

	memset(rig, 0, sizeof(*rig));
	ck_assert_int_eq(loop_create(&rig->loop), 0);
	pair(one);
	rig->near = rig->far = -1;
	rig->step = step;
	if (step) {
		pair(two);
		rig->near = one[1];
		rig->far = two[0];
		one[1] = two[1];
	}
	channel_init(&rig->client, rig->loop, one[0], ready);
	channel_init(&rig->server, rig->loop, one[1], ready);
}

void tls_rig_done(struct tls_rig *rig)
{
	channel_close(&rig->client, true);
	channel_close(&rig->server, true);
	if (rig->near >= 0)
		(void)close(rig->near);
	if (rig->far >= 0)
		(void)close(rig->far);
	loop_free(rig->loop);
}

static bool pass(int from, int to, size_t step)
{
	char data[65536];
	ssize_t got = read(from, data, step < sizeof(data) ? step : sizeof(data));

	if (got <= 0)
		return false;
	while (write(to, data, (size_t)got) < 0)
		ck_assert_int_eq(errno, EAGAIN);
	return true;
}

bool tls_rig_pass(struct tls_rig *rig)
{
	bool there, back;

	if (!rig->step)
		return false;
	there = pass(rig->near, rig->far, rig->step);
	back = pass(rig->far, rig->near, rig->step);
	rig->passed += (there || back);
	return there || back;
}

void tls_rig_handshake(struct tls_rig *rig, int *ret_client, int *ret_server)
{
	*ret_client = *ret_server = -EAGAIN;
	for (int i = 0; i < ROUNDS && (*ret_client == -EAGAIN || *ret_server == -EAGAIN); i++) {
		if (*ret_client == -EAGAIN)
			*ret_client = channel_step_tls_handshake(&rig->client);
		if (*ret_server == -EAGAIN)
			*ret_server = channel_step_tls_handshake(&rig->server);
		if (*ret_client && *ret_client != -EAGAIN && *ret_server == -EAGAIN && !tls_rig_pass(rig))
			channel_close(&rig->client, false); /* it gives up: the other side is to notice */
		(void)tls_rig_pass(rig);
	}
}

void tls_rig_exchange(struct tls_rig *rig, struct channel *from, struct channel *to, size_t len)
{
	uint8_t *sent = malloc(len), *got = malloc(len);
	size_t out = 0, in = 0;

	ck_assert(sent && got);
	for (size_t i = 0; i < len; i++)
		sent[i] = (uint8_t)(i * 7 + i / 251);
	for (int i = 0; i < ROUNDS && in < len; i++) {
		size_t want = i % 3 ? len - out : (len - out + 1) / 2; /* another attempt may be with fewer bytes */
		ssize_t done = out < len ? channel_write(from, sent + out, want) : 0;

		ck_assert_msg(done >= 0 || done == -EAGAIN, "write: %zd", done);
		out += done > 0 ? (size_t)done : 0;
		channel_set_events(from, false, false);
		(void)tls_rig_pass(rig);
		done = channel_read(to, got + in, len - in);
		ck_assert_msg(done > 0 || done == -EAGAIN, "read: %zd", done);
		in += done > 0 ? (size_t)done : 0;
	}
	ck_assert_uint_eq(in, len);
	ck_assert_mem_eq(sent, got, len);
	free(sent);
	free(got);
}

X509 *tls_rig_certificate(const char *host, X509 *issuer, EVP_PKEY *issuer_key, long from, long to, EVP_PKEY **ret_key)
{
	X509 *made = X509_new();
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509_EXTENSION *extension;
	char text[300];

	(void)snprintf(text, sizeof(text), "DNS:%s", host);
	extension = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, text);
	ck_assert(made && key && extension && X509_set_version(made, X509_VERSION_3));
	ck_assert(ASN1_INTEGER_set(X509_get_serialNumber(made), 7) && X509_set_pubkey(made, key));
	ck_assert(X509_gmtime_adj(X509_getm_notBefore(made), from) && X509_gmtime_adj(X509_getm_notAfter(made), to));
	ck_assert(X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_ASC,
					     (const unsigned char *)host, -1, -1, 0));
	ck_assert(X509_set_issuer_name(made, X509_get_subject_name(issuer ? issuer : made)) &&
		  X509_add_ext(made, extension, -1));
	X509_EXTENSION_free(extension);
	extension = X509V3_EXT_conf_nid(NULL, NULL, NID_basic_constraints,
					issuer ? "critical,CA:FALSE" : "critical,CA:TRUE");
	ck_assert(extension && X509_add_ext(made, extension, -1));
	X509_EXTENSION_free(extension);
	ck_assert(X509_sign(made, issuer ? issuer_key : key, EVP_sha256()));
	*ret_key = key;
	return made;
}

char *tls_rig_pem(X509 *certificate)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *data, *text;
	long len;

	ck_assert(bio && PEM_write_bio_X509(bio, certificate));
	len = BIO_get_mem_data(bio, &data);
	text = strndup(data, (size_t)len);
	ck_assert(text != NULL);
	BIO_free(bio);
	return text;
}
