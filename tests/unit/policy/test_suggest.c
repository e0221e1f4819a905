/* What would allow a denial, from what a call or a record tells. tests/unit/syscalls/test_denials.c has more paths. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "policy/paths/suggest.h"
#include "policy/policy.h"
#include "tests/unit/unit.h"

static mode_t everything_is_a_file(void *ctx, const char *path)
{
	(void)ctx;
	return strcmp(path, "/") == 0 ? S_IFDIR : S_IFREG;
}

#define REQUEST(method, path) .reason = "path_not_granted", .port = 80, .http_method = (method), .http_path = (path)

static const struct {
	struct suggest_denial denial;
	const char *suggest;
} cases[] = {
	{{.reason = "no_rule", .host = "a.test", .port = 80}, "--allow-host a.test:80"},
	{{.reason = "no_rule", .host = "a.test"}, "--allow-host a.test:443"},
	{{.reason = "no_rule", .host = "::1", .port = 80}, "--allow-host [::1]:80"},
	{{.reason = "port_not_granted", .host = "a.test", .port = 81}, "--allow-host a.test:81"},
	{{.reason = "no_rule", .host = "0.0.0.0", .port = 8000, .accepts_connections = true}, "--listen 8000"},
	{{.reason = "no_rule", .host = "0.0.0.0", .accepts_connections = true}, "--listen 0"},
	{{REQUEST("GET", "/x"), .host = "a.test"}, "--allow 'GET a.test:80/x'"},
	{{REQUEST("GET", "/x?…"), .host = "::1"}, "--allow 'GET [::1]:80/x'"},
	{{REQUEST("GET", "/x"), .host = "a.test", .is_websocket = true}, "--allow 'WEBSOCKET a.test:80/x'"},
	{{REQUEST("WEBSOCKET", "/x"), .host = "a.test"}, NULL}, /* in a rule it means websockets */
	{{REQUEST("*", "/x"), .host = "a.test"}, NULL},
	{{REQUEST("GET", "/'x"), .host = "a.test"}, NULL},
	{{REQUEST("GET", "/**"), .host = "a.test"}, NULL},
	{{.reason = "denied_addr", .host = "a.test", .port = 80, .addresses_not_dialled = "10.0.0.1 private"},
	 "--allow-private a.test:80"},
	{{.reason = "denied_addr", .host = "a.test", .port = 80, .addresses_not_dialled = "169.254.1.1 metadata"},
	 NULL},
	{{.reason = "cap_rate", .host = "a.test", .port = 80}, NULL},
	{{.reason = "no_rule", .host = "a'; id #", .port = 80}, NULL},
	{{.reason = "no_rule", .host = "*.test", .port = 80}, NULL},
	{{.reason = "denied_by_rule", .rule = "p.json: network.deny[0]", .host = "a.test", .port = 80},
	 "drop or narrow the rule \"p.json: network.deny[0]\""},
	{{.reason = "denied_by_rule", .host = "a.test", .port = 80}, NULL},
	{{.reason = "not_granted",
	  .wanted_right = POLICY_READ,
	  .resolved_path = "/srv",
	  .path_as_written = "/srv/data/in"},
	 "-r /srv/data/in"},
	{{.reason = "not_granted",
	  .wanted_right = POLICY_READ,
	  .resolved_path = "/srv/a",
	  .path_as_written = "/srv/b/../a"},
	 "-r /srv/a"},
	{{.reason = "not_granted", .wanted_right = POLICY_READ, .resolved_path = "/srv/a", .path_as_written = "a"},
	 "-r /srv/a"},
	{{.reason = "not_granted", .wanted_right = POLICY_READ, .resolved_path = "/srv/it's"}, "-r '/srv/it'\\''s'"},
	{{.reason = "read_only", .wanted_right = POLICY_WRITE, .resolved_path = "/srv/d/x", .changes_names = true},
	 "-W /srv/d"},
	{{.reason = "not_executable", .wanted_right = POLICY_EXEC, .resolved_path = "/opt/tool"}, "-x /opt/tool"},
	{{.reason = "not_granted", .wanted_right = POLICY_READ}, NULL},
	{{.reason = "not_granted", .resolved_path = "/srv/a"}, NULL},
	{{.reason = "outside_run"}, NULL},
	{{0}, NULL},
};

START_TEST(test_grant)
{
	const struct suggest_host host = {.type = everything_is_a_file};
	const char *why = NULL;
	char *suggest = suggest_make_grant(&host, &cases[_i].denial, &why);

	if (cases[_i].suggest) {
		ck_assert_ptr_nonnull(suggest);
		ck_assert_str_eq(suggest, cases[_i].suggest);
	} else {
		ck_assert_ptr_null(suggest);
	}
	if (!suggest && cases[_i].denial.reason && strcmp(cases[_i].denial.reason, "denied_addr") == 0)
		ck_assert_ptr_nonnull(strstr(why, "\"private\": true in its rule"));
	else
		ck_assert_ptr_null(why);
	free(suggest);
}
END_TEST

START_TEST(test_refused)
{
	const struct suggest_host host = {.type = everything_is_a_file};
	const struct suggest_denial denial = {
		.reason = "not_granted", .wanted_right = POLICY_READ, .resolved_path = "/etc/shadow"};
	const char *why = NULL;

	ck_assert_ptr_null(suggest_make_grant(&host, &denial, &why));
	ck_assert_ptr_nonnull(why);
}
END_TEST

/* Names that no rule can mean, and one with the beginning of a variable. */
START_TEST(test_names_with_a_meaning)
{
	static const struct {
		const char *path, *suggest;
	} names[] = {{"/srv/x/*", NULL},
		     {"/srv/**/x", NULL},
		     {"/srv/bad\xff", NULL},
		     {"/srv/${HOME}", "-r '/srv/$${HOME}'"},
		     {"/srv/a\\b", "-r '/srv/a\\b'"}};
	const struct suggest_host host = {.type = everything_is_a_file};
	const struct suggest_denial denial = {
		.reason = "not_granted", .wanted_right = POLICY_READ, .resolved_path = names[_i].path};
	const char *why = NULL;
	char *suggest = suggest_make_grant(&host, &denial, &why);

	ck_assert_pstr_eq(suggest, names[_i].suggest);
	if (!suggest)
		ck_assert_pstr_eq(why, "no rule permits just this: its name would mean something else there");
	free(suggest);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("suggest");
	TCase *tcase = tcase_create("suggest");

	tcase_add_loop_test(tcase, test_grant, 0, sizeof(cases) / sizeof(cases[0]));
	tcase_add_test(tcase, test_refused);
	tcase_add_loop_test(tcase, test_names_with_a_meaning, 0, 5);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
