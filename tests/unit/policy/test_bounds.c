/*
 * What policy/ does at its bounds: texts and lists that are too long or just fit, hosts that supply little, values that
 * no other test writes. Policies are written as rig_make_text() takes them.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/arena.h"
#include "policy/network/net.h"
#include "policy/network/network.h"
#include "policy/parse/layer-names.h"
#include "tests/unit/policy/policy-rig.h"
#include "tests/unit/unit.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static struct policy *load_with(const char *text, const struct policy_cli *cli)
{
	_cleanup_free_ char *json = rig_make_text(text);
	struct rig rig = {0};
	struct policy *policy = NULL;

	ck_assert_msg(rig_load(&rig, json, cli, &policy) == 0, "%.200s: %s", text,
		      rig.errors.count ? rig.errors.item[0].text : "no memory");
	rig_done(&rig);
	return policy;
}

/* ---- what is refused ---- */

#define NET(members) "{'network': {" members "}}"
#define ALLOW(members) NET("'allow': [{" members "}]")
#define SECRET(members) "{'network': {'allow': [{'host': 'a.test'}]}, 'secrets': {" members "}}"

struct mistake {
	const char *text;
	const char *message; /* a part of some message */
};

/* clang-format off */
static const struct mistake mistakes[] = {
	{ALLOW("'host': '#300#.test'"), "is longer than a host name can be"},
	{ALLOW("'host': '*.#63#.#63#.#63#.#60#'"), "is longer than a host name can be"},
	{ALLOW("'host': '#1100#'"), "is longer than a host name can be"},
	{ALLOW("'host': 'a.test/8/x'"), "without a scheme or a path"},
	{ALLOW("'host': '[#80#]'"), "is no host name"},
	{ALLOW("'host': '\xc3\xa4.#300#'"), "network.allow[0].host"},
	{ALLOW("'host': 'a:x'"), "is no host name"},
	{ALLOW("'host': 'a.test', 'http': ['#40# /']"), "too long to be one"},
	{ALLOW("'host': 'a.test', 'http': ['CONNECT /']"), "grants CONNECT"},
	{ALLOW("'host': 'a.test', 'http': ['CONNECX,WEBSOCKEX,G-X /', '-X /']"), "a method that is none"},
	{ALLOW("'host': 'a.test', 'http': ['G_T /']"), "a method that is none"},
	{ALLOW("'host': 'a.test', 'http': ['GET /#3000#']"), "a path longer than a rule may have"},
	{ALLOW("'host': 'a.test', 'http': ['GET /#600#']"), "a path longer than a rule may have"},
	{ALLOW("'host': 'a.test', 'http': []"), "must have 1 to"},
	{ALLOW("'host': 'a.test', 'port': []"), "must be a port or a list of 1 to"},
	{ALLOW("'host': 'a.test', 'port': [443, 65536]"), "must be a port from 1 to 65535"},
	{ALLOW("'host': 'a.test', 'port': [true]"), "must be a port from 1 to 65535"},
	{ALLOW("'host': 'a.test', 'port': '443'"), "must be a port"},
	{ALLOW("'host': 'a.test', 'max_requests': 0"), "network.allow[0].max_requests: must be"},
	{ALLOW("'host': 'a.test', 'max_bytes_up': '2000000T'"), "network.allow[0].max_bytes_up: must be"},
	{ALLOW("'host': 'a.test', 'port': 9, 'requests_per_minute': 3"), "counts requests where none can be seen"},
	{ALLOW("'host': 'a.test', 'credential': {'header': 1, 'value': 'x'}"), "credential.header: must be a string"},
	{ALLOW("'host': 'a.test', 'credential': {'header': 'A', 'value': 1}"), "credential.value: must be a string"},
	{ALLOW("'host': 'a.test', 'credential': {'header': '', 'value': 'x'}"), "credential.header: must not be empty"},
	{ALLOW("'host': 'a.test', 'credential': {'header': 'A', 'value': ''}"), "credential.value: must not be empty"},
	{ALLOW("'host': 'a.test', 'credential': {'header': '#130#', 'value': '{A}'}"), "no header's name"},
	{ALLOW("'host': 'a.test', 'credential': {'header': 'A', 'value': '\\u0001{A}'}"), "control characters"},
	{ALLOW("'host': 'a.test', 'credential': {'header': 'A', 'value': '\\u007f{A}'}"), "control characters"},
	{NET("'listen': [true]"), "must be a port such as 8000"},
	{NET("'listen': [65536]"), "must be a port such as 8000"},
	{NET("'listen': [-1]"), "must be a port such as 8000"},
	{NET("'listen': ['123456789-9']"), "must be a port such as 8000"},
	{NET("'listen': ['x-9']"), "must be a port such as 8000"},
	{NET("'listen': ['9-x']"), "must be a port such as 8000"},
	{NET("'proxy': 'no'"), "network.proxy: must be"},
	{NET("'proxy': 3"), "network.proxy: must be"},
	{"{'network': 'all'}", "network: must be"}, {"{'network': 3}", "network: must be"},
	{NET("'pool': {'v4': '#80#/16'}"), "is no network of private addresses"},
	{NET("'pool': {'v4': 'x/16'}"), "is no network of private addresses"},
	{NET("'pool': {'v4': '10.0.0.0/33'}"), "is no network of private addresses"},
	{NET("'pool': {'v4': 'fd00::/16'}"), "is no network of private addresses"},
	{NET("'pool': {'v6': 'fd00::1/112'}"), "is no network of private addresses"},
	{NET("'resolve': {'a.test': []}"), "must be an address"},
	{NET("'resolve': {'a.test': 3}"), "must be an address"},
	{NET("'resolve': {'a.test': ['8.8.8.8', '8.8.4.4', '1.1.1.1', '1.0.0.1', '9.9.9.9', '8.8.8.1', '8.8.8.2', "
	     "'8.8.8.3', '8.8.8.4', '8.8.8.5', '8.8.8.6', '8.8.8.7', '8.8.8.9', '8.8.8.10', '8.8.8.11', '8.8.8.12', "
	     "'8.8.8.13']}"),
	 "must be an address"},
	{NET("'resolve': {'a.test': '8.8.8.8'}, 'allow': [{'host': 'a.test', 'private': true}]"),
	 "has \"private\" without effect"},
	{NET("'upstream_ca': '/home/u/bytes'"), "has a name that is not UTF-8"},
	{SECRET("'S': {'from': 'file:/nowhere/missing', 'hosts': ['a.test']}"), "there is no file"},
	{SECRET("'S': {'from': 'env:#129#', 'hosts': ['a.test']}"), "names no variable"},
	{SECRET("'#129#': {'from': 'env:S', 'hosts': ['a.test']}"), "secrets"},
	{SECRET("'S': {'from': 'env:', 'hosts': ['a.test']}"), "names no variable"},
	{SECRET("'S': {'from': 'fd:1234567890', 'hosts': ['a.test']}"), "names no descriptor"},
	{SECRET("'S': {'from': 'fd:x', 'hosts': ['a.test']}"), "names no descriptor"},
	{SECRET("'S': {'from': 'fd:', 'hosts': ['a.test']}"), "names no descriptor"},
	{SECRET("'S': {'from': 'env:S', 'hosts': 'a.test'}"), "secrets.S"},
	{SECRET("'S': {'from': '', 'hosts': ['a.test']}"), "secrets.S.from: must not be empty"},
	{SECRET("'S': {'from': 'env:S', 'hosts': [{}]}"), "secrets.S.hosts[0]"},
	{"{'filesystem': {'provide': {'/a': {'from': 'file:'}}}}", "must be \"file:PATH\""},
	{"{'filesystem': {'provide': {'/a': {'from': 3}}}}", "must be"},
	{"{'filesystem': {'provide': {'/a': {}}}}", "lacks \"from\""},
	{"{'filesystem': {'provide': {'': 'x'}}}", "must not be empty; write the file's path"},
	{"{'filesystem': {'provide': {'/a': 3}}}", "must be the file's content"},
	{"{'filesystem': {'provide': {'/': 'x'}}}", "filesystem.provide"},
	{"{'filesystem': {'redirect': [{'from': '/', 'to': '/srv'}]}}", "cannot be redirected"},
	{"{'filesystem': {'redirect': [{'from': '/a', 'to': '@workdir/out'}]}}", "leads out of the workdir"},
	{"{'filesystem': {'decoy': ['**/x']}}", "is relative"}, {"{'filesystem': {'read': ['/a//'], 'deny': ['//a']}}",
	 "is denied as well"},
	{"{'workdir': '/dev/x'}", "cannot be the workdir"}, {"{'workdir': '/'}", "cannot be the workdir"},
	{"{'filesystem': {'read': ['/\xff']}}", "not valid JSON"},
	{"{'filesystem': {'read': ['${BYTES}']}}", "is not UTF-8"},
	{"{'user': ''}", "user: must not be empty"},
	{"{'filesystem': {'read': ['${']}}", "without a name and \"}\""},
	{"{'filesystem': {'read': ['${}']}}", "without a name and \"}\""},
	{"{'filesystem': {'read': ['${#200#}']}}", "without a name and \"}\""},
	{"{'filesystem': {'deny': ['**/']}}", "is relative"},
	{"{'filesystem': {'deny': ['**x']}}", "is relative"},
	{"{'user': '#300#'}", "is not a user"}, {"{'user': 'a\\nb'}", "is not a user"},
	{"{'user': ':1'}", "names no user"}, {"{'user': '1:'}", "names no group"}, {"{'user': '1:2:3'}", "one colon"},
	{"{'version': 1.0}", "version: must be 1"}, {"{'require': [3]}", "require[0]: must be a string"},
	{"{'inspect': {'refuse': 'alarm'}}", "inspect.refuse: must be a list"},
	{"{'inspect': {'refuse': ['alarms']}}", "inspect.refuse[0]: there is no kind or level of findings \"alarms\""},
	{"{'libraries': ['numpy']}", "libraries: must be an object"},
	{"{'libraries': {'ruby': ['rake']}}", "libraries.ruby: unknown key"},
	{"{'libraries': {'python': ['../six']}, 'x': 1}", "unknown key"},
	{"{'libraries': {'python': ['a b']}}", "libraries.python[0]: is no name of a package"},
	{"{'inspect': {'warn': [true]}}", "inspect.warn[0]: must be a string"},
	{"{'inspect': {'modules': 'numpy'}}", "inspect.modules: must be a list"},
	{"{'inspect': {'modules': ['']}}", "inspect.modules[0]: must not be empty"},
	{"{'workspace': 'cow'}", "workspace: must be an object"},
	{"{'workspace': {'mode': 'copy'}}", "workspace.mode: must be \"direct\" or \"cow\", not \"copy\""},
	{"{'workspace': {'directories': '/usr'}}", "workspace.directories: must be a list"},
	{"{'workspace': {'directories': ['/nowhere/missing']}}", "there is no such directory"},
	{"{'workspace': {'directories': ['/']}}", "it has the machine's own directories in it"},
	{"{'workspace': {'mode': true}}", "workspace.mode: must be \"direct\" or \"cow\""},
	{"{'phases': {'run': {'workspace': {'mode': 'cow'}}}}", "is for the whole policy"},
	{"{'process': {'unix_datagrams': 3}}", "process"},
	{"{'audit': {'allowed': 'x'}}", "audit.allowed: must be"},
	{"{'limits': {'wall': []}}", "limits.wall"}, {"{'limits': {'pids': '3x'}}", "limits.pids"},
	{"{'limits': {'stdout': 'none'}}", "limits.stdout"},
	{"{'phases': {'setup': {'filesystem': {'read': ['rel']}}, 'run': {'filesystem': {'read': ['rel']}}}}",
	 "is relative"},
};
/* clang-format on */

START_TEST(test_mistake)
{
	_cleanup_free_ char *json = rig_make_text(mistakes[_i].text);
	struct rig rig = {0};
	struct policy *policy = NULL;
	bool found = false;

	ck_assert_msg(rig_load(&rig, json, NULL, &policy) == -EINVAL, "%.200s", mistakes[_i].text);
	ck_assert_ptr_null(policy);
	for (size_t i = 0; i < rig.errors.count; i++)
		found |= strstr(rig.errors.item[i].text, mistakes[_i].message) != NULL;
	ck_assert_msg(found, "%.200s gives: %s", mistakes[_i].text, rig.errors.item[0].text);
	rig_done(&rig);
}
END_TEST

/* ---- the command line ---- */

static const struct {
	const char *option, *text, *message;
} cli_mistakes[] = {
	{"--allow-private", "*.com", "anybody who registers"},
	{"--allow-private", "169.254.169.254", "never connected to"},
	{"--listen", "x", "must be a port such as 8000"},
	{"--listen", "9-8", "must be a port such as 8000"},
	{"--allow", "GET ftp://a.test/x", "neither http:// nor https://"},
	{"--allow", "GET #1100#", "is longer than a host name can be"},
	{"--allow-host", "#1100#", "is longer than a host name can be"},
	{"--allow-host", "https://a.test", "has a scheme"},
	{"--allow-host", "[::1]x:1", "is no"},
	{"--secret", "S@#1100#", "is longer than a host name can be"},
	{"-r", "", "-r: must not be empty"}, {"-W", "", "-W: must not be empty"}, {"-x", "", "-x: must not be empty"},
	{"-e", "A*B", "for the end of a name only"},
};

static struct policy_cli make_cli(const char *option, const char *const *texts)
{
	struct policy_cli cli = {.denies_network = false};
	const struct {
		const char *option;
		const char *const **list;
	} lists[] = {{"-r", &cli.read}, {"-W", &cli.write}, {"-x", &cli.exec}, {"-e", &cli.env},
		     {"--allow-host", &cli.allow_host}, {"--allow-private", &cli.allow_private},
		     {"--listen", &cli.listen}, {"--allow", &cli.allow_request}, {"--secret", &cli.secret}};

	for (int i = 0; i < COUNT(lists); i++)
		if (strcmp(lists[i].option, option) == 0)
			*lists[i].list = texts;
	return cli;
}

START_TEST(test_cli_mistake)
{
	_cleanup_free_ char *text = rig_make_text(cli_mistakes[_i].text);
	const char *const texts[] = {text, NULL};
	struct policy_cli cli = make_cli(cli_mistakes[_i].option, texts);
	struct rig rig = {0};
	struct policy *policy = NULL;

	ck_assert_int_eq(rig_load(&rig, "{}", &cli, &policy), -EINVAL);
	ck_assert_uint_eq(rig.errors.count, 1);
	ck_assert_msg(strstr(rig.errors.item[0].text, cli_mistakes[_i].message) != NULL, "%s", rig.errors.item[0].text);
	rig_done(&rig);
}
END_TEST

START_TEST(test_cli_values)
{
	static const char *const hosts[] = {"8.8.8.8:53", "[2001:4860::1]", "p.test:8080", NULL};
	static const char *const lifts[] = {"p.test:8080", NULL}, *const ranges[] = {"0", "9-10", "*", NULL};
	static const char *const requests[] = {"GET http://i.test", "PUT h.test:80/x", "GET https://s.test:80/y",
					       "GET http://j.test:443", NULL};
	const struct policy_cli cli = {.allow_host = hosts, .allow_private = lifts, .listen = ranges,
				       .allow_request = requests};
	struct policy *policy =
		load_with("{'network': {'allow': [{'host': 'p.test', 'port': [7, 8080]}, "
			  "{'host': 'p.test', 'port': 9}]}}",
			  &cli);
	const struct {
		const char *host;
		unsigned port;
		enum net_proto proto;
		bool private;
	} cases[] = {{"8.8.8.8", 53, NET_TCP, false}, {"2001:4860::1", 443, NET_HTTPS, false},
		     {"p.test", 7, NET_TCP, true}, {"p.test", 9, NET_TCP, false}, {"i.test", 80, NET_HTTP, false},
		     {"h.test", 80, NET_HTTP, false}, {"s.test", 80, NET_HTTPS, false},
		     {"j.test", 443, NET_HTTP, false}};

	for (int i = 0; i < COUNT(cases); i++) {
		struct net_verdict verdict = policy_net_judge_connect(policy, cases[i].host, cases[i].port, false);

		ck_assert_msg(verdict.is_allowed, "%s", cases[i].host);
		ck_assert_int_eq(verdict.rule->proto, cases[i].proto);
		ck_assert_msg(verdict.rule->allows_private_addresses == cases[i].private, "%s", cases[i].host);
	}
	ck_assert(policy_net_judge_listen(policy, 65535).is_allowed);
	policy_free(policy);
}
END_TEST

/* ---- values that are accepted ---- */

/* A part that `callgate show` prints; for what only the printed policy tells. */
static const struct {
	const char *text, *shown;
} values[] = {
	{NET("'proxy': true"), "\"proxy\": true"},
	{NET("'proxy': 'env'"), "\"proxy\": \"env\""},
	{NET("'pool': {'v4': '10.1.0.0/16'}"), "{\n      \"v4\": \"10.1.0.0/16\"\n    }"},
	{NET("'pool': {'v6': 'fd00:1::/32'}"), "{\n      \"v6\": \"fd00:1::/32\"\n    }"},
	{ALLOW("'host': 'a.internal', 'on_deny': 'kill'"), "\"on_deny\": \"kill\""},
	{ALLOW("'host': '**.internal'"), "**.internal"},
	{NET("'resolve': {'a.test': ['8.8.8.8', '8.8.4.4']}, 'allow': [{'host': 'a.test'}]"), "8.8.4.4"},
	{SECRET("'S': {'from': 'fd:3', 'hosts': ['a.test']}"), "fd:3"},
	{SECRET("'S': {'from': 'file:/srv/s', 'hosts': ['a.test']}"), "file:/srv/s"},
	{"{'process': {'unix_datagrams': true}}", "unix_datagrams"},
	{"{'inspect': {'refuse': ['secret', 'module']}}", "\"refuse\": [\n      \"secret\",\n      \"module\"\n    ]"},
	{"{'workspace': {'mode': 'cow'}}", "\"workspace\": {\n    \"mode\": \"cow\"\n  }"},
	{"{'inspect': {'modules': ['numpy', 'a.b']}}", "\"modules\": [\n      \"numpy\",\n      \"a.b\"\n    ]"},
	{"{'libraries': {'python': ['numpy', 'numpy'], 'node': []}}",
	 "\"python\": [\n      \"numpy\"\n    ],\n    \"node\": []"},
	{"{'inspect': {'warn': ['alarm', 'note']}}", "\"warn\": [\n      \"import\","},
	{"{'filesystem': {'read': ['/usr//lib/', '//srv']}}", "/usr/lib"},
	{"{'filesystem': {'read': ['/']}}", "\"/\""},
	{"{'filesystem': {'read': ['~']}}", "/home/u"},
	{"{'filesystem': {'read': ['/#255#']}}", "aaaa"},
	{"{'filesystem': {'deny': ['**/x', '/a/**']}}", "**/x"},
	{"{'filesystem': {'decoy': ['/a/id_ed25519', '/b/.npmrc', '/c/.git-credentials']}}", "decoy"},
};

START_TEST(test_value)
{
	struct policy *policy = load_with(values[_i].text, NULL), *again;
	_cleanup_free_ char *shown = policy_make_json(policy);
	_cleanup_free_ char *once_more = NULL;
	struct rig rig = {0};

	ck_assert_msg(strstr(shown, values[_i].shown) != NULL, "%s", shown);
	ck_assert_msg(rig_load(&rig, shown, NULL, &again) == 0, "%s", shown);
	once_more = policy_make_json(again);
	ck_assert_str_eq(shown, once_more);
	policy_free(policy);
	policy_free(again);
	rig_done(&rig);
}
END_TEST

START_TEST(test_names)
{
	unsigned bits = 0;
	char bad[8];

	ck_assert_str_eq(policy_phase_get_name(POLICY_PHASE_SETUP), "setup");
	ck_assert_str_eq(policy_phase_get_name(POLICY_PHASE_RUN), "run");
	ck_assert_int_eq(layers_parse_list("landlock,cgroups", &bits, bad, sizeof(bad)), 0);
	ck_assert_uint_eq(bits, LAYER_BIT(LAYER_LANDLOCK) | LAYER_BIT(LAYER_CGROUPS));
	ck_assert_int_eq(layers_parse_list("landlock,no", &bits, bad, sizeof(bad)), -EINVAL);
	ck_assert_str_eq(bad, "no");
	ck_assert_int_eq(layers_parse_list("something,landlock", &bits, bad, sizeof(bad)), -EINVAL);
	ck_assert_str_eq(bad, "somethi");
	ck_assert_int_eq(layers_parse_list("", &bits, bad, sizeof(bad)), -EINVAL);
	ck_assert_uint_eq(bits, LAYER_BIT(LAYER_LANDLOCK) | LAYER_BIT(LAYER_CGROUPS));
}
END_TEST

/* ---- files ---- */

/* The message of a file p.json beside other files; NULL: none. Static. */
static const char *load_files(const struct rig_file *files, int error)
{
	static const char *const names[] = {"dir/p.json", NULL};
	static char message[1024];
	struct rig rig = {.files = files, .error = error};
	struct policy *policy = NULL;
	int ret = rig_load_names(&rig, names, NULL, &policy);

	(void)snprintf(message, sizeof(message), "%s", rig.errors.count ? rig.errors.item[0].text : "");
	policy_free(policy);
	rig_done(&rig);
	return ret < 0 ? message : NULL;
}

START_TEST(test_files)
{
	static const struct rig_file extends[] = {{"dir/p.json", "{\"extends\": [\"no.json\"]}"}, {"no.json", NULL},
						  {NULL, NULL}};
	static const struct rig_file provides[] = {
		{"dir/p.json", "{\"filesystem\": {\"provide\": {\"/a\": {\"from\": \"file:x\"}}}}"},
		{"./x", "\xff"}, {NULL, NULL}};
	static const struct rig_file with_ca[] = {
		{"dir/p.json", "{\"network\": {\"upstream_ca\": \"missing.pem\"}}"}, {NULL, NULL}};
	char text[40][64], name[40][16];
	struct rig_file chain[41] = {{"dir/p.json", "{\"extends\": [\"0.json\"]}"}};

	ck_assert_ptr_nonnull(strstr(load_files(extends, -EFBIG), "is too large for a policy"));
	ck_assert_ptr_nonnull(strstr(load_files(extends, -EIO), "cannot read no.json: Input/output error"));
	ck_assert_ptr_nonnull(strstr(load_files(provides, 0), "./x is not UTF-8 text"));
	ck_assert_ptr_nonnull(strstr(load_files(with_ca, 0), "there is no file dir/missing.pem"));
	for (int i = 0; i < 39; i++) {
		(void)snprintf(name[i], sizeof(name[i]), "%d.json", i);
		(void)snprintf(text[i], sizeof(text[i]), i < 38 ? "{\"extends\": [\"%d.json\"]}" : "{}", i + 1);
		chain[i + 1] = (struct rig_file){name[i], text[i]};
	}
	ck_assert_ptr_nonnull(strstr(load_files(chain, 0), "files extend each other"));
}
END_TEST

static const char *const last[] = {"p.json", NULL};

/* The secret of the later file counts. A variable that holds a secret is not passed. */
START_TEST(test_secrets)
{
	static const struct rig_file files[] = {
		{"base.json", "{\"network\": {\"allow\": [{\"host\": \"a.test\"}, "
			      "{\"host\": \"a.test\", \"port\": 80}]},"
			      "\"secrets\": {\"S\": {\"from\": \"env:S\", \"hosts\": [\"a.test\"]}}}"},
		{"p.json", "{\"extends\": [\"base.json\"], \"env\": {\"pass\": [\"V\", \"S\", \"W*\"]},"
			   "\"secrets\": {\"R\": {\"from\": \"env:V\", \"hosts\": [\"a.test\"]},"
			   "\"S\": {\"from\": \"fd:7\", \"hosts\": [\"a.test\"]}}}"},
		{NULL, NULL}};
	struct rig rig = {.files = files};
	struct policy *policy;
	const struct net_secret *secret;
	size_t count;

	ck_assert_int_eq(rig_load_names(&rig, last, NULL, &policy), 0);
	secret = policy_net_get_secrets(policy, &count);
	ck_assert_uint_eq(count, 2);
	ck_assert_str_eq(secret[0].value_source, "fd:7");
	ck_assert(!policy_env_passes_variable(policy, "V") && policy_env_passes_variable(policy, "S"));
	ck_assert(policy_env_passes_variable(policy, "WX") && !policy_env_passes_variable(policy, "X"));
	policy_free(policy);
	rig_done(&rig);
}
END_TEST

/* Each file may have as many rules as there can be; all together may not have more. */
START_TEST(test_many_net_rules)
{
	_cleanup_free_ char *text = calloc(1, RIG_TEXT_MAX);
	size_t len = (size_t)snprintf(text, RIG_TEXT_MAX, "{\"network\": {\"allow\": [{\"host\": \"a.test\"}");
	struct rig_file files[] = {{"base.json", text}, {"p.json", "{\"extends\": [\"base.json\"], \"network\": "
							       "{\"allow\": [{\"host\": \"b.test\"}]}}"}, {NULL, NULL}};
	struct rig rig = {.files = files};
	struct policy *policy;

	for (unsigned i = 0; i < NET_RULES_MAX - 1; i++)
		len += (size_t)snprintf(text + len, RIG_TEXT_MAX - len, ",{\"host\": \"a%u.test\"}", i);
	(void)snprintf(text + len, RIG_TEXT_MAX - len, "]}}");
	ck_assert_int_eq(rig_load_names(&rig, last, NULL, &policy), -EINVAL);
	ck_assert_ptr_nonnull(strstr(rig.errors.item[0].text, "rules in all files together"));
	rig_done(&rig);
}
END_TEST

/* ---- messages and memory ---- */

START_TEST(test_messages)
{
	struct policy_errors errors = {0};

	policy_errors_add(&errors, "a\nb\x7f%s", "c");
	policy_errors_add(&errors, "a?b?c");
	ck_assert_uint_eq(errors.count, 1);
	ck_assert_str_eq(errors.item[0].text, "a?b?c");
	for (int i = 0; i < 200; i++)
		policy_errors_add(&errors, "%d", i);
	ck_assert_uint_eq(errors.count, 100);
	policy_errors_release(&errors);
}
END_TEST

START_TEST(test_arena)
{
	struct arena arena = {0};

	ck_assert_ptr_null(arena_alloc(&arena, SIZE_MAX));
	ck_assert_ptr_null(arena_dupn(&arena, "", SIZE_MAX));
	ck_assert_ptr_null(arena_grow_array(&arena, NULL, (size_t)1 << 62, 8));
	ck_assert_str_eq(arena_dupn(&arena, "", 0), "");
	ck_assert_str_eq(arena_concat_texts(&arena, "a", "b", (char *)NULL), "ab");
	arena_release(&arena);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("policy bounds");
	TCase *tcase = tcase_create("bounds");

	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, test_mistake, 0, COUNT(mistakes));
	tcase_add_loop_test(tcase, test_cli_mistake, 0, COUNT(cli_mistakes));
	tcase_add_test(tcase, test_cli_values);
	tcase_add_loop_test(tcase, test_value, 0, COUNT(values));
	tcase_add_test(tcase, test_names);
	tcase_add_test(tcase, test_files);
	tcase_add_test(tcase, test_secrets);
	tcase_add_test(tcase, test_many_net_rules);
	tcase_add_test(tcase, test_messages);
	tcase_add_test(tcase, test_arena);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
