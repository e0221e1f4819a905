/*
 * Addresses of internet sockets as the kernel reads them: held against what connect(2), bind(2), sendto(2) say here.
 * Threat 38.
 */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "syscalls/net/inet-address.h"
#include "tests/unit/unit.h"

static int make4(struct sockaddr_storage *out, const char *text, uint16_t port)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};

	ck_assert_int_eq(inet_pton(AF_INET, text, &in.sin_addr), 1);
	memset(out, 0, sizeof(*out));
	memcpy(out, &in, sizeof(in));
	return sizeof(in);
}

static int make6(struct sockaddr_storage *out, const char *text, uint16_t port, uint32_t scope)
{
	struct sockaddr_in6 in = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_scope_id = scope};

	ck_assert_int_eq(inet_pton(AF_INET6, text, &in.sin6_addr), 1);
	memset(out, 0, sizeof(*out));
	memcpy(out, &in, sizeof(in));
	return sizeof(in);
}

static const char *show(const struct inet_address *address)
{
	static char text[INET6_ADDRSTRLEN + 16];
	char host[INET6_ADDRSTRLEN];

	if (address->family == AF_UNSPEC)
		return "none";
	(void)inet_ntop(address->family,
			address->family == AF_INET ? (const void *)&address->v4 : (const void *)&address->v6, host,
			sizeof(host));
	(void)snprintf(text, sizeof(text), "%s %u", host, address->port);
	return text;
}

#define TCP4 {AF_INET, true, false}
#define TCP6 {AF_INET6, true, false}
#define ONLY6 {AF_INET6, true, true}
#define UDP4 {AF_INET, false, false}
#define UDP6 {AF_INET6, false, false}
#define UDPONLY6 {AF_INET6, false, true}

static const struct {
	struct inet_kind kind;
	int family;        /* of the address; what makes it */
	const char *text;
	int cut;           /* bytes left out of its length; negative: added */
	const char *want;  /* NULL: error */
	int error;
} peers[] = {
	{TCP4, AF_INET, "192.0.2.1", 0, "192.0.2.1 7", 0},
	{TCP4, AF_INET, "0.0.0.0", 0, "127.0.0.1 7", 0},
	{TCP4, AF_INET, "192.0.2.1", 1, NULL, -EINVAL},
	{TCP4, AF_INET, "192.0.2.1", -8, "192.0.2.1 7", 0},
	{TCP4, AF_INET, "192.0.2.1", 15, NULL, -EINVAL},
	{TCP4, AF_INET6, "::1", 0, NULL, -EAFNOSUPPORT},
	{TCP4, AF_INET, "224.0.0.1", 0, NULL, -ENETUNREACH},
	{TCP4, AF_INET, "255.255.255.255", 0, NULL, -ENETUNREACH},
	{TCP6, AF_INET6, "2001:db8::1", 0, "2001:db8::1 7", 0},
	{TCP6, AF_INET6, "2001:db8::1", 4, "2001:db8::1 7", 0}, /* without a scope */
	{TCP6, AF_INET6, "2001:db8::1", 5, NULL, -EINVAL},
	{TCP6, AF_INET6, "::", 0, "::1 7", 0},
	{TCP6, AF_INET6, "::ffff:192.0.2.1", 0, "192.0.2.1 7", 0},
	{TCP6, AF_INET6, "::ffff:0.0.0.0", 0, "127.0.0.1 7", 0},
	{TCP6, AF_INET, "192.0.2.1", 0, NULL, -EINVAL},
	{TCP6, AF_INET, "192.0.2.1", -8, NULL, -EAFNOSUPPORT},
	{TCP6, AF_INET6, "ff02::1", 0, NULL, -ENETUNREACH},
	{TCP6, AF_INET6, "fe80::1", 0, NULL, -EINVAL},
	{ONLY6, AF_INET6, "::ffff:192.0.2.1", 0, NULL, -ENETUNREACH},
	{ONLY6, AF_INET6, "::1", 0, "::1 7", 0},
	{UDP4, AF_INET, "0.0.0.0", 0, "127.0.0.1 7", 0},
	{UDP4, AF_INET6, "::1", 0, NULL, -EAFNOSUPPORT},
	{UDP6, AF_INET, "192.0.2.1", 0, "192.0.2.1 7", 0}, /* datagrams take both */
	{UDP6, AF_INET6, "::ffff:192.0.2.1", 0, "192.0.2.1 7", 0},
	{UDPONLY6, AF_INET, "192.0.2.1", 0, NULL, -EAFNOSUPPORT},
	{UDPONLY6, AF_INET6, "::ffff:192.0.2.1", 0, NULL, -ENETUNREACH},
};

static int make_with_port(struct sockaddr_storage *out, int family, const char *text, uint16_t port)
{
	return family == AF_INET ? make4(out, text, port) : make6(out, text, port, 0);
}

static int make(struct sockaddr_storage *out, int family, const char *text)
{
	return make_with_port(out, family, text, 7);
}

START_TEST(a_peer_is_read_as_the_kernel_reads_it)
{
	struct inet_address got = {.family = -1};
	struct sockaddr_storage address;
	int len = make(&address, peers[_i].family, peers[_i].text) - peers[_i].cut;
	int r = inet_read_connect_address(&peers[_i].kind, &address, len, &got);

	ck_assert_int_eq(r, peers[_i].error);
	if (peers[_i].want)
		ck_assert_str_eq(show(&got), peers[_i].want);
	else
		ck_assert_int_eq(got.family, -1);
}
END_TEST

/* What fails in the table fails natively, with that errno: a socket of that kind and connect(2) itself. */
START_TEST(a_bad_peer_has_the_kernels_errno)
{
	const struct inet_kind *kind = &peers[_i].kind;
	const int only = kind->is_v6_only;
	struct sockaddr_storage address;
	int len = make(&address, peers[_i].family, peers[_i].text) - peers[_i].cut;
	int fd, r;

	if (peers[_i].want)
		return;
	fd = socket(kind->domain, (kind->is_stream ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return; /* a machine without IPv6 */
	if (kind->domain == AF_INET6)
		ck_assert_int_eq(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only)), 0);
	r = connect(fd, (const struct sockaddr *)&address, (socklen_t)len) < 0 ? -errno : 0;
	ck_assert_msg(r == peers[_i].error, "%s: natively %d, here %d", peers[_i].text, r, peers[_i].error);
	(void)close(fd);
}
END_TEST

START_TEST(no_family_disconnects)
{
	static const struct inet_kind kinds[] = {TCP4, TCP6, UDP4, UDP6};
	struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
	struct inet_address got;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		ck_assert_int_eq(inet_read_connect_address(&kinds[i], &address, sizeof(address), &got), 0);
		ck_assert_int_eq(got.family, AF_UNSPEC);
		ck_assert_int_eq(inet_read_connect_address(&kinds[i], &address, 2, &got), 0);
		ck_assert_int_eq(inet_read_connect_address(&kinds[i], &address, 1, &got), -EINVAL);
		ck_assert_int_eq(inet_read_connect_address(&kinds[i], &address, 0, &got), -EINVAL);
	}
}
END_TEST

/* AF_UNSPEC is an IPv4 address for one, and no address for the other: it must not be a way past the judgement. */
START_TEST(a_target_without_a_family)
{
	static const struct inet_kind udp4 = UDP4, udp6 = UDP6;
	struct sockaddr_storage address;
	struct inet_address got;

	(void)make4(&address, "192.0.2.1", 53);
	address.ss_family = AF_UNSPEC;
	ck_assert_int_eq(inet_read_sendto_address(&udp4, &address, 16, &got), 0);
	ck_assert_str_eq(show(&got), "192.0.2.1 53");
	ck_assert_int_eq(inet_read_sendto_address(&udp6, &address, 16, &got), 0);
	ck_assert_str_eq(show(&got), "none");
	(void)make4(&address, "192.0.2.1", 0);
	ck_assert_int_eq(inet_read_sendto_address(&udp4, &address, 16, &got), -EINVAL);
	(void)make4(&address, "192.0.2.1", 53);
	ck_assert_int_eq(inet_read_sendto_address(&udp6, &address, 16, &got), 0);
	ck_assert_str_eq(show(&got), "192.0.2.1 53");
	address.ss_family = AF_UNIX;
	ck_assert_int_eq(inet_read_sendto_address(&udp6, &address, 28, &got), -EINVAL);
	ck_assert_int_eq(inet_read_sendto_address(&udp4, &address, 16, &got), -EAFNOSUPPORT);
}
END_TEST

static const struct {
	struct inet_kind kind;
	int family;
	const char *text;
	int cut;
	const char *want;
	int error;
} owns[] = {
	{TCP4, AF_INET, "0.0.0.0", 0, "0.0.0.0 7", 0},
	{TCP4, AF_INET, "127.0.0.1", 1, NULL, -EINVAL},
	{TCP4, AF_INET6, "::1", 0, NULL, -EAFNOSUPPORT},
	{TCP6, AF_INET6, "::", 0, ":: 7", 0},
	{TCP6, AF_INET6, "::", 4, ":: 7", 0},
	{TCP6, AF_INET6, "::", 5, NULL, -EINVAL},
	{TCP6, AF_INET6, "::ffff:127.0.0.1", 0, "127.0.0.1 7", 0},
	{ONLY6, AF_INET6, "::ffff:127.0.0.1", 0, NULL, -EINVAL},
	{TCP6, AF_INET6, "ff02::1", 0, NULL, -EINVAL},
	{TCP6, AF_INET, "127.0.0.1", 0, NULL, -EINVAL},
	{UDP4, AF_INET, "127.0.0.1", 0, "127.0.0.1 7", 0},
};

START_TEST(an_own_address_is_read_as_the_kernel_reads_it)
{
	struct inet_address got = {.family = -1};
	struct sockaddr_storage address;
	int len = make(&address, owns[_i].family, owns[_i].text) - owns[_i].cut;

	ck_assert_int_eq(inet_read_bind_address(&owns[_i].kind, &address, len, &got), owns[_i].error);
	if (owns[_i].want)
		ck_assert_str_eq(show(&got), owns[_i].want);
}
END_TEST

/*
 * Natively at a port that every user may bind: __inet6_bind() refuses others (EACCES) before it looks at a mapped
 * address. Inside, the policy grants ports, and not who the user is.
 */
START_TEST(a_bad_own_address_has_the_kernels_errno)
{
	const struct inet_kind *kind = &owns[_i].kind;
	const int only = kind->is_v6_only;
	struct sockaddr_storage address;
	int len = make_with_port(&address, owns[_i].family, owns[_i].text, 7007) - owns[_i].cut;
	int fd, r;

	if (owns[_i].want)
		return;
	fd = socket(kind->domain, kind->is_stream ? SOCK_STREAM : SOCK_DGRAM, 0);
	if (fd < 0)
		return;
	if (kind->domain == AF_INET6)
		ck_assert_int_eq(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only)), 0);
	r = bind(fd, (const struct sockaddr *)&address, (socklen_t)len) < 0 ? -errno : 0;
	ck_assert_msg(r == owns[_i].error, "%s: natively %d, here %d", owns[_i].text, r, owns[_i].error);
	(void)close(fd);
}
END_TEST

START_TEST(any_may_be_bound_without_a_family)
{
	static const struct inet_kind tcp4 = TCP4, tcp6 = TCP6;
	struct sockaddr_storage address;
	struct inet_address got;

	(void)make4(&address, "0.0.0.0", 8000);
	address.ss_family = AF_UNSPEC;
	ck_assert_int_eq(inet_read_bind_address(&tcp4, &address, 16, &got), 0);
	ck_assert_str_eq(show(&got), "0.0.0.0 8000");
	ck_assert_int_eq(inet_read_bind_address(&tcp6, &address, 28, &got), -EAFNOSUPPORT);
	(void)make4(&address, "127.0.0.1", 8000);
	address.ss_family = AF_UNSPEC;
	ck_assert_int_eq(inet_read_bind_address(&tcp4, &address, 16, &got), -EAFNOSUPPORT);
}
END_TEST

START_TEST(what_is_written_is_read_again)
{
	static const char *const texts[] = {"192.0.2.1", "2001:db8::1", "::1", "127.0.0.1"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		int family = strchr(texts[i], ':') ? AF_INET6 : AF_INET;
		struct inet_address address, again;
		struct sockaddr_storage storage;

		(void)make(&storage, family, texts[i]);
		ck_assert(inet_read_socket_name(&storage, &address));
		ck_assert_uint_eq(inet_write_sockaddr(AF_INET6, &address, &storage), sizeof(struct sockaddr_in6));
		ck_assert_int_eq(storage.ss_family, AF_INET6);
		ck_assert(inet_read_socket_name(&storage, &again));
		ck_assert(inet_address_equals(&address, &again));
		ck_assert_uint_eq(again.port, 7);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("inet addresses");
	TCase *tcase = tcase_create("addresses");

	tcase_add_loop_test(tcase, a_peer_is_read_as_the_kernel_reads_it, 0, sizeof(peers) / sizeof(peers[0]));
	tcase_add_loop_test(tcase, a_bad_peer_has_the_kernels_errno, 0, sizeof(peers) / sizeof(peers[0]));
	tcase_add_test(tcase, no_family_disconnects);
	tcase_add_test(tcase, a_target_without_a_family);
	tcase_add_loop_test(tcase, an_own_address_is_read_as_the_kernel_reads_it, 0, sizeof(owns) / sizeof(owns[0]));
	tcase_add_loop_test(tcase, a_bad_own_address_has_the_kernels_errno, 0, sizeof(owns) / sizeof(owns[0]));
	tcase_add_test(tcase, any_may_be_bound_without_a_family);
	tcase_add_test(tcase, what_is_written_is_read_again);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
