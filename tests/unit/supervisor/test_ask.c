/* The open questions of a run, when one of them ends another one; and what one tells when memory is short. */
#include <check.h>
#include <stdlib.h>
#include <unistd.h>

#include "supervisor/ask/details.h"
#include "supervisor/ask/question.h"
#include "supervisor/ask/request.h"
#include "supervisor/ask/way.h"
#include "supervisor/gateway/private.h"
#include "syscalls/exec/execve.h"
#include "tests/unit/row-named.h"
#include "tests/unit/unit.h"

#define QUESTIONS 3

static struct asker asker;
static struct sandbox sandbox;
static struct dispatch dispatch;
static struct egress_client client;
static struct egress_question request[QUESTIONS];
static size_t withdrawn_with_second; /* the question that egress withdraws while the second one ends */

static bool receive_nothing(struct asker *own)
{
	(void)own;
	return true;
}

static enum ask_result find_received(const struct dispatch *own, struct question *question)
{
	(void)own;
	return question->received;
}

/* As an approved connect(2), which reads what egress has sent. */
static void withdraw_with_second(struct asker *own, const struct question *question)
{
	(void)own;
	if (question->request == &request[1])
		ask_withdraw_request(&dispatch, &request[withdrawn_with_second]);
}

static const struct ask_way way = {
	.mode = ON_DENY_ASK, .receive = receive_nothing, .find_answer = find_received, .close = withdraw_with_second};

static void add_question(size_t at, enum ask_result received)
{
	struct question **last = &asker.questions;
	struct question *question = calloc(1, sizeof(*question));

	ck_assert_ptr_nonnull(question);
	while (*last)
		last = &(*last)->next;
	request[at] = (struct egress_question){.client = &client, .is_open = true};
	question->request = &request[at];
	question->deadline_ns = UINT64_MAX;
	question->received = received;
	*last = question;
	asker.open_question_count++;
}

/* The question that is withdrawn is before or behind the one that ends. */
START_TEST(test_withdrawn_meanwhile)
{
	const size_t stays = _i == 0 ? 2 : 0;

	withdrawn_with_second = 2 - stays;
	asker.way = &way;
	dispatch.asker = &asker;
	dispatch.sandbox = &sandbox;
	client.line.fd = -1;
	for (size_t i = 0; i < QUESTIONS; i++)
		add_question(i, i == 1 ? ASK_ANSWER_NO : ASK_NO_ANSWER_YET);
	ck_assert_int_eq(ask_poll_open_questions(&dispatch, true), ASK_ANSWER_POLL_INTERVAL_MS);
	ck_assert_uint_eq(asker.open_question_count, 1);
	ck_assert_ptr_eq(asker.questions->request, &request[stays]);
	ck_assert_ptr_null(asker.questions->next);
	ck_assert(!request[1].is_open);
	ck_assert_str_eq(request[1].answer.answer_word, "no");
	ck_assert_str_eq(request[withdrawn_with_second].answer.answer_word, "withdrawn");
	ask_withdraw_request(&dispatch, &request[stays]);
	ck_assert_ptr_null(asker.questions);
}
END_TEST

/* ---- memory ---- */

static long left = -1; /* how often jansson still gets memory before it once gets none; -1: always */
static bool was_short;
static const struct question_origin origin = {"run", 1, 1000};
static const struct details_options options = {"policy", "sha256", true, true, false};

static void *allocate(size_t size)
{
	was_short |= left == 0;
	return left >= 0 && left-- == 0 ? NULL : malloc(size);
}

/* A question of the approver's about a call. */
static json_t *make_of_call(const struct call *call)
{
	json_t *object = question_make_object(&origin, call, call);

	if (object && details_add(object, &options, call, call))
		return object;
	json_decref(object);
	return NULL;
}

static struct task task = {.exe = "/bin/program"};

static json_t *make_of_exec(void)
{
	static const char variables[] = "LD_PRELOAD=/evil\0PATH=/bin";
	static struct exec_asked executed = {.argv = "id\0-u", .argv_len = 6, .cwd = "/work"};
	static struct exec_plan plan = {.asked = &executed};
	static struct call call = {.sandbox = &sandbox, .task = &task};

	memcpy(executed.environment.deciding, variables, sizeof(variables));
	executed.environment.deciding_len = sizeof(variables);
	executed.environment.deciding_count = executed.environment.variable_count = 2;
	call.row = row_named("execve");
	call.decision =
		(struct policy_decision){.wanted_rights = POLICY_EXEC, .rule = "rule", .reason = "exec_denied_by_rule"};
	call.outcome.exec_plan = &plan;
	return make_of_call(&call);
}

static json_t *make_of_write(void)
{
	static struct mount mount = {.fd = -1};
	static struct call call = {.sandbox = &sandbox, .task = &task, .arg = {0, 04755}, .path_count = 1};

	call.row = row_named("chmod") ? row_named("chmod") : row_named("fchmodat");
	call.decision = (struct policy_decision){.wanted_rights = POLICY_WRITE, .rule = "rule", .reason = "no"};
	call.resolved_place[0] = (struct place){.mount = &mount, .virt = "/file", .virt_len = 5};
	return make_of_call(&call);
}

static json_t *make_of_request(void)
{
	static const struct net_rule rule = {.proto = NET_HTTP, .credential_header = "authorization"};
	const struct egress_question question = {
		.asked =
			{.host = "host.test", .port = 80, .method = "PUT", .path = "/x", .query = "q", .body_bytes = 5},
		.host_pid = 7,
		.pidfd = -1,
		.exe = "/bin/program",
		.denial = {.reason = "not_permitted"},
		.permission = {.rule = &rule, .label = "rule"}};

	return ask_request_make_object(&origin, &options, &sandbox, &question);
}

/* Not the time, which differs. */
static json_t *make(json_t *(*maker)(void))
{
	json_t *object;

	question_begin_making();
	object = maker();
	(void)json_object_del(object, "time");
	if (question_end_making())
		return object;
	json_decref(object);
	return NULL;
}

static json_t *(*const makers[])(void) = {make_of_exec, make_of_write, make_of_request};

/* A question is told as a whole, or not at all. */
START_TEST(test_short_memory)
{
	json_t *whole, *object;

	task.tgid = getpid();
	task.ppid = getpid();
	ck_assert_int_eq(task_table_create(getppid(), NULL, -1, &sandbox.tree), 0);
	json_set_alloc_funcs(allocate, free);
	whole = make(makers[_i]);
	ck_assert_ptr_nonnull(whole);
	was_short = true;
	for (long count = 0; was_short; count++) {
		was_short = false;
		left = count;
		object = make(makers[_i]);
		left = -1;
		ck_assert(object || was_short);
		ck_assert_msg(!object || json_equal(object, whole), "%ld: %s", count, json_dumps(object, 0));
		json_decref(object);
	}
	json_decref(whole);
	task_table_free(sandbox.tree);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ask");
	TCase *tests = tcase_create("ask");

	tcase_add_loop_test(tests, test_withdrawn_meanwhile, 0, 2);
	tcase_add_loop_test(tests, test_short_memory, 0, (int)(sizeof(makers) / sizeof(makers[0])));
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
