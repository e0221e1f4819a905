/* What the values of "network" mean, and how files and the command line add up to one. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <string.h>

#include "policy/network/net.h"
#include "tests/unit/policy/policy-rig.h"
#include "tests/unit/unit.h"

/* ---- single values ---- */

START_TEST(test_values)
{
	struct policy *policy = rig_load_text(
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

	policy = rig_reload(policy);
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
	struct policy *policy = rig_load_text("{'network': {}}", NULL);
	struct net_pool_ranges pool = policy_net_get_pool(policy);
	size_t count;

	ck_assert(policy_net_is_enabled(policy));
	ck_assert_uint_eq(ntohl(pool.v4.s_addr), 0xc6120000);
	ck_assert_uint_eq(pool.v4_bits, 15);
	ck_assert_uint_eq(pool.v6.s6_addr[0], 0xfd);
	ck_assert(!policy_net_offers_proxy(policy) && !policy_net_sets_proxy_variables(policy) &&
		  !policy_net_get_upstream_ca(policy));
	ck_assert(!policy_net_judge_listen(policy, 0).is_allowed);
	policy = rig_reload(policy);
	ck_assert(policy_net_is_enabled(policy));
	policy_free(policy);
	policy = rig_load_text("{'secrets': {'A': {'from': 'env:A', 'hosts': ['a.test']}}}", NULL);
	ck_assert(!policy_net_is_enabled(policy));
	(void)policy_net_get_secrets(policy, &count); /* no host to send them to */
	ck_assert_uint_eq(count, 0);
	policy = rig_reload(policy);
	ck_assert(!policy_net_is_enabled(policy));
	policy_free(policy);
}
END_TEST

/* ---- composition ---- */

static struct policy *load_files(const char *parent, const char *child, const struct policy_cli *cli)
{
	const struct rig_file files[] = {{"parent", rig_quote(parent)}, {"p.json", rig_quote(child)}, {NULL, NULL}};
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

	policy = rig_reload(policy);
	ck_assert(reaches(policy, "a.test") && reaches(policy, "b.test"));
	ck_assert(!reaches(policy, "c.test") && !reaches(policy, "d.test"));
	ck_assert_uint_eq(policy_net_get_fixed_addresses(policy, "a.test", &address, 1), 1);
	ck_assert_uint_eq(ntohl(((struct sockaddr_in *)(void *)&address)->sin_addr.s_addr), 0x08080404);
	ck_assert(policy_net_judge_listen(policy, 1).is_allowed);
	policy_free(policy);

	policy = rig_reload(load_files(parent, "{'extends': ['parent'], 'network': 'none'}", NULL));
	ck_assert(!policy_net_is_enabled(policy) && !reaches(policy, "a.test"));
	policy_free(policy);

	policy = rig_reload(load_files("{'network': 'none'}",
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
	struct policy *policy = rig_load_text("{'network': {'allow': [{'host': 'a.test'}]}}", &cli);
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
		policy = rig_reload(policy);
	}
	policy_free(policy);
	policy = rig_load_text("{'network': {'allow': [{'host': 'a.test'}]}}", &none);
	ck_assert(!policy_net_is_enabled(policy));
	policy_free(policy);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("policy net values");
	TCase *tcase = tcase_create("net values");

	tcase_add_test(tcase, test_values);
	tcase_add_test(tcase, test_usual_values);
	tcase_add_test(tcase, test_extends);
	tcase_add_test(tcase, test_command_line);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
