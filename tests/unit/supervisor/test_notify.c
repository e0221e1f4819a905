/* A descriptor is added once, and is the only one when the call returns, whatever signals come meanwhile. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "supervisor/answer.h"
#include "supervisor/notify.h"
#include "tests/unit/unit.h"

#define CALLS 3000
#define TIMER_US 30

static _Atomic int listener = -1;
static atomic_int reader;        /* of the pipe whose writer is given next */
static atomic_int late, strange; /* still open after its close, and not a descriptor of that pipe */
static atomic_int alarms;

static void on_alarm(int number)
{
	(void)number;
	atomic_fetch_add(&alarms, 1);
}

static int install(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

/* The program gets the pipe's writing end, closes it, and then reads the end of file. */
static void *call(void *nothing)
{
	atomic_store(&listener, install());
	for (int i = 0; i < CALLS; i++) {
		struct pollfd ready = {.events = POLLIN};
		int fd = (int)syscall(SYS_getppid);

		ready.fd = atomic_load(&reader);
		strange += fd <= STDERR_FILENO || (fcntl(fd, F_GETFL) & O_ACCMODE) != O_WRONLY;
		(void)close(fd);
		late += poll(&ready, 1, 0) != 1 || !(ready.revents & POLLHUP);
	}
	return nothing;
}

/* The lowest free descriptor: nothing below it was left open. */
static int next_number(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)close(fd);
	return fd; /* cppcheck-suppress deallocret ; a number is all that is asked for */
}

static void answer(void)
{
	struct seccomp_notif notification;
	int ends[2], number;

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	while (notify_receive(listener, &notification) < 0)
		continue; /* interrupted */
	atomic_store(&reader, ends[0]);
	number = answer_add_descriptor(listener, notification.id, ends[1], true);
	ck_assert_int_gt(number, STDERR_FILENO);
	ck_assert_int_eq(answer_with_value(listener, notification.id, number), 0);
}

static void answer_all(const struct itimerval *timer)
{
	struct itimerval none = {.it_value = {0}};
	sigset_t alarm_only;
	pthread_t thread;
	int before;

	(void)sigemptyset(&alarm_only);
	(void)sigaddset(&alarm_only, SIGALRM);
	(void)pthread_sigmask(SIG_BLOCK, &alarm_only, NULL);
	ck_assert_int_eq(pthread_create(&thread, NULL, call, NULL), 0);
	(void)pthread_sigmask(SIG_UNBLOCK, &alarm_only, NULL);
	while (atomic_load(&listener) == -1)
		(void)usleep(1000);
	before = next_number();
	ck_assert_int_eq(setitimer(ITIMER_REAL, timer, NULL), 0);
	for (int i = 0, last = -1; i < CALLS; i++) {
		answer();
		/* The thread looks at it until its next call. */
		if (last >= 0)
			(void)close(last);
		last = reader;
	}
	ck_assert_int_eq(setitimer(ITIMER_REAL, &none, NULL), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	(void)close(reader);
	ck_assert_int_eq(next_number(), before);
	ck_assert_int_eq(strange, 0);
	ck_assert_int_eq(late, 0);
}

START_TEST(gives_the_last_descriptor)
{
	const struct itimerval none = {.it_value = {0}};

	answer_all(&none);
}
END_TEST

START_TEST(gives_it_between_signals)
{
	const struct itimerval often = {.it_value = {.tv_usec = TIMER_US}, .it_interval = {.tv_usec = TIMER_US}};
	struct sigaction action = {.sa_handler = on_alarm}; /* no SA_RESTART: ioctl(2) ends with EINTR */

	ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
	answer_all(&often);
	ck_assert_int_gt(alarms, CALLS / 100);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("notify");
	TCase *tcase = tcase_create("notify");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, gives_the_last_descriptor);
	tcase_add_test(tcase, gives_it_between_signals);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
