/* What runs asked for, each once, with who asked first and how often. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/learn/needs.h"
#include "tests/unit/sanitized.h"
#include "tests/unit/unit.h"

static struct query query;

static void ask_path(struct needs *needs, const char *path, unsigned want, const char *call, const char *exe,
		     uint64_t seq)
{
	query = (struct query){.kind = QUERY_PATHS, .path_count = 1};
	query.paths[0].wanted_rights = want;
	query.paths[0].len = (size_t)snprintf(query.paths[0].canonical_path, PATH_MAX, "%s", path);
	ck_assert_int_eq(needs_add_query(needs, &query, seq, call, exe), 0);
}

static int ask_net(struct needs *needs, enum query_kind kind, const char *host, unsigned port, const char *request)
{
	query = (struct query){.kind = kind, .port_number = port};
	(void)snprintf(query.host_name, sizeof(query.host_name), "%s", host);
	(void)snprintf(query.http_method, sizeof(query.http_method), "GET");
	(void)snprintf(query.request_path, sizeof(query.request_path), "%s", request);
	return needs_add_query(needs, &query, 1, "connect", "/bin/x");
}

START_TEST(the_same_path_is_one_need)
{
	struct needs needs = {0};
	_cleanup_free_ char *text = NULL;

	ask_path(&needs, "/a", POLICY_READ, "newfstatat", "/bin/x", 7);
	ck_assert(!needs.need[0].names_in_dir_were_read);
	ask_path(&needs, "/a", POLICY_READ, "openat", "/bin/y", 9);
	ck_assert_uint_eq(needs.count, 1);
	ck_assert(needs.need[0].names_in_dir_were_read);
	text = need_origin_describe(&needs.need[0].origin);
	ck_assert_str_eq(text, "newfstatat by /bin/x, 2 times, first at record 7");
	ask_path(&needs, "/a", POLICY_WRITE, "openat", "/bin/z", 12); /* what asks for more is named */
	free(text);
	text = need_origin_describe(&needs.need[0].origin);
	ck_assert_str_eq(text, "openat by /bin/z, 3 times, first at record 12");
	ck_assert_uint_eq(needs.need[0].rights, POLICY_READ | POLICY_WRITE);
	needs_release(&needs);
}
END_TEST

START_TEST(names_that_lead_through_links_are_kept_apart)
{
	struct needs needs = {0};

	query = (struct query){.kind = QUERY_PATHS, .path_count = 1};
	query.paths[0].wanted_rights = POLICY_READ;
	(void)snprintf(query.paths[0].canonical_path, PATH_MAX, "/real");
	query.paths[0].len = strlen(query.paths[0].canonical_path);
	query.paths[0].path_as_written_len = (size_t)snprintf(query.paths[0].path_as_written, PATH_MAX, "/link");
	ck_assert_int_eq(needs_add_query(&needs, &query, 1, "openat", "/bin/x"), 0);
	ck_assert(!needs_have_path(&needs, "/real")); /* by that name nothing asked */
	ask_path(&needs, "/real", POLICY_READ, "openat", "/bin/x", 2);
	ck_assert_uint_eq(needs.count, 2);
	ck_assert(needs_have_path(&needs, "/real"));
	needs_release(&needs);
}
END_TEST

START_TEST(what_is_absent_is_no_need)
{
	struct needs needs = {0};

	query = (struct query){.kind = QUERY_PATHS, .path_count = 1, .was_found_absent = true};
	(void)snprintf(query.paths[0].canonical_path, PATH_MAX, "/none");
	for (int i = 0; i < (SANITIZED ? 100000 : few_of(1000000)); i++)
		ck_assert_int_eq(needs_add_query(&needs, &query, 1, "openat", "/bin/x"), 0);
	ck_assert_uint_eq(needs.count, 0);
	/* What is there is not made again. */
	query = (struct query){.kind = QUERY_PATHS, .path_count = 1, .failed_because_file_exists = true};
	query.paths[0].wanted_rights = POLICY_WRITE;
	(void)snprintf(query.paths[0].canonical_path, PATH_MAX, "/there");
	ck_assert_int_eq(needs_add_query(&needs, &query, 1, "mkdir", "/bin/x"), 0);
	ck_assert_uint_eq(needs.need[0].rights, POLICY_READ);
	needs_release(&needs);
}
END_TEST

START_TEST(below_is_below)
{
	struct needs needs = {0};

	ask_path(&needs, "/a/b/c", POLICY_READ, "openat", "", 1);
	ck_assert(needs_have_path_below(&needs, "/a/b"));
	ck_assert(needs_have_path_below(&needs, "/a/b/c"));
	ck_assert(!needs_have_path_below(&needs, "/a/b/c/d"));
	ck_assert(!needs_have_path_below(&needs, "/a/bb"));
	ck_assert(!needs_have_path(&needs, "/a/b"));
	needs_release(&needs);
}
END_TEST

START_TEST(requests)
{
	struct needs needs = {0};

	ck_assert_int_eq(ask_net(&needs, QUERY_HTTP_REQUEST, "a.test", 443, "/x"), 0);
	ck_assert_int_eq(ask_net(&needs, QUERY_HTTP_REQUEST, "a.test", 443, "/x"), 0);
	ck_assert_int_eq(ask_net(&needs, QUERY_HTTP_REQUEST, "a.test", 443, "/y"), 0);
	ck_assert_int_eq(ask_net(&needs, QUERY_CONNECT, "a.test", 443, ""), 0);
	ck_assert_int_eq(ask_net(&needs, QUERY_LISTEN, "0.0.0.0", 8000, ""), 0);
	ck_assert_int_eq(ask_net(&needs, QUERY_LISTEN, "::", 8000, ""), 0); /* a port, whatever the address */
	ck_assert_uint_eq(needs.nets, 4);
	ck_assert_uint_eq(needs.net[0].origin.count, 2);
	ck_assert_str_eq(needs.net[3].host, "");
	ck_assert(!needs.refused_socket_without_network);
	query = (struct query){.kind = QUERY_RULES_DO_NOT_DECIDE, .why_not_judged = "network_not_granted"};
	ck_assert_int_eq(needs_add_query(&needs, &query, 1, "socket", ""), 0);
	ck_assert(needs.refused_socket_without_network);
	needs_release(&needs);
}
END_TEST

/* A program that asks for ever new names must not take all memory. */
START_TEST(there_is_an_end)
{
	struct needs needs = {0};
	char path[64];
	int r = 0;

	query = (struct query){.kind = QUERY_PATHS, .path_count = 1};
	query.paths[0].wanted_rights = POLICY_READ;
	for (unsigned i = 0; r == 0 && i < NEEDS_PATHS_MAX + 10; i++) {
		query.paths[0].len = (size_t)snprintf(query.paths[0].canonical_path, PATH_MAX, "/data/%u", i);
		r = needs_add_query(&needs, &query, i, "openat", "/bin/x");
	}
	ck_assert_int_eq(r, -E2BIG);
	ck_assert(needs_have_path(&needs, "/data/77777"));
	r = 0;
	for (unsigned i = 0; r == 0 && i < NEEDS_NETS_MAX + 10; i++) {
		(void)snprintf(path, sizeof(path), "/%u", i);
		r = ask_net(&needs, QUERY_HTTP_REQUEST, "a.test", 443, path);
	}
	ck_assert_int_eq(r, -E2BIG);
	needs_release(&needs);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("learn needs");
	TCase *tcase = tcase_create("all");

	suite_add_tcase(suite, tcase);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, the_same_path_is_one_need);
	tcase_add_test(tcase, names_that_lead_through_links_are_kept_apart);
	tcase_add_test(tcase, what_is_absent_is_no_need);
	tcase_add_test(tcase, below_is_below);
	tcase_add_test(tcase, requests);
	tcase_add_test(tcase, there_is_an_end);
	return unit_run(suite);
}
