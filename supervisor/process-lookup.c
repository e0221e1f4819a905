/* Finds the program's file by its name, inside the run. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "supervisor/environment.h"
#include "supervisor/process-private.h"

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

enum lookup_result {
	LOOKUP_FOUND,   /* executable and granted */
	LOOKUP_REFUSED, /* exists in the view or on the host, but is not granted or not executable */
	LOOKUP_MISSING,
};

/* Whether the host has such an executable, which the view lacks: no typing error. Redirects are ignored. */
static bool lookup_exists_on_host(const struct view *view, const char *path)
{
	struct stat st;

	return path[0] == '/' && view_stat_host_path(view, path, 0, &st) == 0 && S_ISREG(st.st_mode) &&
	       (st.st_mode & 0111);
}

static enum lookup_result lookup_judge_path(const struct process *process, const char *path)
{
	const struct policy *policy = process->options->policy;
	struct place place;
	struct stat st;
	_cleanup_close_ int fd = -1;
	int error;

	error = view_walk_path(process->view, NULL, policy_get_settings(policy)->workdir, path, VIEW_FOLLOW, &place);
	if (error == 0) {
		fd = view_open_place(&place, O_PATH | O_CLOEXEC, 0);
		error = fd < 0 || fstat(fd, &st) < 0 ? -1 : 0;
	}
	if (error != 0)
		return lookup_exists_on_host(process->view, path) ? LOOKUP_REFUSED : LOOKUP_MISSING;
	if (S_ISDIR(st.st_mode))
		return strchr(process->options->argv[0], '/') ? LOOKUP_REFUSED : LOOKUP_MISSING; /* as execvp(3) does */
	if (!S_ISREG(st.st_mode) || !(st.st_mode & 0111))
		return LOOKUP_REFUSED;
	if (policy_decide_access(policy, place.virt, place.virt_len, POLICY_EXEC).verdict == VERDICT_DENY)
		return LOOKUP_REFUSED;
	return LOOKUP_FOUND;
}

static bool lookup_set_program(struct process *process, const char *path)
{
	return snprintf(process->program, sizeof(process->program), "%s", path) < (int)sizeof(process->program);
}

/* Sets the program that a version manager's shim would start. It may be granted, although the shim is not. */
static bool lookup_use_version_manager_shim(struct process *process)
{
	const char *preferred = process->options->version_manager_program;

	return preferred && lookup_judge_path(process, preferred) == LOOKUP_FOUND &&
	       lookup_set_program(process, preferred);
}

/* Looks the program up in the view, as execvp(3) does. Sets the program that was found, else the first refused one. */
static enum lookup_result lookup_search_path_env(struct process *process, const char *path_env)
{
	const char *name = process->options->argv[0], *at = path_env ? path_env : DEFAULT_PATH, *end;
	enum lookup_result best = LOOKUP_MISSING, result;
	char path[PATH_MAX];

	for (;; at = end + 1) {
		end = strchrnul(at, ':');
		/* An empty entry means the working directory. */
		if (snprintf(path, sizeof(path), "%.*s/%s", end > at ? (int)(end - at) : 1, end > at ? at : ".",
			     name) < (int)sizeof(path)) {
			result = lookup_judge_path(process, path);
			if (result != LOOKUP_MISSING && best == LOOKUP_MISSING && lookup_set_program(process, path))
				best = result;
			if (result == LOOKUP_FOUND && lookup_set_program(process, path))
				return LOOKUP_FOUND;
			if (result == LOOKUP_REFUSED && lookup_use_version_manager_shim(process))
				return LOOKUP_FOUND;
		}
		if (*end == '\0')
			break;
	}
	return best == LOOKUP_MISSING && lookup_use_version_manager_shim(process) ? LOOKUP_FOUND : best;
}

/* A program that is started in place of a shim gets its own path as argv[0], as from the shim: python needs that. */
static int process_copy_argv(struct process *process)
{
	const struct process_options *options = process->options;
	size_t count = 0;

	while (options->argv[count])
		count++;
	process->argv = calloc(count + 1, sizeof(*process->argv));
	if (!process->argv)
		return process_fail(process, "out_of_memory", "no memory for the arguments");
	memcpy(process->argv, options->argv, count * sizeof(*process->argv));
	if (options->version_manager_program && strcmp(process->program, options->version_manager_program) == 0)
		process->argv[0] = process->program;
	return 0;
}

int process_find_program(struct process *process)
{
	const char *name = process->options->argv[0], *path_env = environment_get_value(process->envp, "PATH");
	bool is_path = strchr(name, '/') != NULL; /* a path is relative to the virtual workdir */
	enum lookup_result result = LOOKUP_MISSING;

	if (lookup_set_program(process, name) && name[0] != '\0')
		result = is_path ? lookup_judge_path(process, name) : lookup_search_path_env(process, path_env);
	if (result == LOOKUP_MISSING && is_path)
		return process_set_error(process, RUN_EXIT_NOT_FOUND, "not_found", "%s: not found", name);
	if (result == LOOKUP_MISSING)
		return process_set_error(process, RUN_EXIT_NOT_FOUND, "not_found", "%s: not found in PATH %s", name,
					 path_env ? path_env : "(unset)");
	return process_copy_argv(process);
}
