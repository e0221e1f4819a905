/*
 * Where an address leads: names of the pool, what the policy names literally, the run's own loopback, nowhere. Threats
 * 36, 38.
 */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "syscalls/net/inet-private.h"
#include "tests/unit/policy/policy-rig.h"
#include "tests/unit/unit.h"

static const char text[] =
	"{\"version\": 1, \"network\": {\"allow\": ["
	"{\"host\": \"api.test\", \"port\": 443}, {\"host\": \"db.test\", \"port\": 5432, \"proto\": \"tcp\"},"
	"{\"host\": \"time.test\", \"port\": 123, \"proto\": \"udp\"},"
	"{\"host\": \"**.wild.test\", \"port\": 443},"
	"{\"host\": \"192.0.2.7\", \"port\": 80, \"proto\": \"tcp\", \"private\": true},"
	"{\"host\": \"127.0.0.1\", \"port\": 6379, \"proto\": \"tcp\", \"private\": true}],"
	"\"deny\": [{\"host\": \"127.0.0.9\"}],"
	"\"listen\": [8000], \"proxy\": true}}";

static struct policy *policy;
static struct pool *pool;
static struct inet *inet;
static unsigned catches;

static struct sockaddr_storage late; /* what is told of a name when egress is asked again */

static void catch_up(void *egress)
{
	(void)egress;
	catches++;
	ck_assert_int_eq(pool_set_name_at_index(pool, POOL_FIRST_NAME_INDEX + 3, "new.wild.test"), 0);
}

static void set_up(bool own_netns)
{
	struct inet_options options = {
		.has_own_netns = own_netns, .listener_port = 40000, .dns_port = 5353, .sink_port = 9};

	policy = rig_load_good(text);
	ck_assert_int_eq(pool_create(policy, &pool), 0);
	ck_assert_int_eq(inet_pton(AF_INET, own_netns ? "127.0.0.1" : "127.7.8.10", &options.loopback), 1);
	options.policy = policy;
	options.pool = pool;
	options.catch_up = catch_up;
	ck_assert_int_eq(inet_create(&options, &inet), 0);
	catches = 0;
}

static void with_netns(void)
{
	set_up(true);
}

static void without_netns(void)
{
	set_up(false);
}

static void tear_down(void)
{
	inet_free(inet);
	pool_free(pool);
	policy_free(policy);
}

/* "api.test": its synthetic address; "own": the run's; "unknown": one that was not given out; else a literal. */
static struct inet_address find(const char *what, int family, uint16_t port)
{
	struct inet_address address = {.family = AF_UNSPEC};
	struct sockaddr_storage storage;
	uint32_t index = strcmp(what, "own") == 0 ? POOL_INDEX_OF_PROXIES : strcmp(what, "unknown") == 0 ? 900 : 0;

	for (uint32_t i = POOL_FIRST_NAME_INDEX; !index && pool_get_policy_name(pool, i); i++)
		if (strcmp(pool_get_policy_name(pool, i), what) == 0)
			index = i;
	if (index) {
		pool_make_address(pool, index, family, port, &storage);
		ck_assert(inet_read_socket_name(&storage, &address));
		return address;
	}
	address.family = strchr(what, ':') ? AF_INET6 : AF_INET;
	address.port = port;
	ck_assert_int_eq(inet_pton(address.family, what,
				   address.family == AF_INET ? (void *)&address.v4 : (void *)&address.v6),
			 1);
	return address;
}

static const struct {
	const char *what;
	uint16_t port;
	bool udp;
	enum inet_destination place;
	const char *host;
	const char *reason; /* of INET_TO_NOWHERE */
} routes[] = {
	{"api.test", 443, false, INET_TO_ENDPOINT, "api.test", NULL},
	{"api.test", 80, false, INET_TO_NOWHERE, "api.test", "port_not_granted"},
	{"api.test", 443, true, INET_TO_NOWHERE, "api.test", NULL}, /* HTTP/3 */
	{"db.test", 5432, false, INET_TO_ENDPOINT, "db.test", NULL},
	{"time.test", 123, true, INET_TO_ENDPOINT, "time.test", NULL},
	{"time.test", 123, false, INET_TO_NOWHERE, "time.test", NULL},
	{"unknown", 443, false, INET_TO_NOWHERE, NULL, "address_unknown"},
	{"192.0.2.7", 80, false, INET_TO_ENDPOINT, "192.0.2.7", NULL},
	{"192.0.2.7", 81, false, INET_TO_NOWHERE, "192.0.2.7", "port_not_granted"},
	{"192.0.2.8", 80, false, INET_TO_NOWHERE, "192.0.2.8", "no_rule"},
	{"8.8.8.8", 53, true, INET_TO_NOWHERE, "8.8.8.8", "no_rule"},
	{"2001:db8::1", 443, false, INET_TO_NOWHERE, "2001:db8::1", "no_rule"},
	{"127.0.0.1", 8000, false, INET_TO_RUN_SOCKET, "127.0.0.1", NULL},
	{"::1", 8000, false, INET_TO_RUN_SOCKET, "::1", NULL},
	{"own", 8000, false, INET_TO_RUN_SOCKET, NULL, NULL},
	{"127.0.0.1", 8001, false, INET_TO_NOWHERE, "127.0.0.1", "port_not_granted"},
	{"::1", 8001, false, INET_TO_NOWHERE, "::1", "no_rule"},
	{"127.0.0.1", 6379, false, INET_TO_ENDPOINT, "127.0.0.1", NULL}, /* named: the host's */
	{"127.0.0.9", 8000, false, INET_TO_NOWHERE, "127.0.0.9", "denied_by_rule"},
	{"127.0.0.1", 53, true, INET_TO_DNS, NULL, NULL},
	{"127.0.0.1", 53, false, INET_TO_DNS, NULL, NULL},
	{"127.7.8.10", 53, true, INET_TO_DNS, NULL, NULL},
	{"own", 53, true, INET_TO_DNS, NULL, NULL},
	{"own", CONTROL_PORT_HTTP_PROXY, false, INET_TO_PROXY, NULL, NULL},
	{"own", CONTROL_PORT_SOCKS, false, INET_TO_PROXY, NULL, NULL},
	{"own", CONTROL_PORT_SOCKS, true, INET_TO_RUN_SOCKET, NULL, NULL},
	{"127.0.0.1", CONTROL_PORT_SOCKS, false, INET_TO_NOWHERE, NULL, NULL},
};

static void check_route(size_t i, int family)
{
	struct inet_address address = find(routes[i].what, family, routes[i].port);
	struct inet_route route;

	inet_judge_address(inet, &address, routes[i].udp, &route);
	ck_assert_msg(route.kind == routes[i].place, "%s %u: %d, %s", routes[i].what, routes[i].port, (int)route.kind,
		      route.verdict.reason ? route.verdict.reason : "no reason");
	if (routes[i].host)
		ck_assert_str_eq(route.host, routes[i].host);
	if (route.kind == INET_TO_NOWHERE)
		ck_assert_ptr_nonnull(route.verdict.reason);
	if (routes[i].reason)
		ck_assert_str_eq(route.verdict.reason, routes[i].reason);
}

START_TEST(addresses_lead_where_they_should)
{
	check_route((size_t)_i, AF_INET);
	check_route((size_t)_i, AF_INET6);
}
END_TEST

/* Told of a moment ago: the line to egress is read before an address counts as unknown. */
START_TEST(a_name_given_out_just_now_is_known)
{
	struct inet_address address;
	struct inet_route route;

	pool_make_address(pool, POOL_FIRST_NAME_INDEX + 3, AF_INET, 443, &late);
	ck_assert(inet_read_socket_name(&late, &address));
	inet_judge_address(inet, &address, false, &route);
	ck_assert_uint_eq(catches, 1);
	ck_assert_int_eq(route.kind, INET_TO_ENDPOINT);
	ck_assert_str_eq(route.host, "new.wild.test");
}
END_TEST

/* ---- names ---- */

START_TEST(names_are_of_one_socket_only)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), other = socket(AF_INET, SOCK_STREAM, 0);
	struct inet_address own = find("own", AF_INET, 0), peer = find("api.test", AF_INET, 443);
	const struct inet_address *got;

	inet_names_set_entry(inet->names, 0, 1234, fd, &own, &peer);
	got = inet_names_find_name_of_socket(inet->names, 0, 1234, fd, true);
	ck_assert_ptr_nonnull(got);
	ck_assert(inet_address_equals(got, &peer));
	ck_assert_uint_eq(got->port, 443);
	got = inet_names_find_name_of_socket(inet->names, 0, 1234, fd, false);
	ck_assert_ptr_nonnull(got);
	ck_assert_uint_eq(got->port, 1234);                                    /* the real one */
	ck_assert_ptr_null(
		inet_names_find_name_of_socket(inet->names, 0, 1234, other, true)); /* has that port by now */
	ck_assert_ptr_null(inet_names_find_name_of_socket(inet->names, 1, 1234, fd, true));
	ck_assert_ptr_null(inet_names_find_name_of_socket(inet->names, 0, 1235, fd, true));
	(void)close(fd);
	(void)close(other);
}
END_TEST

/* What getsockname(2) tells of a socket bound for the program. */
START_TEST(loopback_is_called_loopback)
{
	static const struct {
		int domain;
		const char *bound, *told;
	} cases[] = {
		{AF_INET, "127.7.8.10", "127.0.0.1"},
		{AF_INET6, "127.7.8.10", "::ffff:127.0.0.1"},
		{AF_INET6, "127.7.8.11", "::1"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct inet_socket made = {.fd = socket(cases[i].domain, SOCK_STREAM, 0),
					   .kind = {cases[i].domain, true, false}};
		struct inet_address address = find(cases[i].bound, AF_INET, 0);
		struct sockaddr_storage storage;
		socklen_t len = sizeof(storage);
		char got[INET6_ADDRSTRLEN];
		const void *at = &((const struct sockaddr_in6 *)(const void *)&storage)->sin6_addr;

		if (made.fd < 0)
			continue; /* a machine without IPv6 */
		ck_assert_int_eq(inet_bind_to_address(&made, &address), 0);
		ck_assert_int_eq(getsockname(made.fd, (struct sockaddr *)&storage, &len), 0);
		ck_assert(inet_translate_name_for_target(inet, made.fd, false, &storage, &len));
		ck_assert_int_eq(storage.ss_family, cases[i].domain);
		if (cases[i].domain == AF_INET)
			at = &((const struct sockaddr_in *)(const void *)&storage)->sin_addr;
		ck_assert_str_eq(inet_ntop(cases[i].domain, at, got, sizeof(got)), cases[i].told);
		(void)close(made.fd);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("inet");
	TCase *with = tcase_create("with a network namespace"), *without = tcase_create("without");

	tcase_add_checked_fixture(with, with_netns, tear_down);
	tcase_add_loop_test(with, addresses_lead_where_they_should, 0, sizeof(routes) / sizeof(routes[0]));
	tcase_add_test(with, a_name_given_out_just_now_is_known);
	suite_add_tcase(suite, with);
	tcase_add_checked_fixture(without, without_netns, tear_down);
	tcase_add_loop_test(without, addresses_lead_where_they_should, 0, sizeof(routes) / sizeof(routes[0]));
	tcase_add_test(without, names_are_of_one_socket_only);
	tcase_add_test(without, loopback_is_called_loopback);
	suite_add_tcase(suite, without);
	return unit_run(suite);
}
