/* Responses on a real listener. Every kind of outcome gets one and releases what it owns. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "supervisor/answer.h"
#include "supervisor/notify.h"
#include "supervisor/outcome.h"
#include "syscalls/exec/execve.h"
#include "syscalls/call/work.h"
#include "syscalls/net/inet.h"
#include "tests/unit/unit.h"

#define ROUNDS 8

static const char *const argv[] = {"test", NULL};
static const struct audit_header header = {.run_id = "test",
					   .argv = argv,
					   .policy_name = "test",
					   .policy_sha256 = "",
					   .workdir = "/",
					   .layers_json = "{}",
					   .records_allowed_calls = true};
static struct syscall_row row = {.name = "getpriority", .class = ROW_NOTIFY, .basis = BASIS_REGS};

/* Shared with the program. */
struct program {
	volatile int listener_fd;
	volatile long result[ROUNDS]; /* or -errno */
	volatile int flags; /* F_GETFD of the last result */
};

static struct program *program;
static pid_t pid;
static struct sandbox sandbox;
static struct call call;
static struct task task;
static struct dispatch dispatch;

static void play(int rounds)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpriority, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof(code) / sizeof(*code), code};

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		_exit(99);
	program->listener_fd =
		(int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
	for (int i = 0; i < rounds; i++) {
		long result = syscall(SYS_getpriority, 0, 0);

		program->result[i] = result < 0 ? -errno : result;
		program->flags = fcntl((int)result, F_GETFD);
	}
	_exit(0);
}

static void begin(int rounds)
{
	program = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert(program != MAP_FAILED);
	program->listener_fd = -1;
	pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0L, 0L, 0L, 0L);
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		play(rounds);
	while (program->listener_fd < 0)
		(void)usleep(1000);
	ck_assert_int_eq(audit_open_log(NULL, &header, &sandbox.audit), 0);
	sandbox.listener_fd = program->listener_fd;
	task = (struct task){.tid = pid, .tgid = pid, .pidfd = -1};
	dispatch = (struct dispatch){.sandbox = &sandbox, .call = &call};
}

/* The next notification becomes dispatch.call. */
static void receive(void)
{
	struct seccomp_notif notification;

	ck_assert_int_eq(notify_receive(sandbox.listener_fd, &notification), 0);
	memset(&call, 0, sizeof(call));
	call.sandbox = &sandbox;
	call.id = notification.id;
	call.tid = pid;
	call.task = &task;
	call.row = &row;
	call.start_ns = io_read_clock_ns();
	call.outcome = (struct outcome){.fd = -1};
}

static void end(void)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	(void)audit_close(sandbox.audit, NULL);
	(void)close(sandbox.listener_fd);
}

/* ---- later ---- */

START_TEST(test_later)
{
	static const int64_t results[] = {7, 0, -ENOENT, -EINTR};
	struct delayed_response answer;

	begin(4);
	for (size_t i = 0; i < 4; i++) {
		receive();
		answer = answer_make_for_later_response(&call);
		ck_assert(answer_thread_still_waits(&answer));
		answer_send_and_end_record(&answer, results[i]);
		ck_assert(!answer_thread_still_waits(&answer));
		answer_send_and_end_record(&answer, 3); /* the call has ended: no effect */
	}
	end();
	for (size_t i = 0; i < 4; i++)
		ck_assert_int_eq(program->result[i], results[i]);
}
END_TEST

START_TEST(test_call_has_ended)
{
	struct delayed_response answer;

	begin(1);
	receive();
	answer = answer_make_for_later_response(&call);
	(void)kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert(!answer_thread_still_waits(&answer));
	ck_assert_int_eq(answer_add_descriptor(sandbox.listener_fd, call.id, open("/dev/null", O_RDONLY | O_CLOEXEC),
					       true),
			 -EINTR);
	answer_send_and_end_record(&answer, ANSWER_ERESTARTSYS);
	(void)audit_close(sandbox.audit, NULL);
	(void)close(sandbox.listener_fd);
}
END_TEST

/* ---- outcomes ---- */

static void perform(enum outcome_kind kind, int64_t value)
{
	receive();
	call.outcome.kind = kind;
	call.outcome.value = value;
	outcome_carry_out(&dispatch);
}

START_TEST(test_outcomes)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	begin(7);
	perform(OUTCOME_VALUE, 42);
	perform(OUTCOME_ERROR, -EXDEV);
	perform(OUTCOME_CONTINUE, 0);
	perform(OUTCOME_FETCH_DESCRIPTOR, 0); /* never performed: EPERM */
	perform(OUTCOME_TARGET_GONE, 0);
	row.basis = BASIS_MEMORY;
	perform(OUTCOME_CONTINUE, 0);
	row.basis = BASIS_REGS;
	receive();
	call.outcome.kind = OUTCOME_FD;
	call.outcome.fd = fd;
	call.outcome.fd_is_cloexec = true;
	outcome_carry_out(&dispatch);
	ck_assert_int_eq(call.outcome.fd, -1);
	end();
	ck_assert_int_eq(program->result[0], 42);
	ck_assert_int_eq(program->result[1], -EXDEV);
	ck_assert_int_eq(program->result[2], 20 - getpriority(PRIO_PROCESS, 0));
	ck_assert_int_eq(program->result[3], -EPERM);
	ck_assert_int_eq(program->result[4], -EINTR);
	ck_assert_int_eq(program->result[5], -EPERM);
	ck_assert_int_gt(program->result[6], STDERR_FILENO);
	ck_assert_int_eq(program->flags, FD_CLOEXEC);
	ck_assert_uint_eq(sandbox.rlimit_usage.files_opened_in_total, 1);
}
END_TEST

static unsigned works_freed;

static void free_work(struct call_work *work)
{
	(void)work;
	works_freed++;
}

/* A kind releases what it owns and nothing else. A second release has no effect. */
START_TEST(test_release)
{
	static struct call_work work = {.free = free_work};
	struct outcome outcome = {.kind = (enum outcome_kind)_i};
	bool none = _i == OUTCOME_ERROR || _i == OUTCOME_VALUE || _i == OUTCOME_CONTINUE ||
		    _i == OUTCOME_FETCH_DESCRIPTOR || _i == OUTCOME_TARGET_GONE || _i == OUTCOME_EXEC;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	outcome.fd = none ? -1 : fd;
	outcome.exec_plan = _i == OUTCOME_EXEC ? calloc(1, sizeof(*outcome.exec_plan)) : NULL;
	outcome.egress_connect = _i == OUTCOME_CONNECT_BY_EGRESS ? calloc(1, sizeof(*outcome.egress_connect)) : NULL;
	outcome.blocking_work = _i == OUTCOME_BLOCKING_WORK ? &work : NULL;
	outcome_release(&outcome);
	outcome_release(&outcome);
	ck_assert_int_eq(fcntl(fd, F_GETFD) < 0, !none);
	ck_assert_uint_eq(works_freed, _i == OUTCOME_BLOCKING_WORK ? 1 : 0);
	ck_assert(outcome.fd == -1 && !outcome.exec_plan && !outcome.egress_connect && !outcome.blocking_work);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("answer");
	TCase *tcase = tcase_create("answer");

	tcase_add_test(tcase, test_later);
	tcase_add_test(tcase, test_call_has_ended);
	tcase_add_test(tcase, test_outcomes);
	tcase_add_loop_test(tcase, test_release, 0, OUTCOME_MAX);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
