/* From an executable file to the plan of its exec: the "#!" chain, the ELF at its end, its loader. */
#include "syscalls/exec-judge.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/elf-machine.h"
#include "syscalls/elf.h"
#include "syscalls/exec-args.h"
#include "syscalls/exec.h"
#include "syscalls/fdinfo.h"
#include "syscalls/file.h"
#include "syscalls/native.h"
#include "syscalls/shebang.h"

#include "base/banned.h"

#define SCRIPTS_MAX 5 /* exec_binprm(): a sixth "#!" is ELOOP */
#define CULPRIT 1u    /* call->path/place slot for what the program's file names in turn: interpreters */

/* One exec on its way to a plan. */
struct attempt {
	struct call *call;
	struct exec_plan *plan;
	struct exec_args args;
	char name[PATH_MAX + 32]; /* the kernel's bprm->filename */
	struct stat st;           /* of the file under the hand */
	unsigned at;              /* its slot in the call */
	int fd;                   /* readable, owned */
};

/* ---- one file ---- */

int exec_open(struct call *call, int pin, struct stat *ret_st)
{
	_cleanup_close_ int held = pin;
	int fd;

	if (fstat(held, ret_st) < 0) {
		call_fail(call, -errno);
		return -1;
	}
	if (!S_ISREG(ret_st->st_mode)) {
		call_fail(call, S_ISLNK(ret_st->st_mode) ? -ELOOP : -EACCES);
		return -1;
	}
	/* Also sees a noexec mount. glibc emulates the flags of faccessat(3) by uid, so the system call itself. */
	if (syscall(SYS_faccessat2, held, "", X_OK, AT_EMPTY_PATH | AT_EACCESS) < 0) {
		call_fail(call, -errno);
		return -1;
	}
	/* O_NONBLOCK: somebody's lease on the file must not hold the receiver up. */
	fd = open(file_link(held).path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd >= 0)
		return fd;
	if (errno == EACCES)
		call_refuse(call, EACCES, call->decision.rule, "not_readable");
	else
		call_fail(call, -errno);
	return -1;
}

/* Pins and opens what `text` (an interpreter) names for the calling task, judged for `want`. */
static int open_named(struct call *call, const char *text, unsigned want, struct stat *ret_st)
{
	struct call_path *path = &call->path[CULPRIT];
	int pin;

	if (!*text) {
		call_fail(call, -EACCES); /* the kernel looks an empty interpreter up as the cwd, a directory */
		return -1;
	}
	(void)snprintf(path->text, sizeof(path->text), "%s", text); /* both are bounded by PATH_MAX */
	path->len = strlen(path->text);
	path->dirfd = AT_FDCWD;
	path->null = false;
	call->paths = 2; /* the record names it as path2 */
	pin = file_pin(call, CULPRIT, want, VIEW_FOLLOW, O_PATH | O_CLOEXEC);
	return pin < 0 ? -1 : exec_open(call, pin, ret_st);
}

/* ---- the chain of "#!" ---- */

static int read_head(int fd, char head[SHEBANG_HEAD])
{
	ssize_t got;

	memset(head, 0, SHEBANG_HEAD);
	got = pread(fd, head, SHEBANG_HEAD, 0);
	return got < 0 ? -errno : 0;
}

/* One step: 0 when the file is no script, 1 when its interpreter took its place, -1 with the outcome set. */
static int follow_shebang(struct attempt *attempt, unsigned depth)
{
	struct call *call = attempt->call;
	char head[SHEBANG_HEAD];
	struct shebang line;
	int r = read_head(attempt->fd, head);

	if (r == 0 && !shebang_is(head))
		return 0;
	if (r == 0)
		r = shebang_parse(head, &line);
	if (r == 0)
		r = exec_args_script(&attempt->args, &line, attempt->name);
	if (r != 0) {
		call_fail(call, r);
		return -1;
	}
	cleanup_close(&attempt->fd);
	attempt->fd = open_named(call, line.interp, POLICY_EXEC, &attempt->st);
	if (attempt->fd < 0)
		return -1;
	attempt->at = CULPRIT;
	attempt->plan->detour |= !native_same(call, AT_FDCWD, line.interp, 0, &attempt->st);
	if (depth < SCRIPTS_MAX)
		return 1;
	call_fail(call, -ELOOP);
	return -1;
}

/* ---- the ELF at its end ---- */

/*
 * The loader runs first, so it needs EXEC like everything that runs; but a policy that lets a program be executed need not
 * list the system's own loader, which nearly all programs name and which does nothing by itself here: READ is enough.
 */
static unsigned loader_right(const char *interp)
{
	static const char *const own[] = ELF_LOADERS;

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (!strcmp(interp, own[i]))
			return POLICY_READ;
	return POLICY_EXEC;
}

static int judge_loader(struct attempt *attempt, const struct elf_facts *facts)
{
	struct call *call = attempt->call;
	struct exec_plan *plan = attempt->plan;
	struct elf_facts own = {0};
	struct stat st;
	_cleanup_close_ int fd = open_named(call, facts->interp, loader_right(facts->interp), &st);
	int r;

	if (fd < 0)
		return -1;
	r = elf_inspect(fd, &own);
	if (r == 0)
		r = exec_image_of(fd, &st, &plan->interp);
	if (r < 0) {
		call_fail(call, r == -ENOEXEC || r == -ENOTSUP ? -ELIBBAD : r);
		return -1;
	}
	/* No detour can change what PT_INTERP says, so the kernel must get there by itself. */
	if (!native_same(call, AT_FDCWD, facts->interp, 0, &st)) {
		call_refuse(call, ENOEXEC, call->decision.rule, "loader_not_reachable");
		return -1;
	}
	plan->has_interp = true;
	plan->interp_page = own.first_vaddr;
	return 0;
}

static int judge_elf(struct attempt *attempt)
{
	struct call *call = attempt->call;
	struct elf_facts facts = {0};
	int r = elf_inspect(attempt->fd, &facts);

	if (r == -ENOTSUP) {
		call_refuse(call, ENOEXEC, NULL, "foreign_binary");
		return -1;
	}
	if (r < 0) {
		call_fail(call, r);
		return -1;
	}
	attempt->plan->image.dev = attempt->st.st_dev;
	attempt->plan->image.ino = attempt->st.st_ino;
	return facts.dynamic ? judge_loader(attempt, &facts) : 0;
}

/* ---- the plan ---- */

/* Names are taken before the loader is judged, because it uses the same slot of the call. */
static int name_image(struct attempt *attempt)
{
	const struct place *place = &attempt->call->place[attempt->at];
	struct exec_plan *plan = attempt->plan;
	char host[PATH_MAX];
	int r = view_host(place, host, sizeof(host));

	if (r < 0) {
		call_fail(attempt->call, r);
		return -1;
	}
	plan->host = strdup(host);
	plan->virt = strndup(place->virt, place->virt_len);
	plan->execfn = strdup(attempt->name);
	if (!plan->host || !plan->virt || !plan->execfn) {
		call_fail(attempt->call, -ENOMEM);
		return -1;
	}
	return 0;
}

/* What the record says of an approved exec: the program named, the first rule, not the loader's. */
struct said {
	struct policy_decision decision;
	struct place place;
	struct call_path path;
	unsigned paths;
};

static int judge_image(struct attempt *attempt)
{
	struct call *call = attempt->call;
	_cleanup_free_ struct said *said = malloc(sizeof(*said));

	if (!said) {
		call_fail(call, -ENOMEM);
		return -1;
	}
	*said = (struct said){call->decision, call->place[CULPRIT], call->path[CULPRIT], call->paths};
	if (name_image(attempt) < 0 || judge_elf(attempt) < 0)
		return -1;
	call->place[CULPRIT] = said->place;
	call->path[CULPRIT] = said->path;
	call->paths = said->paths;
	return 0;
}

/* A detour runs the last interpreter itself, so the arguments the kernel would have made are made here. */
static int plan_detour(struct attempt *attempt)
{
	struct call *call = attempt->call;
	struct fdinfo info;
	int r = 0;

	if (!attempt->plan->detour || attempt->at == 0)
		return 0;
	/* The kernel refuses a script behind a descriptor that will be gone when its interpreter looks for it. */
	if (!strncmp(attempt->name, "/dev/fd/", 8) &&
	    (fdinfo_read(call->tid, call->path[0].dirfd, &info) < 0 || info.flags & O_CLOEXEC))
		r = call->path[0].dirfd >= 0 && call->path[0].text[0] != '/' ? -ENOENT : 0;
	if (r == 0)
		r = exec_args_take(&attempt->args, &attempt->plan->argv_head);
	if (r < 0) {
		call_fail(call, r);
		return -1;
	}
	return 0;
}

static int judge_all(struct attempt *attempt)
{
	struct policy_decision first = attempt->call->decision;
	int r;

	for (unsigned depth = 0; (r = follow_shebang(attempt, depth)) > 0; depth++)
		;
	if (r < 0 || judge_image(attempt) < 0 || plan_detour(attempt) < 0)
		return -1;
	attempt->call->decision = first;
	return 0;
}

void exec_judge(struct call *call, int fd, const struct stat *st, unsigned flags)
{
	_cleanup_free_ struct attempt *attempt = calloc(1, sizeof(*attempt));

	if (!attempt || !(attempt->plan = calloc(1, sizeof(*attempt->plan)))) {
		(void)close(fd); /* read-only: nothing to lose */
		call_fail(call, -ENOMEM);
		return;
	}
	attempt->call = call;
	attempt->fd = fd;
	attempt->st = *st;
	native_exec_name(call, attempt->name, sizeof(attempt->name));
	attempt->plan->detour = !native_same(call, call->path[0].dirfd, call->path[0].text, flags, st);
	if (judge_all(attempt) == 0) {
		call->outcome.kind = OUTCOME_EXEC;
		call->outcome.exec = steal_pointer(&attempt->plan);
	}
	exec_args_done(&attempt->args);
	exec_plan_free(attempt->plan);
	cleanup_close(&attempt->fd);
}
