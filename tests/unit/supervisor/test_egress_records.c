/* What egress' client puts on record, and into the result. */
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#include "syscalls/account/result/denials.h"
#include "tests/unit/supervisor/client-rig.h"
#include "tests/unit/unit.h"

static struct client_rig rig;

static void set_up(void)
{
	client_rig_setup(&rig);
}

static void tear_down(void)
{
	client_rig_teardown(&rig);
}

static const json_t *entry(const json_t *list, size_t i, const char *path, const char *decision, int status, int count)
{
	const json_t *item = json_array_get(list, i);

	ck_assert_ptr_nonnull(item);
	ck_assert_str_eq(json_string_value(json_object_get(item, "host")), CLIENT_RIG_HOST);
	ck_assert_str_eq(json_string_value(json_object_get(item, "path")), path);
	ck_assert_str_eq(json_string_value(json_object_get(item, "decision")), decision);
	ck_assert_int_eq(json_integer_value(json_object_get(item, "status")), status);
	ck_assert_int_eq(json_integer_value(json_object_get(item, "count")), count);
	return item;
}

static void make_requests(uint64_t conn)
{
	struct control_message message, done = client_rig_message(CONTROL_REQUEST_DONE);

	for (int i = 0; i < 3; i++) {
		message = client_rig_request(&rig, conn, "GET", "/a");
		client_rig_send(&rig, &message);
		done.done.id = rig.record_id;
		done.done.result = 200;
		done.done.bytes_down = 10;
		client_rig_send(&rig, &done);
	}
	message = client_rig_request(&rig, conn, "POST", "/b");
	message.record.allow = 0;
	message.record.http_status = 403;
	(void)snprintf(message.record.reason, sizeof(message.record.reason), "method_not_granted");
	client_rig_send(&rig, &message);
	message = client_rig_request(&rig, conn, "GET", "/unanswered");
	client_rig_send(&rig, &message);
	client_rig_close(&rig, conn);
}

START_TEST(test_result)
{
	const struct denial *denial;
	uint64_t unlisted;
	size_t count;
	json_t *list;

	client_rig_start(&rig, client_rig_connects);
	make_requests((client_rig_open(&rig, client_rig_announced(&rig)), 1));
	ck_assert_int_eq(client_rig_outcome(&rig), 0);
	list = json_incref(rig.client->summary.list);
	ck_assert_uint_eq(json_array_size(list), 3); /* and none for the connection itself */
	ck_assert_int_eq(json_integer_value(json_object_get(entry(list, 0, "/a", "allow", 200, 3), "bytes_down")), 30);
	(void)entry(list, 1, "/b", "deny", 403, 1);
	(void)entry(list, 2, "/unanswered", "allow", 0, 1);
	json_decref(list);
	ck_assert_uint_eq(rig.client->summary.unlisted_entry_count, 0);
	ck_assert_uint_eq(rig.client->denied_count, 1);
	denial = denials_get_list(rig.sandbox.denials, &count, &unlisted);
	ck_assert_uint_eq(count, 1);
	ck_assert_str_eq(denial->target, "POST api.test:443/b");
	ck_assert_str_eq(denial->suggested_option, "--allow 'POST api.test:443/b'");
	ck_assert_str_eq(denial->exe, "/bin/program");
	list = client_rig_log(&rig, "request");
	ck_assert_uint_eq(json_array_size(list), 5);
	ck_assert_int_eq(json_integer_value(json_object_get(json_array_get(list, 0), "ret")), 200);
	ck_assert_str_eq(json_string_value(json_object_get(json_array_get(list, 3), "verdict")), "deny");
	ck_assert_str_eq(json_string_value(json_object_get(json_array_get(list, 4), "errno")), "ECONNABORTED");
	json_decref(list);
}
END_TEST

/* A server that is down and a name that does not resolve are no denials. */
START_TEST(test_failure_is_no_denial)
{
	struct control_message message;
	uint64_t conn;
	json_t *list;

	client_rig_start(&rig, client_rig_connects);
	conn = client_rig_announced(&rig);
	message = client_rig_record(&rig, CONTROL_EVENT_OPEN, conn);
	message.record.allow = 0;
	message.record.error = -ETIMEDOUT;
	(void)snprintf(message.record.reason, sizeof(message.record.reason), "%s", _i ? "dns_fail" : "connect_failed");
	client_rig_send(&rig, &message);
	client_rig_answer(&rig, conn, -ETIMEDOUT);
	client_rig_close(&rig, conn);
	ck_assert_int_eq(client_rig_outcome(&rig), ETIMEDOUT);
	ck_assert_uint_eq(rig.client->denied_count, 0);
	list = json_incref(rig.client->summary.list);
	ck_assert_uint_eq(json_array_size(list), 1);
	json_decref(list);
	ck_assert_str_eq(client_rig_text_of(&rig, "open", "verdict"), "allow");
	ck_assert_str_eq(client_rig_text_of(&rig, "open", "errno"), "ETIMEDOUT");
}
END_TEST

/* A repeated reason counts once. A client that rejects the run's authority gets advice. */
START_TEST(test_refused_open)
{
	struct control_message message;
	json_t *list;
	uint64_t conn;

	client_rig_start(&rig, client_rig_connects);
	conn = client_rig_announced(&rig);
	for (int i = 0; i < 2; i++) {
		message = client_rig_record(&rig, i ? CONTROL_EVENT_CLOSE : CONTROL_EVENT_OPEN, conn);
		message.record.allow = 0;
		(void)snprintf(message.record.reason, sizeof(message.record.reason), "client_rejected_ca");
		client_rig_send(&rig, &message);
	}
	ck_assert_uint_eq(rig.client->denied_count, 1);
	list = json_incref(rig.client->summary.list);
	ck_assert_uint_eq(json_array_size(list), 1);
	json_decref(list);
	list = json_incref(rig.client->summary.advice);
	ck_assert_uint_eq(json_array_size(list), 1);
	ck_assert_str_eq(json_string_value(json_object_get(json_array_get(list, 0), "host")), CLIENT_RIG_HOST);
	json_decref(list);
}
END_TEST

/* The use of a budget, by the close records. */
START_TEST(test_budget)
{
	struct control_message message = client_rig_record(&rig, CONTROL_EVENT_OPEN, 1);
	json_t *list, *meter;
	uint64_t conn;

	client_rig_start(&rig, client_rig_connects);
	rig.record_id = 0;
	conn = client_rig_announced(&rig);
	(void)snprintf(message.record.rule, sizeof(message.record.rule), "p.json: network.allow[0] api.test:443");
	client_rig_send(&rig, &message);
	client_rig_answer(&rig, conn, 0);
	ck_assert_int_eq(client_rig_outcome(&rig), 0);
	rig.record_id = 1;
	message = client_rig_record(&rig, CONTROL_EVENT_CLOSE, conn);
	message.record.bytes_down = 1024;
	message.record.allow = _i == 0;
	(void)snprintf(message.record.close_cause, sizeof(message.record.close_cause),
		       _i ? "cap_bytes_down" : "server");
	(void)snprintf(message.record.reason, sizeof(message.record.reason), _i ? "cap_bytes" : "");
	client_rig_send(&rig, &message);
	ck_assert(egress_client_is_alive(rig.client));
	list = usage_make_json(rig.client->usage);
	ck_assert_uint_eq(json_array_size(list), 1);
	meter = json_object_get(json_array_get(list, 0), "bytes_down");
	ck_assert_int_eq(json_integer_value(json_object_get(meter, "limit")), 1024);
	ck_assert_int_eq(json_integer_value(json_object_get(meter, "used")), 1024);
	ck_assert_int_eq(json_is_true(json_object_get(meter, "hit")), _i);
	meter = json_object_get(json_array_get(list, 0), "requests_per_minute");
	ck_assert_int_eq(json_integer_value(json_object_get(meter, "used")), 0);
	ck_assert_ptr_null(json_object_get(json_array_get(list, 0), "bytes_up"));
	json_decref(list);
	ck_assert_uint_eq(rig.client->denied_count, (unsigned)_i);
}
END_TEST

/* As many different ones as there are names: the list is bounded, the rest is counted. */
START_TEST(test_many)
{
	json_t *list;

	for (int i = 0; i < SUMMARY_ENTRIES_MAX + 500; i++) {
		char host[32];

		(void)snprintf(host, sizeof(host), "n%d.test", i);
		egress_client_add_refusal(rig.client, host, 443, NULL, "no_rule");
	}
	list = json_incref(rig.client->summary.list);
	ck_assert_uint_eq(json_array_size(list), SUMMARY_ENTRIES_MAX);
	ck_assert_uint_eq(rig.client->summary.unlisted_entry_count, 500);
	json_decref(list);
}
END_TEST

/* Egress must not do what cannot be recorded. */
START_TEST(test_full_log)
{
	struct rlimit limit = {.rlim_max = RLIM_INFINITY};
	struct control_message message, ack;
	uint64_t conn;

	client_rig_start(&rig, client_rig_connects);
	conn = client_rig_announced(&rig);
	(void)signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	for (int i = 0; i < 20000; i++) { /* what was set aside fills up */
		message = client_rig_record(&rig, CONTROL_EVENT_DNS, 0);
		message.record.allow = 0;
		message.record.wants_ack = 1;
		client_rig_send(&rig, &message);
		client_rig_expect(&rig, CONTROL_RECORD_ACK, &ack);
		if (ack.ack.error < 0)
			break;
	}
	ck_assert_int_lt(ack.ack.error, 0);
	message = client_rig_record(&rig, CONTROL_EVENT_OPEN, conn);
	message.record.wants_ack = 1;
	client_rig_send(&rig, &message);
	client_rig_expect(&rig, CONTROL_RECORD_ACK, &ack);
	ck_assert_int_lt(ack.ack.error, 0);
	client_rig_answer(&rig, conn, 0); /* goes on nevertheless */
	for (int i = 0; i < 100 && egress_client_is_alive(rig.client); i++)
		client_rig_step(&rig);
	ck_assert(!egress_client_is_alive(rig.client));
	ck_assert_int_eq(client_rig_outcome(&rig), ENETDOWN);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("egress_records");
	TCase *tests = tcase_create("egress_records");

	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, test_result);
	tcase_add_loop_test(tests, test_failure_is_no_denial, 0, 2);
	tcase_add_test(tests, test_refused_open);
	tcase_add_loop_test(tests, test_budget, 0, 2);
	tcase_add_test(tests, test_many);
	tcase_add_test(tests, test_full_log);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
