/* The network of a policy, packed for egress and unpacked there. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/network/net.h"
#include "policy/network/pack.h"
#include "tests/unit/policy/policy-rig.h"
#include "tests/unit/unit.h"

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
	Suite *suite = suite_create("policy net pack");
	TCase *tcase = tcase_create("net pack");

	tcase_add_test(tcase, packed_and_unpacked);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
