/* Which name an address stands for: the same in the supervisor and in egress, whatever either is told. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "egress/conn/pool.h"
#include "tests/unit/policy/policy-rig.h"
#include "tests/unit/unit.h"

static struct policy *policy;
static struct pool *pool;

static void begin(const char *more)
{
	char text[1024];

	(void)snprintf(
		text, sizeof(text),
		"{\"network\": {\"allow\": [{\"host\": \"a.test\"}, {\"host\": \"b.test\"}, {\"host\": \"a.test\", "
		"\"port\": 22, \"proto\": \"tcp\"}, {\"host\": \"*.wild.test\"}, {\"host\": \"9.9.9.9\"}]%s}}",
		more);
	policy = rig_load_good(text);
	ck_assert_int_eq(pool_create(policy, &pool), 0);
}

static void end(void)
{
	pool_free(pool);
	policy_free(policy);
}

static const struct sockaddr *at(const char *text)
{
	static struct sockaddr_storage address;

	memset(&address, 0, sizeof(address));
	address.ss_family = strchr(text, ':') ? AF_INET6 : AF_INET;
	ck_assert_int_eq(inet_pton(address.ss_family, text,
				   address.ss_family == AF_INET ?
					   (void *)&((struct sockaddr_in *)&address)->sin_addr :
					   (void *)&((struct sockaddr_in6 *)&address)->sin6_addr),
			 1);
	return (const struct sockaddr *)&address;
}

static void stands_for(const char *address, const char *host)
{
	const char *found = pool_find_name(pool, at(address));

	ck_assert_msg(host ? found && strcmp(found, host) == 0 : !found, "%s: %s", address, found ? found : "nothing");
}

START_TEST(from_policy)
{
	struct sockaddr_storage address;

	begin("");
	ck_assert_str_eq(pool_get_policy_name(pool, POOL_FIRST_NAME_INDEX), "a.test");
	ck_assert_str_eq(pool_get_policy_name(pool, POOL_FIRST_NAME_INDEX + 1), "b.test");
	ck_assert_ptr_null(pool_get_policy_name(pool, POOL_FIRST_NAME_INDEX + 2));
	ck_assert_ptr_null(pool_get_policy_name(pool, 0));
	ck_assert_ptr_null(pool_get_policy_name(pool, UINT32_MAX));
	stands_for("198.18.0.16", "a.test");
	stands_for("::ffff:198.18.0.17", "b.test");
	stands_for("fd00:5a::11", "b.test");
	stands_for("198.18.0.18", NULL);
	stands_for("198.18.0.15", NULL);
	stands_for("198.18.0.1", NULL);
	stands_for("198.19.255.255", NULL);
	stands_for("198.20.0.16", NULL);
	stands_for("fd00:5a:0:0:1::10", NULL);
	stands_for("fd00:5b::10", NULL);
	stands_for("9.9.9.9", NULL);
	ck_assert(pool_holds_address(pool, at("198.19.255.255")) && pool_holds_address(pool, at("fd00:5a:ffff::1")));
	ck_assert(!pool_holds_address(pool, at("198.20.0.0")) && !pool_holds_address(pool, at("fd00:5b::")));
	ck_assert(pool_is_run_address(pool, at("198.18.0.1")) && pool_is_run_address(pool, at("fd00:5a::1")));
	ck_assert(pool_is_run_address(pool, at("::ffff:198.18.0.1")));
	ck_assert(!pool_is_run_address(pool, at("198.18.0.2")) && !pool_is_run_address(pool, at("127.0.0.1")));
	pool_make_address(pool, POOL_FIRST_NAME_INDEX, AF_INET6, 443, &address);
	ck_assert_str_eq(pool_find_name(pool, (struct sockaddr *)&address), "a.test");
	ck_assert_uint_eq(((struct sockaddr_in6 *)&address)->sin6_port, htons(443));
	end();
}
END_TEST

START_TEST(learning)
{
	char longest[400];
	uint32_t index;

	begin("");
	ck_assert_int_eq(pool_add_name(pool, "x.wild.test", &index), 0);
	ck_assert_uint_eq(index, POOL_FIRST_NAME_INDEX + 2);
	ck_assert_int_eq(pool_add_name(pool, "x.wild.test", &index), 0);
	ck_assert_uint_eq(index, POOL_FIRST_NAME_INDEX + 2);
	ck_assert_ptr_null(pool_get_policy_name(pool, index)); /* not the policy's own */
	/* what the supervisor is told, rightly or not */
	ck_assert_int_eq(pool_set_name_at_index(pool, POOL_FIRST_NAME_INDEX + 2, "x.wild.test"), 0);
	ck_assert_int_eq(pool_set_name_at_index(pool, POOL_FIRST_NAME_INDEX + 2, "y.wild.test"), -EBADMSG);
	ck_assert_int_eq(pool_set_name_at_index(pool, POOL_FIRST_NAME_INDEX + 3, "x.wild.test"), -EBADMSG);
	ck_assert_int_eq(pool_set_name_at_index(pool, POOL_FIRST_NAME_INDEX, "y.wild.test"), -EBADMSG);
	ck_assert_int_eq(pool_set_name_at_index(pool, 1, "y.wild.test"), -EBADMSG);
	ck_assert_int_eq(pool_set_name_at_index(pool, POOL_FIRST_NAME_INDEX + POOL_NAMES_MAX, "y.wild.test"), -EBADMSG);
	ck_assert_int_eq(pool_set_name_at_index(pool, UINT32_MAX, "y.wild.test"), -EBADMSG);
	ck_assert_int_eq(pool_set_name_at_index(pool, 100, "Y.wild.test"), -EBADMSG);
	ck_assert_int_eq(pool_set_name_at_index(pool, 100, "y.wild.test."), -EBADMSG);
	ck_assert_int_eq(pool_set_name_at_index(pool, 100, ""), -EBADMSG);
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	ck_assert_int_eq(pool_set_name_at_index(pool, 100, longest), -EBADMSG);
	ck_assert_int_eq(pool_set_name_at_index(pool, 100, "y.wild.test"), 0);
	stands_for("198.18.0.100", "y.wild.test");
	stands_for("fd00:5a::64", "y.wild.test");
	/* what was learned out of turn is passed over by who adds */
	for (unsigned i = 0; i < 200; i++) {
		char host[32];

		(void)snprintf(host, sizeof(host), "n%u.wild.test", i);
		ck_assert_int_eq(pool_add_name(pool, host, &index), 0);
		ck_assert_uint_ne(index, 100);
	}
	stands_for("198.18.0.100", "y.wild.test");
	end();
}
END_TEST

START_TEST(real_addresses)
{
	begin("");
	ck_assert_int_eq(pool_add_real_address(pool, at("9.9.9.9"), "a.test"), 0);
	ck_assert_int_eq(pool_add_real_address(pool, at("::ffff:9.9.9.9"), "a.test"), 0);
	ck_assert_int_eq(pool_add_real_address(pool, at("9.9.9.9"), "b.test"), -EEXIST);
	ck_assert_int_eq(pool_add_real_address(pool, at("198.18.0.16"), "b.test"),
			 -EEXIST); /* never one of the pool's */
	ck_assert_int_eq(pool_add_real_address(pool, at("198.18.9.9"), "b.test"), -EEXIST);
	stands_for("9.9.9.9", "a.test");
	stands_for("::ffff:9.9.9.9", "a.test");
	stands_for("9.9.9.10", NULL);
	for (unsigned i = 1; i < POOL_NAMES_MAX; i++) {
		char address[32];

		(void)snprintf(address, sizeof(address), "2a00::%x", i);
		ck_assert_int_eq(pool_add_real_address(pool, at(address), "b.test"), 0);
	}
	ck_assert_int_eq(pool_add_real_address(pool, at("2a01::1"), "b.test"), -ENOSPC);
	stands_for("2a00::fff", "b.test");
	stands_for("2a01::1", NULL);
	stands_for("9.9.9.9", "a.test");
	end();
}
END_TEST

/* One that has room for a few names only. */
START_TEST(small_pool)
{
	char host[32];
	uint32_t index;

	begin(", \"pool\": {\"v4\": \"10.77.0.0/24\", \"v6\": \"fd99::/112\"}");
	stands_for("10.77.0.16", "a.test");
	stands_for("fd99::10", "a.test");
	for (unsigned i = 2; i < 256 - POOL_FIRST_NAME_INDEX - 1; i++) {
		(void)snprintf(host, sizeof(host), "n%u.wild.test", i);
		ck_assert_int_eq(pool_add_name(pool, host, &index), 0);
	}
	ck_assert_uint_eq(index, 254); /* 255 is the broadcast address */
	ck_assert_int_eq(pool_add_name(pool, "more.wild.test", &index), -ENOSPC);
	ck_assert_int_eq(pool_set_name_at_index(pool, 255, "more.wild.test"), -EBADMSG);
	stands_for("10.77.0.255", NULL);
	stands_for("10.77.1.16", NULL);
	stands_for("fd99::1:10", NULL);
	end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pool");
	TCase *tcase = tcase_create("pool");

	tcase_add_test(tcase, from_policy);
	tcase_add_test(tcase, learning);
	tcase_add_test(tcase, real_addresses);
	tcase_add_test(tcase, small_pool);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
