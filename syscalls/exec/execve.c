/*
 * execve(2) and execveat(2): judges every file that the kernel will load, and makes the plan of the exec. The files are
 * the program, the interpreters of its "#!" chain, the ELF file at the end of the chain, and its loader.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/proc/fdinfo.h"
#include "syscalls/call/native.h"
#include "syscalls/exec/arguments.h"
#include "syscalls/exec/asked.h"
#include "syscalls/exec/elf.h"
#include "syscalls/exec/execve.h"
#include "syscalls/exec/find.h"
#include "syscalls/exec/fixed-name.h"
#include "syscalls/exec/shebang.h"
#include "syscalls/file/resolve.h"
#include "syscalls/table/handlers.h"

#define EXEC_SCRIPTS_PER_CHAIN_MAX 5 /* exec_binprm() fails with ELOOP at a sixth "#!" */

/* The state of one execve while the supervisor judges it. */
struct exec_attempt {
	struct call *call;
	struct exec_plan *plan; /* what is executed if all is allowed */
	struct exec_args args;
	char file_name[PATH_MAX + 32]; /* the name that the kernel gives to the exec (bprm->filename) */
	struct exec_file file;    /* the program; then each interpreter of the chain */
	unsigned path_index;              /* the file's index in call->path and call->resolved_place */
	struct place
		/*
		 * copies of resolved_place[1], path[1] and path_count of the call, which judging the loader overwrites
		 */
		saved_place;
	struct call_path saved_path;       /* the path argument, while path[0] is replaced */
	unsigned path_count_before_loader; /* call->path_count before the loader's path was added */
};

/* ---- following the "#!" lines of scripts ---- */

/* Follows one "#!". 1: its interpreter is in attempt->file; 0: the file is not a script; -1: the outcome is set. */
static int exec_follow_shebang(struct exec_attempt *attempt, unsigned depth)
{
	struct call *call = attempt->call;
	struct exec_file *file = &attempt->file;
	char head[SHEBANG_HEAD_BYTES] = {0};
	struct shebang line;
	int r;

	if (file->is_from_cache)
		return 0;
	r = pread(file->fd, head, SHEBANG_HEAD_BYTES, 0) < 0 ? -errno : 0;
	if (r == 0 && !shebang_has_mark(head))
		return 0;
	if (r == 0)
		r = shebang_parse(head, &line);
	if (r == 0)
		r = exec_args_add_script(&attempt->args, &line, attempt->file_name);
	if (r != 0)
		return call_fail(call, r);
	cleanup_close(&file->fd);
	if (exec_set_interpreter_path(call, line.interp) < 0 ||
	    exec_find_file_by_path(call, EXEC_INTERP_PATH_INDEX, 0, file) < 0)
		return -1;
	attempt->path_index = EXEC_INTERP_PATH_INDEX;
	attempt->plan->needs_restart |=
		!file->is_what_kernel_opens && !native_path_leads_to_file(call, AT_FDCWD, line.interp, 0, &file->st);
	/* A question shows one interpreter. */
	if (call->effect_check && depth > 0)
		return call_refuse(call, EACCES, NULL, "exec_denied_by_rule");
	if (depth < EXEC_SCRIPTS_PER_CHAIN_MAX)
		return 1;
	return call_fail(call, -ELOOP);
}

/* ---- the ELF file at the end of the chain ---- */

/*
 * Whether the kernel finds the file at resolved_place[i] by `name`, whatever the run does meanwhile. False without a
 * mount namespace, because names then mean other files to the program than here.
 */
static bool exec_file_path_is_immutable(const struct call *call, unsigned i, const char *name)
{
	return view_is_attached(call->sandbox->view) &&
	       exec_path_is_immutable(call->sandbox->policy, name, call->resolved_place[i].virt);
}

/*
 * The right that a loader needs. It runs, so it needs POLICY_EXEC. For the ABI's loaders POLICY_READ is enough: nearly
 * every program names one, and a policy that grants the program need not list it.
 */
static unsigned exec_get_right_required_of_loader(const char *interp)
{
	return exec_cache_is_system_loader(interp) ? POLICY_READ : POLICY_EXEC;
}

/* Resolves, judges and inspects a loader that is not in the cache. 0, or -1 with the outcome set. */
static int exec_resolve_loader(struct call *call, const char *interp, struct exec_loader *ret_loader)
{
	_cleanup_close_ int pin =
		exec_set_interpreter_path(call, interp) < 0
			? -1
			: file_pin_path(call, EXEC_INTERP_PATH_INDEX, exec_get_right_required_of_loader(interp),
					VIEW_FOLLOW_LAST_LINK, O_PATH | O_CLOEXEC);
	_cleanup_close_ int fd = -1;
	struct elf_facts own = {0};
	struct stat st;
	int r;

	if (pin < 0 || exec_stat_pinned_file(call, pin, &st) < 0)
		return -1;
	fd = exec_open_pinned(call, pin);
	if (fd < 0)
		return -1;
	r = elf_inspect_file(fd, &own);
	if (r == 0)
		r = exec_image_read_identity(fd, &st, &ret_loader->image);
	if (r < 0) {
		if (r == -ENOEXEC || r == -ENOTSUP)
			r = st.st_size < (off_t)sizeof(Elf64_Ehdr) ? -EIO : -ELIBBAD;
		return call_fail(call, r);
	}
	/* PT_INTERP cannot be replaced, so the kernel must find the loader by this path. */
	if (!native_path_leads_to_file(call, AT_FDCWD, interp, 0, &st))
		return call_refuse(call, ENOEXEC, call->decision.rule, "loader_not_reachable");
	ret_loader->first_page_offset = own.first_vaddr;
	ret_loader->entry_offset = own.entry;
	ret_loader->path_is_immutable = exec_file_path_is_immutable(call, EXEC_INTERP_PATH_INDEX, interp);
	memcpy(ret_loader->virtual_path, call->resolved_place[EXEC_INTERP_PATH_INDEX].virt,
	       call->resolved_place[EXEC_INTERP_PATH_INDEX].virt_len + 1);
	exec_cache_add_loader(call, &call->resolved_place[EXEC_INTERP_PATH_INDEX], interp, &st, ret_loader);
	return 0;
}

/* Judges the program's dynamic loader (PT_INTERP). 0, or -1 with the outcome set. */
static int exec_judge_loader(struct exec_attempt *attempt, const char *interp)
{
	struct call *call = attempt->call;
	struct exec_plan *plan = attempt->plan;
	struct exec_loader loader;

	if (exec_cache_find_loader(interp, &loader)) {
		plan->path_proves_loaded_files = plan->path_proves_loaded_files && loader.path_is_immutable;
	} else {
		plan->path_proves_loaded_files = false; /* the file may be one that the run can write */
		/* Judging the loader overwrites the second path, which the record needs for the interpreter. */
		attempt->saved_place = call->resolved_place[EXEC_INTERP_PATH_INDEX];
		attempt->saved_path = call->path[EXEC_INTERP_PATH_INDEX];
		attempt->path_count_before_loader = call->path_count;
		if (exec_resolve_loader(call, interp, &loader) < 0)
			return -1;
		call->resolved_place[EXEC_INTERP_PATH_INDEX] = attempt->saved_place;
		call->path[EXEC_INTERP_PATH_INDEX] = attempt->saved_path;
		call->path_count = attempt->path_count_before_loader;
	}
	plan->has_loader = true;
	plan->loader_image = loader.image;
	plan->loader_first_page_offset = loader.first_page_offset;
	plan->loader_entry_offset = loader.entry_offset;
	plan->loader_path = strdup(interp);
	plan->loader_virtual_path = strdup(loader.virtual_path);
	return plan->loader_path && plan->loader_virtual_path ? 0 : call_fail(call, -ENOMEM);
}

/* Judges an ELF file and its loader. 0, or -1 with the outcome set. */
static int exec_judge_elf(struct exec_attempt *attempt)
{
	struct call *call = attempt->call;
	struct exec_file *file = &attempt->file;
	struct elf_facts facts = {0};
	int r;

	attempt->plan->image.dev = file->st.st_dev;
	attempt->plan->image.ino = file->st.st_ino;
	if (file->is_from_cache) {
		attempt->plan->layout = file->program.layout;
		attempt->plan->path_proves_loaded_files = attempt->path_index == 0 && !attempt->plan->needs_restart &&
						   exec_file_path_is_immutable(call, 0, attempt->file_name);
		return file->program.is_dynamic ? exec_judge_loader(attempt, file->program.interp) : 0;
	}
	r = elf_inspect_file(file->fd, &facts);
	if (r == -ENOTSUP)
		return call_refuse(call, ENOEXEC, NULL, "foreign_binary");
	if (r < 0)
		return call_fail(call, r);
	exec_cache_add_program(call, &call->resolved_place[attempt->path_index], &file->st, &facts);
	return facts.is_dynamic ? exec_judge_loader(attempt, facts.interp) : 0;
}

/* ---- making the plan of the exec ---- */

/* Plans the names of the exec. Called before the loader is judged, which overwrites the second path. */
static int exec_plan_file_names(struct exec_attempt *attempt)
{
	const struct place *place = &attempt->call->resolved_place[attempt->path_index];
	struct exec_plan *plan = attempt->plan;
	char host[PATH_MAX];
	int r = view_get_supervisor_path(place, host, sizeof(host));

	if (r < 0)
		return call_fail(attempt->call, r);
	plan->host_path = strdup(host);
	plan->virtual_path = strndup(place->virt, place->virt_len);
	plan->execfn = strdup(attempt->file_name);
	if (!plan->host_path || !plan->virtual_path || !plan->execfn)
		return call_fail(attempt->call, -ENOMEM);
	return 0;
}

/*
 * Plans the arguments of a script: a restarted call runs the last interpreter, with the arguments the kernel would
 * make.
 */
static int exec_plan_script_arguments(struct exec_attempt *attempt)
{
	struct call *call = attempt->call;
	struct fdinfo info;
	int r = 0;

	if (!attempt->plan->needs_restart || attempt->path_index == 0)
		return 0;
	/* ENOENT: the script's descriptor is close-on-exec, so its interpreter could not open it. */
	if (!strncmp(attempt->file_name, "/dev/fd/", 8) &&
	    (fdinfo_read(call->tid, call->path[0].dirfd, &info) < 0 || info.open_flags & O_CLOEXEC))
		r = call->path[0].dirfd >= 0 && call->path[0].text[0] != '/' ? -ENOENT : 0;
	if (r == 0)
		r = exec_args_move_to_array(&attempt->args, &attempt->plan->argv_head);
	return r < 0 ? call_fail(call, r) : 0;
}

/* Judges the file, and each interpreter that a "#!" names. 0, or -1 with the outcome set. */
static int exec_judge_interpreter_chain(struct exec_attempt *attempt)
{
	struct call *call = attempt->call;
	struct policy_decision first = call->decision;
	const unsigned argv = call->row->arg[0].kind == ARG_DIRFD ? 2 : 1; /* which argument */
	int r;

	for (unsigned depth = 0; (r = exec_follow_shebang(attempt, depth)) > 0; depth++)
		;
	if (r < 0 || exec_plan_file_names(attempt) < 0 || exec_judge_elf(attempt) < 0)
		return -1;
	if (call->effect_check)
		r = exec_asked_create(call, call->arg[argv], call->arg[argv + 1], &attempt->args,
				      &attempt->plan->asked);
	if (r < 0)
		return call_fail(call, r);
	if (exec_plan_script_arguments(attempt) < 0)
		return -1;
	call->decision = first;
	return 0;
}

/*
 * Judges all files that the kernel will load for the program at place 0. Sets the outcome: OUTCOME_EXEC with a plan, or
 * an error. Takes the file's descriptor. flags: execveat's.
 */
static void exec_judge_files(struct call *call, const struct exec_file *file, unsigned flags)
{
	_cleanup_free_ struct exec_attempt *attempt = calloc(1, sizeof(*attempt));

	if (!attempt || !(attempt->plan = calloc(1, sizeof(*attempt->plan)))) {
		cleanup_close(&file->fd);
		call_fail(call, -ENOMEM);
		return;
	}
	attempt->call = call;
	attempt->file = *file;
	native_get_exec_path(call, attempt->file_name, sizeof(attempt->file_name));
	attempt->plan->needs_restart =
		!file->is_what_kernel_opens &&
		!native_path_leads_to_file(call, call->path[0].dirfd, call->path[0].text, flags, &file->st);
	if (exec_judge_interpreter_chain(attempt) == 0) {
		call->outcome.kind = OUTCOME_EXEC;
		call->outcome.exec_plan = steal_pointer(&attempt->plan);
	}
	exec_args_release(&attempt->args);
	exec_plan_free(attempt->plan);
	cleanup_close(&attempt->file.fd);
}

/* ---- handlers of execve(2) and execveat(2) ---- */

/*
 * fexecve(3): pins a descriptor's object. An object without a virtual name (memfd, deleted file) is refused, because
 * rules are about names.
 */
static int exec_pin_fd(struct call *call)
{
	struct stat st;
	_cleanup_close_ int pin = -1;

	if (call->path[0].dirfd == AT_FDCWD)
		return call_fail(call, -EACCES); /* the cwd is a directory */
	pin = file_pin_fd(call, call->path[0].dirfd, POLICY_EXEC);
	if (pin < 0)
		return -1;
	if (fstat(pin, &st) < 0 || !call->resolved_place[0].mount || call->resolved_place[0].is_magic_link ||
	    !view_path_leads_to_object(call->sandbox->view, call->resolved_place[0].virt, &st))
		return call_refuse(call, EACCES, NULL, "object_without_name");
	return steal_fd(&pin);
}

/* Judges an exec: finds the file, then judges what is loaded with it. Sets the outcome. */
static void exec_find_and_judge(struct call *call, unsigned flags)
{
	bool by_fd = flags & AT_EMPTY_PATH && call->path[0].len == 0 && !call->path[0].error;
	int pin = by_fd ? exec_pin_fd(call) : -1;
	struct exec_file file;

	if (by_fd ? pin < 0 || exec_open_file(call, 0, pin, &file) < 0
		  : exec_find_file_by_path(call, 0, flags & (AT_SYMLINK_NOFOLLOW | AT_EXECVE_CHECK), &file) < 0)
		return;
	if (!(flags & AT_EXECVE_CHECK)) {
		exec_judge_files(call, &file, flags);
		return;
	}
	cleanup_close(&file.fd);
	call_return(call, 0);
}

void sys_execve(struct call *call)
{
	exec_record_arguments(call, call->arg[1]);
	exec_find_and_judge(call, 0);
}

void sys_execveat(struct call *call)
{
	unsigned flags = call_get_uint(call, 4);

	if (flags & ~(unsigned)(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | AT_EXECVE_CHECK)) {
		call_fail(call, -EINVAL);
		return;
	}
	exec_record_arguments(call, call->arg[2]);
	exec_find_and_judge(call, flags);
}
