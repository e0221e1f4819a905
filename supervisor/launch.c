#include "supervisor/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "confine/filter.h"
#include "confine/landlock.h"
#include "confine/privs.h"
#include "supervisor/answer.h"
#include "supervisor/session/scrub.h"
#include "supervisor/session/spawner.h"

/* the program's oom_score_adj, of at most 1000: it is killed before most other processes */
#define OOM_SCORE_ADJ "800"

enum page_state { PAGE_STARTED, PAGE_READY, PAGE_FAILED };

/* Shared by supervisor and child until the child's exec. The only channel that the filter does not see. */
struct launch_shared_page {
	volatile int error;
	volatile int step;
	volatile int listener_fd;
	_Atomic int state; /* enum page_state, a futex */
};

/* Tells the waiting supervisor by a futex how far the child has come. */
static void launch_signal_state_to_parent(struct launch_shared_page *page, enum page_state state)
{
	page->state = (int)state;
	/* wakes nothing if the parent does not wait yet */
	(void)syscall(SYS_futex, &page->state, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* ---- the child: a raw clone(2) without CLONE_VM, so only async-signal-safe functions until its exec ---- */

static _Noreturn void child_report_failure(struct launch_shared_page *page, enum launch_step step, int error)
{
	page->step = (int)step;
	page->error = error;
	launch_signal_state_to_parent(page, PAGE_FAILED);
	_exit(127);
}

/* Ignored signals would stay ignored after exec. */
static void child_reset_signals(void)
{
	struct sigaction plain = {.sa_handler = SIG_DFL};

	for (int signal = 1; signal < _NSIG; signal++)
		(void)sigaction(signal, &plain, NULL); /* EINVAL for SIGKILL, SIGSTOP and glibc's signals */
}

/*
 * When memory runs out, the kernel shall kill the program first, not its supervisor or other processes of the user. The
 * program cannot lower the value again: the view refuses that. Failure is ignored, as a container may mask the file.
 */
static void child_raise_oom_score(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, OOM_SCORE_ADJ, sizeof(OOM_SCORE_ADJ) - 1); /* EACCES if the value is higher already */
	(void)close(fd);
}

static int child_set_up_process(const struct launch_options *options, pid_t parent)
{
	static const struct rlimit one_byte = {1, 1}, no_core = {0, 0};

	child_reset_signals();
	/* Joins the control groups first, so that all further resource use is the run's. */
	for (size_t i = 0; i < options->cgroup_count; i++)
		if (write(options->cgroup_procs_fds[i], "0", 1) != 1)
			return -errno;
	if (setsid() < 0)
		return -errno;
	if (options->stdio_is_terminal && ioctl(options->stdio_fd[0], TIOCSCTTY, 0) < 0)
		return -errno;
	/* The keeper kills the tree when the supervisor dies. For this one process PDEATHSIG is faster. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return -errno;
	if (getppid() != parent)
		return -ESRCH;
	/*
	 * No core files, which the kernel would write past the filter. A limit of 1 byte also keeps it from starting
	 * the host's crash handler (a piped core_pattern); 0 does not. A hard limit of 0 cannot be raised.
	 */
	if (setrlimit(RLIMIT_CORE, &one_byte) < 0 && setrlimit(RLIMIT_CORE, &no_core) < 0)
		return -errno;
	if (options->no_huge_pages && prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) < 0)
		return -errno;
	if (chdir(options->cwd_host) < 0)
		return -errno;
	if (privs_drop_all() < 0)
		return -EPERM;
	/*
	 * The supervisor must be able to read this process's execve arguments by process_vm_readv. Set after
	 * privs_drop_all, because capset(2) may reset it. No program may read the spawner's memory.
	 */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		return -errno;
	child_raise_oom_score(); /* needs a dumpable process */
	if (!options->spawner.page)
		return 0;
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : scrub_remember_mappings();
}

/*
 * Leaves the shared table with descriptors 0 to 2, and the spawner's socket as SPAWNER_SOCKET_FD. Copies them above
 * that first: a source may be one of these numbers.
 */
static int child_keep_only_stdio(const struct launch_options *options)
{
	const int fds = options->spawner.page ? 4 : 3;
	int copy[4];

	/* Has the effect of unshare(CLONE_FILES), which Docker's default profile refuses. Closes nothing. */
	if (syscall(SYS_close_range, ~0U - 1, ~0U, CLOSE_RANGE_UNSHARE) < 0)
		return -errno;
	for (int i = 0; i < fds; i++) {
		copy[i] = fcntl(i < 3 ? options->stdio_fd[i] : options->spawner.socket_fd, F_DUPFD, 4);
		if (copy[i] < 0)
			return -errno;
	}
	for (int i = 0; i < fds; i++)
		if (dup2(copy[i], i) < 0)
			return -errno;
	return syscall(SYS_close_range, (unsigned)fds, ~0U, 0U) < 0 ? -errno : 0;
}

static _Noreturn void child_exec_program(const struct launch_options *options, struct launch_shared_page *page,
					 pid_t parent)
{
	sigset_t none;
	int listener, error;

	error = child_set_up_process(options, parent);
	if (error < 0)
		child_report_failure(page, LAUNCH_SETUP, -error);
	/* Entered after chdir(2) and no_new_privs, and before the filter, which would notify the call. */
	error = options->landlock_fd < 0 ? 0 : landlock_enter_domain(options->landlock_fd);
	if (error < 0)
		child_report_failure(page, LAUNCH_LANDLOCK, -error);
	listener = filter_install(options->filter);
	if (listener < 0)
		child_report_failure(page, LAUNCH_FILTER, -listener);
	page->listener_fd = listener;
	error = child_keep_only_stdio(options);
	if (error < 0)
		child_report_failure(page, LAUNCH_DESCRIPTORS, -error);
	/* The execve waits for its verdict until the parent is ready. */
	launch_signal_state_to_parent(page, PAGE_READY);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (options->spawner.page)
		spawner_run(options->spawner.page, SPAWNER_SOCKET_FD);
	(void)execve(options->program, options->argv, options->envp);
	page->step = LAUNCH_EXEC;
	page->error = errno;
	_exit(127);
}

/* ---- the supervisor, which is the child's parent ---- */

/* Clones the child, with signals blocked, so that no handler of the supervisor runs in the child. */
static pid_t launch_clone_child(const struct launch_options *options, struct launch_shared_page *page)
{
	sigset_t all, before;
	pid_t parent = getpid();
	long pid;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &before);
	pid = syscall(SYS_clone, (unsigned long)(CLONE_FILES | SIGCHLD), 0L, 0L, 0L, 0L);
	if (pid == 0)
		child_exec_program(options, page, parent);
	if (pid < 0)
		pid = -errno;
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return (pid_t)pid;
}

static bool launch_child_has_ended(pid_t pid)
{
	siginfo_t info = {.si_pid = 0};

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == pid;
}

/* Waits until the child has its filter and its own descriptors. 0, or -errno; then the child is reaped. */
static int launch_await_child(const struct launch *launch)
{
	/* how often the parent checks whether the child still lives */
	const struct timespec timeout = {.tv_nsec = 50000000};
	struct launch_shared_page *page = launch->shared_page;

	while (page->state == PAGE_STARTED && !launch_child_has_ended(launch->pid))
		(void)syscall(SYS_futex, &page->state, FUTEX_WAIT, PAGE_STARTED, &timeout, NULL, 0);
	if (page->state == PAGE_READY)
		return 0;
	launch_kill_child(launch);
	return page->error > 0 ? -page->error : -ECHILD; /* ECHILD: another process killed the child */
}

/*
 * Sets the child's limits. The parent does so, because in the child prlimit64 would be a judged call, and before the
 * filter a limit on descriptors would apply to the shared table.
 */
static int launch_set_rlimits(pid_t pid, const struct launch_options *options)
{
	for (size_t i = 0; i < options->rlimit_count; i++)
		if (prlimit(pid, (__rlimit_resource_t)options->rlimit[i].resource, &options->rlimit[i].limit, NULL) < 0)
			return -errno;
	return 0;
}

int launch_fork_child(const struct launch_options *options, struct launch *ret_launch)
{
	/* launch->ret_error and launch->ret_step point to this array if there is no memory for the shared page. */
	static volatile int no_page[2] = {ENOMEM, LAUNCH_SETUP};
	struct launch_shared_page *page;
	pid_t pid;

	*ret_launch = (struct launch){.pid = -1, .listener_fd = -1, .ret_error = &no_page[0], .ret_step = &no_page[1]};
	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return -errno;
	page->listener_fd = -1;
	ret_launch->shared_page = page;
	ret_launch->ret_error = &page->error;
	ret_launch->ret_step = &page->step;
	pid = launch_clone_child(options, page);
	if (pid < 0)
		return pid;
	scheduling_move_task_off_this_cpu(pid, &ret_launch->moved_child_affinity);
	ret_launch->pid = pid;
	return 0;
}

int launch_await_filter(const struct launch_options *options, struct launch *launch)
{
	struct launch_shared_page *page = launch->shared_page;
	int error;

	scheduling_restore_task(&launch->moved_child_affinity);
	error = launch_await_child(launch);
	launch->listener_fd = page->listener_fd; /* set even if the child failed later */
	if (error < 0)
		return error;
	error = answer_check_descriptors_can_be_added(launch->listener_fd);
	if (error < 0)
		*launch->ret_step = LAUNCH_ADDFD;
	else
		error = launch_set_rlimits(launch->pid, options);
	if (error < 0)
		launch_kill_child(launch);
	return error;
}

void launch_kill_child(const struct launch *launch)
{
	(void)kill(launch->pid, SIGKILL);
	while (waitpid(launch->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

void launch_release(struct launch *launch)
{
	if (launch->listener_fd >= 0)
		(void)close(launch->listener_fd);
	if (launch->shared_page)
		(void)munmap(launch->shared_page, sizeof(*launch->shared_page));
	*launch = (struct launch){.pid = -1, .listener_fd = -1};
}
