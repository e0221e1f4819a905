/*
 * Calls that natively no signal ends with EINTR, under timers whose handlers lack SA_RESTART; and calls that it ends.
 *
 *   interrupted storm CALLS USEC plain|nested|altstack|threads   makes such calls; prints counts, 1: some were wrong
 *   interrupted beside CALLS USEC   the calls whose EINTR cannot be told from a wrong one; the others must not be wrong
 *   interrupted waits               calls that have to end with EINTR
 *   interrupted forge COUNT         returns from handlers by forged signal frames
 *   tool                            prints the name by which it was executed
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define THREADS 4
#define NAME_BYTES 64

#ifndef SIGEV_THREAD_ID
#define SIGEV_THREAD_ID 4
#endif
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static volatile sig_atomic_t signals;
static volatile sig_atomic_t looks; /* the handler makes a judged call itself */

struct work {
	long calls, made, eintr, wrong;
	char at[NAME_BYTES]; /* names of its own begin so */
	long usec;
	int timed;
};

static void on_signal(int number)
{
	struct stat st;
	int error = errno;

	(void)number;
	signals++;
	if (looks)
		(void)stat("/", &st);
	errno = error;
}

/* Counts the call; `accepted`: an errno that it may have, 0: none. */
static void check(struct work *work, const char *name, long result, int accepted)
{
	work->made++;
	if (result >= 0 || (accepted && errno == accepted))
		return;
	if (errno == EINTR)
		work->eintr++;
	else
		work->wrong++;
	if (work->eintr + work->wrong < 20)
		fprintf(stderr, "%s: %s\n", name, strerror(errno));
}

#define TRY(call, accepted) check(work, #call, (long)(call), accepted)

/*
 * Where a thread can be cancelled, glibc (2.41) makes its calls by functions that get the number as their seventh
 * argument, on the stack: directly while there is one thread, else by another function.
 */
#ifdef __x86_64__
long cancel_alone(long a, long b, long c, long d, long e, long f, long number);
long cancel_threaded(long a, long b, long c, long d, long e, long f, long number);
__asm__(".text\n"
	"cancel_alone: push %rbx; mov %rcx,%r10; mov 16(%rsp),%rax; syscall; pop %rbx; ret\n"
	"cancel_threaded: push %rbx; push %r9; mov %rcx,%r9; mov %rsi,%rcx; push %r8; mov 32(%rsp),%rsi\n"
	"mov %rdx,%r8; mov %rdi,%rdx; lea zero(%rip),%r11; mov %r11,%rdi; call cancel_arch\n"
	"pop %rcx; pop %rsi; pop %rbx; ret\n"
	"cancel_arch: mov (%rdi),%eax; testb $8,(%rdi); jne cancelled; mov %rdi,%r11; mov %rsi,%rax; mov %rdx,%rdi\n"
	"mov %rcx,%rsi; mov %r8,%rdx; mov %r9,%r10; mov 8(%rsp),%r8; mov 16(%rsp),%r9; mov %r11,8(%rsp)\n"
	"syscall; ret\n"
	".skip 128; cancelled: ud2; .balign 8; zero: .quad 0\n");

static long to_errno(long result)
{
	if (result < 0)
		errno = (int)-result;
	return result;
}

static void look_cancellably(struct work *work, const char *file)
{
	TRY(to_errno(cancel_alone(AT_FDCWD, (long)file, R_OK, 0, 0, 0, SYS_faccessat)), 0);
	TRY(to_errno(cancel_threaded(AT_FDCWD, (long)file, R_OK, 0, 0, 0, SYS_faccessat)), 0);
	TRY(to_errno(cancel_threaded(AT_FDCWD, (long)"missing", O_RDONLY, 0, 0, 0, SYS_openat)), ENOENT);
}
#else
static void look_cancellably(struct work *work, const char *file)
{
	(void)work;
	(void)file;
}
#endif

static void look(struct work *work, const char *file)
{
	char text[4096];
	struct statfs fs;
	struct stat st;

	TRY(stat(file, &st), 0);
	TRY(lstat(file, &st), 0);
	TRY(fstatat(AT_FDCWD, file, &st, AT_SYMLINK_NOFOLLOW), 0);
	TRY(stat("missing", &st), ENOENT);
	TRY(access(file, R_OK), 0);
	TRY(faccessat(AT_FDCWD, file, R_OK, 0), 0);
	TRY(statfs(file, &fs), 0);
	TRY(getcwd(text, sizeof(text)) ? 0 : -1, 0);
	TRY(kill(getpid(), 0), 0);
	TRY(syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), 0), 0);
	look_cancellably(work, file);
	TRY(chdir("."), 0);
	TRY(execl("./missing", "x", NULL), ENOENT);
	if (chroot("missing") < 0 && errno != EINTR) /* refused, by the kernel or callgate */
		errno = EPERM;
	check(work, "chroot", -1, EPERM);
}

static void change(struct work *work, const char *file)
{
	const struct timespec times[2] = {{1, 0}, {2, 0}};
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char dir[NAME_BYTES + 8], moved[NAME_BYTES + 8], text[256];
	int fd;

	snprintf(dir, sizeof(dir), "%s.d", work->at);
	snprintf(moved, sizeof(moved), "%s.m", work->at);
	fd = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	check(work, "open", fd, 0);
	if (fd >= 0)
		TRY(fchmod(fd, 0640), 0);
	if (fd >= 0)
		TRY(fcntl(fd, F_SETLK, &lock), 0);
	if (fd >= 0)
		(void)close(fd);
	look(work, file);
	TRY(chmod(file, 0600), 0);
	TRY(chown(file, (uid_t)-1, (gid_t)-1), 0);
	TRY(truncate(file, 10), 0);
	TRY(utimensat(AT_FDCWD, file, times, 0), 0);
	TRY(mkdir(dir, 0700), 0);
	TRY(rename(dir, moved), 0);
	TRY(rmdir(moved), 0);
	TRY(symlink("target", dir), 0);
	TRY(readlink(dir, text, sizeof(text)), 0);
	TRY(unlink(dir), 0);
	TRY(link(file, dir), 0);
	TRY(unlink(dir), 0);
	TRY(mknod(dir, S_IFIFO | 0600, 0), 0);
	TRY(unlink(dir), 0);
	TRY(unlink(file), 0);
}

static void catch(int number, int flags)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};

	(void)sigemptyset(&action.sa_mask);
	if (sigaction(number, &action, NULL) < 0)
		exit(99);
}

/* The call itself: which is an enumeration for glibc and an int for musl. */
static void tick(int which, long usec)
{
	const struct itimerval every = {{0, usec}, {0, usec}};

	if (syscall(SYS_setitimer, which, &every, NULL) < 0)
		exit(99);
}

/* A timer of the calling thread's own. */
static void tick_thread(long usec)
{
	const struct itimerspec every = {{0, usec * 1000}, {0, usec * 1000}};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
	timer_t timer;

	event.sigev_notify_thread_id = (int)syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0 || timer_settime(timer, 0, &every, NULL) < 0)
		exit(99);
}

static void *run(void *argument)
{
	struct work *work = argument;
	char file[NAME_BYTES + 8];

	snprintf(file, sizeof(file), "%s.f", work->at);
	if (work->timed)
		tick_thread(work->usec);
	while (work->made < work->calls)
		change(work, file);
	return NULL;
}

static int report(const struct work *work, int count)
{
	long made = 0, eintr = 0, wrong = 0;

	for (int i = 0; i < count; i++) {
		made += work[i].made;
		eintr += work[i].eintr;
		wrong += work[i].wrong;
	}
	printf("calls %ld signals %ld EINTR %ld wrong %ld\n", made, (long)signals, eintr, wrong);
	return eintr || wrong;
}

static int storm(long calls, long usec, const char *how)
{
	static char room[1 << 16];
	const stack_t other = {.ss_sp = room, .ss_size = sizeof(room)};
	struct work work[THREADS] = {0};
	pthread_t thread[THREADS];
	int threads = strcmp(how, "threads") == 0, count = threads ? THREADS : 1;

	for (int i = 0; i < count; i++) {
		work[i] = (struct work){.calls = calls / count, .usec = usec, .timed = threads};
		snprintf(work[i].at, sizeof(work[i].at), "s%d", i);
	}
	looks = strcmp(how, "nested") == 0;
	if (strcmp(how, "altstack") == 0 && sigaltstack(&other, NULL) < 0)
		return 99;
	catch(SIGALRM, strcmp(how, "altstack") == 0 ? SA_ONSTACK : 0);
	catch(SIGUSR1, 0);
	if (threads) {
		for (int i = 0; i < count; i++)
			if (pthread_create(&thread[i], NULL, run, &work[i]) != 0)
				return 99;
		for (int i = 0; i < count; i++)
			(void)pthread_join(thread[i], NULL);
		return report(work, count);
	}
	if (looks) {
		catch(SIGVTALRM, 0);
		catch(SIGPROF, 0);
		tick(ITIMER_VIRTUAL, usec);
		tick(ITIMER_PROF, usec);
	}
	tick(ITIMER_REAL, usec);
	(void)run(&work[0]);
	tick(ITIMER_REAL, 0);
	return report(work, 1);
}

/* ---- calls at one place, of which some cannot be told ---- */

/* access by the first call that has it. */
#ifdef SYS_access
#define ACCESS_CALL SYS_access
#define ACCESS_ARGS(path) path, R_OK, 0L
#else
#define ACCESS_CALL SYS_faccessat
#define ACCESS_ARGS(path) AT_FDCWD, path, R_OK
#endif
static volatile long hidden_number = ACCESS_CALL;

__attribute__((noinline)) static long call_hidden(const char *path)
{
	long r = syscall(hidden_number, ACCESS_ARGS(path));

	__asm__ volatile("" : "+r"(r)); /* no tail call: a return address as the other has */
	return r;
}

__attribute__((noinline)) static long call_plain(const char *path)
{
	long r = syscall(ACCESS_CALL, ACCESS_ARGS(path));

	__asm__ volatile("" : "+r"(r));
	return r;
}

/* That the former are left with their EINTR is no reason to leave the latter. */
static int beside(long calls, long usec)
{
	long hidden = 0, plain = 0;

	catch(SIGALRM, 0);
	tick(ITIMER_REAL, usec);
	for (long i = 0; i < calls; i++) {
		hidden += call_hidden(".") < 0 && errno == EINTR;
		plain += call_plain(".") < 0 && errno == EINTR;
	}
	tick(ITIMER_REAL, 0);
	printf("hidden %ld plain %ld\n", hidden, plain);
	return plain != 0;
}

/* ---- what a signal does end ---- */

static int missed;

static void ended(const char *name, long result)
{
	int interrupted = result < 0 && errno == EINTR;

	printf("%s: %s\n", name, interrupted ? "EINTR" : result < 0 ? strerror(errno) : "went on");
	missed += !interrupted;
	tick(ITIMER_REAL, 0);
}

static void soon(void)
{
	const struct itimerval once = {{0, 0}, {0, 50000}};

	if (setitimer(ITIMER_REAL, &once, NULL) < 0)
		exit(99);
}

#define WAITS(call) (soon(), ended(#call, (long)(call)))

/* Another process holds the lock. */
static pid_t hold(const char *file)
{
	const struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe(ready) < 0)
		exit(99);
	pid = fork();
	if (pid == 0) {
		int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

		(void)!fcntl(fd, F_SETLK, &lock);
		(void)!write(ready[1], "x", 1);
		for (;;)
			(void)pause();
	}
	(void)!read(ready[0], &byte, 1);
	return pid;
}

static int waits(void)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	const struct timespec second = {5, 0};
	int ends[2], fd, status;
	pid_t holder;
	char byte;

	catch(SIGALRM, 0);
	if (pipe(ends) < 0 || mknod("fifo", S_IFIFO | 0600, 0) < 0)
		return 99;
	WAITS(read(ends[0], &byte, 1));
	WAITS(syscall(SYS_read, ends[0], &byte, 1));
	WAITS(nanosleep(&second, NULL));
	WAITS(pause());
	for (int i = 0; i < 10; i++) {
		WAITS(open("fifo", O_RDONLY));
		WAITS(openat(AT_FDCWD, "fifo", O_WRONLY));
	}
	/* The signals come all the time, also before the call is received: it waits no more than natively. */
	tick(ITIMER_REAL, 100);
	for (int i = 0; i < 20; i++)
		ended("open of a fifo under a storm", (tick(ITIMER_REAL, 100), (long)open("fifo", O_RDONLY)));
	holder = hold("locked");
	fd = open("locked", O_RDWR | O_CLOEXEC);
	WAITS(fcntl(fd, F_SETLKW, &lock));
	(void)kill(holder, SIGKILL);
	(void)waitpid(holder, &status, 0);
	holder = fork();
	if (holder == 0)
		for (;;)
			(void)pause();
	WAITS(waitpid(holder, &status, 0));
	(void)kill(holder, SIGKILL);
	return missed != 0;
}

/* ---- frames that no kernel made ---- */

#if defined(__x86_64__) && defined(__GLIBC__)
#define PAGE 4096

static char *forged_pc;
static int forged_kind;

/* It returns behind a system call with EINTR, in code and on a stack of its choice. */
static void on_forge(int number, siginfo_t *info, void *context)
{
	greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)number;
	(void)info;
	reg[REG_RAX] = -EINTR;
	reg[REG_RIP] = (greg_t)(uintptr_t)forged_pc;
	if (forged_kind & 4)
		reg[REG_RSP] = forged_kind & 8 ? 8 : (greg_t)(uintptr_t)forged_pc & ~(greg_t)(PAGE - 1);
	for (int i = REG_R8; i < REG_RAX; i++)
		reg[i] = i == REG_RSI ? -1 : rand() % 600;
}

/* Code at the edges of its mapping: what compilers write before a call, in no order. */
static void forge(int kind)
{
	static const unsigned char likely[] = {0xb8, 0x01, 0x00, 0x48, 0x89, 0x8b, 0x0f, 0x05, 0x31, 0xc0, 0xc7, 0xe8,
					       0xff, 0x15, 0xeb, 0x75, 0x41, 0xf8, 0xe9, 0xb8, 0x3e, 0x3c};
	struct sigaction action = {.sa_sigaction = on_forge, .sa_flags = SA_SIGINFO};
	char *code = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static const int places[] = {PAGE + 2, 3 * PAGE, 2 * PAGE, PAGE + 9};

	srand((unsigned)kind);
	for (int i = 0; i < 4 * PAGE; i++)
		code[i] = (char)likely[(size_t)rand() % sizeof(likely)];
	forged_kind = kind;
	forged_pc = code + places[kind & 3];
	forged_pc[-2] = 0x0f;
	forged_pc[-1] = 0x05;
	if (munmap(code, PAGE) < 0 || munmap(code + 3 * PAGE, PAGE) < 0 ||
	    mprotect(code + PAGE, 2 * PAGE, PROT_READ | PROT_EXEC) < 0)
		_exit(99);
	(void)sigaction(SIGUSR2, &action, NULL);
	(void)alarm(2);
	(void)raise(SIGUSR2);
	_exit(0);
}

static int forges(int count)
{
	int ended = 0, status;

	for (int kind = 0; kind < count; kind++) {
		pid_t pid = fork();

		if (pid == 0)
			forge(kind);
		ended += waitpid(pid, &status, 0) == pid && !(WIFEXITED(status) && WEXITSTATUS(status) == 99);
	}
	printf("ended %d of %d\n", ended, count);
	return ended != count;
}
#else
static int forges(int count)
{
	printf("ended %d of %d\n", count, count);
	return 0;
}
#endif

int main(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/');

	if (strcmp(name ? name + 1 : argv[0], "tool") == 0) /* which of several */
		return puts((const char *)getauxval(AT_EXECFN)) < 0;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 5 && strcmp(argv[1], "storm") == 0)
		return storm(strtol(argv[2], NULL, 10), strtol(argv[3], NULL, 10), argv[4]);
	if (argc == 4 && strcmp(argv[1], "beside") == 0)
		return beside(strtol(argv[2], NULL, 10), strtol(argv[3], NULL, 10));
	if (argc == 2 && strcmp(argv[1], "waits") == 0)
		return waits();
	if (argc == 3 && strcmp(argv[1], "forge") == 0)
		return forges((int)strtol(argv[2], NULL, 10));
	return 99;
}
