/* Threats 28 and 29, and load for other tests: blocking opens, storms of signals, a terminal. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "tests/cases/threat.h"

/* fifos COUNT: that many processes wait for the other end of a FIFO; this one goes on as if nothing were. */
int threat_fifos(char **arg)
{
	int count = (int)strtol(arg[0], NULL, 10);
	pid_t *child = calloc((size_t)count, sizeof(*child));
	double begin;

	threat_works("mkfifo", mkfifo("fifo", 0600));
	for (int i = 0; i < count; i++) {
		child[i] = fork();
		if (child[i] == 0)
			_exit(open("fifo", O_RDONLY) >= 0);
	}
	usleep(300000);
	begin = threat_now();
	for (int i = 0; i < 1000; i++)
		threat_works("a neighbour's open", close(open("/dev/null", O_WRONLY)));
	threat_works("a neighbour's mkdir", mkdir("made", 0700));
	if (threat_now() - begin > 20)
		threat_missed("a thousand opens took %.1f s beside waiting ones", threat_now() - begin);
	for (int i = 0; i < count; i++)
		kill(child[i], i & 1 ? SIGKILL : SIGTERM);
	for (int i = 0; i < count; i++)
		waitpid(child[i], NULL, 0);
	/* who waits in the supervisor for one that was killed gives up a moment later */
	for (int i = 0; i < 1000; i++) {
		int fd = open("fifo", O_WRONLY | O_NONBLOCK);

		if (fd < 0)
			break;
		close(fd);
		usleep(20000);
	}
	threat_refused("a writer without readers", open("fifo", O_WRONLY | O_NONBLOCK), ENXIO);
	free(child);
	return threat_result();
}

static atomic_ulong handled;

static void on_signal(int sig)
{
	(void)sig; /* counted only */
	atomic_fetch_add(&handled, 1);
}

static unsigned long work(int id, double end, bool never)
{
	char dir[64], moved[64];
	unsigned long rounds = 0;

	snprintf(dir, sizeof(dir), "dir-%d", id);
	snprintf(moved, sizeof(moved), "moved-%d", id);
	while (threat_now() < end) {
		struct stat st;
		int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

		if (fd < 0 && (never || errno != EINTR))
			threat_missed("open: %s", strerrorname_np(errno));
		if (fd >= 0)
			(void)close(fd); /* nothing written */
		/*
		 * done twice it says EEXIST or ENOENT; interrupted before it was seen it was not done and can be
		 * repeated
		 */
		while (mkdir(dir, 0700) < 0)
			if (never || errno != EINTR) {
				threat_missed("mkdir: %s", strerrorname_np(errno));
				break;
			}
		while (rename(dir, moved) < 0)
			if (never || errno != EINTR) {
				threat_missed("rename: %s", strerrorname_np(errno));
				break;
			}
		while (stat(moved, &st) < 0)
			if (never || errno != EINTR) {
				threat_missed("stat: %s", strerrorname_np(errno));
				break;
			}
		while (rmdir(moved) < 0)
			if (never || errno != EINTR) {
				threat_missed("rmdir: %s", strerrorname_np(errno));
				break;
			}
		rounds++;
	}
	return rounds;
}

/* Where a signal frame has all that it takes to run a call again, none of these ends with EINTR. */
#if defined(__aarch64__)
#define LOSES_ARGUMENT true
#else
#define LOSES_ARGUMENT false
#endif

/* signals SECONDS: SIGALRM every 200 us, first with SA_RESTART and then without. */
int threat_signals(char **arg)
{
	double seconds = strtod(arg[0], NULL);

	for (int restart = 1; restart >= 0; restart--) {
		struct sigaction sa = {.sa_handler = on_signal, .sa_flags = restart ? SA_RESTART : 0};
		const struct itimerval every = {{0, 200}, {0, 200}}, off = {{0, 0}, {0, 0}};
		unsigned long rounds;

		sigaction(SIGALRM, &sa, NULL);
		setitimer(ITIMER_REAL, &every, NULL);
		rounds = work(restart, threat_now() + seconds / 2, restart || !LOSES_ARGUMENT);
		setitimer(ITIMER_REAL, &off, NULL);
		printf("restart=%d: %lu rounds, %lu signals\n", restart, rounds, atomic_load(&handled));
	}
	return threat_result();
}

struct worker {
	int id;
	double end;
	pid_t tid;
	unsigned long rounds;
	atomic_bool done;
	pthread_t thread;
};

static void *worker_main(void *arg)
{
	struct worker *w = arg;

	w->tid = (pid_t)syscall(SYS_gettid);
	w->rounds = work(100 + w->id, w->end, true);
	atomic_store(&w->done, true);
	return NULL;
}

/* sigurg SECONDS: as Go's scheduler does: a thread tgkills the workers with SIGURG every 50 us or so. */
int threat_sigurg(char **arg)
{
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK};
	static struct worker workers[4];
	double end = threat_now() + strtod(arg[0], NULL);
	bool left = true;

	sigaction(SIGURG, &sa, NULL);
	for (int i = 0; i < 4; i++) {
		workers[i].id = i;
		workers[i].end = end;
		if (pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]) != 0)
			return 2;
	}
	while (left) {
		left = false;
		for (int i = 0; i < 4; i++) {
			if (atomic_load(&workers[i].done))
				continue;
			left = true;
			if (workers[i].tid)
				syscall(SYS_tgkill, getpid(), workers[i].tid, SIGURG);
		}
		usleep(50);
		if (threat_now() > end + 10) {
			threat_missed("a worker hangs");
			return 1;
		}
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(workers[i].thread, NULL);
		printf("worker %d: %lu rounds\n", i, workers[i].rounds);
		if (!workers[i].rounds)
			threat_missed("worker %d did nothing", i);
	}
	printf("%lu signals\n", atomic_load(&handled));
	return threat_result();
}

/* tty: typing into the terminal of who started callgate. */
int threat_tty(char **arg)
{
	static const char text[] = "touch typed-by-the-program\n";
	int tty = open("/dev/tty", O_RDWR | O_NOCTTY), fds[4] = {0, 1, 2, tty};

	(void)arg; /* takes none */
	for (int i = 0; i < 4; i++) {
		pid_t group = getpgrp();
		struct winsize size;

		for (const char *c = text; *c; c++)
			threat_refused("TIOCSTI", ioctl(fds[i], TIOCSTI, c), 0);
		threat_refused("TIOCLINUX", ioctl(fds[i], TIOCLINUX, "\x02"), 0);
		threat_refused("TIOCSPGRP", ioctl(fds[i], TIOCSPGRP, &group), 0);
		threat_refused("TIOCSCTTY", ioctl(fds[i], TIOCSCTTY, 1), 0);
		threat_refused("TIOCCONS", ioctl(fds[i], TIOCCONS, 0), 0);
		threat_refused("TIOCSTI high", (long)syscall(SYS_ioctl, fds[i], TIOCSTI | 1UL << 40, text), 0);
		(void)ioctl(fds[i], TIOCGWINSZ, &size); /* may work or not: it tells nothing */
	}
	return threat_result();
}

/* Questions about a descriptor; then what a terminal of the run's own may be told. */
static bool may_pass(unsigned long request)
{
	static const unsigned long offered[] = {
		TCGETS, 0x802c542a /* TCGETS2 */, TIOCGWINSZ, TIOCGPGRP, TIOCGSID, FIONREAD, TIOCOUTQ, FIONBIO, FIOCLEX,
		FIONCLEX,
		FIOQSIZE, TCSETS, TCSETSW, TCSETSF, 0x402c542b, 0x402c542c, 0x402c542d /* TCSETS2 and its like */,
		TIOCSWINSZ,
		TIOCSPGRP, TCFLSH, TCXONC, TCSBRK, TCSBRKP, TCGETA, TCSETA, TCSETAW, TCSETAF, TIOCSCTTY, TIOCNOTTY,
		TIOCSPTLCK, TIOCGPTN, 0x80045439 /* TIOCGPTLCK */, TIOCPKT, 0x80045438 /* TIOCGPKT */, TIOCEXCL,
		FIOASYNC, TIOCNXCL, 0x80045440 /* TIOCGEXCL */, TIOCSIG, TIOCGETD,
		0x5441 /* TIOCGPTPEER: EIO of a slave, as natively */,
	};

	for (size_t i = 0; i < sizeof(offered) / sizeof(offered[0]); i++)
		if (request == offered[i])
			return true;
	return false;
}

/* ioctls: every request of terminals, consoles, keyboards and sockets, as it is and as _IOR, _IOW, _IOWR: ENOTTY. */
int threat_ioctls(char **arg)
{
	static const unsigned long kinds[] = {'T', 'K', 'V', 'f', 0x89, 'P', 't'};
	static const unsigned long forms[] = {0,	  0x80040000, 0x40040000, 0xc0040000,
					      0x802c0000, 0x402c0000, 0x80080000, 0x40080000};
	static char room[4096];

	(void)arg; /* takes none */
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++)
			for (unsigned long number = 0; number < 256; number++) {
				unsigned long request = forms[f] | kinds[k] << 8 | number;

				if (may_pass(request) || (kinds[k] == 'f' && forms[f]))
					continue; /* of files: other tests */
				for (int fd = 0; fd < 3; fd += 2)
					threat_refused("ioctl", syscall(SYS_ioctl, fd, request, room), ENOTTY);
			}
	return threat_result();
}

/* load COUNT: files made, renamed and acknowledged one by one on stdout, for who kills the supervisor meanwhile. */
int threat_load(char **arg)
{
	long count = strtol(arg[0], NULL, 10);
	char name[64], moved[64];

	for (long i = 0; i < count; i++) {
		int fd;

		snprintf(name, sizeof(name), "file-%d-%ld", getpid(), i);
		snprintf(moved, sizeof(moved), "moved-%d-%ld", getpid(), i);
		fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0)
			return 1;
		dprintf(1, "made %s\n", name);
		(void)close(fd); /* empty */
		if (i % 2 == 0) {
			if (rename(name, moved) < 0)
				return 1;
			dprintf(1, "moved %s\n", moved);
		}
	}
	return 0;
}
