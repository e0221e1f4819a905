#include "supervisor/lookup.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"

#include "base/banned.h"

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

/* An executable that the host has but the view has not, which is not a typing error. Redirects are ignored. */
static bool lookup_exists_on_host(const struct view *view, const char *path)
{
	struct stat st;

	return path[0] == '/' && view_host_stat(view, path, 0, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0111);
}

static enum lookup_result lookup_judge_path(const struct lookup_options *options, const char *path)
{
	struct place place;
	struct stat st;
	_cleanup_close_ int fd = -1;
	int error;

	error = view_walk(options->view, NULL, policy_workdir(options->policy), path, VIEW_FOLLOW, &place);
	if (error == 0) {
		fd = view_open(&place, O_PATH | O_CLOEXEC, 0);
		error = fd < 0 || fstat(fd, &st) < 0 ? -1 : 0;
	}
	if (error != 0)
		return lookup_exists_on_host(options->view, path) ? LOOKUP_REFUSED : LOOKUP_MISSING;
	if (S_ISDIR(st.st_mode))
		return strchr(options->name, '/') ? LOOKUP_REFUSED : LOOKUP_MISSING; /* as execvp(3) */
	if (!S_ISREG(st.st_mode) || !(st.st_mode & 0111))
		return LOOKUP_REFUSED;
	if (policy_decide(options->policy, place.virt, place.virt_len, POLICY_EXEC).verdict == VERDICT_DENY)
		return LOOKUP_REFUSED;
	return LOOKUP_FOUND;
}

static bool lookup_set_path(char ret_path[PATH_MAX], const char *path)
{
	return snprintf(ret_path, PATH_MAX, "%s", path) < PATH_MAX;
}

/* A version manager's shim is not granted, but the program that it would start may be. */
static bool lookup_set_shim_target(const struct lookup_options *options, char ret_path[PATH_MAX])
{
	return options->preferred && lookup_judge_path(options, options->preferred) == LOOKUP_FOUND &&
	       lookup_set_path(ret_path, options->preferred);
}

static enum lookup_result lookup_search_path_env(const struct lookup_options *options, char ret_path[PATH_MAX])
{
	const char *at = options->path_env ? options->path_env : DEFAULT_PATH, *end;
	enum lookup_result best = LOOKUP_MISSING, result;
	char path[PATH_MAX];

	for (;; at = end + 1) {
		end = strchrnul(at, ':');
		/* An empty entry is the working directory. */
		if (snprintf(path, sizeof(path), "%.*s/%s", end > at ? (int)(end - at) : 1, end > at ? at : ".",
			     options->name) < (int)sizeof(path)) {
			result = lookup_judge_path(options, path);
			if (result != LOOKUP_MISSING && best == LOOKUP_MISSING && lookup_set_path(ret_path, path))
				best = result;
			if (result == LOOKUP_FOUND && lookup_set_path(ret_path, path))
				return LOOKUP_FOUND;
			if (result == LOOKUP_REFUSED && lookup_set_shim_target(options, ret_path))
				return LOOKUP_FOUND;
		}
		if (*end == '\0')
			break;
	}
	return best == LOOKUP_MISSING && lookup_set_shim_target(options, ret_path) ? LOOKUP_FOUND : best;
}

enum lookup_result lookup_program(const struct lookup_options *options, char ret_path[PATH_MAX])
{
	(void)lookup_set_path(ret_path,
			options->name); /* a longer one is cut and then missing, as the kernel's ENAMETOOLONG */
	if (strlen(options->name) >= PATH_MAX || options->name[0] == '\0')
		return LOOKUP_MISSING;
	return strchr(options->name, '/') ? lookup_judge_path(options, options->name)
					  : lookup_search_path_env(options, ret_path);
}
