#include <check.h>
#include <errno.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>

#include "egress/tls/hello.h"
#include "tests/unit/unit.h"

struct bytes {
	uint8_t at[4 * CLIENT_HELLO_BYTES_MAX];
	size_t len;
};

static void add(struct bytes *bytes, const void *more, size_t len)
{
	ck_assert_uint_le(bytes->len + len, sizeof(bytes->at));
	memcpy(bytes->at + bytes->len, more, len);
	bytes->len += len;
}

static void add_number(struct bytes *bytes, size_t number, size_t size)
{
	while (size--)
		add(bytes, (const uint8_t[]){(uint8_t)(number >> 8 * size)}, 1);
}

/* Of a real client. */
static struct bytes from_openssl(const char *sni, const char *alpn)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	SSL *ssl = SSL_new(context);
	struct bytes hello = {0};

	SSL_set_bio(ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
	if (sni)
		ck_assert_int_eq(SSL_set_tlsext_host_name(ssl, (char *)(uintptr_t)sni), 1);
	if (alpn)
		ck_assert_int_eq(SSL_set_alpn_protos(ssl, (const uint8_t *)alpn, (unsigned)strlen(alpn)), 0);
	ck_assert_int_lt(SSL_connect(ssl), 1);
	hello.len = (size_t)BIO_read(SSL_get_wbio(ssl), hello.at, (int)sizeof(hello.at));
	SSL_free(ssl);
	SSL_CTX_free(context);
	return hello;
}

/* A ClientHello with these extensions, in one record. */
static struct bytes made_of(const struct bytes *extensions, bool has_extensions)
{
	struct bytes body = {0}, hello = {0};
	static const uint8_t random[32] = {1, 2, 3};

	add_number(&body, 0x0303, 2);
	add(&body, random, sizeof(random));
	add_number(&body, 0, 1);
	add_number(&body, 2, 2);
	add_number(&body, 0x1301, 2);
	add_number(&body, 1, 1);
	add_number(&body, 0, 1);
	if (has_extensions) {
		add_number(&body, extensions->len, 2);
		add(&body, extensions->at, extensions->len);
	}
	add_number(&hello, 0x160301, 3);
	add_number(&hello, body.len + 4, 2);
	add_number(&hello, 1, 1);
	add_number(&hello, body.len, 3);
	add(&hello, body.at, body.len);
	return hello;
}

static void add_extension(struct bytes *extensions, unsigned type, const void *data, size_t len)
{
	add_number(extensions, type, 2);
	add_number(extensions, len, 2);
	add(extensions, data, len);
}

static void add_sni(struct bytes *extensions, const char *name, size_t len)
{
	struct bytes body = {0};

	add_number(&body, len + 3, 2);
	add_number(&body, 0, 1);
	add_number(&body, len, 2);
	add(&body, name, len);
	add_extension(extensions, 0, body.at, body.len);
}

/* The same handshake bytes in records of at most `size`. */
static struct bytes in_records(const struct bytes *hello, size_t size)
{
	struct bytes parts = {0};

	for (size_t at = 5; at < hello->len; at += size) {
		size_t part = hello->len - at < size ? hello->len - at : size;

		add_number(&parts, 0x160301, 3);
		add_number(&parts, part, 2);
		add(&parts, hello->at + at, part);
	}
	return parts;
}

/* From memory that ends with the bytes, for the sanitizers. */
static int parse(const uint8_t *data, size_t len, struct client_hello *ret_hello)
{
	uint8_t *copy = malloc(len ? len : 1);
	int whole;

	memcpy(copy, data, len);
	whole = hello_parse(copy, len, ret_hello);
	free(copy);
	return whole;
}

static struct client_hello must_parse(const struct bytes *bytes)
{
	struct client_hello hello;

	ck_assert_int_eq(parse(bytes->at, bytes->len, &hello), 1);
	return hello;
}

START_TEST(real_clients)
{
	struct bytes bytes = from_openssl("api.example.com", "\x02h2\x08http/1.1");
	struct client_hello hello = must_parse(&bytes);

	ck_assert_str_eq(hello.sni, "api.example.com");
	ck_assert_str_eq(hello.alpn, "h2,http/1.1");
	ck_assert(!hello.has_bad_sni && !hello.ech);
	bytes = from_openssl(NULL, NULL);
	hello = must_parse(&bytes);
	ck_assert_str_eq(hello.sni, "");
	ck_assert_str_eq(hello.alpn, "");
	ck_assert(!hello.has_bad_sni);
}
END_TEST

START_TEST(split_anywhere)
{
	struct bytes bytes = from_openssl("api.example.com", "\x02h2");
	struct client_hello hello;

	for (size_t len = 0; len < bytes.len; len++)
		ck_assert_int_eq(parse(bytes.at, len, &hello), 0);
	ck_assert_int_eq(parse(bytes.at, bytes.len, &hello), 1);
}
END_TEST

START_TEST(over_records)
{
	const struct bytes whole = from_openssl("api.example.com", "\x02h2");

	for (size_t size = 1; size < 600; size += size < 80 ? 1 : 37) {
		struct bytes parts = in_records(&whole, size);
		struct client_hello hello;

		for (size_t len = 0; len < parts.len; len += 1 + (size > 3) * (len % 7))
			ck_assert_int_eq(parse(parts.at, len, &hello), 0);
		ck_assert_str_eq(must_parse(&parts).sni, "api.example.com");
	}
}
END_TEST

START_TEST(names)
{
	static const struct {
		const char *name;
		size_t len;
		const char *sni; /* NULL: bad */
	} row[] = {
		{"a.example", 9, "a.example"},
		{"A.EXAMPLE", 9, "a.example"},
		{"a.example.", 10, "a.example"},
		{"xn--bcher-kva.example", 21, "xn--bcher-kva.example"},
		{"192.0.2.1", 9, "192.0.2.1"},
		{"", 0, NULL},
		{".", 1, NULL},
		{"a..example", 10, NULL},
		{"a.example\0b", 11, NULL},
		{"a.example\r\n", 11, NULL},
		{"user@a.example", 14, NULL},
		{"a.example:443", 13, NULL},
		{"*.example", 9, NULL},
		{"b\303\274cher.example", 14, NULL},
		{"a_b.example", 11, NULL},
		{"0x7f.1", 6, NULL},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct bytes extensions = {0}, bytes;
		struct client_hello hello;

		add_sni(&extensions, row[i].name, row[i].len);
		bytes = made_of(&extensions, true);
		hello = must_parse(&bytes);
		ck_assert_msg(hello.has_bad_sni == !row[i].sni, "%s", row[i].name);
		ck_assert_str_eq(hello.sni, row[i].sni ? row[i].sni : "");
	}
}
END_TEST

/*
 * Two names, an unknown type, bytes behind the list, the extension twice: what a server reads there is not what we
 * would.
 */
START_TEST(several_names)
{
	static const struct {
		const char *body;
		size_t len;
	} row[] = {
		{"\0\x0c\0\0\3a.b\0\0\3c.d", 14}, {"\0\6\1\0\3a.b", 8}, {"\0\6\0\0\3a.bX", 9}, {"\0\5\0\0\3a.b", 8},
		{"\0\6\0\0\4a.b", 8},             {"\0\0", 2},          {"", 0},               {"\0\7\0\0\3a.bX", 9},
	};
	struct bytes extensions = {0}, bytes;

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		extensions.len = 0;
		add_extension(&extensions, 0, row[i].body, row[i].len);
		bytes = made_of(&extensions, true);
		ck_assert_msg(must_parse(&bytes).has_bad_sni, "%zu", i);
	}
	extensions.len = 0;
	add_sni(&extensions, "a.b", 3);
	add_sni(&extensions, "a.b", 3);
	bytes = made_of(&extensions, true);
	ck_assert(must_parse(&bytes).has_bad_sni);
	ck_assert_str_eq(must_parse(&bytes).sni, "");
}
END_TEST

START_TEST(other_extensions)
{
	struct bytes extensions = {0}, bytes;
	struct client_hello hello;

	add_extension(&extensions, 0x3a3a, "", 0); /* GREASE, RFC 8701 */
	add_extension(&extensions, 16, "\0\x0e\2\x5a\x5a\2h2\7http/11", 16);
	add_sni(&extensions, "a.b", 3);
	bytes = made_of(&extensions, true);
	hello = must_parse(&bytes);
	ck_assert_str_eq(hello.alpn, "ZZ,h2,http/11");
	ck_assert_str_eq(hello.sni, "a.b");
	ck_assert(!hello.ech);
	add_extension(&extensions, 0xfe0d, "\0", 1);
	bytes = made_of(&extensions, true);
	ck_assert(must_parse(&bytes).ech);
	bytes = made_of(&extensions, false);
	ck_assert_str_eq(must_parse(&bytes).sni, "");
}
END_TEST

/* What is printable of it, and never more than there is room for. */
START_TEST(long_alpn)
{
	struct bytes extensions = {0}, list = {0}, bytes;
	struct client_hello hello;

	add_number(&list, 0, 2);
	for (unsigned i = 0; i < 9; i++) {
		add_number(&list, 40, 1);
		add(&list, "\n\xff,  abcdefghijklmnopqrstuvwxyz0123456789", 40);
	}
	list.at[1] = (uint8_t)(list.len - 2);
	list.at[0] = (uint8_t)((list.len - 2) >> 8);
	add_extension(&extensions, 16, list.at, list.len);
	bytes = made_of(&extensions, true);
	hello = must_parse(&bytes);
	ck_assert_uint_eq(strlen(hello.alpn), 6 * 41 - 1);
	ck_assert_int_eq(strncmp(hello.alpn, "?????abc", 8), 0);
}
END_TEST

static void refuses(const struct bytes *bytes, int error, const char *what)
{
	struct client_hello hello = {.sni = "untouched"};

	ck_assert_msg(parse(bytes->at, bytes->len, &hello) == error, "%s", what);
	ck_assert_str_eq(hello.sni, "untouched");
}

START_TEST(not_tls)
{
	static const struct {
		const char *bytes;
		size_t len;
	} row[] = {
		{"GET / HTTP/1.1\r\n\r\n", 18},
		{"SSH-2.0-x\r\n", 11},
		{"\x80\x2e\1\0\2\0\x15\0\0\0\x10", 11},   /* SSLv2 */
		{"\x16\2\0\0\4", 5},                     /* no version of TLS */
		{"\x16\3\1\0\0", 5},                     /* an empty record */
		{"\x16\3\1\x40\1", 5},                   /* a longer one than there may be */
		{"\x15\3\1\0\2\2\x28", 7},               /* an alert */
		{"\x17\3\3\0\1x", 6},                    /* data */
		{"\x16\3\1\0\4\2\0\0\0", 9},             /* a ServerHello */
		{"\x16\3\1\0\2\1\0\x14\3\3\0\1\1", 13},  /* another type between */
		{"\x16\3\1\0\6\1\0\0\2\3\3", 11},        /* too short */
		{"\x16\3\1\0\5\1\0\0\0\1", 10},          /* more in the record */
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct bytes bytes = {0};

		add(&bytes, row[i].bytes, row[i].len);
		refuses(&bytes, -EPROTO, row[i].bytes);
	}
}
END_TEST

/* Every length in it one more and one less: either it is refused or the name is still the same. */
START_TEST(lying_lengths)
{
	struct bytes extensions = {0}, good;

	add_extension(&extensions, 10, "\0\2\0\x1d", 4);
	add_sni(&extensions, "a.b", 3);
	good = made_of(&extensions, true);
	for (size_t i = 3; i < good.len; i++) {
		for (int step = -1; step <= 1; step += 2) {
			struct bytes bytes = good;
			struct client_hello hello;

			bytes.at[i] = (uint8_t)(bytes.at[i] + step);
			if (parse(bytes.at, bytes.len, &hello) == 1 && !hello.has_bad_sni && hello.sni[0] &&
			    i < bytes.len - 3)
				ck_assert_str_eq(hello.sni, "a.b");
		}
	}
}
END_TEST

START_TEST(too_long)
{
	struct bytes extensions = {0}, bytes, parts;
	static const uint8_t padding[CLIENT_HELLO_BYTES_MAX - 100];
	struct client_hello hello;

	add_extension(&extensions, 21, padding, sizeof(padding));
	bytes = made_of(&extensions, true);
	ck_assert_uint_le(bytes.len, CLIENT_HELLO_BYTES_MAX);
	(void)must_parse(&bytes);
	parts = in_records(&bytes, 100); /* the same in too many pieces */
	ck_assert_int_eq(parse(parts.at, CLIENT_HELLO_BYTES_MAX - 1, &hello), 0);
	ck_assert_int_eq(parse(parts.at, CLIENT_HELLO_BYTES_MAX, &hello), -EMSGSIZE);
	ck_assert_int_eq(parse((const uint8_t *)"\x16\3\1\x40\0\1\1\0\0", 9, &hello), -EMSGSIZE);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hello");
	TCase *tcase = tcase_create("hello");

	tcase_add_test(tcase, real_clients);
	tcase_add_test(tcase, split_anywhere);
	tcase_add_test(tcase, over_records);
	tcase_add_test(tcase, names);
	tcase_add_test(tcase, several_names);
	tcase_add_test(tcase, other_extensions);
	tcase_add_test(tcase, long_alpn);
	tcase_add_test(tcase, not_tls);
	tcase_add_test(tcase, lying_lengths);
	tcase_add_test(tcase, too_long);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
