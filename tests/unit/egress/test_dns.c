/* Messages, and what a query is answered with: without sockets. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/egress/dns-ask.h"
#include "egress/dns/judge.h"
#include "egress/dns/message.h"
#include "tests/unit/policy/policy-rig.h"
#include "tests/unit/unit.h"

#define POLICY                                                                                                       \
	"{\"network\": {\"allow\": [{\"host\": \"a.test\"}, {\"host\": \"b.test\", \"port\": 22, \"proto\": \"tcp\"}," \
	" {\"host\": \"*.wild.test\"}, {\"host\": \"x.gone.test\"}, {\"host\": \"real.test\", \"dns\": \"real\"},"   \
	" {\"host\": \"9.9.9.9\"}, {\"host\": \"a-b.c-d.test\"}],"                                                \
	" \"deny\": [{\"host\": \"x.gone.test\"}, {\"host\": \"no.wild.test\"}]}}"

static struct rig rig;
static struct policy *policy;
static struct pool *pool;

static void set_up(void)
{
	ck_assert_msg(rig_load(&rig, POLICY, NULL, &policy) == 0, "%s",
		      rig.errors.count ? rig.errors.item[0].text : "?");
	ck_assert_int_eq(pool_create(policy, &pool), 0);
}

static void tear_down(void)
{
	pool_free(pool);
	policy_free(policy);
	rig_done(&rig);
}

/* From memory that ends with the bytes, for the sanitizers. */
static int parse(const uint8_t *data, size_t len, struct dns_query *ret_query)
{
	uint8_t *copy = malloc(len ? len : 1);
	int error;

	memcpy(copy, data, len);
	error = dns_parse_query(copy, len, ret_query);
	free(copy);
	return error;
}

static struct dns_told ask(const char *name, unsigned type, int edns, struct dns_verdict *ret_verdict)
{
	const struct dns_bytes bytes = dns_ask(0xbeef, name, type, edns);
	uint8_t data[DNS_REPLY_BYTES_MAX];
	struct dns_query query;
	struct dns_told told;
	size_t len;

	ck_assert_int_eq(parse(bytes.at, bytes.len, &query), 0);
	dns_judge_query(policy, pool, &query, ret_verdict);
	len = dns_build_answer(&query, &ret_verdict->answer, data, sizeof(data));
	ck_assert_uint_gt(len, 0);
	ck_assert(dns_tell(data, len, &told));
	ck_assert_uint_eq(told.id, 0xbeef);
	ck_assert_uint_eq(told.flags & 0xfff0, 0x8180);
	ck_assert_str_eq(told.name, name);
	ck_assert_uint_eq(told.extras, edns >= 0);
	return told;
}

#define V6 "fd00:5a::"

START_TEST(answers)
{
	static const struct {
		const char *name;
		unsigned type, code;
		const char *text, *reason; /* NULL: not recorded */
	} row[] = {
		{"a.test", 1, 0, "A 198.18.0.16 60", NULL},
		{"a.test", 28, 0, "AAAA " V6 "10 60", NULL},
		{"a.test", 255, 0, "A 198.18.0.16 60, AAAA " V6 "10 60", NULL},
		{"A.tEsT", 1, 0, "A 198.18.0.16 60", NULL},
		{"b.test", 1, 0, "A 198.18.0.17 60", NULL},
		{"x.wild.test", 1, 0, "A 198.18.0.21 60", NULL},
		{"X.WILD.TEST", 28, 0, "AAAA " V6 "15 60", NULL},
		{"y.wild.test", 28, 0, "AAAA " V6 "16 60", NULL},
		/* NODATA, so that musl goes on with the other family */
		{"a.test", 65, 0, "", NULL},
		{"a.test", 64, 0, "", NULL},
		{"a.test", 16, 0, "", NULL},
		{"a.test", 15, 0, "", NULL},
		{"a.test", 33, 0, "", NULL},
		{"a.test", 6, 0, "", NULL},
		{"z.wild.test", 16, 0, "", NULL},
		/* not approved */
		{"c.test", 1, 3, "", "no_rule"},
		{"c.test", 16, 3, "", "no_rule"},
		{"test", 1, 3, "", "no_rule"},
		{"wild.test", 1, 3, "", "no_rule"},
		{"x.y.wild.test", 1, 3, "", "no_rule"},
		{"a.test.evil.example", 1, 3, "", "no_rule"},
		{"xa.test", 1, 3, "", "no_rule"},
		{"x.gone.test", 1, 3, "", "denied_by_rule"},
		{"no.wild.test", 28, 3, "", "denied_by_rule"},
		/* no names of hosts */
		{"_a.wild.test", 33, 3, "", "bad_name"},
		{"a b.wild.test", 1, 3, "", "bad_name"},
		{"a\\.b.wild.test", 1, 3, "", "bad_name"},
		{"a*.wild.test", 1, 3, "", "bad_name"},
		{"\303\274.wild.test", 1, 3, "", "bad_name"},
		{"9.9.9.9", 1, 3, "", "bad_name"},
		{"0x7f.1", 1, 3, "", "bad_name"},
		{"", 2, 3, "", "bad_name"},
		/* itself */
		{"localhost", 1, 0, "A 127.0.0.1 60", NULL},
		{"LocalHost", 28, 0, "AAAA ::1 60", NULL},
		{"localhost", 16, 0, "", NULL},
		/* names of addresses */
		{"16.0.18.198.in-addr.arpa", 12, 0, "PTR a.test 60", NULL},
		{"16.0.18.198.in-addr.arpa", 1, 0, "", NULL},
		{"0.1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.a.5.0.0.0.0.d.f.ip6.arpa", 12, 0, "PTR a.test 60",
		 NULL},
		{"1.0.18.198.in-addr.arpa", 12, 3, "", "no_rule"},
		{"99.0.18.198.in-addr.arpa", 12, 3, "", "no_rule"},
		{"8.8.8.8.in-addr.arpa", 12, 3, "", "no_rule"},
		{"8.8.8.in-addr.arpa", 12, 3, "", "no_rule"},
		{"x.8.8.8.8.in-addr.arpa", 12, 3, "", "no_rule"},
		{"in-addr.arpa", 12, 3, "", "no_rule"},
	};
	struct dns_verdict verdict;

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct dns_told told = ask(row[i].name, row[i].type, (int)(i % 2) - 1, &verdict);

		ck_assert_msg(told.code == row[i].code && strcmp(told.text, row[i].text) == 0, "%s %u: %u %s",
			      row[i].name, row[i].type, told.code, told.text);
		ck_assert_msg(row[i].reason
				      ? verdict.refusal_reason && strcmp(verdict.refusal_reason, row[i].reason) == 0
				      : !verdict.refusal_reason,
			      "%s: %s", row[i].name, verdict.refusal_reason);
		ck_assert(!verdict.uses_real_addresses);
		ck_assert(verdict.has_pool_addresses == (row[i].text[0] != '\0' && row[i].type != 12 &&
					    strcasecmp(row[i].name, "localhost") != 0));
	}
}
END_TEST

/* 63-byte labels, 253 bytes in all: as long as a name can be, under a wildcard and not. */
START_TEST(longest_names)
{
	char name[300];
	struct dns_verdict verdict;
	struct dns_bytes bytes;
	struct dns_query query;

	(void)snprintf(name, sizeof(name), "x%062d.wild.test", 7);
	ck_assert_str_eq(ask(name, 1, 0, &verdict).text, "A 198.18.0.21 60");
	(void)snprintf(name, sizeof(name), "x%062d.x%062d.x%062d.x%060d", 7, 7, 7, 7);
	ck_assert_uint_eq(strlen(name), 253);
	ck_assert_uint_eq(ask(name, 1, 0, &verdict).code, 3);
	ck_assert_str_eq(verdict.refusal_reason, "no_rule");
	(void)snprintf(name, sizeof(name), "x%062d.x%062d.x%062d.x%061d", 7, 7, 7, 7);
	bytes = dns_ask(1, name, 1, 0);
	ck_assert_int_eq(parse(bytes.at, bytes.len, &query), -EBADMSG);
	(void)snprintf(name, sizeof(name), "x%063d.test", 7);
	bytes = dns_ask(1, name, 1, 0); /* its length reads as a pointer's bits */
	ck_assert_int_eq(parse(bytes.at, bytes.len, &query), -EBADMSG);
}
END_TEST

START_TEST(pool_exhausted)
{
	struct dns_verdict verdict;
	char name[64];

	for (unsigned i = 0; i < POOL_NAMES_MAX - 5; i++) { /* five are the policy's */
		(void)snprintf(name, sizeof(name), "n%u.wild.test", i);
		ck_assert_uint_eq(ask(name, 1, -1, &verdict).code, 0);
	}
	ck_assert_uint_eq(ask("more.wild.test", 1, -1, &verdict).code, 2);
	ck_assert_str_eq(verdict.refusal_reason, "pool_exhausted");
	ck_assert_str_eq(ask("a.test", 1, -1, &verdict).text, "A 198.18.0.16 60");
	ck_assert_str_eq(ask("n0.wild.test", 1, -1, &verdict).text, "A 198.18.0.21 60");
}
END_TEST

START_TEST(real_addresses)
{
	const struct dns_bytes bytes = dns_ask(1, "real.test", 255, 0);
	struct sockaddr_storage list[3] = {{.ss_family = AF_INET}, {.ss_family = AF_INET6}, {.ss_family = AF_INET}};
	struct sockaddr_in *first = (struct sockaddr_in *)&list[0], *third = (struct sockaddr_in *)&list[2];
	struct dns_verdict verdict;
	struct dns_query query;

	ck_assert_str_eq(ask("real.test", 16, 0, &verdict).text, "");
	ck_assert(!verdict.uses_real_addresses);
	(void)ask("real.test", 255, 0, &verdict);
	ck_assert(verdict.uses_real_addresses);
	first->sin_addr.s_addr = htonl(0x08080808);
	((struct sockaddr_in6 *)&list[1])->sin6_addr.s6_addr[0] = 0x2a;
	third->sin_addr.s_addr = htonl(0x09090909);
	ck_assert_int_eq(pool_add_real_address(pool, (const struct sockaddr *)&list[2], "b.test"), 0);
	ck_assert_int_eq(parse(bytes.at, bytes.len, &query), 0);
	dns_judge_addresses(pool, &query, list, 3, &verdict);
	ck_assert(!verdict.uses_real_addresses && !verdict.has_pool_addresses);
	ck_assert_uint_eq(verdict.answer.address_count, 2); /* not the one that is b.test's */
	ck_assert_str_eq(pool_find_name(pool, (const struct sockaddr *)&list[0]), "real.test");
	ck_assert_str_eq(pool_find_name(pool, (const struct sockaddr *)&list[2]), "b.test");
	(void)ask("real.test", 255, 0, &verdict);
	dns_judge_addresses(pool, &query, &list[2], 1, &verdict);
	ck_assert(verdict.has_pool_addresses);
	ck_assert_uint_eq(verdict.answer.address_count, 2); /* the synthetic ones */
}
END_TEST

START_TEST(refused_messages)
{
	const struct dns_bytes good = dns_ask(7, "a.test", 1, 0);
	static const struct {
		size_t at;
		uint8_t byte;
		int error;
	} row[] = {
		/* answer, inverse query, update */
		{2, 0x80, -EINVAL},      {2, 0x08, -EOPNOTSUPP}, {2, 0x28, -EOPNOTSUPP},
		{5, 0, -EBADMSG},        {5, 2, -EBADMSG},       {7, 1, -EBADMSG},       {9, 1, -EBADMSG},
		{11, 0, -EBADMSG},       {11, 2, -EBADMSG},      {11, 9, -EBADMSG},      {12, 0xc0, -EBADMSG},
		{12, 0x41, -EBADMSG},    {12, 2, -EBADMSG},      {14, 63, -EBADMSG},     {24, 1, -EBADMSG},
		{34, 1, -EBADMSG},
	};
	struct dns_query query;

	ck_assert_int_eq(parse(good.at, good.len, &query), 0);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct dns_bytes bytes = good;

		bytes.at[row[i].at] = row[i].byte;
		ck_assert_msg(parse(bytes.at, bytes.len, &query) == row[i].error, "%zu", i);
		if (row[i].error != -EINVAL)
			ck_assert_uint_eq(query.id, 7);
	}
	for (size_t len = 0; len < good.len; len++)
		ck_assert_int_eq(parse(good.at, len, &query), len < 12 ? -EINVAL : -EBADMSG);
	ck_assert_int_eq(parse(good.at, good.len + 1, &query), -EBADMSG);
	ck_assert_int_eq(parse(good.at, DNS_QUERY_BYTES_MAX + 1, &query), -EBADMSG);
}
END_TEST

/* What a refusal without a question looks like, other classes, later versions of EDNS. */
START_TEST(codes)
{
	const struct dns_answer refusal = {.code = DNS_FORMERR};
	struct dns_bytes bytes = dns_ask(7, "a.test", 1, -1);
	uint8_t data[DNS_REPLY_BYTES_MAX];
	struct dns_verdict verdict;
	struct dns_query query;
	struct dns_told told;
	size_t len;

	ck_assert_int_eq(parse(bytes.at, bytes.len - 1, &query), -EBADMSG);
	len = dns_build_answer(&query, &refusal, data, sizeof(data));
	ck_assert_uint_eq(len, 12);
	ck_assert(dns_tell(data, len, &told));
	ck_assert_uint_eq(told.id, 7);
	ck_assert_uint_eq(told.code, 1);
	ck_assert_uint_eq(ask("a.test", 1, 1, &verdict).code, 16);
	bytes.at[bytes.len - 1] = 3; /* CHAOS */
	ck_assert_int_eq(parse(bytes.at, bytes.len, &query), 0);
	dns_judge_query(policy, pool, &query, &verdict);
	ck_assert_uint_eq(verdict.answer.code, 5);
}
END_TEST

/* The most there can be fits without EDNS; a name of an address that does not says so. */
START_TEST(fits)
{
	struct dns_answer answer = {.address_count = DNS_ANSWERS_MAX};
	uint8_t data[DNS_REPLY_BYTES_MAX];
	struct dns_query query;
	struct dns_bytes bytes;
	struct dns_told told;
	char name[300];
	size_t len;

	(void)snprintf(name, sizeof(name), "x%062d.x%062d.x%062d.x%060d", 7, 7, 7, 7);
	bytes = dns_ask(1, name, 28, 0);
	ck_assert_int_eq(parse(bytes.at, bytes.len, &query), 0);
	for (size_t i = 0; i < DNS_ANSWERS_MAX; i++)
		answer.address[i].ss_family = AF_INET6;
	len = dns_build_answer(&query, &answer, data, sizeof(data));
	ck_assert(len && dns_tell(data, len, &told));
	ck_assert_uint_eq(told.answers, DNS_ANSWERS_MAX);
	answer.address_count = 0;
	memcpy(answer.ptr_name, name, sizeof(answer.ptr_name) - 1);
	ck_assert_uint_eq(dns_build_answer(&query, &answer, data, sizeof(data)), 0);
	for (size_t cap = 0; cap < len; cap++) {
		answer.address_count = DNS_ANSWERS_MAX;
		answer.ptr_name[0] = '\0';
		ck_assert_uint_eq(dns_build_answer(&query, &answer, data, cap), 0);
	}
}
END_TEST

START_TEST(types)
{
	char text[DNS_TYPE_TEXT_SIZE];

	dns_get_type_text(28, text);
	ck_assert_str_eq(text, "AAAA");
	dns_get_type_text(65535, text);
	ck_assert_str_eq(text, "TYPE65535");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("dns");
	TCase *tcase = tcase_create("dns");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, answers);
	tcase_add_test(tcase, longest_names);
	tcase_add_test(tcase, pool_exhausted);
	tcase_add_test(tcase, real_addresses);
	tcase_add_test(tcase, refused_messages);
	tcase_add_test(tcase, codes);
	tcase_add_test(tcase, fits);
	tcase_add_test(tcase, types);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
