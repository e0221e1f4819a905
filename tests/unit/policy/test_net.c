/* Judging endpoints and requests, also by the printed policy. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/policy/policy-rig.h"
#include "policy/network/net.h"
#include "tests/unit/unit.h"

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
	struct policy *policy = rig_load_text(world, NULL);

	check_world(policy);
	policy = rig_reload(policy);
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
	struct policy *policy = rig_load_text(asking, NULL);
	struct net_verdict verdict;

	for (unsigned again = 0; again < 2; again++, policy = rig_reload(policy)) {
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
	policy = rig_load_text(text, NULL);
	for (unsigned again = 0; again < 2; again++, policy = rig_reload(policy))
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
	struct policy *policy = rig_load_text(asking, NULL);

	for (unsigned again = 0; again < 2; again++, policy = rig_reload(policy)) {
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
	struct policy *policy = rig_load_text(world, NULL);
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
	struct policy *policy = rig_load_text(world, NULL);
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
	struct policy *policy = rig_load_text(world, NULL);
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

/* A good policy truncated at, or damaged in, each byte gives a policy or an error, no crash (also with sanitizers). */
START_TEST(test_damaged)
{
	static const char bytes[] = "{}[]\",:\\*@.$/\x01\xff" "0";
	const char *good = rig_quote(world);
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

int main(void)
{
	Suite *suite = suite_create("policy net");
	TCase *tcase = tcase_create("net");

	tcase_add_test(tcase, test_world);
	tcase_add_test(tcase, test_rules);
	tcase_add_test(tcase, test_answered);
	tcase_add_loop_test(tcase, test_asked_request, 0, 3);
	tcase_add_test(tcase, test_ask_about_requests);
	tcase_add_test(tcase, test_secrets);
	tcase_add_test(tcase, test_denied_address);
	tcase_add_test(tcase, test_interception);
	tcase_add_test(tcase, test_names_that_end_alike);
	tcase_add_test(tcase, test_urls);
	tcase_add_test(tcase, test_damaged);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
