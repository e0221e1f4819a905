/* Who gets at a UDP socket of a run without a network namespace. Threat 36. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "syscalls/net/inet-fence.h"
#include "syscalls/net/inet-private.h"
#include "tests/unit/unit.h"

#define OWN "127.7.8.10"

static struct inet inet; /* as far as a fence looks at it */

static uint16_t port_of(int fd)
{
	struct sockaddr_in6 name = {.sin6_family = AF_UNSPEC};
	socklen_t len = sizeof(name);

	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&name, &len), 0);
	return ntohs(name.sin6_port); /* at the same place in both families */
}

static int sender(const char *at)
{
	struct sockaddr_in name = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(inet_pton(AF_INET, at, &name.sin_addr), 1);
	ck_assert_int_eq(bind(fd, (const struct sockaddr *)&name, sizeof(name)), 0);
	return fd;
}

/* A socket that the kernel has bound by itself. */
static int unbound(int domain)
{
	int fd = socket(domain, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	ck_assert_int_eq(inet_filter_drop_all(fd), 0);
	ck_assert_int_eq((int)write(fd, "x", 1), -1);
	ck_assert_int_ne(port_of(fd), 0);
	return fd;
}

static bool arrives(int from, int fd)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_port = htons(port_of(fd))};
	char got;

	ck_assert_int_eq((int)sendto(from, "x", 1, 0, (const struct sockaddr *)&to, sizeof(to)), 1);
	return recv(fd, &got, 1, 0) == 1;
}

static bool arrives_v6(int fd)
{
	struct sockaddr_in6 to = {
		.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT, .sin6_port = htons(port_of(fd))};
	int from = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char got;

	(void)sendto(from, "x", 1, 0, (const struct sockaddr *)&to, sizeof(to)); /* where there is no IPv6 it fails */
	(void)close(from);
	return recv(fd, &got, 1, 0) == 1;
}

static void check_family(int domain)
{
	int dns = sender(OWN), endpoint = sender(OWN), neighbour = sender(OWN), other = sender("127.0.0.1"),
	    fd = unbound(domain);

	inet = (struct inet){.options = {.dns_port = port_of(dns)}};
	ck_assert_int_eq(inet_pton(AF_INET, OWN, &inet.options.loopback), 1);
	ck_assert(!arrives(dns, fd));
	ck_assert(!arrives(other, fd));

	ck_assert_int_eq(inet_filter_accept_from_endpoints(&inet, fd), 0);
	ck_assert(arrives(dns, fd));
	ck_assert(!arrives(endpoint, fd));

	for (inet.endpoint_count = 0; inet.endpoint_count < INET_ENDPOINTS_MAX; inet.endpoint_count++)
		inet.endpoint[inet.endpoint_count].at.port = port_of(inet.endpoint_count == 7 ? endpoint : dns);
	ck_assert_int_eq(inet_filter_accept_from_endpoints(&inet, fd), 0);
	ck_assert_int_eq(inet_filter_accept_from_endpoints(&inet, fd), 0);
	ck_assert(arrives(endpoint, fd));
	ck_assert(arrives(dns, fd));
	ck_assert(!arrives(neighbour, fd));
	ck_assert(!arrives(other, fd));
	ck_assert(!arrives_v6(fd));

	ck_assert_int_eq(inet_filter_remove(fd), 0);
	ck_assert_int_eq(inet_filter_remove(fd), 0);
	ck_assert_int_eq(inet_filter_accept_from_endpoints(&inet, fd), 0); /* stays open */
	ck_assert(arrives(neighbour, fd));
	ck_assert(arrives(other, fd));
	(void)close(dns), (void)close(endpoint), (void)close(neighbour), (void)close(other), (void)close(fd);
}

START_TEST(fences)
{
	check_family(AF_INET);
	check_family(AF_INET6);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("inet fence");
	TCase *tcase = tcase_create("fence");

	tcase_add_test(tcase, fences);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
