/* Egress' client when egress dies, or sends what it may not. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
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

static void expect_given_up(void)
{
	for (int i = 0; i < 100 && egress_client_is_alive(rig.client); i++)
		client_rig_step(&rig);
	ck_assert(!egress_client_is_alive(rig.client));
	ck_assert_int_eq(client_rig_outcome(&rig), ENETDOWN);
	ck_assert_str_eq(client_rig_text_of(&rig, NULL, "errno"), "ENETDOWN");
	ck_assert_str_eq(client_rig_text_of(&rig, "close", "cause"), "egress_failed");
}

START_TEST(test_dead)
{
	client_rig_start(&rig, client_rig_connects);
	(void)client_rig_announced(&rig);
	cleanup_close(&rig.egress_fd);
	rig.egress_fd = -1;
	expect_given_up();
}
END_TEST

START_TEST(test_dead_before)
{
	cleanup_close(&rig.egress_fd);
	rig.egress_fd = -1;
	client_rig_start(&rig, client_rig_connects);
	ck_assert_int_eq(client_rig_outcome(&rig), ENETDOWN);
}
END_TEST

START_TEST(test_garbage)
{
	struct control_message message = client_rig_record(&rig, CONTROL_EVENT_OPEN, 1);
	size_t len = control_get_message_size(CONTROL_RECORD);

	client_rig_start(&rig, client_rig_connects);
	(void)client_rig_announced(&rig);
	if (_i == 0)
		message.version++;
	else if (_i == 1)
		message.type = CONTROL_TYPE_MAX;
	else if (_i == 2)
		len--;
	else if (_i == 3)
		memset(message.record.path, 'x', sizeof(message.record.path));
	else if (_i == 4)
		message.record.event = CONTROL_EVENT_MAX;
	else
		len = 3;
	ck_assert_int_eq(send(rig.egress_fd, &message, len, 0), (ssize_t)len);
	expect_given_up();
}
END_TEST

static void lie_record(struct control_message *message, uint64_t conn, int which)
{
	*message = client_rig_record(&rig, CONTROL_EVENT_OPEN, conn);
	if (which == 0)
		(void)snprintf(message->record.host, sizeof(message->record.host), "other.test");
	else if (which == 1)
		message->record.port = 444;
	else if (which == 2)
		message->record.conn_id = conn + 1;
	else if (which == 3)
		message->record.id = 0;
	else if (which == 4)
		message->record.event = CONTROL_EVENT_REQUEST; /* before its open */
	else if (which == 5)
		message->record.event = CONTROL_EVENT_DNS; /* of a connection */
	else if (which == 6)
		message->record.conn_id = 0;
	else if (which == 7)
		(void)snprintf(message->record.reason, sizeof(message->record.reason), "a\n\"b");
	else
		(void)snprintf(message->record.proto, sizeof(message->record.proto), "\x1b[2J");
}

START_TEST(test_lying_record)
{
	struct control_message message;

	client_rig_start(&rig, client_rig_connects);
	lie_record(&message, client_rig_announced(&rig), _i);
	client_rig_send(&rig, &message);
	expect_given_up();
}
END_TEST

static void lie_otherwise(struct control_message *message, uint64_t conn, int which)
{
	static const int errors[] = {0 /* before its open */, 1, -134, -512, INT32_MIN};

	if (which < 5) {
		*message = client_rig_message(CONTROL_CONNECTED);
		message->connected.conn_id = conn;
		message->connected.error = errors[which];
	} else if (which == 5) {
		*message = client_rig_message(CONTROL_CONNECTED);
		message->connected.conn_id = conn + 1;
		message->connected.error = -ECONNREFUSED;
	} else if (which == 6) {
		*message = client_rig_message(CONTROL_REQUEST_DONE);
		message->done.id = 1;
	} else if (which < 13) {
		static const char *const names[] = {"unapproved.test", "API.test",    "",
						    "b.wild.test",     "a.wild.test", "a.wild.test"};

		*message = client_rig_message(CONTROL_NAME_APPROVED);
		message->name.pool_index = which < 10 ? 100 : UINT32_MAX;
		(void)snprintf(message->name.host, sizeof(message->name.host), "%s", names[which - 7]);
		message->name.address_family = which == 12 ? AF_UNIX : AF_INET;
		message->name.address[0] = 127; /* not to be had without "private" */
		if (which == 10)
			message->name.pool_index = 1; /* below what may be given */
	} else {
		static const enum control_type types[] = {CONTROL_RECORD_ACK, CONTROL_END,
							  CONTROL_READY /* once more */};

		*message = client_rig_message(types[which - 13]);
	}
}

START_TEST(test_lying_otherwise)
{
	struct control_message message;

	client_rig_start(&rig, client_rig_connects);
	lie_otherwise(&message, client_rig_announced(&rig), _i);
	client_rig_send(&rig, &message);
	expect_given_up();
}
END_TEST

/* Messages that are permitted once. */
START_TEST(test_said_twice)
{
	struct control_message message;
	uint64_t conn;

	client_rig_start(&rig, client_rig_connects);
	conn = client_rig_announced(&rig);
	client_rig_open(&rig, conn);
	ck_assert_int_eq(client_rig_outcome(&rig), 0);
	if (_i == 0) {
		message = client_rig_record(&rig, CONTROL_EVENT_OPEN, conn);
		client_rig_send(&rig, &message);
	} else if (_i == 1) {
		client_rig_answer(&rig, conn, 0);
	} else if (_i == 2) {
		client_rig_close(&rig, conn);
		ck_assert(egress_client_is_alive(rig.client));
		client_rig_close(&rig, conn);
	} else {
		message = client_rig_record(&rig, CONTROL_EVENT_REQUEST, conn);
		client_rig_send(&rig, &message);
		message = client_rig_message(CONTROL_REQUEST_DONE);
		message.done.id = rig.record_id;
		message.done.result = 200;
		client_rig_send(&rig, &message);
		ck_assert(egress_client_is_alive(rig.client));
		client_rig_send(&rig, &message);
	}
	for (int i = 0; i < 100 && egress_client_is_alive(rig.client); i++)
		client_rig_step(&rig);
	ck_assert(!egress_client_is_alive(rig.client));
	(void)client_rig_the_record(&rig, "close"); /* one, whatever happened */
}
END_TEST

/* Egress has no upstream connection to offer. */
START_TEST(test_descriptor)
{
	struct control_message message = client_rig_message(CONTROL_READY);
	int fd = 0;

	client_rig_start(&rig, client_rig_connects);
	(void)client_rig_announced(&rig);
	ck_assert_int_eq(control_send_message(rig.egress_fd, &message, &fd, 1), 0);
	expect_given_up();
}
END_TEST

/* An egress that sends and does not read is not read either. Once it reads, it gets its replies in order. */
START_TEST(test_flood)
{
	enum { FLOOD = 3 * EGRESS_LINE_QUEUED_MESSAGES_MAX };
	uint64_t sent = 0, first = rig.record_id + 1;
	int full = 0;

	while (sent < FLOOD && full < 50) {
		struct control_message message = client_rig_record(&rig, CONTROL_EVENT_DNS, 0);

		message.record.allow = 0;
		message.record.wants_ack = 1;
		message.record.port = 0;
		(void)snprintf(message.record.host, sizeof(message.record.host), "n%d.test", (int)sent);
		(void)snprintf(message.record.reason, sizeof(message.record.reason), "no_rule");
		if (control_send_message(rig.egress_fd, &message, NULL, 0) == 0) {
			sent++;
			full = 0;
			continue;
		}
		rig.record_id--;
		full++;
		client_rig_step(&rig);
		ck_assert_uint_le(rig.client->line.queued_message_count, EGRESS_LINE_QUEUED_MESSAGES_MAX);
	}
	ck_assert_uint_lt(sent, FLOOD); /* it was stopped */
	for (uint64_t i = 0; i < sent; i++) {
		struct control_message ack;

		client_rig_expect(&rig, CONTROL_RECORD_ACK, &ack);
		ck_assert_uint_eq(ack.ack.id, first + i);
	}
	ck_assert(egress_client_is_alive(rig.client));
	ck_assert_uint_eq(rig.client->denied_count, sent);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("egress_lies");
	TCase *tests = tcase_create("egress_lies");

	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, test_dead);
	tcase_add_test(tests, test_dead_before);
	tcase_add_loop_test(tests, test_garbage, 0, 6);
	tcase_add_loop_test(tests, test_lying_record, 0, 9);
	tcase_add_loop_test(tests, test_lying_otherwise, 0, 16);
	tcase_add_loop_test(tests, test_said_twice, 0, 4);
	tcase_add_test(tests, test_descriptor);
	tcase_add_test(tests, test_flood);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
