/* Opens that block, and those that must not. Each case has its own deadline: a hang is a line, not a stuck test. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/cases/diff.h"

static volatile sig_atomic_t alarms;

static void on_alarm(int sig)
{
	(void)sig; /* only one is used */
	alarms++;
}

static void catch_alarm(int flags)
{
	struct sigaction sa = {.sa_handler = on_alarm, .sa_flags = flags};

	alarms = 0;
	sigaction(SIGALRM, &sa, NULL);
}

static void alarm_in(long ms)
{
	const struct timespec value = {ms / 1000, ms % 1000 * 1000000};
	static timer_t timer;
	static bool made;

	if (!made && timer_create(CLOCK_MONOTONIC, NULL, &timer) < 0)
		diff_die("timer_create");
	made = true;
	/* again and again, or one that comes before the call that it is to interrupt leaves that waiting for ever */
	timer_settime(timer, 0, &(struct itimerspec){.it_value = value, .it_interval = value}, NULL);
}

/* A child that opens the FIFO after `ms` and keeps it a moment. */
static pid_t opener(int flags, long ms)
{
	pid_t pid = fork();

	if (pid == 0) {
		int fd;

		poll(NULL, 0, (int)ms);
		fd = open("fifo", flags);
		if (fd >= 0 && (flags & O_ACCMODE) == O_WRONLY && write(fd, "from child", 10) < 0)
			_exit(2);
		poll(NULL, 0, 300);
		_exit(fd < 0);
	}
	return pid;
}

static void reap(pid_t pid)
{
	int status = 0;

	if (waitpid(pid, &status, 0) == pid)
		diff_say(" child=%x", (unsigned)status);
}

static void run_nonblocking(void)
{
	static const long flags[] = {O_RDONLY | O_NONBLOCK, O_WRONLY | O_NONBLOCK, O_RDWR, O_RDWR | O_NONBLOCK,
				     O_PATH, O_RDONLY | O_NONBLOCK | O_CLOEXEC};

	for (size_t f = 0; f < sizeof(flags) / sizeof(flags[0]); f++) {
		diff_begin("fifo nobody-there %lo", (unsigned long)flags[f]);
		diff_fd(RAW(__SNR_openat, AT_FDCWD, P("fifo"), flags[f]));
		diff_end(true);
	}
	diff_begin("fifo writer-finds-reader");
	{
		int r = open("fifo", O_RDONLY | O_NONBLOCK);

		diff_fd(RAW(__SNR_openat, AT_FDCWD, P("fifo"), O_WRONLY | O_NONBLOCK));
		diff_fd(RAW(__SNR_openat, AT_FDCWD, P("fifo"), O_WRONLY));
		diff_fd(r);
	}
	diff_end(true);
}

static void run_meeting(void)
{
	static const struct {
		const char *name;
		int mine, theirs;
	} meet[] = {
		{"reader-waits", O_RDONLY, O_WRONLY},
		{"writer-waits", O_WRONLY, O_RDONLY},
		{"reader-waits-for-rdwr", O_RDONLY, O_RDWR},
		{"cloexec", O_RDONLY | O_CLOEXEC, O_WRONLY},
	};

	for (size_t m = 0; m < sizeof(meet) / sizeof(meet[0]); m++) {
		char buf[32] = "";
		pid_t pid;
		long fd;

		diff_begin("fifo %s", meet[m].name);
		pid = opener(meet[m].theirs, 30);
		catch_alarm(0);
		alarm_in(5000);
		fd = RAW(__SNR_openat, AT_FDCWD, P("fifo"), meet[m].mine);
		diff_ret(fd);
		if (fd >= 0 && (meet[m].theirs & O_ACCMODE) == O_WRONLY) {
			diff_ret(read((int)fd, buf, sizeof(buf) - 1));
			diff_say(" %s", buf);
		}
		alarm_in(0);
		diff_fd(fd);
		reap(pid);
		diff_end(true);
	}
}

/* A signal while the open waits: EINTR without SA_RESTART; with it the open goes on and ends well. */
static void run_signals(void)
{
	for (int restart = 0; restart < 2; restart++) {
		pid_t pid = -1;
		long fd;

		diff_begin("fifo signal restart=%d", restart);
		if (restart)
			pid = opener(O_WRONLY, 150);
		catch_alarm(restart ? SA_RESTART : 0);
		alarm_in(50);
		fd = RAW(__SNR_openat, AT_FDCWD, P("fifo"), O_RDONLY);
		alarm_in(0);
		diff_ret(fd < 0 ? fd : 0);
		diff_say(" alarms=%d", alarms > 0);
		if (fd >= 0) {
			char buf[32];

			/* before it is closed: else the child gets SIGPIPE */
			diff_ret(read((int)fd, buf, sizeof(buf)));
			(void)close((int)fd); /* the case is over */
		}
		if (pid > 0)
			reap(pid);
		diff_end(true);
	}
}

static void run_killed(void)
{
	pid_t pid;

	diff_begin("fifo waiting-reader-killed");
	pid = opener(O_RDONLY, 0);
	poll(NULL, 0, 50);
	kill(pid, SIGKILL);
	reap(pid);
	/* there is no reader any more, also not for the dead one, though the supervisor hears of it a moment later */
	for (int i = 0; i < 1000; i++) {
		int fd = open("fifo", O_WRONLY | O_NONBLOCK);

		if (fd < 0)
			break;
		close(fd);
		poll(NULL, 0, 20);
	}
	diff_fd(RAW(__SNR_openat, AT_FDCWD, P("fifo"), O_WRONLY | O_NONBLOCK));
	diff_end(true);
}

static void run_many(void)
{
	pid_t pids[16];

	diff_begin("fifo sixteen-wait-others-go-on");
	for (int i = 0; i < 16; i++)
		pids[i] = opener(O_RDONLY, 0);
	poll(NULL, 0, 50);
	diff_fd(RAW(__SNR_openat, AT_FDCWD, P("file"), O_RDWR));
	for (int i = 0; i < 16; i++)
		kill(pids[i], SIGKILL);
	for (int i = 0; i < 16; i++)
		reap(pids[i]);
	diff_end(true);
}

static void run_sockets(void)
{
	int pair[2];

	diff_begin("open-socket-file");
	diff_fd(RAW(__SNR_openat, AT_FDCWD, P("sock"), O_RDWR));
	diff_fd(RAW(__SNR_openat, AT_FDCWD, P("sock"), O_PATH));
	diff_end(true);
	diff_begin("socketpair-stream");
	diff_ret(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 ? -errno : 0);
	diff_ret(write(pair[0], "abc", 3));
	diff_ret(send(pair[1], "abc", 3, MSG_NOSIGNAL));
	(void)close(pair[0]); /* the case is over */
	(void)close(pair[1]);
	diff_end(false);
}

void diff_group_fifo(void)
{
	run_nonblocking();
	run_meeting();
	run_signals();
	run_killed();
	run_many();
	run_sockets();
	signal(SIGALRM, SIG_DFL);
}
