/* From an executable file to the plan of its exec: the "#!" chain, the ELF at its end, its loader. */
#include "syscalls/exec/judge.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/elf-machine.h"
#include "base/fdinfo.h"
#include "syscalls/call/native.h"
#include "syscalls/exec/args.h"
#include "syscalls/exec/elf.h"
#include "syscalls/exec/execve.h"
#include "syscalls/exec/shebang.h"
#include "syscalls/file/resolve.h"

#include "base/banned.h"

#define SCRIPTS_MAX 5 /* exec_binprm(): a sixth "#!" is ELOOP */
#define CULPRIT 1u    /* call->path/place slot for what the program's file names in turn: interpreters */

/* One exec on its way to a plan. */
struct attempt {
	struct call *call;
	struct exec_plan *plan;
	struct exec_args args;
	char name[PATH_MAX + 32]; /* the kernel's bprm->filename */
	struct exec_file file;    /* the one under the hand */
	unsigned at;              /* its slot in the call */
};

/* ---- one file ---- */

static int pin_status(struct call *call, int pin, struct stat *ret_st)
{
	if (fstat(pin, ret_st) < 0)
		call_fail(call, -errno);
	else if (!S_ISREG(ret_st->st_mode))
		call_fail(call, S_ISLNK(ret_st->st_mode) ? -ELOOP : -EACCES);
	else
		return 0;
	return -1;
}

/* The unknown file behind a pin, which is left to the caller. A readable descriptor, or -1 with the outcome set. */
static int open_pinned(struct call *call, int pin)
{
	int fd;

	/* Also sees a noexec mount. glibc emulates the flags of faccessat(3) by uid, so the system call itself. */
	if (syscall(SYS_faccessat2, pin, "", X_OK, AT_EMPTY_PATH | AT_EACCESS) < 0) {
		call_fail(call, -errno);
		return -1;
	}
	/* O_NONBLOCK: somebody's lease on the file must not hold the receiver up. */
	fd = open(file_link(pin).path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 && errno == EACCES)
		call_refuse(call, EACCES, call->decision.rule, "not_readable");
	else if (fd < 0)
		call_fail(call, -errno);
	return fd;
}

struct status_question {
	struct stat *st;
	int asked; /* a directory's descriptor: see view_ask */
};

static int ask_status(void *ctx, int dirfd, const char *path, int at_flags)
{
	struct status_question *question = ctx;

	question->asked = dirfd;
	return fstatat(dirfd, path, question->st, at_flags | AT_NO_AUTOMOUNT) < 0 ? -errno : 0;
}

int exec_ask(struct call *call, unsigned i, unsigned at_flags, struct exec_file *ret_file)
{
	struct exec_file *file = ret_file;
	struct status_question status = {.st = &file->st, .asked = -1};
	const struct file_question question = {.ask = ask_status, .ctx = &status};
	const struct place *place = &call->place[i];
	int still = view_still_fd(call->sandbox->view);

	file->fd = -1;
	file->reached = false;
	if (file_ask(call, i, POLICY_EXEC, at_flags, &question) < 0)
		return -1;
	file->known = exec_cache_program(place, &file->st, &file->program);
	/* Then its name below the program's root is this very text, and has no link in it. */
	file->reached =
		file->known && still >= 0 && status.asked == still && strcmp(call->path[i].text, place->virt) == 0;
	return file->known;
}

int exec_open(struct call *call, unsigned i, int pin, struct exec_file *ret_file)
{
	_cleanup_close_ int held = pin;
	struct exec_file *file = ret_file;

	file->fd = -1;
	file->reached = false;
	if (pin_status(call, held, &file->st) < 0)
		return -1;
	file->known = exec_cache_program(&call->place[i], &file->st, &file->program);
	if (!file->known)
		file->fd = open_pinned(call, held);
	return file->known || file->fd >= 0 ? 0 : -1;
}

/* Makes `text` (an interpreter) a path of the call's. 0, or -1 with the outcome set. */
static int name_culprit(struct call *call, const char *text)
{
	struct call_path *path = &call->path[CULPRIT];

	if (!*text) {
		call_fail(call, -EACCES); /* the kernel looks an empty interpreter up as the cwd, a directory */
		return -1;
	}
	(void)snprintf(path->text, sizeof(path->text), "%s", text); /* both are bounded by PATH_MAX */
	path->len = strlen(path->text);
	path->dirfd = AT_FDCWD;
	path->null = false;
	call->paths = 2; /* the record names it as path2 */
	return 0;
}

/* Pins what it names for the calling task, judged for `want`. A descriptor, or -1: outcome set. */
static int pin_culprit(struct call *call, unsigned want)
{
	return file_pin(call, CULPRIT, want, VIEW_FOLLOW, O_PATH | O_CLOEXEC);
}

/* The file of a script's interpreter, likewise. 0, or -1 with the outcome set. */
static int open_interpreter(struct call *call, const char *text, struct exec_file *ret_file)
{
	int r = name_culprit(call, text), pin;

	if (r == 0)
		r = exec_ask(call, CULPRIT, 0, ret_file);
	if (r != 0)
		return r > 0 ? 0 : r;
	pin = pin_culprit(call, POLICY_EXEC);
	return pin < 0 ? -1 : exec_open(call, CULPRIT, pin, ret_file);
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
	struct exec_file *file = &attempt->file;
	char head[SHEBANG_HEAD];
	struct shebang line;
	int r;

	if (file->known)
		return 0;
	r = read_head(file->fd, head);
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
	cleanup_close(&file->fd);
	if (open_interpreter(call, line.interp, file) < 0)
		return -1;
	attempt->at = CULPRIT;
	attempt->plan->detour |= !file->reached && !native_same(call, AT_FDCWD, line.interp, 0, &file->st);
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

/* Finds and judges the loader: nothing is known of it, or it has changed. 0, or -1 with the outcome set. */
static int find_loader(struct call *call, const char *interp, struct exec_loader *ret_loader)
{
	_cleanup_close_ int pin = name_culprit(call, interp) < 0 ? -1 : pin_culprit(call, loader_right(interp));
	_cleanup_close_ int fd = -1;
	struct elf_facts own = {0};
	struct stat st;
	int r;

	if (pin < 0 || pin_status(call, pin, &st) < 0)
		return -1;
	fd = open_pinned(call, pin);
	if (fd < 0)
		return -1;
	r = elf_inspect(fd, &own);
	if (r == 0)
		r = exec_image_of(fd, &st, &ret_loader->image);
	if (r < 0) {
		if (r == -ENOEXEC || r == -ENOTSUP)
			r = st.st_size < (off_t)sizeof(Elf64_Ehdr) ? -EIO : -ELIBBAD;
		call_fail(call, r);
		return -1;
	}
	/* No detour can change what PT_INTERP says, so the kernel must get there by itself. */
	if (!native_same(call, AT_FDCWD, interp, 0, &st)) {
		call_refuse(call, ENOEXEC, call->decision.rule, "loader_not_reachable");
		return -1;
	}
	ret_loader->page = own.first_vaddr;
	exec_cache_keep_loader(call, &call->place[CULPRIT], interp, &st, ret_loader);
	return 0;
}

/* What the record says of an approved exec: the program named, the first rule, not the loader's. */
struct said {
	struct place place;
	struct call_path path;
	unsigned paths;
};

static int judge_loader(struct attempt *attempt, const char *interp)
{
	struct call *call = attempt->call;
	struct exec_plan *plan = attempt->plan;
	_cleanup_free_ struct said *said = NULL;
	struct exec_loader loader;

	if (!exec_cache_loader(interp, &loader)) {
		said = malloc(sizeof(*said));
		if (!said) {
			call_fail(call, -ENOMEM);
			return -1;
		}
		*said = (struct said){call->place[CULPRIT], call->path[CULPRIT], call->paths};
		if (find_loader(call, interp, &loader) < 0)
			return -1;
		call->place[CULPRIT] = said->place;
		call->path[CULPRIT] = said->path;
		call->paths = said->paths;
	}
	plan->has_interp = true;
	plan->interp = loader.image;
	plan->interp_page = loader.page;
	return 0;
}

static int judge_elf(struct attempt *attempt)
{
	struct call *call = attempt->call;
	struct exec_file *file = &attempt->file;
	struct elf_facts facts = {0};
	int r;

	attempt->plan->image.dev = file->st.st_dev;
	attempt->plan->image.ino = file->st.st_ino;
	if (file->known)
		return file->program.dynamic ? judge_loader(attempt, file->program.interp) : 0;
	r = elf_inspect(file->fd, &facts);
	if (r == -ENOTSUP) {
		call_refuse(call, ENOEXEC, NULL, "foreign_binary");
		return -1;
	}
	if (r < 0) {
		call_fail(call, r);
		return -1;
	}
	exec_cache_keep_program(call, &call->place[attempt->at], &file->st, &facts);
	return facts.dynamic ? judge_loader(attempt, facts.interp) : 0;
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
	if (r < 0 || name_image(attempt) < 0 || judge_elf(attempt) < 0 || plan_detour(attempt) < 0)
		return -1;
	attempt->call->decision = first;
	return 0;
}

void exec_judge(struct call *call, const struct exec_file *file, unsigned flags)
{
	_cleanup_free_ struct attempt *attempt = calloc(1, sizeof(*attempt));

	if (!attempt || !(attempt->plan = calloc(1, sizeof(*attempt->plan)))) {
		if (file->fd >= 0)
			(void)close(file->fd); /* read-only: nothing to lose */
		call_fail(call, -ENOMEM);
		return;
	}
	attempt->call = call;
	attempt->file = *file;
	native_exec_name(call, attempt->name, sizeof(attempt->name));
	attempt->plan->detour =
		!file->reached && !native_same(call, call->path[0].dirfd, call->path[0].text, flags, &file->st);
	if (judge_all(attempt) == 0) {
		call->outcome.kind = OUTCOME_EXEC;
		call->outcome.exec = steal_pointer(&attempt->plan);
	}
	exec_args_done(&attempt->args);
	exec_plan_free(attempt->plan);
	cleanup_close(&attempt->file.fd);
}
