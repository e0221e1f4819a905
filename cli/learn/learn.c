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

/* ---- parsing the command line ---- */

static int learn_add_option(const struct cli_given_option *given, void *list)
{
	return cli_list_add_owned(list, strdup(given->value));
}

static int learn_set_runs(const struct cli_given_option *given, void *runs)
{
	uint64_t number;

	if (text_parse_number(given->value, 1, LEARN_RUNS_MAX, &number) < 0)
		return cli_refuse_value(given, "must be a number from 1 to %d", LEARN_RUNS_MAX);
	*(unsigned *)runs = (unsigned)number;
	return 0;
}

#define FIELD_OFFSET(member) offsetof(struct learn, member)

/* Returns which options exclude each other. NULL: none. */
static const char *learn_find_option_conflict(const struct learn *learn, int left)
{
	return !learn->output                   ? "name the policy to write with -o"
	       : learn->fixed && left           ? "--static runs nothing; leave out the program behind it"
	       : !learn->fixed && !left         ? "no program named; see callgate learn --help"
	       : learn->merge && learn->profile ? "--merge has its own profiles; leave out --profile"
	       : learn->fixed && (learn->input.count || learn->run_count > 1)
		       ? "--static runs nothing; leave out --input and --runs"
		       : NULL;
}

static int learn_parse_options(int argc, char **argv, struct learn *learn)
{
	static const struct cli_option table[] = {
		{"output", 'o', "POLICY", "the policy to write; it must not exist, unless it is that of --merge",
		 cli_set_text, FIELD_OFFSET(output), 0},
		CLI_TEXT("merge", "OLD", "add to the rules of this policy", FIELD_OFFSET(merge)),
		CLI_TEXT("profile", "NAME", "extend this profile (default: minimal, or python or data where they fit)",
			 FIELD_OFFSET(profile)),
		{"workdir", 'w', "DIR", "each run gets a copy of DIR as its working directory (default: an empty one)",
		 cli_set_text, FIELD_OFFSET(workdir_named), 0},
		CLI_LIST("env", 'e', "NAME[=VALUE]", "pass or set an environment variable; the policy will, too",
			 FIELD_OFFSET(env)),
		{"input", 0, "FILE", "run with FILE as standard input (repeatable: one run for each)",
		 cli_add_input_file, FIELD_OFFSET(input), 0},
		{"runs", 0, "N", "run so often, for what differs from run to run (default 1)", learn_set_runs,
		 FIELD_OFFSET(run_count), 0},
		{"run-option", 0, "OPTION", "an option of callgate run for every run, such as --memory=1G (repeatable)",
		 learn_add_option, FIELD_OFFSET(passed), 0},
		CLI_FLAG("allow-risky", 0, "grant secrets and writing to the system, too, where they were used",
			 FIELD_OFFSET(allow_risky)),
		CLI_FLAG("no-verify", 0, "do not run the program under the policy at the end", FIELD_OFFSET(no_verify)),
		CLI_TEXT("static", "PROGRAM", "run nothing: learn from the ELF file, or script, PROGRAM",
			 FIELD_OFFSET(fixed)),
		CLI_FLAG("json", 0, "print one JSON object", FIELD_OFFSET(json)),
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
	const char *mistake = status == CLI_OPTIONS_PARSED ? learn_find_option_conflict(learn, argc - optind) : NULL;

	if (mistake)
		cli_print_error("learn", "%s", mistake);
	learn->program = argv + optind;
	if (learn->fixed)
		learn->program = NULL;
	return mistake ? CLI_EXIT_ERROR : status;
}

/* Writes the learnt policy to the file of -o. 0, or -errno after a message. */
static int learn_write_policy(struct learn *learn)
{
	int r = draft_write(&learn->draft, learn->output, !learn->replaces_merged_policy);

	if (r == -EEXIST)
		cli_print_error("learn", "-o %s: something made this file meanwhile, and it is left as it is",
				learn->output);
	else if (r < 0)
		cli_print_error("learn", "cannot write %s: %s", learn->output, strerror(-r));
	return r;
}

static void learn_release(struct learn *learn)
{
	if (learn->draft_path)
		(void)unlink(learn->draft_path);
	if (learn->runs_dir && io_remove_tree(AT_FDCWD, learn->runs_dir) < 0)
		cli_print_error("learn", "could not remove %s", learn->runs_dir);
	free(learn->draft_path);
	free(learn->runs_dir);
	free(learn->workdir);
	free(learn->home);
	free(learn->base_profile_path);
	secret_inodes_free(learn->inodes);
	needs_release(&learn->needs);
	packages_free(learn->packages);
	draft_release(&learn->draft);
	json_decref(learn->merged_policy);
	json_decref(learn->own_refusals);
	json_decref(learn->wrong_denials);
	json_decref(learn->ends);
	json_decref(learn->proof_ends);
	json_decref(learn->unmet_needs);
	json_decref(learn->result);
	json_decref(learn->proof);
	cli_list_release(&learn->input);
	cli_list_release(&learn->passed);
	cli_list_release(&learn->env);
}

int cli_main_learn(int argc, char **argv)
{
	struct learn learn = {.run_count = 1,
			      .own_refusals = json_array(),
			      .wrong_denials = json_array(),
			      .ends = json_array(),
			      .proof_ends = json_array(),
			      .unmet_needs = json_array()};
	int status = learn_parse_options(argc, argv, &learn), r = -EINVAL;

	if (status == CLI_OPTIONS_PARSED) {
		r = learn_prepare(&learn);
		if (r == 0)
			r = learn.fixed ? learn_from_executable(&learn) : learn_from_runs(&learn);
		if (r == 0)
			r = learn_write_policy(&learn);
		status = r == 0 ? learn_print_report(&learn) : CLI_EXIT_ERROR;
	}
	learn_release(&learn);
	return status;
}
