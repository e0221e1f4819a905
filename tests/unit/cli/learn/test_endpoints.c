/* Rules for the network: by name, with methods and paths where HTTP was seen, ports, sockets. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/learn/learn.h"
#include "tests/unit/unit.h"

static struct draft draft;
static struct needs needs;

static void set_up(void)
{
	ck_assert_int_eq(draft_init(&draft, NULL, "x", NULL), 0);
}

static void tear_down(void)
{
	draft_release(&draft);
	needs_release(&needs);
}

static void ask(enum query_kind kind, const char *host, unsigned port, const char *method, const char *request)
{
	static struct query query;

	query = (struct query){.kind = kind, .port_number = port};
	(void)snprintf(query.host_name, sizeof(query.host_name), "%s", host);
	(void)snprintf(query.http_method, sizeof(query.http_method), "%s", method);
	(void)snprintf(query.request_path, sizeof(query.request_path), "%s", request);
	ck_assert_int_eq(needs_add_query(&needs, &query, needs.nets + 1, "connect", "/usr/bin/curl"), 0);
}

/* The rule for this path. Borrowed; NULL: none. */
static const json_t *get_rule(size_t at)
{
	return json_array_get(json_object_get(json_object_get(draft.root, "network"), "allow"), at);
}

static const char *get_request(size_t rule, size_t at)
{
	return json_string_value(json_array_get(json_object_get(get_rule(rule), "http"), at));
}

START_TEST(requests_have_methods_and_paths)
{
	ask(QUERY_CONNECT, "api.test", 443, "", "");
	ask(QUERY_HTTP_REQUEST, "api.test", 443, "GET", "/repos/12/x");
	ask(QUERY_HTTP_REQUEST, "api.test", 443, "GET", "/repos/77/x");
	ask(QUERY_HTTP_REQUEST, "api.test", 443, "POST", "/login");
	ask(QUERY_CONNECT, "db.test", 5432, "", "");
	ck_assert_int_eq(learn_add_endpoints(&draft, &needs, false), 0);
	ck_assert_int_eq(learn_add_endpoints(&draft, &needs, false), 0); /* adds nothing */
	ck_assert_str_eq(json_string_value(json_object_get(get_rule(0), "host")), "api.test");
	ck_assert_ptr_null(json_object_get(get_rule(0), "proto"));
	ck_assert_str_eq(get_request(0, 0), "GET /repos/*/x");
	ck_assert_str_eq(get_request(0, 1), "POST /login");
	ck_assert_ptr_null(get_request(0, 2));
	ck_assert_str_eq(json_string_value(json_object_get(get_rule(0), "reason")),
			 "connect by /usr/bin/curl, 1 time, first at record 1");
	ck_assert_str_eq(json_string_value(json_object_get(get_rule(1), "proto")), "tcp");
	ck_assert_ptr_null(json_object_get(get_rule(1), "http"));
	ck_assert_ptr_null(get_rule(2));
}
END_TEST

/* A rule with "http" on a port of its own must say which protocol, or the policy is refused. */
START_TEST(http_has_other_ports)
{
	ask(QUERY_CONNECT, "api.test", 8443, "", "");
	ask(QUERY_HTTP_REQUEST, "api.test", 8443, "GET", "/");
	ask(QUERY_CONNECT, "plain.test", 8080, "", "");
	ask(QUERY_HTTP_REQUEST, "plain.test", 8080, "GET", "/");
	needs.net[3].is_http_without_tls = true;
	ask(QUERY_HTTP_REQUEST, "odd.test", 443, "GET", "/");
	needs.net[4].is_http_without_tls = true;
	ck_assert_int_eq(learn_add_endpoints(&draft, &needs, false), 0);
	ck_assert_str_eq(json_string_value(json_object_get(get_rule(0), "proto")), "https");
	ck_assert_str_eq(json_string_value(json_object_get(get_rule(1), "proto")), "http");
	ck_assert_str_eq(json_string_value(json_object_get(get_rule(2), "proto")), "http");
}
END_TEST

START_TEST(datagrams_only_where_there_is_no_tcp)
{
	ask(QUERY_CONNECT, "api.test", 443, "", "");
	needs.net[0].uses_udp = true; /* as getaddrinfo(3) does */
	ask(QUERY_CONNECT, "api.test", 443, "", "");
	ask(QUERY_CONNECT, "time.test", 123, "", "");
	needs.net[2].uses_udp = true;
	ck_assert_int_eq(learn_add_endpoints(&draft, &needs, false), 0);
	ck_assert_str_eq(json_string_value(json_object_get(get_rule(0), "host")), "api.test");
	ck_assert_ptr_null(json_object_get(get_rule(0), "proto"));
	ck_assert_str_eq(json_string_value(json_object_get(get_rule(1), "proto")), "udp");
	ck_assert_ptr_null(get_rule(2));
}
END_TEST

START_TEST(many_requests_are_a_method)
{
	char path[64];

	ask(QUERY_CONNECT, "api.test", 443, "", "");
	for (char a = 'a'; a <= 'z'; a++) {
		(void)snprintf(path, sizeof(path), "/%c%c", a, a);
		ask(QUERY_HTTP_REQUEST, "api.test", 443, "GET", path);
	}
	ck_assert_int_eq(learn_add_endpoints(&draft, &needs, false), 0);
	ck_assert_str_eq(get_request(0, 0), "GET /**");
	ck_assert_ptr_null(get_request(0, 1));
}
END_TEST

START_TEST(addresses_that_are_not_public)
{
	ask(QUERY_CONNECT, "169.254.169.254", 80, "", "");
	ask(QUERY_CONNECT, "10.0.0.7", 443, "", "");
	ask(QUERY_CONNECT, "8.8.8.8", 443, "", "");
	ask(QUERY_CONNECT, "8.8.4.4", 0, "", ""); /* no rule may have such a port */
	ck_assert_int_eq(learn_add_endpoints(&draft, &needs, false), 0);
	ck_assert_ptr_nonnull(json_object_get(get_rule(0), "disabled"));
	ck_assert_ptr_nonnull(json_object_get(get_rule(1), "disabled"));
	ck_assert_ptr_null(json_object_get(get_rule(2), "disabled"));
	ck_assert_int_eq(learn_add_endpoints(&draft, &needs, true), 0); /* --allow-risky */
	ck_assert_ptr_null(json_object_get(get_rule(0), "disabled"));
	ck_assert_ptr_null(get_rule(3));
}
END_TEST

START_TEST(what_is_granted_gets_no_rule)
{
	ask(QUERY_CONNECT, "api.test", 443, "", "");
	needs.net[0].is_granted = true;
	ck_assert_int_eq(learn_add_endpoints(&draft, &needs, false), 0);
	ck_assert_ptr_null(json_object_get(draft.root, "network"));
}
END_TEST

START_TEST(sockets_and_ports)
{
	const json_t *listen;

	needs.refused_socket_without_network = true;
	ck_assert_int_eq(learn_add_endpoints(&draft, &needs, false), 0);
	ck_assert_ptr_nonnull(json_object_get(draft.root, "network"));
	ask(QUERY_LISTEN, "", 8000, "", "");
	ask(QUERY_LISTEN, "", 8001, "", "");
	ck_assert_int_eq(learn_add_endpoints(&draft, &needs, false), 0);
	listen = json_object_get(json_object_get(draft.root, "network"), "listen");
	ck_assert_uint_eq(json_array_size(listen), 2);
	ck_assert_int_eq(json_integer_value(json_array_get(listen, 0)), 8000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("learn endpoints");
	TCase *tcase = tcase_create("all");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, requests_have_methods_and_paths);
	tcase_add_test(tcase, http_has_other_ports);
	tcase_add_test(tcase, datagrams_only_where_there_is_no_tcp);
	tcase_add_test(tcase, many_requests_are_a_method);
	tcase_add_test(tcase, addresses_that_are_not_public);
	tcase_add_test(tcase, what_is_granted_gets_no_rule);
	tcase_add_test(tcase, sockets_and_ports);
	return unit_run(suite);
}
