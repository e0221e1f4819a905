/* The keeper must not hang when the intermediate process is killed or stopped while it makes the namespaces. */
#include <check.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "confine/namespaces.h"
#include "supervisor/limits/killtree.h"
#include "tests/unit/unit.h"

#define NS_PER_MS UINT64_C(1000000)
#define HANG_S 60 /* far more than anything here takes */

static pid_t keeper;
static int signal_number; /* 0: none */

/* In the parent, right after a fork. The intermediate is the keeper's child, and sends the supervisor's pid next. */
static void after_fork(void)
{
	if (signal_number && getppid() == keeper)
		(void)raise(signal_number);
}

static const struct {
	int signal_number;
	bool told;         /* a signal that ends the run is pending */
	uint64_t limit_ms; /* the run's time limit; 0: none */
} moments[] = {
	{.signal_number = 0},
	{.signal_number = SIGKILL},
	{.signal_number = SIGSTOP, .told = true},
	{.signal_number = SIGSTOP, .limit_ms = 300},
};

/* The child's pid, or 0 where no namespace can be made. Does not return in the child. */
static pid_t fork_there(struct namespaces *namespaces, int moment)
{
	pid_t pid;

	keeper = getpid();
	signal_number = moments[moment].signal_number;
	ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	ck_assert_int_eq(pthread_atfork(NULL, after_fork, NULL), 0);
	namespaces->layers = layers_create(0, 0);
	ck_assert_ptr_nonnull(namespaces->layers);
	namespaces->must_unshare_one_by_one = true;
	namespaces->run_end_signal_fd = eventfd(moments[moment].told, EFD_CLOEXEC);
	if (moments[moment].limit_ms)
		namespaces->time_limit_end_ns = io_read_clock_ns() + moments[moment].limit_ms * NS_PER_MS;
	pid = namespaces_fork_supervisor(namespaces);
	while (pid == 0)
		(void)pause(); /* keeps the socket open */
	ck_assert_int_gt(pid, 0);
	return namespaces->start_socket_fd < 0 ? 0 : pid;
}

static void end(struct namespaces *namespaces)
{
	ck_assert_int_eq(killtree(10000, 0), 0);
	(void)close(namespaces->run_end_signal_fd);
	layers_free(namespaces->layers);
	namespaces_release(namespaces);
}

START_TEST(an_intermediate_is_lost)
{
	struct namespaces namespaces = NAMESPACES_INIT;
	pid_t pid = fork_there(&namespaces, _i);
	int status;

	if (pid > 0 && signal_number) {
		ck_assert(namespaces.intermediate_was_killed);
		ck_assert(!namespaces_await_supervisor_or_retry(&namespaces, pid, -1));
		ck_assert_int_eq(waitpid(pid, &status, 0), pid); /* not reaped yet */
		ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	} else if (pid > 0) {
		ck_assert(!namespaces.intermediate_was_killed);
		ck_assert_int_eq(waitpid(pid, &status, WNOHANG), 0);
	}
	end(&namespaces);
}
END_TEST

/* A supervisor that never reports that it is ready. */
START_TEST(the_time_limit_counts)
{
	struct namespaces namespaces = NAMESPACES_INIT;
	pid_t pid = fork_there(&namespaces, 0);
	uint64_t begin = io_read_clock_ns();

	namespaces.time_limit_end_ns = begin + 200 * NS_PER_MS;
	ck_assert(!namespaces_await_supervisor_or_retry(&namespaces, pid, -1));
	ck_assert_uint_lt(io_read_clock_ns() - begin, 50000 * NS_PER_MS);
	end(&namespaces);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("namespaces");
	TCase *tcase = tcase_create("namespaces");

	tcase_set_timeout(tcase, HANG_S);
	tcase_add_loop_test(tcase, an_intermediate_is_lost, 0, sizeof(moments) / sizeof(moments[0]));
	tcase_add_test(tcase, the_time_limit_counts);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
