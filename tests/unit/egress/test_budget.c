#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/io.h"
#include "tests/unit/egress/egress-wire.h"
#include "egress/budget.h"
#include "tests/unit/policy/policy-rig.h"
#include "tests/unit/unit.h"

#define SECOND 1000000000ULL

/* ---- counted alone ---- */

static struct rig policy_rig;
static struct policy *policy;
static struct budgets *budgets;
static const struct net_rule *rule;
static struct budget_use use;

static void count(const char *limits)
{
	char text[512];
	size_t rules;

	(void)snprintf(text, sizeof(text),
		       "{\"network\": {\"allow\": [{\"host\": \"a.test\", \"port\": 7, \"proto\": \"http\", %s}]}}",
		       limits);
	ck_assert_int_eq(rig_load(&policy_rig, text, NULL, &policy), 0);
	ck_assert_int_eq(budgets_create(policy, &budgets), 0);
	rule = policy_net_get_rules(policy, &rules);
	ck_assert_uint_eq(rules, 1);
	ck_assert_int_eq(budget_add_connection(budgets, rule, &use), 0);
}

static void forget(void)
{
	budget_drop_connection(&use);
	budgets_free(budgets);
	policy_free(policy);
	rig_done(&policy_rig);
}

START_TEST(bytes_have_an_end)
{
	uint64_t wait_ms = 0;

	count("\"max_bytes_up\": 100");
	ck_assert_uint_eq(budget_get_allowed_bytes(&use, true, 60, 0, &wait_ms), 60);
	budget_spend_bytes(&use, true, 60);
	ck_assert_uint_eq(budget_get_allowed_bytes(&use, true, 60, 0, &wait_ms), 40);
	budget_spend_bytes(&use, true, 40);
	ck_assert_uint_eq(budget_get_allowed_bytes(&use, true, 60, 0, &wait_ms), 0);
	ck_assert_uint_eq(wait_ms, UINT64_MAX);
	ck_assert_uint_eq(budget_get_allowed_bytes(&use, false, 60, 0, &wait_ms), 60);
	forget();
}
END_TEST

START_TEST(bytes_a_second_are_kept_over_any_while)
{
	uint64_t now_ns = io_read_clock_ns(), begin_ns = now_ns, moved = 0;

	count("\"max_bytes_per_second\": 1000000");
	while (moved < 5000000) {
		uint64_t wait_ms = 0;
		size_t room = budget_get_allowed_bytes(&use, moved % 2, 65536, now_ns, &wait_ms);

		ck_assert(room || (wait_ms > 0 && wait_ms < 1000));
		budget_spend_bytes(&use, moved % 2, room);
		moved += room;
		now_ns += wait_ms * 1000000;
	}
	/* Five seconds' worth, but for the quarter there was at the beginning. */
	ck_assert_uint_ge(now_ns - begin_ns, 4 * SECOND + SECOND / 2);
	ck_assert_uint_le(now_ns - begin_ns, 5 * SECOND + SECOND / 2);
	forget();
}
END_TEST

START_TEST(a_slow_rate_moves_single_bytes)
{
	uint64_t now_ns = io_read_clock_ns(), begin_ns = now_ns, moved = 0;

	count("\"max_bytes_per_second\": 3");
	while (moved < 9) {
		uint64_t wait_ms = 0;
		size_t room = budget_get_allowed_bytes(&use, true, 65536, now_ns, &wait_ms);

		budget_spend_bytes(&use, true, room);
		moved += room;
		now_ns += wait_ms * 1000000;
	}
	ck_assert_uint_ge(now_ns - begin_ns, 2 * SECOND);
	ck_assert_uint_le(now_ns - begin_ns, 4 * SECOND);
	forget();
}
END_TEST

START_TEST(requests_have_a_rate_and_an_end)
{
	uint64_t now_ns = io_read_clock_ns();

	count("\"requests_per_minute\": 6, \"max_requests\": 9");
	for (int i = 0; i < 6; i++)
		ck_assert_ptr_null(budget_count_request(budgets, rule, now_ns));
	ck_assert_str_eq(budget_count_request(budgets, rule, now_ns), "cap_rate");
	ck_assert_str_eq(budget_count_request(budgets, rule, now_ns + 9 * SECOND), "cap_rate");
	for (int i = 1; i <= 3; i++)
		ck_assert_ptr_null(budget_count_request(budgets, rule, now_ns + (uint64_t)i * 11 * SECOND));
	ck_assert_str_eq(budget_count_request(budgets, rule, now_ns + 1000 * SECOND), "cap_requests");
	forget();
}
END_TEST

START_TEST(connections_are_given_back)
{
	struct budget_use second, third;

	count("\"max_connections\": 2");
	ck_assert_int_eq(budget_add_connection(budgets, rule, &second), 0);
	ck_assert_int_eq(budget_add_connection(budgets, rule, &third), -EDQUOT);
	budget_drop_connection(&second);
	budget_drop_connection(&second); /* idempotent */
	ck_assert_int_eq(budget_add_connection(budgets, rule, &third), 0);
	ck_assert_int_eq(budget_add_connection(budgets, rule, &second), -EDQUOT);
	budget_drop_connection(&third);
	forget();
}
END_TEST

/* ---- through egress ---- */

static struct egress_rig *rig;
static int server = -1;
static uint16_t port;

static void begin(const char *more)
{
	server = erig_server(&port);
	rig = wire_begin(port, "tcp", more, NULL);
}

static void end(void)
{
	(void)close(server);
	ck_assert_int_eq(erig_end(rig), 0);
}

START_TEST(the_cap_ends_a_stream_with_a_reset)
{
	struct control_record record;
	char text[1025] = {0};
	int program, upstream;

	begin(", \"max_bytes_down\": 1000");
	program = erig_connect(rig, "a.test", port);
	upstream = erig_accept(server);
	memset(text, 'x', 1024);
	wire_say(upstream, text);
	ck_assert_int_lt(wire_hear(program), 0);
	record = erig_record(rig, erig_last(rig), CONTROL_EVENT_CLOSE, 0);
	ck_assert_str_eq(record.reason, "cap_bytes");
	ck_assert_str_eq(record.close_cause, "cap_bytes_down");
	ck_assert_int_eq(record.allow, 0);
	ck_assert_uint_le(record.bytes_down, 1001);
	(void)close(program);
	(void)close(upstream);
	/* It is the rule's, not the connection's. */
	program = erig_connect(rig, "a.test", port);
	upstream = erig_accept(server);
	wire_say(upstream, "x");
	ck_assert_int_lt(wire_hear(program), 0);
	(void)close(program);
	(void)close(upstream);
	end();
}
END_TEST

START_TEST(a_stream_of_just_that_many_ends_well)
{
	int program, upstream;

	begin(", \"max_bytes_up\": 10");
	program = erig_connect(rig, "a.test", port);
	upstream = erig_accept(server);
	wire_say(program, "0123456789");
	(void)shutdown(program, SHUT_WR);
	ck_assert_int_eq(wire_hear(upstream), 10);
	wire_say(upstream, "fine");
	(void)close(upstream);
	ck_assert_int_eq(wire_hear(program), 4);
	(void)close(program);
	ck_assert_str_eq(erig_record(rig, erig_last(rig), CONTROL_EVENT_CLOSE, 0).reason, "");
	end();
}
END_TEST

START_TEST(the_rate_slows_a_stream_and_not_its_neighbours)
{
	static char text[600001];
	int program, upstream;
	uint64_t begin_ms, took_ms;
	pid_t pid;

	begin(", \"max_bytes_per_second\": 400000");
	program = erig_connect(rig, "a.test", port);
	upstream = erig_accept(server);
	memset(text, 'x', sizeof(text) - 1);
	begin_ms = erig_ms();
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		(void)io_write_all(upstream, text, sizeof(text) - 1);
		_exit(0);
	}
	wire_drain(program, sizeof(text) - 1);
	took_ms = erig_ms() - begin_ms;
	ck_assert_msg(took_ms >= 1200, "%u ms for 600 kB at 400 kB/s", (unsigned)took_ms); /* a quarter comes at once */
	(void)close(program);
	(void)close(upstream);
	end();
}
END_TEST

START_TEST(connections_at_a_time)
{
	int program, upstream;

	begin(", \"max_connections\": 1");
	program = erig_connect(rig, "a.test", port);
	upstream = erig_accept(server);
	ck_assert_int_eq(erig_connect(rig, "a.test", port), -ECONNREFUSED);
	ck_assert_str_eq(erig_record(rig, erig_last(rig), CONTROL_EVENT_OPEN, 0).reason, "cap_connections");
	(void)close(program);
	(void)close(upstream);
	(void)erig_record(rig, 1, CONTROL_EVENT_CLOSE, 0);
	program = erig_connect(rig, "a.test", port);
	ck_assert_int_ge(program, 0);
	(void)close(program);
	(void)close(erig_accept(server));
	end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("egress_budget");
	TCase *tcase = tcase_create("budget");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, bytes_have_an_end);
	tcase_add_test(tcase, bytes_a_second_are_kept_over_any_while);
	tcase_add_test(tcase, a_slow_rate_moves_single_bytes);
	tcase_add_test(tcase, requests_have_a_rate_and_an_end);
	tcase_add_test(tcase, connections_are_given_back);
	tcase_add_test(tcase, the_cap_ends_a_stream_with_a_reset);
	tcase_add_test(tcase, a_stream_of_just_that_many_ends_well);
	tcase_add_test(tcase, the_rate_slows_a_stream_and_not_its_neighbours);
	tcase_add_test(tcase, connections_at_a_time);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
