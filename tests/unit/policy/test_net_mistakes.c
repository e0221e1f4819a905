/* What is wrong in "network" and "secrets" of a policy, and what a warning says. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/policy/policy-rig.h"
#include "tests/unit/unit.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

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
	struct policy *policy = rig_load_text(warnings[_i].text, NULL);
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
	const char *text; /* of "network", or with a '{' as the first character of the whole policy */
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
	int ret = rig_load(&rig, rig_quote(mistake->text), NULL, &policy);

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

START_TEST(test_too_many)
{
	static char text[RIG_QUOTED_MAX];
	struct rig rig = {0};
	struct policy *policy;
	size_t len = (size_t)snprintf(text, sizeof(text), "{'network': {'allow': [{'host': 'a.test'}");

	for (unsigned i = 0; i < 1100; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, ",{'host': 'a%u.test'}", i);
	(void)snprintf(text + len, sizeof(text) - len, "]}}");
	ck_assert_int_lt(rig_load(&rig, rig_quote(text), NULL, &policy), 0);
	ck_assert_uint_eq(rig.errors.count, 1);
	ck_assert_ptr_nonnull(strstr(rig.errors.item[0].text, "more than 1024 rules"));
	rig_done(&rig);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("policy net mistakes");
	TCase *tcase = tcase_create("net mistakes");

	tcase_add_loop_test(tcase, test_warning, 0, COUNT(warnings));
	tcase_add_loop_test(tcase, test_mistake, 0, COUNT(mistakes));
	tcase_add_loop_test(tcase, test_cli_mistake, 0, COUNT(cli_mistakes));
	tcase_add_test(tcase, test_no_net_contradicts);
	tcase_add_test(tcase, test_too_many);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
