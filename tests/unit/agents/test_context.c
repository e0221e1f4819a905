/* Time limits of code in a context do not count pauses of the sandbox. Sandboxes are played: tests/fuzz/stage.h. */
#include <check.h>
#include <signal.h>
#include <string.h>

#include "agents/context/context.h"
#include "tests/fuzz/stage.h"
#include "tests/unit/unit.h"

static struct {
	struct loop *loop;
	struct sandbox *sandbox;
	struct context *context;
	struct context_run *run;
} rig;

static void on_ready(void *data, const char *error)
{
	(void)data;
	ck_assert_ptr_null(error);
}

static void on_pause(void *data, bool is_paused, const char *why)
{
	(void)data;
	(void)is_paused;
	(void)why;
}

static void on_event(void *data, const json_t *event)
{
	(void)data;
	(void)event;
}

static void on_end(void *data)
{
	(void)data;
}

static void play(char op, const char *data)
{
	(void)stage_play(&(struct script_segment){.op = op, .data = data, .len = strlen(data)});
	stage_turn();
}

static void pass_seconds(unsigned seconds)
{
	(void)stage_play(&(struct script_segment){.op = 't', .which = seconds, .data = ""});
	stage_turn();
}

static void begin_pause(void)
{
	ck_assert_int_eq(sandbox_pause(rig.sandbox), 0);
	play('p', "");
}

static void end_pause(void)
{
	ck_assert_int_eq(sandbox_resume(rig.sandbox), 0);
	play('p', "it runs");
}

/* Makes a context, in which code runs that goes on for ever. */
static void begin_run(uint64_t timeout_ms)
{
	static const char begun[] = "\2{\"type\":\"number_of_executions\",\"execution_count\":1}\n";
	const struct sandbox_options sandbox_options = {.on_ready = on_ready, .on_pause = on_pause};
	const struct context_options context_options = {.language = "python"};
	const struct context_run_options run_options = {
		.code = "x", .timeout_ms = timeout_ms, .on_event = on_event, .on_end = on_end};

	ck_assert_int_eq(loop_create(&rig.loop), 0);
	stage_begin(rig.loop);
	ck_assert_int_eq(sandbox_create(rig.loop, &sandbox_options, &rig.sandbox), 0);
	play('r', "");
	ck_assert_int_eq(context_create(rig.loop, rig.sandbox, &context_options, &rig.context), 0);
	play('o', "\2{\"type\":\"ready\"}\n");
	play('e', "\2{\"type\":\"ready\"}\n");
	play('d', "");
	ck_assert(context_is_ready(rig.context));
	ck_assert_int_eq(context_run_code(rig.context, &run_options, &rig.run), 0);
	stage_turn();
	play('o', begun);
	ck_assert_int_eq(stage_get_last_signal(0), 0);
}

static void end(void)
{
	context_free(rig.context);
	sandbox_free(rig.sandbox);
	stage_end();
	loop_free(rig.loop);
}

START_TEST(an_interrupt_before_a_pause_leaves_its_time_after_it)
{
	begin_run(0);
	context_run_free(rig.run); /* the client is cut off, as at the begin of each pause */
	ck_assert_int_eq(stage_get_last_signal(0), SIGINT);
	begin_pause();
	pass_seconds(1);
	end_pause(); /* when the timer of CONTEXT_INTERRUPT_GRACE_MS runs still */
	pass_seconds(1);
	ck_assert_int_eq(stage_get_last_signal(0), SIGINT);
	begin_pause();
	pass_seconds(50); /* and when it does no more */
	ck_assert_int_eq(stage_get_last_signal(0), SIGINT);
	end_pause();
	ck_assert_int_eq(stage_get_last_signal(0), SIGINT);
	pass_seconds(2);
	ck_assert_int_eq(stage_get_last_signal(0), SIGKILL);
	end();
}
END_TEST

START_TEST(a_timeout_does_not_count_pauses)
{
	begin_run(5000);
	pass_seconds(3);
	begin_pause();
	pass_seconds(90);
	end_pause();
	pass_seconds(1);
	ck_assert_int_eq(stage_get_last_signal(0), 0);
	pass_seconds(2);
	ck_assert_int_eq(stage_get_last_signal(0), SIGINT);
	context_run_free(rig.run);
	end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("context");
	TCase *cases = tcase_create("all");

	tcase_add_test(cases, an_interrupt_before_a_pause_leaves_its_time_after_it);
	tcase_add_test(cases, a_timeout_does_not_count_pauses);
	suite_add_tcase(suite, cases);
	return unit_run(suite);
}
