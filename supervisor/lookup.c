#include "supervisor/lookup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/io.h"

#define DEFAULT_PATH_ENV_VALUE "/usr/local/bin:/usr/bin:/bin" /* where programs are searched if PATH is unset */

/* Whether the host has this executable, so that its absence in the view is no typing error. Redirects are ignored. */
static bool lookup_exists_on_host(const struct view *view, const char *path)
{
	struct stat st;

	return path[0] == '/' && view_stat_host_path(view, path, 0, &st) == 0 && S_ISREG(st.st_mode) &&
	       (st.st_mode & 0111);
}

static enum lookup_result lookup_judge_path(struct lookup *lookup, const char *path)
{
	struct place place;
	struct stat st;
	_cleanup_close_ int fd = -1;
	int error;

	error = view_walk_path(lookup->view, NULL, policy_get_settings(lookup->policy)->workdir, path,
			       VIEW_FOLLOW_LAST_LINK, &place);
	if (error == 0) {
		fd = view_open_place(&place, O_PATH | O_CLOEXEC, 0);
		error = fd < 0 ? fd : fstat(fd, &st) < 0 ? -errno : 0;
	}
	if (error != 0 && !io_error_means_absent(error)) {
		lookup->error = error;
		return LOOKUP_FAILED;
	}
	if (error != 0)
		return lookup_exists_on_host(lookup->view, path) ? LOOKUP_REFUSED : LOOKUP_MISSING;
	if (S_ISDIR(st.st_mode))
		return strchr(lookup->wanted_name, '/') ? LOOKUP_REFUSED : LOOKUP_MISSING; /* as execvp(3) does */
	if (!S_ISREG(st.st_mode) || !(st.st_mode & 0111))
		return LOOKUP_REFUSED;
	if (policy_decide_access(lookup->policy, place.virt, place.virt_len, POLICY_EXEC).verdict == VERDICT_DENY)
		return LOOKUP_REFUSED;
	return LOOKUP_FOUND;
}

/* Sets lookup->found_path. False: the path is too long. */
static bool lookup_set_program(struct lookup *lookup, const char *path)
{
	return snprintf(lookup->found_path, sizeof(lookup->found_path), "%s", path) < (int)sizeof(lookup->found_path);
}

/* Sets the program that a version manager's shim would start. It may be granted, although the shim is not. */
static bool lookup_use_version_manager_shim(struct lookup *lookup)
{
	const char *preferred = lookup->version_manager_program;

	return preferred && lookup_judge_path(lookup, preferred) == LOOKUP_FOUND &&
	       lookup_set_program(lookup, preferred);
}

/* Looks the program up in the view, as execvp(3) does. Sets the program that was found, else the first refused one. */
static enum lookup_result lookup_search_path_env(struct lookup *lookup)
{
	const char *at = lookup->path_env ? lookup->path_env : DEFAULT_PATH_ENV_VALUE, *end;
	enum lookup_result best = LOOKUP_MISSING, result;
	char path[PATH_MAX];

	for (;; at = end + 1) {
		end = strchrnul(at, ':');
		/* An empty entry means the working directory. */
		if (snprintf(path, sizeof(path), "%.*s/%s", end > at ? (int)(end - at) : 1, end > at ? at : ".",
			     lookup->wanted_name) < (int)sizeof(path)) {
			result = lookup_judge_path(lookup, path);
			if (result == LOOKUP_FAILED)
				return result; /* what comes next in PATH may not be what the program would find */
			if (result != LOOKUP_MISSING && best == LOOKUP_MISSING && lookup_set_program(lookup, path))
				best = result;
			if (result == LOOKUP_FOUND && lookup_set_program(lookup, path))
				return LOOKUP_FOUND;
			if (result == LOOKUP_REFUSED && lookup_use_version_manager_shim(lookup))
				return LOOKUP_FOUND;
		}
		if (*end == '\0')
			break;
	}
	return best == LOOKUP_MISSING && lookup_use_version_manager_shim(lookup) ? LOOKUP_FOUND : best;
}

enum lookup_result lookup_find_program(struct lookup *lookup)
{
	if (!lookup_set_program(lookup, lookup->wanted_name) || lookup->wanted_name[0] == '\0')
		return LOOKUP_MISSING;
	/* A path is relative to the virtual workdir. */
	return strchr(lookup->wanted_name, '/') ? lookup_judge_path(lookup, lookup->wanted_name)
						: lookup_search_path_env(lookup);
}
