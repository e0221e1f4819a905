/* callgate learn: finds out what a program needs, and writes the smallest readable policy that grants just that. */
#include "cli/learn/learn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "cli/batch/batch.h"

#define LEARN_RUNS_MAX 100
#define LEARN_FOLD_ROUNDS 8   /* each adds rules for what the rules so far do not grant */
#define LEARN_PROOF_ROUNDS 3u /* each adds rules for what the verification was denied */
#define LEARN_WORKDIR "/work" /* without -w */

/* A larger profile is extended when it leaves so many fewer needs. */
#define LEARN_PROFILE_GAIN 12u

/* ---- the command line ---- */

static int learn_add_option(const struct cli_given *given, void *list)
{
	return cli_list_add_owned(list, strdup(given->value));
}

static int learn_set_runs(const struct cli_given *given, void *runs)
{
	uint64_t number;

	if (text_parse_number(given->value, 1, LEARN_RUNS_MAX, &number) < 0)
		return cli_refuse_value(given, "must be a number from 1 to %d", LEARN_RUNS_MAX);
	*(unsigned *)runs = (unsigned)number;
	return 0;
}

#define AT(member) offsetof(struct learn, member)

/* What does not go together. NULL: nothing. */
static const char *learn_find_mistake(const struct learn *learn, int left)
{
	return !learn->output                                 ? "name the policy to write with -o"
	       : learn->fixed && left                         ? "--static runs nothing; leave out the program behind it"
	       : !learn->fixed && !left                       ? "no program named; see callgate learn --help"
	       : learn->merge && learn->profile               ? "--merge has its own profiles; leave out --profile"
	       : learn->fixed && (learn->input.count || learn->runs > 1)
		       ? "--static runs nothing; leave out --input and --runs"
		       : NULL;
}

static int learn_parse_options(int argc, char **argv, struct learn *learn)
{
	static const struct cli_option table[] = {
		{"output", 'o', "POLICY", "the policy to write; it must not exist, unless it is that of --merge",
		 cli_set_text, AT(output), 0},
		CLI_TEXT("merge", "OLD", "add to the rules of this policy", AT(merge)),
		CLI_TEXT("profile", "NAME",
			 "extend this profile (default: minimal, or python or data where they fit)", AT(profile)),
		{"workdir", 'w', "DIR", "each run gets a copy of DIR as its working directory (default: an empty one)",
		 cli_set_text, AT(workdir_named), 0},
		CLI_LIST("env", 'e', "NAME[=VALUE]", "pass or set an environment variable; the policy will, too",
			 AT(env)),
		CLI_LIST("input", 0, "FILE", "run with FILE as standard input (repeatable: one run for each)",
			 AT(input)),
		{"runs", 0, "N", "run so often, for what differs from run to run (default 1)", learn_set_runs, AT(runs),
		 0},
		{"run-option", 0, "OPTION", "an option of callgate run for every run, such as --memory=1G (repeatable)",
		 learn_add_option, AT(passed), 0},
		CLI_FLAG("allow-risky", 0, "grant secrets and writing to the system, too, where they were used",
			 AT(allow_risky)),
		CLI_FLAG("no-verify", 0, "do not run the program under the policy at the end", AT(no_verify)),
		CLI_TEXT("static", "PROGRAM", "run nothing: learn from the ELF file, or script, PROGRAM", AT(fixed)),
		CLI_FLAG("json", 0, "print one JSON object", AT(json)),
		{0},
	};
	const struct cli_syntax syntax = {
		.verb = "learn",
		.usage = "Usage: callgate learn -o POLICY [OPTION...] [--] PROGRAM [ARG...]\n"
			 "       callgate learn -o POLICY [OPTION...] --static PROGRAM\n\n"
			 "Runs PROGRAM with --mode observe, writes a policy that grants what it used, and runs it "
			 "again\n"
			 "under that policy.\n\n",
		.epilogue =
			"\nExit status: 0 the policy is written, and was verified unless --no-verify; 1 it is "
			"written,\n"
			"and the program was denied something or ended otherwise; 125 an error.  See callgate(1).\n",
		.table = {{NULL, table, learn}},
	};
	int status = cli_parse_options(argc, argv, &syntax);
	const char *mistake = status == CLI_PARSED ? learn_find_mistake(learn, argc - optind) : NULL;

	if (mistake)
		cli_print_error("learn", "%s", mistake);
	learn->program = argv + optind;
	if (learn->fixed)
		learn->program = NULL;
	return mistake ? CLI_ERROR : status;
}

/* ---- before anything is run ---- */

static bool learn_is_same_file(const char *a, const char *b)
{
	_cleanup_free_ char *real = realpath(a, NULL), *other = realpath(b, NULL);

	return real && other && strcmp(real, other) == 0;
}

static int learn_read_old(struct learn *learn)
{
	json_error_t error;

	if (!learn->merge)
		return 0;
	learn->old = json_load_file(learn->merge, JSON_REJECT_DUPLICATES, &error);
	if (json_is_object(learn->old))
		return 0;
	cli_print_error("learn", "--merge %s:%d: %s", learn->merge, error.line > 0 ? error.line : 1,
			learn->old ? "not a policy, which is a JSON object" : error.text);
	return -EINVAL;
}

static int learn_prepare_places(struct learn *learn)
{
	if (access(learn->output, F_OK) == 0 && !(learn->merge && learn_is_same_file(learn->merge, learn->output))) {
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
	}
	learn->virt = learn->workdir ? learn->workdir : LEARN_WORKDIR;
	learn->home = getenv("HOME");
	learn->base = learn->merge ? NULL : learn->profile ? learn->profile : "minimal";
	learn->draft_path = cli_format("%s.learning-%d.json", learn->output, (int)getpid());
	learn->dir = learn->draft_path ? batch_make_temporary_dir("learn") : NULL;
	return learn->dir ? 0 : -ENOENT;
}

static int learn_prepare(struct learn *learn)
{
	int r = learn_read_old(learn);

	if (r == 0)
		r = learn_prepare_places(learn);
	return r < 0 ? r : learn_prepare_runs(learn);
}

/* ---- learning ---- */

/* Extends the profile that leaves the fewest needs, if it leaves many fewer than a smaller one. *ret_changed: it does.
 */
static int learn_choose_profile(struct learn *learn, bool *ret_changed)
{
	static const char *const larger[] = {"python", "data"};
	size_t least, count;
	int r;

	*ret_changed = false;
	if (learn->merge || learn->profile)
		return 0;
	r = learn_count_unmet(learn, learn->base, &least);
	for (size_t i = 0; r == 0 && i < sizeof(larger) / sizeof(larger[0]); i++) {
		r = learn_count_unmet(learn, larger[i], &count);
		if (r < 0 || count + LEARN_PROFILE_GAIN > least)
			continue;
		least = count;
		learn->base = larger[i];
		*ret_changed = true;
	}
	return r;
}

/* Adds rules until all is granted that may be. 0 or -errno, with a message. */
static int learn_fold(struct learn *learn)
{
	const struct fold_place place = {.home = learn->home, .workdir = learn->virt, .workdir_host = learn->workdir,
					 .risky = learn->allow_risky};
	size_t before = SIZE_MAX;
	int r = learn->packages ? 0 : packages_read(NULL, &learn->packages);

	if (r < 0)
		return cli_fail_no_memory("learn"), r;
	r = learn_mark_granted(learn);
	if (r < 0)
		return r;
	r = learn_add_endpoints(&learn->draft, &learn->needs);
	if (r == 0)
		r = fold_deny_secrets(&learn->draft, &learn->needs, &place);
	if (r < 0)
		return cli_fail_no_memory("learn"), r;
	for (int round = 0; r == 0 && round < LEARN_FOLD_ROUNDS; round++) {
		_cleanup_free_ struct unmet *unmet = NULL;
		size_t count;

		r = learn_find_unmet(learn, &unmet, &count);
		if (r < 0 || count == 0)
			return r;
		r = fold_unmet(&learn->draft, &learn->needs, learn->packages, &place, unmet, count,
			       round > 0 && count == before);
		before = count;
	}
	return r;
}

/* Runs the program under the policy; what it is denied is learnt, and it runs again. */
static int learn_prove(struct learn *learn)
{
	int r = 0;

	while (r == 0 && learn->rounds < LEARN_PROOF_ROUNDS) {
		r = learn_verify(learn);
		if (r < 0 || json_array_size(learn->bugs) == 0 || learn->rounds == LEARN_PROOF_ROUNDS)
			return r;
		r = learn_fold(learn);
		if (r == 0)
			r = draft_write(&learn->draft, learn->draft_path);
	}
	return r;
}

static int learn_from_runs(struct learn *learn)
{
	bool changed = false;
	int r = learn_observe(learn);

	if (r == 0)
		r = learn_choose_profile(learn, &changed);
	if (r == 0 && changed) { /* under another profile the program has another environment */
		needs_release(&learn->needs);
		json_array_clear(learn->own_refusals);
		r = learn_prepare_runs(learn);
		if (r == 0)
			r = learn_observe(learn);
	}
	if (r == 0)
		r = learn_fold(learn);
	if (r == 0 && !learn->no_verify)
		r = learn_prove(learn);
	return r;
}

static int learn_from_file(struct learn *learn)
{
	int r = learn_inspect_program(&learn->needs, learn->fixed);

	return r < 0 ? r : learn_fold(learn);
}

static int learn_write(struct learn *learn)
{
	int r = draft_write(&learn->draft, learn->output);

	if (r < 0)
		cli_print_error("learn", "cannot write %s: %s", learn->output, strerror(-r));
	return r;
}

static void learn_release(struct learn *learn)
{
	if (learn->draft_path)
		(void)unlink(learn->draft_path);
	if (learn->dir && io_remove_tree(AT_FDCWD, learn->dir) < 0)
		cli_print_error("learn", "could not remove %s", learn->dir);
	free(learn->draft_path);
	free(learn->dir);
	free(learn->workdir);
	needs_release(&learn->needs);
	packages_free(learn->packages);
	draft_release(&learn->draft);
	json_decref(learn->old);
	json_decref(learn->own_refusals);
	json_decref(learn->bugs);
	json_decref(learn->result);
	json_decref(learn->proof);
	cli_list_release(&learn->input);
	cli_list_release(&learn->passed);
	cli_list_release(&learn->env);
}

int cli_main_learn(int argc, char **argv)
{
	struct learn learn = {.runs = 1, .own_refusals = json_array(), .bugs = json_array()};
	int status = learn_parse_options(argc, argv, &learn), r = -EINVAL;

	if (status == CLI_PARSED) {
		r = learn_prepare(&learn);
		if (r == 0)
			r = learn.fixed ? learn_from_file(&learn) : learn_from_runs(&learn);
		if (r == 0)
			r = learn_write(&learn);
		status = r == 0 ? learn_report(&learn) : CLI_ERROR;
	}
	learn_release(&learn);
	return status;
}
