/* Commands of callgate's own: how long they may take, and what is passed on. */
#include <check.h>
#include <string.h>

#include "agents/sandbox/host-command.h"
#include "tests/unit/unit.h"

#define LIMIT_MS 1500
#define TOTAL_LIMIT_MS 30000

static struct loop *loop;
static char said[64];
static int ended_as;

static void on_reply(void *data, const char *reply, size_t len, int status)
{
	(void)data;
	ck_assert_uint_lt(len, sizeof(said));
	memcpy(said, reply, len + 1);
	ended_as = status;
	loop_stop(loop);
}

/* Runs a script, and returns its exit status; -1: it was ended. */
static int run(const char *script, uint64_t total_limit_ms)
{
	const char *const argv[] = {"/bin/sh", "-c", script, NULL};
	const struct host_command_options options = {.argv = argv,
						     .stdin_fd = -1,
						     .limit_ms = LIMIT_MS,
						     .total_limit_ms = total_limit_ms,
						     .on_reply = on_reply};
	struct host_command *command = NULL;

	ck_assert_int_eq(loop_create(&loop), 0);
	ck_assert_int_eq(host_command_start(loop, &options, &command), 0);
	ck_assert_int_eq(loop_run(loop), 0);
	loop_free(loop);
	return ended_as;
}

START_TEST(what_a_command_says_is_passed_on)
{
	ck_assert_int_eq(run("echo out; echo err >&2; exit 3", 0), 3);
	ck_assert_str_eq(said, "out\nerr\n");
}
END_TEST

START_TEST(a_command_is_ended_in_time)
{
	ck_assert_int_eq(run("exec sleep 20", 0), -1);
	ck_assert_ptr_nonnull(strstr(said, "in time"));
	ck_assert_int_eq(run("while :; do :; done", 0), -1);
}
END_TEST

START_TEST(a_command_may_go_on_while_it_progresses)
{
	/* three times the limit: by the clock of the machine, busily, and then with a little output at a time */
	ck_assert_int_eq(run("end=$(($(date +%s) + 5)); while [ $(date +%s) -lt $end ]; do :; done", TOTAL_LIMIT_MS),
			 0);
	ck_assert_int_eq(run("for i in 1 2 3 4 5 6; do sleep 0.8; echo $i; done", TOTAL_LIMIT_MS), 0);
	ck_assert_str_eq(said, "1\n2\n3\n4\n5\n6\n");
	ck_assert_int_eq(run("exec sleep 20", TOTAL_LIMIT_MS), -1);
	ck_assert_ptr_nonnull(strstr(said, "in time"));
	/* but not for ever: the whole time is less than what the script takes by the clock */
	ck_assert_int_eq(run("end=$(($(date +%s) + 9)); while [ $(date +%s) -lt $end ]; do :; done", 3 * LIMIT_MS), -1);
	ck_assert_ptr_nonnull(strstr(said, "in time"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("host_command");
	TCase *all = tcase_create("all");

	tcase_set_timeout(all, 60);
	tcase_add_test(all, what_a_command_says_is_passed_on);
	tcase_add_test(all, a_command_is_ended_in_time);
	tcase_add_test(all, a_command_may_go_on_while_it_progresses);
	suite_add_tcase(suite, all);
	return unit_run(suite);
}
