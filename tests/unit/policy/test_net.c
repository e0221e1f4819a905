/* Judging endpoints and requests, composition over files and the command line, the printed policy, warnings. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/policy/policy-rig.h"
#include "policy/network/net.h"
#include "policy/network/pack.h"
#include "tests/unit/unit.h"

#define ENDPOINT_TEXT_SIZE 65536

/* Policies are written with ' for ". */
static const char *json(const char *text)
{
	static char out[4][ENDPOINT_TEXT_SIZE];
	static unsigned next;
	char *copy = out[next++ % 4];

	ck_assert_uint_lt(strlen(text), ENDPOINT_TEXT_SIZE);
	for (size_t i = 0; i == 0 || text[i - 1]; i++)
		copy[i] = text[i] == '\'' ? '"' : text[i];
	return copy;
}

static struct policy *load_with(const char *text, const struct policy_cli *cli)
{
	struct rig rig = {0};
	struct policy *policy = NULL;
	int ret = rig_load(&rig, json(text), cli, &policy);

	ck_assert_msg(ret == 0, "%s", rig.errors.count ? rig.errors.item[0].text : "no memory");
	rig_done(&rig);
	return policy;
}

/* Loads a policy, and what policy_make_json() prints for it: every case is checked with both. */
static struct policy *reload(struct policy *policy)
{
	char *shown = policy_make_json(policy), *again;
	struct policy *second;
	struct rig rig = {0};

	ck_assert_ptr_nonnull(shown);
	ck_assert_msg(rig_load(&rig, shown, NULL, &second) == 0, "%s\n%s",
		      rig.errors.count ? rig.errors.item[0].text : "", shown);
	again = policy_make_json(second);
	ck_assert_str_eq(again, shown);
	free(again);
	free(shown);
	policy_free(policy);
	rig_done(&rig);
	return second;
}

/* ---- verdicts ---- */

static const char world[] =
	"{'network': {'default': 'deny', 'allow': ["
	"  {'host': 'api.test.example', 'http': ['GET,HEAD /repos/acme/**', 'POST /repos/acme/*/issues', 'WEBSOCKET "
	"/chat'],"
	"   'credential': {'header': 'Authorization', 'value': 'Bearer {TOKEN}'}},"
	"  {'host': 'open.example', 'port': [443, 8443], 'proto': 'https'},"
	"  {'host': '*.one.example', 'max_requests': 5}, {'host': 'x.one.example', 'private': true},"
	"  {'host': '**.deep.example', 'http': ['* /**']}, {'host': 'a.deep.example'},"
	"  {'host': 'db.example', 'port': 5432}, {'host': 'db.example', 'port': 53, 'proto': 'udp'},"
	"  {'host': 'plain.example', 'port': 80, 'http': ['GET /']}, {'host': 'secret.example'}, {'host': "
	"'evil.example'},"
	"  {'host': 'half.example', 'port': [443, 8443], 'proto': 'https'},"
	"  {'host': '127.0.0.1', 'port': 6379, 'private': true}, {'host': '2001:4860::1', 'port': 22}],"
	" 'deny': [{'host': 'evil.example', 'reason': 'no'}, {'host': 'half.example', 'port': 8443}, {'host': "
	"'**.bad.deep.example'},"
	"          {'host': '198.51.100.7'}],"
	" 'listen': [8000, '9000-9010', 0]},"
	" 'secrets': {'TOKEN': {'from': 'env:T', 'hosts': ['api.test.example', '*.deep.example']},"
	"             'OTHER': {'from': 'fd:3', 'hosts': ['secret.example']}}}";

struct connect_case {
	const char *host;
	unsigned port;
	bool udp;
	const char *reason; /* "granted": allowed */
	bool intercepted;
};

/* clang-format off */
static const struct connect_case connects[] = {
	{"api.test.example", 443, false, "granted", true}, {"api.test.example", 80, false, "port_not_granted", false},
	{"api.test.example", 443, true, "proto_not_granted", true},
	{"test.example", 443, false, "no_rule", false}, {"x.api.test.example", 443, false, "no_rule", false},
	{"open.example", 443, false, "granted", false}, {"open.example", 8443, false, "granted", false},
	{"a.one.example", 443, false, "granted", true}, {"a.b.one.example", 443, false, "no_rule", false},
	{"one.example", 443, false, "no_rule", false}, {"x.one.example", 443, false, "granted", true},
	{"a.b.deep.example", 443, false, "granted", true}, {"b.deep.example", 443, false, "granted", true},
	{"deep.example", 443, false, "no_rule", false}, {"x.bad.deep.example", 443, false, "denied_by_rule", true},
	{"bad.deep.example", 443, false, "granted", true}, {"db.example", 5432, false, "granted", false},
	{"db.example", 5432, true, "proto_not_granted", false}, {"db.example", 53, true, "granted", false},
	{"db.example", 53, false, "proto_not_granted", false}, {"plain.example", 80, false, "granted", false},
	{"secret.example", 443, false, "granted", true}, {"evil.example", 443, false, "denied_by_rule", false},
	{"half.example", 443, false, "granted", false}, {"half.example", 8443, false, "denied_by_rule", false},
	{"127.0.0.1", 6379, false, "granted", false}, {"127.0.0.1", 22, false, "port_not_granted", false},
	{"2001:4860::1", 22, false, "granted", false}, {"10.0.0.1", 443, false, "no_rule", false},
	{"198.51.100.7", 443, false, "denied_by_rule", false}, {"", 443, false, "no_rule", false},
};

static const struct {
	const char *host;
	unsigned port;
	const char *method, *path;
	bool upgrade;
	const char *reason;
} requests[] = {
	{"api.test.example", 443, "GET", "/repos/acme/x", false, "granted"},
	{"api.test.example", 443, "HEAD", "/repos/acme", false, "granted"},
	{"api.test.example", 443, "DELETE", "/repos/acme/x", false, "method_not_granted"},
	{"api.test.example", 443, "GET", "/repos/other", false, "path_not_granted"},
	{"api.test.example", 443, "POST", "/repos/acme/x/issues", false, "granted"},
	{"api.test.example", 443, "POST", "/repos/acme/issues", false, "method_not_granted"},
	{"api.test.example", 443, "GET", "/chat", true, "granted"},
	{"api.test.example", 443, "GET", "/chat", false, "path_not_granted"},
	{"api.test.example", 443, "GET", "/repos/acme/x", true, "upgrade_not_granted"},
	{"api.test.example", 443, "GE", "/repos/acme/x", false, "method_not_granted"},
	{"api.test.example", 443, "GET,HEAD", "/repos/acme/x", false, "method_not_granted"},
	{"api.test.example", 443, "", "/repos/acme/x", false, "method_not_granted"},
	{"api.test.example", 444, "GET", "/repos/acme/x", false, "port_not_granted"},
	{"other.example", 443, "GET", "/", false, "no_rule"},
	{"open.example", 443, "PUT", "/any", false, "granted"}, {"open.example", 443, "GET", "/any", true, "granted"},
	{"open.example", 443, "TRACE", "/", false, "method_not_granted"},
	{"open.example", 443, "CONNECT", "/", false, "method_not_granted"},
	{"b.deep.example", 443, "PATCH", "/x/y", false, "granted"},
	{"b.deep.example", 443, "TRACE", "/x/y", false, "method_not_granted"},
	{"b.deep.example", 443, "GET", "/x", true, "upgrade_not_granted"},
	{"a.deep.example", 443, "GET", "/x", true, "granted"}, {"plain.example", 80, "GET", "/", false, "granted"},
	{"plain.example", 80, "GET", "/x", false, "path_not_granted"},
	{"evil.example", 443, "GET", "/", false, "denied_by_rule"},
	{"half.example", 8443, "GET", "/", false, "denied_by_rule"},
	{"half.example", 443, "GET", "/", false, "granted"},
	{"db.example", 5432, "GET", "/", false, "proto_not_granted"},
};

static const struct {
	const char *host, *reason;
} lookups[] = {
	{"api.test.example", "granted"}, {"db.example", "granted"}, {"evil.example", "denied_by_rule"},
	{"half.example", "granted"}, {"x.bad.deep.example", "denied_by_rule"}, {"a.b.c.deep.example", "granted"},
	{"deep.example", "no_rule"}, {"example", "no_rule"}, {"x.api.test.example", "no_rule"},
};

static const struct {
	unsigned port;
	bool allow;
} listens[] = {{8000, true}, {8001, false}, {7999, false}, {9000, true}, {9010, true}, {9011, false}, {8999, false},
	       {0, true}, {65535, false}, {70000, false}};
/* clang-format on */

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static void check_verdict(struct net_verdict verdict, const char *reason, const char *what)
{
	ck_assert_msg(strcmp(verdict.reason, reason) == 0, "%s: %s, not %s", what, verdict.reason, reason);
	ck_assert_int_eq(verdict.is_allowed, strcmp(reason, "granted") == 0);
	ck_assert_int_eq(verdict.label != NULL, verdict.is_allowed || strcmp(reason, "denied_by_rule") == 0);
	ck_assert_int_eq(verdict.rule != NULL, verdict.is_allowed);
}

static void check_world(const struct policy *policy)
{
	for (int i = 0; i < COUNT(connects); i++) {
		const struct connect_case *one = &connects[i];

		check_verdict(policy_net_judge_connect(policy, one->host, one->port, one->udp), one->reason, one->host);
		ck_assert_msg(policy_net_intercepts_tls(policy, one->host, one->port) == one->intercepted, "%s:%u",
			      one->host, one->port);
	}
	for (int i = 0; i < COUNT(requests); i++)
		check_verdict(policy_net_judge_request(policy, requests[i].host, requests[i].port, requests[i].method,
						 requests[i].path, requests[i].upgrade),
			      requests[i].reason, requests[i].path);
	for (int i = 0; i < COUNT(lookups); i++)
		check_verdict(policy_net_judge_name(policy, lookups[i].host), lookups[i].reason, lookups[i].host);
	for (int i = 0; i < COUNT(listens); i++)
		ck_assert_msg(policy_net_judge_listen(policy, listens[i].port).is_allowed == listens[i].allow, "%u",
			      listens[i].port);
}

START_TEST(test_world)
{
	struct policy *policy = load_with(world, NULL);

	check_world(policy);
	policy = reload(policy);
	check_world(policy);
	policy_free(policy);
}
END_TEST

/* What an answer may permit: the endpoint's own rule, else any public endpoint; never what a rule denies for good. */
START_TEST(test_answered)
{
	static const char asking[] =
		"{'on_deny': 'ask', 'network': {'allow': [{'host': 'a.test', 'port': 5432, 'proto': 'tcp', 'private': "
		"true},"
		" {'host': 'h.test', 'port': 80, 'http': ['GET /ok']}], 'deny': [{'host': 'a.test'},"
		" {'host': '**.evil.test', 'on_deny': 'errno'}, {'host': 'some.test', 'port': 22, 'on_deny': "
		"'errno'}]}}";
	static const struct {
		const char *host;
		unsigned port;
		int proto;
		const char *reason;
		bool allows_private;
	} cases[] = {
		{"a.test", 5432, NET_TCP, "granted", true},
		{"a.test", 443, NET_HTTPS, "granted", false},
		{"other.test", 443, NET_HTTPS, "granted", false},
		{"other.test", 25, NET_TCP, "granted", false},
		{"x.evil.test", 443, -1, "denied_by_rule", false},
		{"some.test", 22, -1, "denied_by_rule", false},
		{"some.test", 23, NET_TCP, "granted", false},
		{"8.8.8.8", 53, NET_TCP, "granted", false},
		{"10.0.0.1", 53, NET_TCP, "granted", true},
		{"127.0.0.1", 53, -1, "no_rule", false},
		{"169.254.169.254", 80, -1, "no_rule", false},
		{"::1", 80, -1, "no_rule", false},
		{"fe80::1", 80, -1, "no_rule", false},
		{"224.0.0.1", 80, -1, "no_rule", false},
		{"0.0.0.0", 80, -1, "no_rule", false},
		{"fd00:ec2::254", 80, -1, "no_rule", false},
	};
	struct policy *policy = load_with(asking, NULL);
	struct net_verdict verdict;

	for (unsigned again = 0; again < 2; again++, policy = reload(policy)) {
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			verdict = policy_net_judge_answered_connect(policy, cases[i].host, cases[i].port, false);

			check_verdict(verdict, cases[i].reason, cases[i].host);
			ck_assert_int_eq(verdict.rule ? (int)verdict.rule->proto : -1, cases[i].proto);
			ck_assert(!verdict.rule || verdict.rule->allows_private_addresses == cases[i].allows_private);
		}
		verdict = policy_net_judge_answered_connect(policy, "8.8.8.8", 53, true);
		ck_assert(verdict.is_allowed && verdict.rule->proto == NET_UDP);
		check_verdict(policy_net_judge_answered_connect(policy, "x.evil.test", 53, true), "denied_by_rule",
			      "evil");
		check_verdict(policy_net_judge_answered_connect(policy, "127.0.0.1", 53, true), "no_rule", "loopback");
		ck_assert(policy_net_may_ask_about_name(policy, "other.test"));
		ck_assert(policy_net_may_ask_about_name(policy, "some.test"));
		ck_assert(!policy_net_may_ask_about_name(policy, "x.evil.test"));
		check_verdict(policy_net_judge_answered_request(policy, "h.test", 80, "GET", "/ok", false), "granted",
			      "ok");
		check_verdict(policy_net_judge_answered_request(policy, "h.test", 80, "GET", "/no", false),
			      "path_not_granted", "no");
		check_verdict(policy_net_judge_answered_request(policy, "x.evil.test", 80, "GET", "/ok", false),
			      "denied_by_rule", "evil");
	}
	policy_free(policy);
}
END_TEST

/* What an answer to a question about a request permits: by which rule, and why not. */
START_TEST(test_asked_request)
{
	static const char asking[] =
		"{%s'network': {'allow': [{'host': 'a.test', 'port': 80, 'http': ['GET /ok', 'POST /form']%s},"
		" {'host': 'any.test', 'port': 80, 'any_body': true}, {'host': 'raw.test', 'port': 80, 'proto': 'tcp'},"
		" {'host': '*.wild.test', 'http': ['GET /ok'], 'on_deny': '%s'}],"
		" 'deny': [{'host': 'x.wild.test', 'on_deny': 'errno'}]}}";
	static const struct {
		const char *host, *method, *path;
		unsigned port;
		const char *reason[3]; /* the policy asks; the rule asks; another rule asks */
	} cases[] = {
		{"a.test", "GET", "/ok", 80, {"granted", "granted", "granted"}},
		{"a.test", "PUT", "/ok", 80, {"granted", "granted", "method_not_granted"}},
		{"a.test", "GET", "/no", 80, {"granted", "granted", "path_not_granted"}},
		{"a.test", "CONNECT", "/ok", 80, {"method_not_granted", "method_not_granted", "method_not_granted"}},
		{"a.test", "TRACE", "/ok", 80, {"method_not_granted", "method_not_granted", "method_not_granted"}},
		{"a.test", "GET", "/no", 81, {"port_not_granted", "port_not_granted", "port_not_granted"}},
		{"any.test", "PUT", "/no", 80, {"granted", "granted", "granted"}},
		{"raw.test", "PUT", "/no", 80, {"proto_not_granted", "proto_not_granted", "proto_not_granted"}},
		{"b.wild.test", "PUT", "/no", 443, {"path_not_granted", "path_not_granted", "granted"}},
		{"x.wild.test", "PUT", "/no", 443, {"denied_by_rule", "denied_by_rule", "denied_by_rule"}},
		{"other.test", "GET", "/no", 80, {"no_rule", "no_rule", "no_rule"}},
	};
	char text[1024];
	struct policy *policy;

	(void)snprintf(text, sizeof(text), asking, _i == 0 ? "'on_deny': 'ask', " : "",
		       _i == 1 ? ", 'on_deny': 'ask'" : "", _i == 2 ? "ask" : "errno");
	policy = load_with(text, NULL);
	for (unsigned again = 0; again < 2; again++, policy = reload(policy))
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
			check_verdict(policy_net_judge_asked_request(policy, cases[i].host, cases[i].port,
								     cases[i].method, cases[i].path, false),
				      cases[i].reason[_i], cases[i].host);
	policy_free(policy);
}
END_TEST

/* Rules of "ask" with "http": they beat those of "allow", under which a request is forwarded once it is answered. */
START_TEST(test_ask_about_requests)
{
	static const char asking[] =
		"{'network': {'ask': [{'host': 'a.test', 'http': ['DELETE /**', 'POST /form', '* /admin/**', 'PUT "
		"/p/*']}, "
		"{'host': "
		"'only.test', 'port': 8080, 'proto': 'http', 'http': ['GET /x'], 'any_body': true}, {'host': "
		"'no.test', "
		"'http': ['* /**']}], 'allow': [{'host': '*.test'}, {'host': 'a.test', 'http': ['POST /form'], "
		"'max_requests': 3}], 'deny': [{'host': 'no.test'}]}}";
	static const struct {
		const char *host;
		unsigned port;
		const char *method, *path;
		bool upgrade;
		const char *reason, *answered, *by; /* the verdict, that if an answer permits it, and by which rule */
	} cases[] = {
		{"a.test", 443, "GET", "/x", false, "granted", "granted", "allow[0]"},
		{"a.test", 443, "DELETE", "/x", false, "denied_by_rule", "granted", "allow[0]"},
		{"a.test", 443, "POST", "/form", false, "denied_by_rule", "granted", "allow[1]"},
		{"a.test", 443, "GET", "/admin/x", true, "denied_by_rule", "granted", "allow[0]"},
		{"a.test", 443, "GET", "/x", true, "granted", "granted", "allow[0]"},
		/* as some servers read them */
		{"a.test", 443, "delete", "/x", false, "denied_by_rule", "granted", "allow[0]"},
		{"a.test", 443, "GET", "/admin%2Fx", false, "denied_by_rule", "granted", "allow[0]"},
		{"a.test", 443, "GET", "/%252Fadmin%252Fx", false, "denied_by_rule", "granted", "allow[0]"},
		{"a.test", 443, "GET", "//Admin;v=1//x", false, "denied_by_rule", "granted", "allow[0]"},
		{"a.test", 443, "POST", "/form/", false, "denied_by_rule", "granted", "allow[0]"},
		{"a.test", 443, "PUT", "/p/a%2Fb", false, "denied_by_rule", "granted", "allow[0]"},
		{"a.test", 443, "PUT", "/p/a%252fb", false, "denied_by_rule", "granted", "allow[0]"},
		{"a.test", 443, "PUT", "/p/a/b", false, "granted", "granted", "allow[0]"},
		{"a.test", 443, "GET", "/administrator", false, "granted", "granted", "allow[0]"},
		{"a.test", 443, "CONNECT", "/admin/x", false, "method_not_granted", "method_not_granted", NULL},
		{"only.test", 8080, "GET", "/x", false, "denied_by_rule", "granted", "ask[1]"},
		{"only.test", 8080, "GET", "/x", true, "denied_by_rule", "granted", "ask[1]"},
		{"only.test", 8080, "HEAD", "/x", false, "denied_by_rule", "granted", "ask[1]"},
		{"only.test", 8080, "PUT", "/x", false, "method_not_granted", "method_not_granted", NULL},
		{"only.test", 8080, "GET", "/y", false, "path_not_granted", "path_not_granted", NULL},
		{"no.test", 443, "GET", "/x", false, "denied_by_rule", "denied_by_rule", NULL},
	};
	struct policy *policy = load_with(asking, NULL);

	for (unsigned again = 0; again < 2; again++, policy = reload(policy)) {
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			const struct net_verdict asked = policy_net_judge_asked_request(
				policy, cases[i].host, cases[i].port, cases[i].method, cases[i].path, cases[i].upgrade);

			check_verdict(policy_net_judge_request(policy, cases[i].host, cases[i].port, cases[i].method,
							       cases[i].path, cases[i].upgrade),
				      cases[i].reason, cases[i].path);
			check_verdict(asked, cases[i].answered, cases[i].path);
			ck_assert(!cases[i].by || again || strstr(asked.label, cases[i].by));
		}
		ck_assert(policy_net_intercepts_tls(policy, "a.test", 443));
		ck_assert(!policy_net_intercepts_tls(policy, "b.test", 443));
		ck_assert(policy_net_judge_connect(policy, "only.test", 8080, false).is_allowed);
		ck_assert(policy_asks_in_mode(policy, ON_DENY_ASK));
	}
	policy_free(policy);
}
END_TEST

/* The verdict's rule: exact names before wildcards, and among equals the one whose "http" allows the request. */
START_TEST(test_rules)
{
	struct policy *policy = load_with(world, NULL);
	const struct net_rule *rules;
	struct net_verdict verdict = policy_net_judge_connect(policy, "x.one.example", 443, false);
	size_t count;

	ck_assert_str_eq(verdict.rule->host, "x.one.example");
	ck_assert(verdict.rule->allows_private_addresses);
	ck_assert_str_eq(verdict.label, "p.json: network.allow[3] x.one.example:443");
	verdict = policy_net_judge_connect(policy, "y.one.example", 443, false);
	ck_assert_uint_eq(verdict.rule->budget.requests_max, 5);
	verdict = policy_net_judge_request(policy, "a.deep.example", 443, "GET", "/", false);
	ck_assert_str_eq(verdict.rule->host, "**.deep.example");
	verdict = policy_net_judge_request(policy, "api.test.example", 443, "GET", "/repos/acme/x", false);
	ck_assert_str_eq(verdict.rule->credential_header, "authorization");
	ck_assert_str_eq(verdict.rule->credential_value, "Bearer {TOKEN}");
	rules = policy_net_get_rules(policy, &count);
	ck_assert_uint_eq(count, 14);
	for (size_t i = 0; i < count; i++)
		ck_assert_uint_eq(rules[i].index, i);
	policy_free(policy);
}
END_TEST

START_TEST(test_secrets)
{
	struct policy *policy = load_with(world, NULL);
	size_t count;
	const struct net_secret *secrets = policy_net_get_secrets(policy, &count);

	ck_assert_uint_eq(count, 2);
	ck_assert_str_eq(secrets[0].name, "TOKEN");
	ck_assert_str_eq(secrets[0].value_source, "env:T");
	ck_assert(net_secret_allows_host(&secrets[0], "api.test.example"));
	ck_assert(net_secret_allows_host(&secrets[0], "b.deep.example"));
	ck_assert(!net_secret_allows_host(&secrets[0], "c.b.deep.example"));
	ck_assert(!net_secret_allows_host(&secrets[0], "secret.example"));
	policy_free(policy);
}
END_TEST

START_TEST(test_denied_address)
{
	struct policy *policy = load_with(world, NULL);
	struct sockaddr_in address = {.sin_family = AF_INET};
	struct sockaddr_in6 mapped = {.sin6_family = AF_INET6};

	ck_assert_int_eq(inet_pton(AF_INET, "198.51.100.7", &address.sin_addr), 1);
	ck_assert(!policy_net_judge_address(policy, (const struct sockaddr *)&address, 443).is_allowed);
	ck_assert_int_eq(inet_pton(AF_INET6, "::ffff:198.51.100.7", &mapped.sin6_addr), 1);
	ck_assert(!policy_net_judge_address(policy, (const struct sockaddr *)&mapped, 443).is_allowed);
	ck_assert_int_eq(inet_pton(AF_INET, "198.51.100.8", &address.sin_addr), 1);
	ck_assert(policy_net_judge_address(policy, (const struct sockaddr *)&address, 443).is_allowed);
	policy_free(policy);
}
END_TEST

/* ---- single values ---- */

START_TEST(test_values)
{
	struct policy *policy = load_with(
		"{'network': {'allow': [{'host': 'db.test', 'port': 5432, 'private': true, 'dns': 'real', "
		"'max_bytes_up': '64K',"
		" 'max_bytes_down': 5, 'max_bytes_per_second': '1M', 'max_connections': 3, 'reason': 'because'},"
		" {'host': 'h.test', 'requests_per_minute': 60, 'max_requests': '7', 'max_bytes_up': 'none', "
		"'any_body': true}],"
		" 'resolve': {'DB.test': ['127.0.0.1', '::1'], 'h.test': '8.8.8.8'}, 'upstream_ca': './ca.pem', "
		"'proxy': 'env',"
		" 'pool': {'v4': '10.9.0.0/16'}}}",
		NULL);
	struct sockaddr_storage addresses[NET_ADDRESSES_MAX];
	struct net_pool_ranges pool;
	const struct net_rule *rules;
	char text[NET_ADDRESS_TEXT_SIZE];
	size_t count;

	policy = reload(policy);
	rules = policy_net_get_rules(policy, &count);
	ck_assert_uint_eq(count, 2);
	ck_assert_uint_eq(rules[0].budget.bytes_up, 65536);
	ck_assert_uint_eq(rules[0].budget.bytes_down, 5);
	ck_assert_uint_eq(rules[0].budget.bytes_per_second, 1 << 20);
	ck_assert_uint_eq(rules[0].budget.connections_max, 3);
	ck_assert(rules[0].uses_real_dns && rules[0].allows_private_addresses && rules[0].proto == NET_TCP &&
		  !rules[0].is_address);
	ck_assert_str_eq(rules[0].reason, "because");
	ck_assert(rules[1].allows_any_body && !rules[0].allows_any_body);
	ck_assert_uint_eq(rules[1].budget.requests_per_minute, 60);
	ck_assert_uint_eq(rules[1].budget.requests_max, 7);
	ck_assert_uint_eq(rules[1].budget.bytes_up, 0);
	ck_assert(policy_net_intercepts_tls(policy, "h.test", 443)); /* counting requests needs TLS interception */
	ck_assert_uint_eq(policy_net_get_fixed_addresses(policy, "db.test", addresses, NET_ADDRESSES_MAX), 2);
	net_address_format((const struct sockaddr *)&addresses[1], text);
	ck_assert_str_eq(text, "::1");
	ck_assert_uint_eq(policy_net_get_fixed_addresses(policy, "db.test", addresses, 1), 1);
	ck_assert_uint_eq(policy_net_get_fixed_addresses(policy, "x.test", addresses, 1), 0);
	ck_assert_str_eq(policy_net_get_upstream_ca(policy), "./ca.pem");
	ck_assert(policy_net_offers_proxy(policy) && policy_net_sets_proxy_variables(policy));
	pool = policy_net_get_pool(policy);
	ck_assert_uint_eq(ntohl(pool.v4.s_addr), 0x0a090000);
	ck_assert_uint_eq(pool.v4_bits, 16);
	ck_assert_uint_eq(pool.v6_bits, 32);
	ck_assert_uint_eq(pool.v6.s6_addr[3], 0x5a);
	policy_free(policy);
}
END_TEST

START_TEST(test_usual_values)
{
	struct policy *policy = load_with("{'network': {}}", NULL);
	struct net_pool_ranges pool = policy_net_get_pool(policy);
	size_t count;

	ck_assert(policy_net_is_enabled(policy));
	ck_assert_uint_eq(ntohl(pool.v4.s_addr), 0xc6120000);
	ck_assert_uint_eq(pool.v4_bits, 15);
	ck_assert_uint_eq(pool.v6.s6_addr[0], 0xfd);
	ck_assert(!policy_net_offers_proxy(policy) && !policy_net_sets_proxy_variables(policy) &&
		  !policy_net_get_upstream_ca(policy));
	ck_assert(!policy_net_judge_listen(policy, 0).is_allowed);
	policy = reload(policy);
	ck_assert(policy_net_is_enabled(policy));
	policy_free(policy);
	policy = load_with("{'secrets': {'A': {'from': 'env:A', 'hosts': ['a.test']}}}", NULL);
	ck_assert(!policy_net_is_enabled(policy));
	(void)policy_net_get_secrets(policy, &count); /* no host to send them to */
	ck_assert_uint_eq(count, 0);
	policy = reload(policy);
	ck_assert(!policy_net_is_enabled(policy));
	policy_free(policy);
}
END_TEST

/* ---- composition ---- */

static struct policy *load_files(const char *parent, const char *child, const struct policy_cli *cli)
{
	const struct rig_file files[] = {{"parent", json(parent)}, {"p.json", json(child)}, {NULL, NULL}};
	struct rig rig = {.files = files};
	struct policy *policy = NULL;
	int ret = rig_load(&rig, NULL, cli, &policy);

	ck_assert_msg(ret == 0, "%s", rig.errors.count ? rig.errors.item[0].text : "no memory");
	rig_done(&rig);
	return policy;
}

static bool reaches(const struct policy *policy, const char *host)
{
	return policy_net_is_enabled(policy) && policy_net_judge_connect(policy, host, 443, false).is_allowed;
}

START_TEST(test_extends)
{
	static const char parent[] =
		"{'network': {'allow': [{'host': 'a.test'}, {'host': 'c.test'}], 'deny': [{'host': 'd.test'}],"
		" 'resolve': {'a.test': '8.8.8.8'}, 'listen': [1]}}";
	struct sockaddr_storage address;
	struct policy *policy =
		load_files(parent,
			   "{'extends': ['parent'], 'network': {'allow': [{'host': 'b.test'}, {'host': 'd.test'}],"
			   " 'deny': [{'host': 'c.test'}], 'resolve': {'a.test': '8.8.4.4'}}}",
			   NULL);

	policy = reload(policy);
	ck_assert(reaches(policy, "a.test") && reaches(policy, "b.test"));
	ck_assert(!reaches(policy, "c.test") && !reaches(policy, "d.test"));
	ck_assert_uint_eq(policy_net_get_fixed_addresses(policy, "a.test", &address, 1), 1);
	ck_assert_uint_eq(ntohl(((struct sockaddr_in *)(void *)&address)->sin_addr.s_addr), 0x08080404);
	ck_assert(policy_net_judge_listen(policy, 1).is_allowed);
	policy_free(policy);

	policy = reload(load_files(parent, "{'extends': ['parent'], 'network': 'none'}", NULL));
	ck_assert(!policy_net_is_enabled(policy) && !reaches(policy, "a.test"));
	policy_free(policy);

	policy = reload(load_files("{'network': 'none'}",
				   "{'extends': ['parent'], 'network': {'allow': [{'host': 'b.test'}]}}", NULL));
	ck_assert(reaches(policy, "b.test"));
	policy_free(policy);
}
END_TEST

START_TEST(test_command_line)
{
	static const char *const hosts[] = {"b.test", "*.w.test:8443", "10.0.0.1:5432", "[::1]:22", "p.test:80", NULL};
	static const char *const allow[] = {"GET,POST h.test/x/**", "GET http://i.test:8080", "WEBSOCKET h.test/chat",
					    NULL};
	static const char *const secrets[] = {"TOKEN@h.test,*.v.test", NULL};
	const struct policy_cli cli = {.allow_host = hosts, .allow_request = allow, .secret = secrets};
	const struct policy_cli none = {.denies_network = true};
	struct policy *policy = load_with("{'network': {'allow': [{'host': 'a.test'}]}}", &cli);
	struct net_verdict verdict;

	for (int round = 0; round < 2; round++) {
		size_t count;
		const struct net_secret *found = policy_net_get_secrets(policy, &count);

		ck_assert(reaches(policy, "a.test") && reaches(policy, "b.test") && !reaches(policy, "c.test"));
		verdict = policy_net_judge_connect(policy, "x.w.test", 8443, false);
		ck_assert(verdict.is_allowed && verdict.rule->proto == NET_TCP);
		verdict = policy_net_judge_connect(policy, "10.0.0.1", 5432, false);
		ck_assert(verdict.is_allowed && verdict.rule->allows_private_addresses);
		ck_assert(policy_net_judge_connect(policy, "::1", 22, false).is_allowed);
		ck_assert_int_eq(policy_net_judge_connect(policy, "p.test", 80, false).rule->proto, NET_HTTP);
		ck_assert(policy_net_judge_request(policy, "h.test", 443, "POST", "/x/y", false).is_allowed);
		ck_assert(!policy_net_judge_request(policy, "h.test", 443, "PUT", "/x/y", false).is_allowed);
		ck_assert(policy_net_judge_request(policy, "h.test", 443, "GET", "/chat", true).is_allowed);
		ck_assert(policy_net_judge_request(policy, "i.test", 8080, "GET", "/any", false).is_allowed);
		ck_assert_int_eq(policy_net_judge_connect(policy, "i.test", 8080, false).rule->proto, NET_HTTP);
		ck_assert_uint_eq(count, 1);
		ck_assert_str_eq(found->value_source, "env:TOKEN");
		ck_assert(net_secret_allows_host(found, "h.test") && net_secret_allows_host(found, "x.v.test"));
		if (round == 0)
			ck_assert_str_eq(policy_net_judge_connect(policy, "b.test", 443, false).label,
					 "command line: --allow-host b.test");
		policy = reload(policy);
	}
	policy_free(policy);
	policy = load_with("{'network': {'allow': [{'host': 'a.test'}]}}", &none);
	ck_assert(!policy_net_is_enabled(policy));
	policy_free(policy);
}
END_TEST

/* ---- warnings ---- */

static const struct {
	const char *text, *warning; /* NULL: none */
} warnings[] = {
	{"{'network': {'allow': [\n{'host': 'd1.cloudfront.net'}]}}",
	 "p.json:2: network.allow[0]: warning: d1.cloudfront.net is served together"},
	{"{'network': {'allow': [{'host': 'a.github.io'}]}}", "add \"http\" rules"},
	{"{'network': {'allow': [{'host': '**.fastly.net'}]}}", "add \"http\" rules"},
	{"{'network': {'allow': [{'host': 'd1.cloudfront.net', 'http': ['GET /**']}]}}", NULL},
	{"{'network': {'allow': [{'host': 'd1.cloudfront.net', 'port': 22}]}}", NULL},
	{"{'network': {'allow': [{'host': 'a.test'}]}}", NULL},
	{"{'network': {'allow': [{'host': 'a.test'}], 'deny': [{'host': 'a.test'}]}}",
	 "allows nothing: a deny rule beats it"},
	{"{'network': {'resolve': {'a.test': '8.8.8.8'}}}",
	 "network.resolve[\"a.test\"]: warning: no rule allows a.test"},
	{"{'network': {}, 'secrets': {'A': {'from': 'env:A', 'hosts': ['a.test']}}}",
	 "secrets.A: warning: no rule allows a.test"},
	{"{'network': 'none', 'secrets': {'A': {'from': 'env:A', 'hosts': ['a.test']}}}", NULL},
};

START_TEST(test_warning)
{
	struct policy *policy = load_with(warnings[_i].text, NULL);
	size_t count;
	const char *const *text = policy_get_warnings(policy, &count);

	ck_assert_uint_eq(count, warnings[_i].warning ? 1 : 0);
	if (count)
		ck_assert_msg(strstr(text[0], warnings[_i].warning) != NULL, "%s", text[0]);
	policy_free(policy);
}
END_TEST

/* ---- mistakes: one message each ---- */

struct mistake {
	const char *text;    /* of "network", or with a '{' as the first character of the whole policy */
	const char *message;
};

#define ALLOW(members) "{'network': {'allow': [{" members "}]}}"

/* clang-format off */
static const struct mistake mistakes[] = {
	{"{'network': 'all'}", "network: must be an object { ... } or \"none\", not a string"},
	{"{'network': []}", "network: must be an object"},
	{"{'network': {'default': 'allow'}}",
	 "network.default: must be \"deny\", the only default there is, not \"allow\""},
	{"{'network': {'default': 1}}", "network.default: must be \"deny\""},
	{"{'network': {'allo': []}}", "network.allo: unknown key; did you mean \"allow\"?"},
	{"{'network': {'allow': {}}}", "network.allow: must be a list of objects"},
	{"{'network': {'allow': ['a.test']}}", "network.allow[0]: must be an object { ... }, not a string"},
	{"{'network': {'allow':\n[{'host': 'a.test', 'hots': 1}]}}",
	 "p.json:2: network.allow[0].hots: unknown key; did you mean \"host\"?"},
	{ALLOW("'host': 7"), "network.allow[0].host: must be a string, not a number"},
	{ALLOW("'host': ''"), "host: must not be empty"}, {ALLOW(""), "network.allow[0]: lacks \"host\""},
	{ALLOW("'host': '*'"), "network.allow[0].host: \"*\" would be every host there is"},
	{ALLOW("'host': '**'"), "every host"}, {ALLOW("'host': '*.com'"), "anybody who registers a name there"},
	{ALLOW("'host': '**.co.uk'"), "anybody who registers"},
	{ALLOW("'host': '*.github.io'"), "anybody who registers"},
	{ALLOW("'host': '**.xn--p1ai'"), "anybody who registers"},
	{ALLOW("'host': '*.unheardof'"), "anybody who registers"},
	{ALLOW("'host': 'a.*.test'"), "wildcards are \"*.NAME\""}, {ALLOW("'host': 'a*.test'"), "wildcards are"},
	{ALLOW("'host': '***.a.test'"), "wildcards are"},
	{ALLOW("'host': '*.10.0.0.1'"), "a wildcard before an address"},
	{ALLOW("'host': 'https://a.test'"), "without a scheme or a path"},
	{ALLOW("'host': 'a.test:443'"), "is no host name"}, {ALLOW("'host': 'u@a.test'"), "has an \"@\""},
	{ALLOW("'host': 'a_b.test'"), "has a \"_\""},
	{ALLOW("'host': '127.1'"), "is no address; write"}, {ALLOW("'host': '0x7f000001'"), "is no address"},
	{ALLOW("'host': 'fe80::1%eth0'"), "zone ids"}, {ALLOW("'host': 'localhost'"), "is the run's own loopback"},
	{ALLOW("'host': '*.localhost'"), "own loopback"},
	{ALLOW("'host': 'a.test', 'port': 0"), "network.allow[0].port: must be a port from 1 to 65535"},
	{ALLOW("'host': 'a.test', 'port': 65536"), "port: must be a port"},
	{ALLOW("'host': 'a.test', 'port': '443'"), "port: must be a port"},
	{ALLOW("'host': 'a.test', 'port': []"), "a list of 1 to 64 ports"},
	{ALLOW("'host': 'a.test', 'port': [1, -1]"), "port[1]: must be a port"},
	{ALLOW("'host': 'a.test', 'port': [80, 443]"), "ports of different protocols (80 is http, 443 is https)"},
	{ALLOW("'host': 'a.test', 'proto': 'ftp'"),
	 "proto: must be \"https\", \"http\", \"tcp\" or \"udp\", not \"ftp\""},
	{ALLOW("'host': 'a.test', 'proto': 1"), "proto: must be"},
	{ALLOW("'host': 'a.test', 'proto': 'tcp'"), "has no \"port\", and tcp has no usual one"},
	{ALLOW("'host': 'a.test', 'proto': 'udp', 'port': 53, 'http': ['GET /']"),
	 "has \"http\" where no HTTP is spoken"},
	{ALLOW("'host': 'a.test', 'port': 22, 'http': ['GET /']"), "where no HTTP"},
	{ALLOW("'host': 'a.test', 'port': 22, 'max_requests': 3"), "counts requests where none can be seen"},
	{ALLOW("'host': 'a.test', 'http': []"), "http: must have 1 to 256 rules"},
	{ALLOW("'host': 'a.test', 'http': 'GET /'"), "http: must be a list of strings"},
	{ALLOW("'host': 'a.test', 'http': [1]"), "http[0]: must be a string"},
	{ALLOW("'host': 'a.test', 'http': ['']"), "http[0]: must not be empty"},
	{ALLOW("'host': 'a.test', 'http': ['/x']"), "\"/x\" names no method"},
	{ALLOW("'host': 'a.test', 'http': ['GET']"), "no path that begins with \"/\""},
	{ALLOW("'host': 'a.test', 'http': ['GET x']"), "no path that begins"},
	{ALLOW("'host': 'a.test', 'http': ['get /']"), "lower case"},
	{ALLOW("'host': 'a.test', 'http': ['GET,, /']"), "names no method before a comma"},
	{ALLOW("'host': 'a.test', 'http': ['GET, POST /']"), "names no method before"},
	{ALLOW("'host': 'a.test', 'http': ['TRACE /']"), "grants TRACE"},
	{ALLOW("'host': 'a.test', 'http': ['GET,CONNECT /']"), "grants CONNECT"},
	{ALLOW("'host': 'a.test', 'http': ['GET,WEBSOCKET /']"), "WEBSOCKET beside other methods"},
	{ALLOW("'host': 'a.test', 'http': ['G<T /']"), "a method that is none"},
	{ALLOW("'host': 'a.test', 'http': ['GET /a?b']"), "queries are not judged"},
	{ALLOW("'host': 'a.test', 'http': ['GET /a**']"), "\"**\" inside a segment"},
	{ALLOW("'host': 'a.test', 'http': ['GET /**a']"), "inside a segment"},
	{ALLOW("'host': 'a.test', 'http': ['GET /***']"), "inside a segment"},
	{ALLOW("'host': 'a.test', 'http': ['GET /a/../b']"), "write the path as /b"},
	{ALLOW("'host': 'a.test', 'http': ['GET /a b']"), "no request may have"},
	{ALLOW("'host': 'a.test', 'http': ['GET /%7ea']"), "write the path as /~a"},
	{ALLOW("'host': 'a.test', 'http': ['GET /..']"), "no request may have"},
	{ALLOW("'host': 'a.test', 'credential': {'header': 'X'}"), "credential: lacks \"value\""},
	{ALLOW("'host': 'a.test', 'credential': {'value': '{A}'}"), "credential: lacks \"header\""},
	{ALLOW("'host': 'a.test', 'credential': 'x'"), "credential: must be an object"},
	{ALLOW("'host': 'a.test', 'credential': {'headr': 'X', 'header': 'a', 'value': '{A}'}"),
	 "credential.headr: unknown key"},
	{ALLOW("'host': 'a.test', 'credential': {'header': 'A B', 'value': '{A}'}"),
	 "no header's name"},
	{ALLOW("'host': 'a.test', 'credential': {'header': 'Host', 'value': '{A}'}"), "belongs to the connection"},
	{ALLOW("'host': 'a.test', 'credential': {'header': 'Content-Length', 'value': '{A}'}"),
	 "belongs to the connection"},
	{ALLOW("'host': 'a.test', 'credential': {'header': 'A', 'value': 'plain'}"), "a credential without a secret"},
	{ALLOW("'host': 'a.test', 'credential': {'header': 'A', 'value': '{A'}"), "no secret's name between"},
	{ALLOW("'host': 'a.test', 'credential': {'header': 'A', 'value': 'A}'}"), "a \"}\" without"},
	{ALLOW("'host': 'a.test', 'credential': {'header': 'A', 'value': '{}'}"), "no secret's name"},
	{ALLOW("'host': 'a.test', 'credential': {'header': 'A', 'value': '{A}\\n'}"), "control characters"},
	{ALLOW("'host': 'a.test', 'credential': {'header': 'A', 'value': '{A}'}"),
	 "needs the secret A, which \"secrets\" does not have"},
	{ALLOW("'host': 'a.test', 'port': 80, 'credential': {'header': 'A', 'value': '{A}'}"),
	 "a credential without TLS"},
	{"{'network': {'allow': [{'host': 'a.test', 'credential': {'header': 'A', 'value': 'x {A}'}}, "
	 "{'host': 'b.test'}]}, 'secrets': {'A': {'from': 'env:A', 'hosts': ['b.test']}}}",
	 "the secret A may not be sent to a.test; add it to secrets.A.hosts"},
	{"{'network': {'allow': [{'host': '*.a.test', 'credential': {'header': 'A', 'value': '{A}'}}]}, "
	 "'secrets': {'A': {'from': 'env:A', 'hosts': ['b.a.test']}}}", "may not be sent to *.a.test"},
	{"{'network': {'allow': [{'host': 'a.test', 'port': 80}]}, 'secrets': {'A': {'from': 'env:A', "
	 "'hosts': ['a.test']}}}", "secrets.A: a.test is reached by http only, without TLS"},
	{ALLOW("'host': 'a.test', 'any_body': 'yes'"), "any_body: must be true or false"},
	{ALLOW("'host': 'a.test', 'port': 22, 'any_body': true"), "has \"any_body\" where no HTTP is spoken"},
	{ALLOW("'host': 'a.test', 'private': 1"), "private: must be true or false"},
	{ALLOW("'host': '8.8.8.8', 'private': true"), "\"private\" without effect"},
	{ALLOW("'host': '10.0.0.1'"), "not public (private); add \"private\": true"},
	{ALLOW("'host': '127.0.0.1', 'port': 22"), "not public (loopback)"},
	{ALLOW("'host': '169.254.169.254', 'private': true"), "never connected to (metadata)"},
	{ALLOW("'host': '0.0.0.0', 'private': true"), "never connected to (unspecified)"},
	{ALLOW("'host': '::ffff:169.254.169.254', 'private': true"), "never connected to (metadata)"},
	{ALLOW("'host': '8.8.8.8', 'dns': 'real'"), "\"dns\" for an address"},
	{ALLOW("'host': 'a.test', 'dns': 'no'"), "dns: must be \"synthetic\" or \"real\""},
	{ALLOW("'host': 'a.test', 'max_bytes_up': 'lots'"), "max_bytes_up: must be a size"},
	{ALLOW("'host': 'a.test', 'max_bytes_down': 0"), "max_bytes_down: must be a size"},
	{ALLOW("'host': 'a.test', 'max_bytes_per_second': -1"), "max_bytes_per_second: must be"},
	{ALLOW("'host': 'a.test', 'requests_per_minute': 'x'"), "requests_per_minute: must be a number"},
	{ALLOW("'host': 'a.test', 'max_connections': 1.5"), "max_connections: must be a number"},
	{ALLOW("'host': 'a.test', 'reason': 5"), "reason: must be a string"},
	{"{'network': {'allow': [{'host': 'a.test'},\n{'host': '**.test.example', 'proto': 'http', 'port': 443}, "
	 "{'host': 'a.test', 'proto': 'tcp', 'port': 443}]}}", "port 443 of a.test is"},
	{"{'network': {'allow': [{'host': 'x.a.test', 'port': [443, 8443], 'proto': 'https'},\n{'host': '*.a.test', "
	 "'port': 8443}]}}",
	 "p.json:2: network.allow[1]: port 8443 of *.a.test is tcp here and https in p.json: network.allow[0] "
	 "x.a.test:443"},
	{"{'network': {'deny': [{'port': 1}]}}", "network.deny[0]: lacks \"host\""},
	{"{'network': {'deny': [{'host': '*'}]}}", "every host"},
	{"{'network': {'deny': [{'host': 'a.test', 'http': []}]}}", "network.deny[0].http: unknown key"},
	{"{'network': {'deny': [{'host': 'a.test', 'port': 'x'}]}}", "deny[0].port: must be a port"},
	{"{'network': {'listen': 8000}}", "network.listen: must be a list of ports"},
	{"{'network': {'listen': [-1]}}", "network.listen[0]: must be a port such as 8000"},
	{"{'network': {'listen': [65536]}}", "listen[0]"}, {"{'network': {'listen': ['9-8']}}", "a range"},
	{"{'network': {'listen': ['1-']}}", "a range"},
	{"{'network': {'listen': [true]}}", "listen[0]: must be a port"},
	{"{'network': {'resolve': []}}", "network.resolve: must be an object of addresses"},
	{"{'network': {'resolve': {'*.a.test': '8.8.8.8'}}}", "is a wildcard; name each host"},
	{"{'network': {'resolve': {'a.test': 'b.test'}}}", "must be an address"},
	{"{'network': {'resolve': {'a.test': []}}}", "a list of 1 to 8"},
	{"{'network': {'resolve': {'8.8.8.8': '8.8.4.4'}}}", "is an address already"},
	{"{'network': {'resolve': {'a_b': '8.8.4.4'}}}", "has a \"_\""},
	{"{'network': {'resolve': {'a.test': 1}}}", "must be an address"},
	{"{'network': {'allow': [{'host': 'a.test'}], 'resolve': {'a.test': '127.0.0.1'}}}",
	 "127.0.0.1 is not public (loopback); if it is meant, "
	 "add \"private\": true to p.json: network.allow[0] a.test:443"},
	{"{'network': {'allow': [{'host': 'a.test', 'private': true}], 'resolve': {'a.test': '169.254.169.254'}}}",
	 "169.254.169.254 is never connected to (metadata)"},
	{"{'network': {'allow': [{'host': 'a.test', 'private': true}], 'resolve': {'a.test': '8.8.8.8'}}}",
	 "\"private\" without effect"},
	{"{'network': {'upstream_ca': 1}}", "upstream_ca: must be a string"},
	{"{'network': {'upstream_ca': './missing.pem'}}", "network.upstream_ca: there is no file ./missing.pem"},
	{"{'network': {'proxy': 'yes'}}", "proxy: must be true, false or \"env\""},
	{"{'network': {'pool': {'v4': '198.18.0.0'}}}", "pool.v4: \"198.18.0.0\" is no network of private addresses"},
	{"{'network': {'pool': {'v4': '8.8.0.0/16'}}}", "no network of private"},
	{"{'network': {'pool': {'v4': '127.0.0.0/8'}}}", "no network of private"},
	{"{'network': {'pool': {'v4': '10.0.0.1/16'}}}", "no network"},
	{"{'network': {'pool': {'v4': '10.0.0.0/28'}}}", "no network"},
	{"{'network': {'pool': {'v6': '2606::/32'}}}", "pool.v6"},
	{"{'network': {'pool': {'v6': '10.0.0.0/8'}}}", "pool.v6"},
	{"{'network': {'pool': {'v5': 'x'}}}", "network.pool.v5: unknown key"},
	{"{'secrets': []}", "secrets: must be an object of secrets"},
	{"{'secrets': {'A': 'x'}}", "secrets.A: must be an object"},
	{"{'secrets': {'A': {'from': 'env:A'}}}", "secrets.A: lacks \"hosts\""},
	{"{'secrets': {'A': {'hosts': ['a.test']}}}", "secrets.A: lacks \"from\""},
	{"{'secrets': {'A': {'from': 'env:A', 'hosts': []}}}", "lacks \"hosts\""},
	{"{'secrets': {'A-B': {'from': 'env:A', 'hosts': ['a.test']}}}", "\"A-B\" is no variable's name"},
	{"{'secrets': {'A': {'from': 'hunter2', 'hosts': ['a.test']}}}",
	 "secrets.A.from: \"hunter2\" is no place to take a secret from"},
	{"{'secrets': {'A': {'from': 'env:', 'hosts': ['a.test']}}}", "names no variable"},
	{"{'secrets': {'A': {'from': 'fd:x', 'hosts': ['a.test']}}}", "names no descriptor"},
	{"{'secrets': {'A': {'from': 'file:', 'hosts': ['a.test']}}}", "names no file"},
	{"{'secrets': {'A': {'from': 'file:./missing', 'hosts': ['a.test']}}}",
	 "secrets.A: there is no file ./missing"},
	{"{'secrets': {'A': {'from': 'command:', 'hosts': ['a.test']}}}", "names no command"},
	{"{'secrets': {'A': {'from': 'env:A', 'hosts': ['*.com']}}}", "secrets.A.hosts[0]: \"*.com\" would be"},
	{"{'secrets': {'A': {'from': 'env:A', 'hosts': [1]}}}", "hosts[0]: must be a string"},
	{"{'secrets': {'A': {'from': 1, 'hosts': ['a.test']}}}", "from: must be a string"},
};
/* clang-format on */

START_TEST(test_mistake)
{
	const struct mistake *mistake = &mistakes[_i];
	struct rig rig = {0};
	struct policy *policy = NULL;
	int ret = rig_load(&rig, json(mistake->text), NULL, &policy);

	ck_assert_msg(ret < 0 && !policy, "%s is taken", mistake->text);
	ck_assert_msg(rig.errors.count == 1, "%s:\n%s\n%s", mistake->text, rig.errors.item[0].text,
		      rig.errors.count > 1 ? rig.errors.item[1].text : "");
	ck_assert_msg(strncmp(rig.errors.item[0].text, "p.json:", 7) == 0, "no place: %s", rig.errors.item[0].text);
	ck_assert_msg(strstr(rig.errors.item[0].text, mistake->message) != NULL, "%s\n gives: %s\n not: %s",
		      mistake->text, rig.errors.item[0].text, mistake->message);
	rig_done(&rig);
}
END_TEST

static const struct {
	const char *host, *request, *secret, *message;
} cli_mistakes[] = {
	{"*.com", NULL, NULL, "command line: --allow-host *.com: would be the hosts of anybody"},
	{"a.test:0", NULL, NULL, "no port from 1 to 65535"},
	{"a.test:x", NULL, NULL, "no port from"},
	{"", NULL, NULL, "is no host name"},
	{"169.254.169.254:80", NULL, NULL, "never connected to (metadata)"},
	{"a.test/x", NULL, NULL, "without a scheme or a path"},
	{NULL, "a.test/x", NULL, "names no method and host"},
	{NULL, "get a.test/x", NULL, "lower case"},
	{NULL, "GET *.com/x", NULL, "command line: --allow GET *.com/x: would be"},
	{NULL, "GET a.test/../x", NULL, "no request may have"},
	{NULL, "GET a.test:99999/", NULL, "no port from"},
	{NULL, NULL, "TOKEN", "is no variable and hosts"},
	{NULL, NULL, "T-X@a.test", "is no variable"},
	{NULL, NULL, "T@", "is no host name"},
	{NULL, NULL, "T@a.test,", "is no host name"},
	{NULL, NULL, "T@*.com", "anybody who registers"},
	{"a.test:80", NULL, "T@a.test", "a.test is reached by http only"},
};

START_TEST(test_cli_mistake)
{
	const char *const hosts[] = {cli_mistakes[_i].host, NULL}, *const requests_[] = {cli_mistakes[_i].request,
											 NULL};
	const char *const secrets[] = {cli_mistakes[_i].secret, NULL};
	const struct policy_cli cli = {.allow_host = hosts, .allow_request = requests_, .secret = secrets};
	struct rig rig = {0};
	struct policy *policy = NULL;

	ck_assert_int_lt(rig_load(&rig, "{}", &cli, &policy), 0);
	ck_assert_uint_eq(rig.errors.count, 1);
	ck_assert_msg(strstr(rig.errors.item[0].text, cli_mistakes[_i].message) != NULL, "%s", rig.errors.item[0].text);
	rig_done(&rig);
}
END_TEST

START_TEST(test_no_net_contradicts)
{
	static const char *const hosts[] = {"a.test", NULL};
	const struct policy_cli cli = {.allow_host = hosts, .denies_network = true};
	struct rig rig = {0};
	struct policy *policy = NULL;

	ck_assert_int_lt(rig_load(&rig, "{}", &cli, &policy), 0);
	ck_assert_ptr_nonnull(strstr(rig.errors.item[0].text, "--no-net: contradicts"));
	rig_done(&rig);
}
END_TEST

/* One rule that needs the requests is enough to intercept TLS; so is it that all rules judge them. */
START_TEST(test_interception)
{
	static const struct {
		const char *rules;
		bool intercepted;
	} cases[] = {
		{"{\"host\": \"a.test\"}", false},
		{"{\"host\": \"a.test\", \"http\": [\"GET /\"]}", true},
		{"{\"host\": \"a.test\"}, {\"host\": \"a.test\", \"http\": [\"GET /\"]}", false},
		{"{\"host\": \"a.test\", \"http\": [\"GET /\"]}, {\"host\": \"a.test\"}", false},
		{"{\"host\": \"a.test\", \"max_requests\": 3}", true},
		{"{\"host\": \"a.test\", \"requests_per_minute\": 3}", true},
	};
	char text[256];

	for (int i = 0; i < COUNT(cases); i++) {
		struct rig rig = {0};
		struct policy *policy;

		(void)snprintf(text, sizeof(text), "{\"network\": {\"allow\": [%s]}}", cases[i].rules);
		ck_assert_int_eq(rig_load(&rig, text, NULL, &policy), 0);
		ck_assert_msg(policy_net_intercepts_tls(policy, "a.test", 443) == cases[i].intercepted, "%s", text);
		policy_free(policy);
		rig_done(&rig);
	}
}
END_TEST

/* Only a label of its own makes a name one below another. */
START_TEST(test_names_that_end_alike)
{
	struct rig rig = {0};
	struct policy *policy;

	ck_assert_int_eq(rig_load(&rig, "{\"network\": {\"allow\": [{\"host\": \"notlocalhost\"},"
				  "{\"host\": \"**.b.test\", \"port\": 443, \"proto\": \"tcp\"},"
				  "{\"host\": \"*.ab.test\", \"port\": 443}]}}", NULL, &policy), 0);
	ck_assert(policy_net_judge_connect(policy, "notlocalhost", 443, false).is_allowed);
	policy_free(policy);
	rig_done(&rig);
}
END_TEST

/* A URL is judged from its protocol on; requests only where they are seen. */
START_TEST(test_urls)
{
	static const struct {
		const char *host;
		unsigned port;
		bool tls, upgrade;
		const char *method, *path, *reason;
	} cases[] = {
		{"s.test", 443, true, false, "GET", "/a", "granted"},
		{"s.test", 443, true, false, "PUT", "/a", "method_not_granted"},
		{"s.test", 443, false, false, "GET", "/a", "proto_not_granted"},
		{"p.test", 80, false, false, "GET", "/a", "granted"},
		{"p.test", 80, true, false, "GET", "/a", "proto_not_granted"},
		{"p.test", 80, false, true, "GET", "/a", "upgrade_not_granted"},
		{"raw.test", 9, true, false, "PUT", "/any", "granted"},
		{"raw.test", 9, false, true, "GET", "/any", "granted"},
		{"all.test", 443, true, false, "PUT", "/any", "granted"},
		{"no.test", 443, true, false, "GET", "/", "no_rule"},
	};
	struct rig rig = {0};
	struct policy *policy;

	ck_assert_int_eq(rig_load(&rig,
				  "{\"network\": {\"allow\": [{\"host\": \"s.test\", \"http\": [\"GET /a\"]},"
				  "{\"host\": \"p.test\", \"port\": 80, \"http\": [\"GET /a\"]},"
				  "{\"host\": \"raw.test\", \"port\": 9}, {\"host\": \"all.test\"}]}}",
				  NULL, &policy),
			 0);
	for (int i = 0; i < COUNT(cases); i++)
		ck_assert_str_eq(policy_net_judge_url(policy, &(struct net_request){cases[i].host, cases[i].port,
										    cases[i].tls, cases[i].upgrade,
										    cases[i].method, cases[i].path})
					 .reason,
				 cases[i].reason);
	policy_free(policy);
	rig_done(&rig);
}
END_TEST

START_TEST(test_too_many)
{
	static char text[ENDPOINT_TEXT_SIZE];
	struct rig rig = {0};
	struct policy *policy;
	size_t len = (size_t)snprintf(text, sizeof(text), "{'network': {'allow': [{'host': 'a.test'}");

	for (unsigned i = 0; i < 1100; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, ",{'host': 'a%u.test'}", i);
	(void)snprintf(text + len, sizeof(text) - len, "]}}");
	ck_assert_int_lt(rig_load(&rig, json(text), NULL, &policy), 0);
	ck_assert_uint_eq(rig.errors.count, 1);
	ck_assert_ptr_nonnull(strstr(rig.errors.item[0].text, "more than 1024 rules"));
	rig_done(&rig);
}
END_TEST

/* A good policy truncated at, or damaged in, each byte gives a policy or an error, no crash (also with sanitizers). */
START_TEST(test_damaged)
{
	static const char bytes[] = "{}[]\",:\\*@.$/\x01\xff" "0";
	const char *good = json(world);
	size_t len = strlen(good);
	char *text = malloc(len + 1);

	ck_assert_ptr_nonnull(text);
	for (size_t i = 0; i < len; i++) {
		for (size_t j = 0; j < sizeof(bytes); j += 1 + i % 3) {
			struct rig rig = {0};
			struct policy *policy = NULL;
			int ret;

			memcpy(text, good, len + 1);
			text[i] = bytes[j]; /* the last byte truncates */
			ret = rig_load(&rig, text, NULL, &policy);
			ck_assert(ret == 0 ? policy != NULL : rig.errors.count > 0);
			policy_free(policy);
			rig_done(&rig);
		}
	}
	free(text);
}
END_TEST

static const char everything[] =
	"{\"version\": 1, \"network\": {\"allow\": ["
	"{\"host\": \"api.test\", \"port\": [443, 8443], \"proto\": \"https\", \"http\": [\"GET,POST /a/*\", "
	"\"WEBSOCKET /chat\"], \"any_body\": true, \"private\": true,"
	" \"credential\": {\"header\": \"Authorization\", \"value\": \"Bearer {TOKEN}\"}, \"max_requests\": 7, "
	"\"reason\": \"work\"},"
	"{\"host\": \"**.wild.test\", \"dns\": \"real\", \"max_bytes_up\": 9},"
	"{\"host\": \"192.0.2.7\", \"port\": 53, \"proto\": \"udp\", \"private\": true}],"
	"\"deny\": [{\"host\": \"bad.wild.test\", \"reason\": \"bad\"}, {\"host\": \"api.test\", \"port\": 8443}],"
	"\"listen\": [\"8000-8100\"], \"resolve\": {\"api.test\": [\"192.0.2.1\", \"2001:db8::1\"]}, \"proxy\": "
	"\"env\","
	"\"pool\": {\"v4\": \"10.99.0.0/16\"}},"
	"\"secrets\": {\"TOKEN\": {\"from\": \"env:REAL\", \"hosts\": [\"api.test\", \"*.wild.test\"]}}}";

/* A packed and unpacked policy judges as the original. */
START_TEST(packed_and_unpacked)
{
	struct rig rig = {0};
	struct policy *policy = NULL, *other = NULL, *none = NULL;
	struct buf buf = {0}, again = {0};
	struct sockaddr_storage address[NET_ADDRESSES_MAX];
	const struct net_rule *rule;
	const struct net_secret *secret;
	size_t count;

	ck_assert_msg(rig_load(&rig, everything, NULL, &policy) == 0, "%s",
		      rig.errors.count ? rig.errors.item[0].text : "");
	ck_assert_int_eq(net_pack_policy(policy, &buf), 0);
	ck_assert_int_eq(net_unpack_policy(buf.data, buf.len, &other), 0);
	ck_assert_int_eq(net_pack_policy(other, &again), 0);
	ck_assert_uint_eq(buf.len, again.len);
	ck_assert_mem_eq(buf.data, again.data, buf.len);
	policy_free(policy);

	ck_assert(policy_net_is_enabled(other) && policy_net_sets_proxy_variables(other));
	rule = policy_net_get_rules(other, &count);
	ck_assert_uint_eq(count, 3);
	ck_assert_str_eq(rule[0].reason, "work");
	ck_assert(rule[0].allows_any_body && rule[0].http_rule[1].is_websocket && rule[0].budget.requests_max == 7 &&
		  !rule[0].uses_real_dns);
	ck_assert_str_eq(rule[0].credential_value, "Bearer {TOKEN}");
	ck_assert(rule[1].allows_private_addresses && rule[1].proto == NET_UDP && rule[1].is_address);
	ck_assert(rule[2].uses_real_dns && rule[2].index == 2 && !rule[2].credential_header);
	ck_assert(policy_net_judge_request(other, "api.test", 443, "POST", "/a/b", false).is_allowed);
	ck_assert(!policy_net_judge_request(other, "api.test", 443, "PUT", "/a/b", false).is_allowed);
	ck_assert_str_eq(policy_net_judge_connect(other, "api.test", 8443, false).reason, "denied_by_rule");
	ck_assert_str_eq(policy_net_judge_name(other, "bad.wild.test").reason, "denied_by_rule");
	ck_assert(policy_net_judge_name(other, "a.b.wild.test").is_allowed);
	ck_assert(policy_net_judge_listen(other, 8100).is_allowed && !policy_net_judge_listen(other, 8101).is_allowed);
	ck_assert_uint_eq(policy_net_get_fixed_addresses(other, "api.test", address, NET_ADDRESSES_MAX), 2);
	ck_assert_int_eq(address[1].ss_family, AF_INET6);
	ck_assert_uint_eq(policy_net_get_pool(other).v4_bits, 16);
	secret = policy_net_get_secrets(other, &count);
	ck_assert_uint_eq(count, 1);
	ck_assert(net_secret_allows_host(secret, "x.wild.test") && !net_secret_allows_host(secret, "wild.test"));

	/* Every truncation, and one with trailing bytes, is refused. */
	for (size_t len = 0; len < buf.len; len++) {
		char *cut = malloc(len + 1); /* exact size: sanitizers see reads past the end */

		memcpy(cut, buf.data, len);
		ck_assert_int_eq(net_unpack_policy(cut, len, &none), -EINVAL);
		free(cut);
	}
	buf_add(&buf, "x", 1);
	ck_assert_int_eq(net_unpack_policy(buf.data, buf.len, &none), -EINVAL);
	ck_assert_ptr_null(none);
	policy_free(other);
	buf_release(&buf);
	buf_release(&again);
	rig_done(&rig);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("policy net");
	TCase *tcase = tcase_create("net");

	tcase_add_test(tcase, test_world);
	tcase_add_test(tcase, test_rules);
	tcase_add_test(tcase, test_answered);
	tcase_add_loop_test(tcase, test_asked_request, 0, 3);
	tcase_add_test(tcase, test_ask_about_requests);
	tcase_add_test(tcase, test_ask_about_requests);
	tcase_add_test(tcase, test_secrets);
	tcase_add_test(tcase, test_denied_address);
	tcase_add_test(tcase, test_values);
	tcase_add_test(tcase, test_usual_values);
	tcase_add_test(tcase, test_extends);
	tcase_add_test(tcase, test_command_line);
	tcase_add_loop_test(tcase, test_warning, 0, COUNT(warnings));
	tcase_add_loop_test(tcase, test_mistake, 0, COUNT(mistakes));
	tcase_add_loop_test(tcase, test_cli_mistake, 0, COUNT(cli_mistakes));
	tcase_add_test(tcase, test_no_net_contradicts);
	tcase_add_test(tcase, test_interception);
	tcase_add_test(tcase, test_names_that_end_alike);
	tcase_add_test(tcase, test_urls);
	tcase_add_test(tcase, test_too_many);
	tcase_add_test(tcase, test_damaged);
	tcase_add_test(tcase, packed_and_unpacked);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
