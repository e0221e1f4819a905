/* Prepares callgate learn before anything is run: reads the earlier policy and the packages, and checks the paths. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "cli/batch/batch.h"
#include "cli/host/account.h"
#include "cli/learn/learn.h"
#include "cli/learn/tier.h"
#include "policy/parse/format.h"

#define EARLIER_POLICY_BYTES_MAX (16u << 20)
#define LEARN_DEFAULT_WORKDIR "/work" /* without -w */

/* Whether both paths resolve to the same existing path. */
static bool learn_is_same_file(const char *a, const char *b)
{
	_cleanup_free_ char *real = realpath(a, NULL), *other = realpath(b, NULL);

	return real && other && strcmp(real, other) == 0;
}

/* True for a text of a policy that is relative to the policy's directory: "./base.json" to extend, "file:key.pem". */
static bool learn_text_is_relative(const char *key, const char *text)
{
	const size_t len = strlen(text);

	if (strncmp(text, "file:", 5) == 0)
		return text[5] != '/';
	if (key && strcmp(key, "upstream_ca") == 0)
		return text[0] != '/';
	return key && strcmp(key, "extends") == 0 && text[0] != '/' &&
	       (strchr(text, '/') || (len > 5 && strcmp(text + len - 5, ".json") == 0));
}

/* Finds a text anywhere in the value that is relative to the policy's directory. Borrowed; NULL: none. */
static const char *learn_find_relative_text(const char *key, const json_t *value)
{
	const char *found = NULL, *name;
	json_t *member;

	if (json_is_string(value))
		return learn_text_is_relative(key, json_string_value(value)) ? json_string_value(value) : NULL;
	for (size_t i = 0; !found && json_is_array(value) && i < json_array_size(value); i++)
		found = learn_find_relative_text(key, json_array_get(value, i));
	if (json_is_object(value))
		json_object_foreach((json_t *)(uintptr_t)value, name, member)
			if (!found)
				found = learn_find_relative_text(name, member);
	return found;
}

/* Checks that the relative texts of the old policy mean the same in the new one. */
static int learn_refuse_relative_paths(const struct learn *learn)
{
	const char *found = learn_find_relative_text(NULL, learn->merged_policy);
	_cleanup_free_ char *from = strdup(learn->merge), *to = strdup(learn->output);

	if (!from || !to)
		return cli_fail_no_memory("learn"), -ENOMEM;
	if (!found || learn_is_same_file(dirname(from), dirname(to)))
		return 0;
	cli_print_error("learn", "--merge %s: it names \"%s\", relative to its directory; write -o in that directory",
			learn->merge, found);
	return -EINVAL;
}

/* Reports the mistakes of the earlier policy, with its own name and line numbers. */
static int learn_check_earlier_policy(const struct learn *learn)
{
	_cleanup_policy_errors_ struct policy_errors errors = {0};
	_cleanup_free_ char *text = NULL, *formatted = NULL;
	size_t len;
	int r = io_read_file(AT_FDCWD, learn->merge, EARLIER_POLICY_BYTES_MAX, &text, &len);

	if (r == 0)
		r = policy_format_text(learn->merge, text, &errors, &formatted);
	cli_print_policy_errors("learn", &errors);
	if (r < 0 && !errors.count)
		cli_print_error("learn", "--merge %s: %s", learn->merge, strerror(-r));
	return r;
}

/* Reads the policy of --merge, to which rules are added. 0, also without --merge, or -errno after a message. */
static int learn_read_earlier_policy(struct learn *learn)
{
	json_error_t error;
	int r;

	if (!learn->merge)
		return 0;
	r = learn_check_earlier_policy(learn);
	if (r < 0)
		return r;
	learn->merged_policy = json_load_file(learn->merge, JSON_REJECT_DUPLICATES, &error);
	if (json_is_object(learn->merged_policy))
		return learn_refuse_relative_paths(learn);
	cli_print_error("learn", "--merge %s:%d: %s", learn->merge, error.line > 0 ? error.line : 1,
			learn->merged_policy ? "not a policy, which is a JSON object" : error.text);
	return -EINVAL;
}

/* Checks that the policy can be written, before the program runs, perhaps for hours. */
static int learn_check_output(const struct learn *learn)
{
	_cleanup_free_ char *path = text_format("%s.XXXXXX", learn->output);
	_cleanup_close_ int fd = path ? mkostemp(path, O_CLOEXEC) : -1;

	if (fd >= 0 && unlink(path) == 0)
		return 0;
	cli_print_error("learn", "-o %s: cannot write there: %s", learn->output, strerror(path ? errno : ENOMEM));
	return -EACCES;
}

/*
 * Refuses a working directory that no policy grants: the program would get a copy of it in each run, and may read all
 * of it.
 */
static int learn_check_workdir(const struct learn *learn)
{
	const char *why;

	if (tier_find(learn->home, learn->workdir, POLICY_READ, &why) == TIER_GRANTED)
		return 0;
	cli_print_error("learn", "-w %s: %s", learn->workdir_named, why);
	return -EPERM;
}

/* Sets the home directory: from HOME, or else from the account. NULL: neither names an absolute path. 0 or -ENOMEM. */
static int learn_prepare_home(struct learn *learn)
{
	const char *home = getenv("HOME");
	const struct account *account = home && *home == '/' ? NULL : account_find(NULL, getuid());

	home = account ? account->home : home;
	learn->home = home && *home == '/' ? strdup(home) : NULL;
	return learn->home || !home || *home != '/' ? 0 : -ENOMEM;
}

/* Finds the home and working directories and the base profile, checks -o and -w, and makes a directory for the runs. */
static int learn_prepare_places(struct learn *learn)
{
	int r = learn_prepare_home(learn);

	if (r < 0)
		return cli_fail_no_memory("learn"), r;
	learn->replaces_merged_policy = learn->merge && learn_is_same_file(learn->merge, learn->output);
	if (access(learn->output, F_OK) == 0 && !learn->replaces_merged_policy) {
		cli_print_error("learn", "-o %s: exists; add to it with --merge %s, or name another file",
				learn->output, learn->output);
		return -EEXIST;
	}
	if (learn->workdir_named) {
		learn->workdir = realpath(learn->workdir_named, NULL);
		if (!learn->workdir) {
			cli_print_error("learn", "-w %s: %s; name a directory that exists", learn->workdir_named,
					strerror(errno));
			return -ENOENT;
		}
		r = learn_check_workdir(learn);
	}
	if (r == 0)
		r = learn_check_output(learn);
	if (r < 0)
		return r;
	learn->workdir_in_view = learn->workdir ? learn->workdir : LEARN_DEFAULT_WORKDIR;
	learn->base_profile = learn->merge ? NULL : learn->profile ? learn->profile : "minimal";
	/*
	 * the profile's file is relative to the current directory, not to the directory of the policy that extends it
	 */
	if (learn->base_profile && strchr(learn->base_profile, '/')) {
		learn->base_profile_path = realpath(learn->base_profile, NULL);
		learn->base_profile = learn->base_profile_path ? learn->base_profile_path : learn->base_profile;
	}
	learn->draft_path = text_format("%s.learning-%d.json", learn->output, (int)getpid());
	learn->runs_dir = learn->draft_path ? batch_make_temporary_dir("learn") : NULL;
	return learn->runs_dir ? 0 : -ENOENT;
}

/* Reads what the making of rules needs besides the runs: the packages, and the secrets that have several hard links. */
static int learn_read_packages_and_secrets(struct learn *learn)
{
	const char *const places[] = {learn->workdir, NULL};
	int r = packages_read_file_owners(NULL, &learn->packages);

	if (r == 0)
		r = secret_inodes_find(learn->home, places, &learn->inodes);
	return r < 0 ? cli_fail_no_memory("learn"), r : 0;
}

int learn_prepare(struct learn *learn)
{
	int r = learn_read_earlier_policy(learn);

	if (r == 0)
		r = learn_prepare_places(learn);
	if (r == 0)
		r = learn_read_packages_and_secrets(learn);
	return r < 0 ? r : learn_prepare_runs(learn);
}
