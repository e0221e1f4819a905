/* callgate compare: runs one program under several policies and shows where the runs differ. */
#include "cli/compare/compare.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "cli/batch/batch.h"
#include "cli/load.h"
#include "cli/options.h"

#define COMPARED_POLICIES_MAX 16u

/* Exit statuses of callgate compare. */
enum { COMPARE_EQUAL = 0, COMPARE_DIFFERENT = 1 };

/* The state of `callgate compare`. */
struct compare_command {
	struct cli_list run_options; /* pairs, one for each run: -p and a file, or --profile and a name */
	struct cli_list options_of_all_runs; /* options that are passed to every run */
	const char *workdir, *input, *keep;
	bool json;
	char *runs_dir; /* directory in which each run has its own directory; owned */
	struct compared_run run[COMPARED_POLICIES_MAX];
	size_t run_count;
};

/* Adds a policy. given->setter_param is 1 for a profile. */
static int compare_add_policy(const struct cli_given_option *given, void *list)
{
	struct cli_list *options = list;

	if (options->count / 2 == COMPARED_POLICIES_MAX)
		return cli_refuse_value(given, "more than %u policies; compare fewer at once", COMPARED_POLICIES_MAX);
	if (cli_list_add_owned(options, strdup(given->setter_param ? "--profile" : "-p")) < 0)
		return -ENOMEM;
	return cli_list_add_owned(options, strdup(given->value));
}

/* Setter of an option that is added to a list: keeps a copy of its value. */
static int compare_add_option(const struct cli_given_option *given, void *list)
{
	return cli_list_add_owned(list, strdup(given->value));
}

#define FIELD_OFFSET(member) offsetof(struct compare_command, member)

static int compare_parse_options(int argc, char **argv, struct compare_command *compare)
{
	static const struct cli_option table[] = {
		{"policy", 'p', "FILE", "a policy; give two or more of -p and --profile", compare_add_policy,
		 FIELD_OFFSET(run_options), 0},
		{"profile", 0, "NAME", "a built-in profile, as a policy", compare_add_policy, FIELD_OFFSET(run_options),
		 1},
		{"workdir", 'w', "DIR", "each run gets a copy of DIR as its working directory (default: an empty one)",
		 cli_set_directory, FIELD_OFFSET(workdir), 0},
		{"input", 0, "FILE", "each run reads FILE as its standard input (default: empty input)",
		 cli_set_input_file, FIELD_OFFSET(input), 0},
		{"run-option", 0, "OPTION", "an option of callgate run for every run, such as --memory=1G (repeatable)",
		 compare_add_option, FIELD_OFFSET(options_of_all_runs), 0},
		CLI_TEXT("keep", "DIR", "keep logs, results and working directories in DIR, which must not exist",
			 FIELD_OFFSET(keep)),
		CLI_FLAG("json", 0, "print one JSON object", FIELD_OFFSET(json)),
		{0},
	};
	const struct cli_syntax syntax = {
		.verb = "compare",
		.usage = "Usage: callgate compare -p A -p B [-p ...] [OPTION...] [--] PROGRAM [ARG...]\n\n"
			 "Runs PROGRAM once under each policy, and compares each run with the first one.\n\n",
		.epilogue = "\nExit status: 0 no difference; 1 a difference; 125 an error.  See callgate(1).\n",
		.table = {{NULL, table, compare}},
	};
	int status = cli_parse_options(argc, argv, &syntax);

	if (status != CLI_OPTIONS_PARSED)
		return status;
	if (compare->run_options.count < 4)
		cli_print_error("compare", "give two policies or more, each with -p or --profile");
	else if (optind == argc)
		cli_print_error("compare", "no program named; see callgate compare --help");
	else
		return CLI_OPTIONS_PARSED;
	return CLI_EXIT_ERROR;
}

/*
 * Loads a policy as a run will, so that its mistakes are reported before anything is run. Leaves out the working
 * directory, because each run gets a copy of it.
 */
static bool compare_check_policy(const char *option, const char *value, const char *program)
{
	_cleanup_policy_ struct policy *policy = NULL;
	struct cli_policy_options options = {0};
	struct cli_host host = {0};
	char *name = strcmp(option, "-p") == 0 && !strchr(value, '/') ? text_format("./%s", value) : strdup(value);
	bool valid = cli_list_add_owned(&options.policy_names, name) == 0 && cli_host_init(&host, program) == 0;

	if (!valid)
		(void)cli_fail_no_memory("compare");
	valid = valid && cli_load_policy(&options, "compare", &host, NULL, &policy, NULL) == 0;
	cli_host_release(&host);
	cli_policy_options_release(&options);
	return valid;
}

/* Loads each policy that the options name, and prints the errors of all of them, not only of the first. */
static bool compare_check_policies(const struct compare_command *compare, const char *program)
{
	bool valid = true;

	for (size_t i = 0; i < compare->run_options.count; i += 2)
		valid = compare_check_policy(compare->run_options.item[i], compare->run_options.item[i + 1], program) &&
			valid;
	return valid;
}

/* Creates the directory in which each run gets its own directory. False with a message. */
static bool compare_make_dir(struct compare_command *compare)
{
	if (!compare->keep)
		return (compare->runs_dir = batch_make_temporary_dir("compare"));
	compare->runs_dir = strdup(compare->keep);
	if (compare->runs_dir && mkdir(compare->runs_dir, 0700) == 0)
		return true;
	cli_print_error("compare", "--keep %s: %s; name a directory that does not exist yet", compare->keep,
			strerror(compare->runs_dir ? errno : ENOMEM));
	free(steal_pointer(&compare->runs_dir));
	return false;
}

/* Makes the options of one run: its policy, then those of every run. Owned by the caller; the texts are borrowed. */
static const char **compare_make_run_options(const struct compare_command *compare, size_t which)
{
	const char **options = calloc(compare->options_of_all_runs.count + 3, sizeof(*options));

	if (!options)
		return NULL;
	options[0] = compare->run_options.item[2 * which];
	options[1] = compare->run_options.item[2 * which + 1];
	for (size_t i = 0; i < compare->options_of_all_runs.count; i++)
		options[2 + i] = compare->options_of_all_runs.item[i];
	return options;
}

/* Starts callgate run for one policy and waits for its end. 0 or -errno. */
static int compare_perform_run(const struct compare_command *compare, size_t which, const char *dir,
			       char *const *program)
{
	_cleanup_free_ const char **options = compare_make_run_options(compare, which);
	const struct batch_run batch = {.dir = dir, .workdir = compare->workdir, .options = options,
					.program = (const char *const *)program, .stdin_path = compare->input};
	int status = 0;
	pid_t pid;

	if (!options)
		return -ENOMEM;
	if (mkdir(dir, 0700) < 0)
		return -errno;
	pid = batch_start_run(&batch);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid < 0 ? pid : 0;
}

/* Reads a run's result. False with a message if callgate could not run the program at all. */
static bool compare_read_run(struct compared_run *run)
{
	_cleanup_free_ char *log = text_format("%s/" BATCH_LOG_FILE, run->dir);
	const char *judge;

	run->result = batch_read_result(run->dir);
	judge = json_string_value(json_object_get(run->result, "judge"));
	if (judge && strcmp(judge, policy_judge_get_name(POLICY_JUDGE_CHANGES)) == 0) {
		cli_print_error("compare",
				"under %s the run had \"judge\": \"changes\": what it read is not on record and cannot "
				"be compared; use --run-option=--judge=all",
				run->policy);
		return false;
	}
	if (log && run->result && access(log, F_OK) == 0)
		return trail_read_log(log, &run->trail) == 0;
	cli_print_error("compare", "there is nothing to compare: the program could not be run under %s", run->policy);
	batch_print_messages("compare", run->dir);
	return false;
}

/*
 * Runs the program under one policy. All runs have the same name for their working directory, so that file names in
 * their output agree. The run's directory gets its own name afterwards.
 */
static bool compare_run_once(struct compare_command *compare, size_t which, char *const *program)
{
	struct compared_run *run = &compare->run[which];
	_cleanup_free_ char *dir = text_format("%s/run", compare->runs_dir);
	int r;

	compare->run_count++;
	run->policy = compare->run_options.item[2 * which + 1];
	run->dir = text_format("%s/%zu", compare->runs_dir, which + 1);
	r = dir && run->dir ? compare_perform_run(compare, which, dir, program) : -ENOMEM;
	if (r == 0 && rename(dir, run->dir) < 0)
		r = -errno;
	if (r == 0)
		return compare_read_run(run);
	cli_print_error("compare", "cannot run the program under %s: %s", run->policy, strerror(-r));
	return false;
}

static int compare_print_text(const struct compare_command *compare, json_t *const *differences)
{
	int r = 0;

	for (size_t i = 1; r == 0 && i < compare->run_count; i++)
		r = compare_print_differences(stdout, &compare->run[0], &compare->run[i], differences[i]);
	if (compare->keep && r == 0)
		(void)text_printf(stdout, "kept in %s\n", compare->keep);
	if (r == 0 && fflush(stdout) == 0)
		return CLI_EXIT_OK;
	cli_print_error("compare", "cannot write to standard output: %s", strerror(errno));
	return CLI_EXIT_ERROR;
}

static int compare_print(const struct compare_command *compare, json_t *const *differences)
{
	json_t *all;

	if (!compare->json)
		return compare_print_text(compare, differences);
	all = json_array();
	for (size_t i = 1; i < compare->run_count; i++)
		(void)json_array_append(all, differences[i]);
	return cli_print_json("compare", all);
}

static int compare_report(const struct compare_command *compare)
{
	json_t *differences[COMPARED_POLICIES_MAX] = {NULL};
	bool equal = true, failed = false;
	int status;

	for (size_t i = 1; i < compare->run_count; i++) {
		differences[i] = compare_find_differences(&compare->run[0], &compare->run[i]);
		failed = failed || !differences[i];
		equal = equal && compare_found_no_difference(differences[i]);
	}
	status = failed ? cli_fail_no_memory("compare") : compare_print(compare, differences);
	for (size_t i = 1; i < compare->run_count; i++)
		json_decref(differences[i]);
	return status != CLI_EXIT_OK ? status : equal ? COMPARE_EQUAL : COMPARE_DIFFERENT;
}

static void compare_release(struct compare_command *compare)
{
	for (size_t i = 0; i < compare->run_count; i++) {
		trail_release(&compare->run[i].trail);
		json_decref(compare->run[i].result);
		free(compare->run[i].dir);
	}
	if (compare->runs_dir && !compare->keep && io_remove_tree(AT_FDCWD, compare->runs_dir) < 0)
		cli_print_error("compare", "could not remove %s", compare->runs_dir);
	free(compare->runs_dir);
	cli_list_release(&compare->run_options);
	cli_list_release(&compare->options_of_all_runs);
}

int cli_main_compare(int argc, char **argv)
{
	struct compare_command compare = {0};
	int status = compare_parse_options(argc, argv, &compare);
	bool done = status == CLI_OPTIONS_PARSED && compare_check_policies(&compare, argv[optind]) &&
		    compare_make_dir(&compare);
	size_t policies = compare.run_options.count / 2;

	for (size_t i = 0; done && i < policies; i++)
		done = compare_run_once(&compare, i, argv + optind);
	if (status == CLI_OPTIONS_PARSED)
		status = done ? compare_report(&compare) : CLI_EXIT_ERROR;
	compare_release(&compare);
	return status;
}
