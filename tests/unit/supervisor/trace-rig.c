#include "tests/unit/supervisor/trace-rig.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "confine/filter.h"
#include "supervisor/trace/trace.h"
#include "syscalls/account/result/denials.h"
#include "syscalls/exec/elf.h"
#include "syscalls/exec/shebang.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif
#define RIG_TIMEOUT_NS 160000000000u

static const struct syscall_row row_execve = {
	.nr = SYS_execve, .name = "execve", .basis = BASIS_EXEC,
	.arg = {{ARG_PATH, "path"}, {ARG_PTR, "argv"}, {ARG_PTR, "envp"}},
};
static const struct syscall_row row_execveat = {
	.nr = SYS_execveat, .name = "execveat", .basis = BASIS_EXEC,
	.arg = {{ARG_DIRFD, "dirfd"}, {ARG_PATH, "path"}, {ARG_PTR, "argv"}, {ARG_PTR, "envp"}, {ARG_ATFLAGS, "flags"}},
};
static const struct syscall_row row_chdir = {
	.nr = SYS_chdir, .name = "chdir", .basis = BASIS_MOUNTNS, .arg = {{ARG_PATH, "path"}},
};

static const struct syscall_row row_fchmod = {
	.nr = SYS_fchmod, .name = "fchmod", .basis = BASIS_MEMORY, .arg = {{ARG_FD, "fd"}, {ARG_MODE, "mode"}},
};

/* ---- the host directory behind /virt ---- */

void rig_write(const struct rig *rig, const char *name, const char *text, unsigned mode)
{
	char path[512];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", rig->dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(io_write_all(fd, text, strlen(text)), 0);
	ck_assert_int_eq(fchmod(fd, mode), 0);
	ck_assert_int_eq(close(fd), 0);
}

void rig_setup(struct rig *rig)
{
	char path[512];
	ssize_t len;

	memset(rig, 0, sizeof(*rig));
	(void)snprintf(rig->dir, sizeof(rig->dir), "/tmp/callgate-rig-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(rig->dir));
	len = readlink("/proc/self/exe", rig->self, sizeof(rig->self) - 1);
	ck_assert_int_gt(len, 0);
	(void)snprintf(path, sizeof(path), "%s/self", rig->dir);
	ck_assert_int_eq(symlink(rig->self, path), 0);
	(void)snprintf(path, sizeof(path), "%s/dir", rig->dir);
	ck_assert_int_eq(mkdir(path, 0755), 0);
}

void rig_teardown(struct rig *rig)
{
	ck_assert_int_eq(io_remove_tree(AT_FDCWD, rig->dir), 0);
}

/* ---- approving: everything that exists, through the one redirect ---- */

/* The host path of a text, and whether it differs. */
static bool to_host(const struct rig *rig, const char *text, char out[PATH_MAX])
{
	bool virt = strncmp(text, "/virt", 5) == 0;

	ck_assert_int_lt(snprintf(out, PATH_MAX, "%s%s", virt ? rig->dir : "", virt ? text + 5 : text), PATH_MAX);
	return virt;
}

static int approve_image(int fd, struct exec_plan *plan)
{
	_cleanup_close_ int loader = -1;
	struct elf_facts facts, own;
	struct stat st;
	int r = elf_inspect_file(fd, &facts);

	if (r < 0)
		return r;
	ck_assert_int_eq(fstat(fd, &st), 0);
	plan->image.dev = st.st_dev;
	plan->image.ino = st.st_ino;
	plan->has_loader = facts.is_dynamic;
	plan->layout = facts.layout;
	if (!facts.is_dynamic)
		return 0;
	loader = open(facts.interp, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(loader, 0);
	ck_assert_int_eq(elf_inspect_file(loader, &own), 0);
	plan->loader_first_page_offset = own.first_vaddr;
	plan->loader_entry_offset = own.entry;
	ck_assert_int_eq(fstat(loader, &st), 0);
	return exec_image_read_identity(loader, &st, &plan->loader_image);
}

/* Follows "#!" once, as the kernel would with the redirect in force. */
static int approve(const struct rig *rig, const char *text, struct exec_plan *plan)
{
	char host[PATH_MAX], head[SHEBANG_HEAD_BYTES] = {0};
	_cleanup_close_ int fd = -1;
	struct exec_args args = {0};
	struct shebang line;
	int r = 0;

	plan->needs_restart = to_host(rig, text, host);
	plan->virtual_path = strdup(text);
	plan->execfn = strdup(text);
	fd = open(host, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ck_assert_int_ge(pread(fd, head, sizeof(head), 0), 0);
	if (shebang_parse(head, &line) == 0) {
		ck_assert_int_eq(exec_args_add_script(&args, &line, text), 0);
		plan->needs_restart |= to_host(rig, line.interp, host);
		if (plan->needs_restart)
			r = exec_args_move_to_array(&args, &plan->argv_head);
		exec_args_release(&args);
		(void)close(fd);
		fd = open(host, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return -errno;
	}
	plan->host_path = strdup(host);
	return r < 0 ? r : approve_image(fd, plan);
}

/* ---- the dispatcher ---- */

struct loop {
	struct rig *rig;
	struct sandbox sandbox;
	struct tracer *tracer;
	struct call call;
};

static void reply(struct loop *loop, __u64 id, int error, bool go_on)
{
	struct seccomp_notif_resp response = {.id = id, .error = error};

	if (go_on)
		response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	if (ioctl(loop->sandbox.listener_fd, SECCOMP_IOCTL_NOTIF_SEND, &response) < 0)
		ck_assert_int_eq(errno, ENOENT);
}

/* 0, or -errno; the outcome is set. */
static int judge_chdir(struct loop *loop)
{
	static const struct mount plain = {.virt = NULL};
	struct call *call = &loop->call;
	char host[PATH_MAX];

	if (!to_host(loop->rig, call->path[0].text, host)) {
		call->outcome.kind = OUTCOME_CONTINUE;
		return 0;
	}
	call->resolved_place[0].mount = &plain;
	call->outcome.kind = OUTCOME_OPATH_FD;
	call->outcome.fd = open(host, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return call->outcome.fd < 0 ? -errno : 0;
}

static int judge_exec(struct loop *loop)
{
	struct call *call = &loop->call;
	struct exec_plan *plan = calloc(1, sizeof(*plan));
	int r;

	ck_assert_ptr_nonnull(plan);
	r = approve(loop->rig, call->path[0].text, plan);
	if (r == -ENOENT && !plan->needs_restart)
		r = 0; /* continued: the exec fails in the kernel */
	if (r < 0) {
		exec_plan_free(plan);
		return r;
	}
	if (loop->rig->tamper)
		loop->rig->tamper(plan);
	call->outcome.kind = OUTCOME_EXEC;
	call->outcome.exec_plan = plan;
	return 0;
}

/* As in a container that refuses pidfd_getfd(2): the thread sends the descriptor, and its call is restarted. */
static void fetch(struct loop *loop, __u64 id)
{
	struct call *call = &loop->call;
	int r = -EINTR;

	call->row = &row_fchmod;
	call->outcome =
		(struct outcome){.kind = OUTCOME_FETCH_DESCRIPTOR, .value = (int64_t)call->arg[0], .fd = -1};
	if (call->task)
		r = trace_start_call(loop->tracer, call);
	if (r < 0)
		reply(loop, id, r, false);
}

static void dispatch(struct loop *loop, const struct seccomp_notif *notif)
{
	struct call *call = &loop->call;
	int fetched, r;
	ssize_t len;

	loop->rig->calls++;
	if (trace_take_fetched_fd(loop->tracer, (pid_t)notif->pid, notif->data.nr, notif->data.args, &fetched)) {
		loop->rig->fetched++;
		reply(loop, notif->id,
		      fetched < 0                                        ? fetched
		      : fchmod(fetched, (mode_t)notif->data.args[1]) < 0 ? -errno
									 : 0,
		      false);
		if (fetched >= 0)
			(void)close(fetched);
		return;
	}
	if (trace_is_restarted_exec(loop->tracer, (pid_t)notif->pid, notif->data.nr, notif->data.args)) {
		loop->rig->restarts++;
		reply(loop, notif->id, 0, true);
		return;
	}
	memset(call, 0, sizeof(*call));
	call->sandbox = &loop->sandbox;
	call->id = notif->id;
	call->tid = (pid_t)notif->pid;
	call->pc_after_call = notif->data.instruction_pointer;
	call->task = task_table_find_task(loop->sandbox.tree, call->tid);
	if (notif->data.nr == SYS_fchmod) {
		memcpy(call->arg, notif->data.args, sizeof(call->arg));
		fetch(loop, notif->id);
		return;
	}
	call->row = notif->data.nr == SYS_chdir    ? &row_chdir
		    : notif->data.nr == SYS_execve ? &row_execve
						   : &row_execveat;
	memcpy(call->arg, notif->data.args, sizeof(call->arg));
	call->path_count = 1;
	len = memory_copy_string(&memory_of_process, call->tid, call->arg[call->row == &row_execveat],
				 call->path[0].text, PATH_MAX, -ENAMETOOLONG);
	if (!call->task || len < 0) {
		reply(loop, notif->id, -EFAULT, false);
		return;
	}
	call->path[0].len = (size_t)len;
	call->outcome.fd = -1;
	r = call->row == &row_chdir ? judge_chdir(loop) : judge_exec(loop);
	if (r == 0 && call->outcome.kind == OUTCOME_CONTINUE) {
		reply(loop, notif->id, 0, true);
		return;
	}
	if (r == 0)
		r = trace_start_call(loop->tracer, call);
	if (r < 0)
		reply(loop, notif->id, r, false);
	exec_plan_free(call->outcome.exec_plan); /* unless the tracer has taken it */
}

/* True while there are processes. */
static bool reap(struct loop *loop, pid_t guest)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0)
		if (!trace_on_wait_status(loop->tracer, pid, status) && pid == guest)
			loop->rig->status = status;
	return pid == 0;
}

static pid_t start(void (*guest)(void), int *ret_listener)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execveat, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_chdir, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fchmod, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(*code), code};
	unsigned long killable = filter_can_wait_killable() ? SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV : 0;
	volatile int *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	ck_assert(shared != MAP_FAILED);
	*shared = -1;
	pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0L, 0L, 0L, 0L);
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
			_exit(99);
		*shared = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
				       SECCOMP_FILTER_FLAG_NEW_LISTENER | killable, &program);
		if (*shared < 0 || unshare(CLONE_FILES) < 0)
			_exit(98);
		guest();
		_exit(0);
	}
	while (*shared < 0)
		(void)usleep(1000);
	*ret_listener = *shared;
	return pid;
}

void rig_run(struct rig *rig, void (*guest)(void))
{
	_cleanup_free_ struct loop *loop = calloc(1, sizeof(*loop));
	struct audit_header header = {.run_id = "rig",
				      .argv = (const char *const[]){"rig", NULL},
				      .policy_name = "rig",
				      .policy_sha256 = "",
				      .workdir = "/",
				      .layers_json = "{}",
				      .records_allowed_calls = true};
	struct audit_trailer trailer = {.status = "ok", .exit_code = 0};
	uint64_t end = io_read_clock_ns() + RIG_TIMEOUT_NS;
	uint64_t unlisted;
	pid_t pid;

	ck_assert_ptr_nonnull(loop);
	ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	loop->rig = rig;
	loop->sandbox.target_memory = &memory_of_process;
	loop->sandbox.ptrace_attachments.run_may_write_memory = rig->memory_may_be_written;
	ck_assert_int_eq(audit_open_log(NULL, &header, &loop->sandbox.audit), 0);
	ck_assert_int_eq(task_table_create(getpid(), NULL, -1, &loop->sandbox.tree), 0);
	loop->sandbox.denials = denials_create();
	ck_assert_ptr_nonnull(loop->sandbox.denials);
	ck_assert_int_eq(tracer_create(&loop->sandbox, &loop->tracer), 0);
	pid = start(guest, &loop->sandbox.listener_fd);
	while (reap(loop, pid) && !rig->timed_out) {
		struct pollfd poller = {.fd = loop->sandbox.listener_fd, .events = POLLIN};
		struct seccomp_notif notif = {0};

		if (poll(&poller, 1, tracer_count_pending(loop->tracer) ? 0 : 1) == 1 && poller.revents & POLLIN &&
		    ioctl(loop->sandbox.listener_fd, SECCOMP_IOCTL_NOTIF_RECV, &notif) == 0)
			dispatch(loop, &notif);
		rig->timed_out = io_read_clock_ns() > end;
	}
	if (rig->timed_out)
		(void)kill(pid, SIGKILL);
	rig->pending = tracer_count_pending(loop->tracer);
	(void)close(loop->sandbox.listener_fd);
	tracer_free(loop->tracer);
	task_table_free(loop->sandbox.tree);
	(void)denials_get_list(loop->sandbox.denials, &rig->denials, &unlisted);
	denials_free(loop->sandbox.denials);
	ck_assert_int_eq(audit_close(loop->sandbox.audit, &trailer), 0);
}
