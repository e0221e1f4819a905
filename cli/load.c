#include "cli/load.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/host/interpreter.h"
#include "policy/paths/host-paths.h"
#include "policy/paths/literal.h"

#define PROFILE_DEFAULT "minimal"

/*
 * Makes the rule that grants the program of the command line. A relative name is taken as a path below the workdir,
 * because the program is started in the workdir.
 */
static char *load_make_rule_for_program(struct cli_host *host)
{
	const char *program = host->program, *found = cli_host_find_program(host);
	char path[PATH_MAX];
	bool lexical;

	if (!found || literal_find_objection(found) || path_join("/", found, path, sizeof(path), &lexical) < 0 ||
	    !lexical)
		return NULL;
	if (strchr(program, '/') && program[0] != '/' && path_is_below(path, host->workdir))
		return literal_write("@workdir", path_get_rest_below(path, host->workdir));
	return literal_write("", path);
}

/* Collects the paths of -x and, without a policy, the program named on the command line. 0 or -ENOMEM. */
static int load_add_exec_rules(const struct cli_policy_options *options, struct cli_host *host, struct cli_list *exec)
{
	char *rule;

	for (size_t i = 0; i < options->exec.count; i++)
		if (cli_list_add_owned(exec, strdup(options->exec.item[i])) < 0)
			return -ENOMEM;
	if (options->policy_names.count || !host->program)
		return 0;
	rule = load_make_rule_for_program(host);
	return rule ? cli_list_add_owned(exec, rule) : 0;
}

struct writable_places cli_collect_writable_places(const struct cli_policy_options *options, struct cli_host *host,
				const struct policy *policy, const struct policy *further)
{
	return (struct writable_places){.policy = {policy, host->other_phase_policy, further},
					.workdir = options->workdir,
					.path_cache = &host->path_cache};
}

/*
 * Loads the policy. If it has phases, also loads the policy of the other phase, because files that the other phase may
 * write count as writable, too.
 */
static int load_policy_phases(const char *const *names, const struct policy_cli *cli, struct cli_host *host,
			      struct policy **ret_policy, struct policy_errors *errors)
{
	struct policy_cli other = *cli;
	int ret = policy_load(names, cli, &host->policy, ret_policy, errors);

	if (ret < 0)
		return ret;
	other.phase = cli->phase == POLICY_PHASE_RUN ? POLICY_PHASE_SETUP : POLICY_PHASE_RUN;
	other.draft = NULL;
	policy_free(host->other_phase_policy);
	host->other_phase_policy = NULL;
	if (!policy_has_phase(*ret_policy, POLICY_PHASE_RUN) && !policy_has_phase(*ret_policy, POLICY_PHASE_SETUP))
		return 0;
	return policy_load(names, &other, &host->policy, &host->other_phase_policy, errors);
}

/*
 * Judges a path that a profile or @interpreter names, and the version manager's directory in which the path was found.
 */
static int load_judge_optional_grant(const struct writable_places *places, const struct cli_host *host,
				     const char *path, struct places_refusal *ret_why)
{
	const char *manager = host->interpreter ? interpreter_find_manager(host->interpreter, path) : NULL;
	struct places_refusal why = {""};

	if (manager && places_judge_path(places, PLACES_PATH_IS_GRANTED, manager, NULL, &why) < 0)
		return places_refuse(ret_why, "is in %.400s, which %.500s", manager, why.text);
	return places_judge_path(places, PLACES_PATH_IS_GRANTED, path, NULL, ret_why);
}

/*
 * Makes a grant void if a profile or @interpreter names its path by a link that a run may have created. This is no
 * error, because the user did not write the path and could not leave it out. Example: /etc/localtime where /etc may be
 * written. Returns 1 if a grant became void, so that the policy has to be loaded again, else 0 or -ENOMEM.
 */
static int load_make_grants_void(const struct cli_policy_options *options, struct cli_host *host,
			    const struct policy *policy)
{
	const struct writable_places places = cli_collect_writable_places(options, host, policy, NULL);
	int again = 0;
	size_t count;
	const struct policy_host_path *way = policy_get_host_paths(policy, &count);

	for (size_t i = 0; i < count && again >= 0; i++) {
		struct places_refusal why = {""};
		int refused = 0;

		if (way[i].bad_path_drops_grant && load_judge_optional_grant(&places, host, way[i].text, &why) < 0)
			refused = cli_host_make_grant_void(host, way[i].text, why.text);
		again = refused < 0 ? refused : refused || again;
	}
	return again;
}

/*
 * Judges a policy's host paths and commands, and adds a message for each refused one. Leaves out the grants that a
 * refused path makes void instead of making the policy invalid.
 */
static int load_judge_policy(const struct writable_places *places, const struct policy *policy,
			     struct policy_errors *errors)
{
	size_t count;
	const struct policy_host_path *way = policy_get_host_paths(policy, &count);
	int ret = 0;

	for (size_t i = 0; i < count; i++) {
		bool command = way[i].kind == POLICY_HOST_PATH_COMMAND;
		enum places_path_use use =
			way[i].kind == POLICY_HOST_PATH_GRANT ? PLACES_PATH_IS_GRANTED : PLACES_PATH_MUST_BE_TRUSTED;
		struct places_refusal why = {""};
		int error = way[i].bad_path_drops_grant ? 0
			    : command       ? places_judge_command(places, way[i].text, &why)
					    : places_judge_path(places, use, way[i].text, NULL, &why);

		if (error == 0)
			continue;
		policy_errors_add(errors, "%s: %s %s", way[i].source_location, command ? "the command's" : way[i].text,
				  why.text);
		ret = -EPERM;
	}
	return ret;
}

/* Judges every host path that the policy, the policy files and -w lead to. 0, or -EINVAL with messages. */
static int load_judge_paths(const struct cli_policy_options *options, struct cli_host *host,
			    const struct policy *policy,
			    struct policy_errors *errors)
{
	const struct writable_places places = cli_collect_writable_places(options, host, policy, NULL);
	struct places_refusal why = {""};
	int ways = load_judge_policy(&places, policy, errors), other = 0, files, workdir = 0;

	/*
	 * skipped if this phase's policy was refused: the other phase's messages would mostly repeat the same refusals
	 */
	if (host->other_phase_policy && ways == 0)
		other = load_judge_policy(&places, host->other_phase_policy, errors);
	files = cli_host_judge_files(host, &places, errors);
	if (options->workdir)
		workdir = places_judge_path(&places, PLACES_PATH_IS_GRANTED, options->workdir_as_written, NULL, &why);
	if (workdir < 0)
		policy_errors_add(errors, "-w %s: %s", options->workdir_as_written, why.text);
	return ways < 0 || other < 0 || files < 0 || workdir < 0 ? -EINVAL : 0;
}

/* The policies that the options name, or the default profile. The list ends with NULL. */
static const char *const *load_get_policy_names(const struct cli_policy_options *options)
{
	static const char *const usual[] = {PROFILE_DEFAULT, NULL};

	return options->policy_names.count ? (const char *const *)options->policy_names.item : usual;
}

/*
 * Makes the input of the policy compiler from the command line's options, which count as the last file of the policy.
 * exec: the list that load_add_exec_rules() made. Borrows both.
 */
static struct policy_cli load_make_policy_cli(const struct cli_policy_options *options, const struct cli_list *exec)
{
	struct policy_cli cli = options->cli;

	cli.read = (const char *const *)options->read.item;
	cli.write = (const char *const *)options->write.item;
	cli.exec = (const char *const *)exec->item;
	cli.env = (const char *const *)options->env.item;
	cli.allow_host = (const char *const *)options->allow_host.item;
	cli.allow_private = (const char *const *)options->allow_private.item;
	cli.listen = (const char *const *)options->listen.item;
	cli.allow_request = (const char *const *)options->allow_request.item;
	cli.secret = (const char *const *)options->secret.item;
	return cli;
}

int cli_load_observing_policy(const struct cli_policy_options *options, const char *verb, struct cli_host *host,
			      const struct policy_observe *observe, struct policy **ret_policy)
{
	_cleanup_policy_errors_ struct policy_errors errors = {0};
	_cleanup_list_ struct cli_list exec = {0};
	struct policy_cli cli;
	int ret = load_add_exec_rules(options, host, &exec);

	cli = load_make_policy_cli(options, &exec);
	cli.draft = NULL;
	cli.observe = observe;
	if (ret == 0)
		ret = policy_load(load_get_policy_names(options), &cli, &host->policy, ret_policy, &errors);
	cli_print_policy_errors(verb, &errors);
	if (ret == -ENOMEM)
		(void)cli_fail_no_memory(verb);
	return ret;
}

/* Composes, compiles and judges a policy. Prints no message. 0 or -errno, with the messages in `errors`. */
static int load_compile(const struct cli_policy_options *options, struct cli_host *host, const char *scratch,
			struct policy **ret_policy, struct policy_errors *errors)
{
	const char *const *names = load_get_policy_names(options);
	_cleanup_list_ struct cli_list exec = {0};
	_cleanup_policy_ struct policy *policy = NULL;
	struct policy_cli cli;
	int ret = cli_host_set_workdir_and_scratch(host, options->workdir, scratch);

	if (ret == 0)
		ret = load_add_exec_rules(options, host, &exec);
	cli = load_make_policy_cli(options, &exec);
	if (ret == 0)
		ret = load_policy_phases(names, &cli, host, &policy, errors);
	while (ret == 0 && (ret = load_make_grants_void(options, host, policy)) > 0) {
		policy_free(policy);
		policy = NULL;
		ret = load_policy_phases(names, &cli, host, &policy, errors);
	}
	if (ret == 0)
		ret = load_judge_paths(options, host, policy, errors);
	if (ret == 0)
		*ret_policy = steal_pointer(&policy);
	return ret;
}

int cli_try_to_load_policy(const struct cli_policy_options *options, struct cli_host *host, struct policy **ret_policy)
{
	_cleanup_policy_errors_ struct policy_errors errors = {0};

	return load_compile(options, host, NULL, ret_policy, &errors);
}

int cli_load_policy(const struct cli_policy_options *options, const char *verb, struct cli_host *host,
		    const char *scratch, struct policy **ret_policy, json_t **ret_mistakes)
{
	_cleanup_policy_errors_ struct policy_errors errors = {0};
	int ret = load_compile(options, host, scratch, ret_policy, &errors);

	cli_print_policy_errors(verb, &errors);
	if (ret < 0 && ret_mistakes)
		*ret_mistakes = cli_policy_errors_json(&errors);
	if (ret == -ENOMEM)
		(void)cli_fail_no_memory(verb);
	return ret;
}

int cli_load_policy_without_run(const struct cli_policy_options *options, const char *verb, const char *program,
			 struct cli_host *host, struct policy **ret_policy)
{
	if (cli_host_init(host, program) < 0)
		return cli_fail_no_memory(verb);
	if (cli_load_policy(options, verb, host, NULL, ret_policy, NULL) < 0)
		return CLI_EXIT_ERROR;
	cli_host_report_void_grants(host);
	return CLI_EXIT_OK;
}

void cli_warn_missing_grants(const char *verb, const struct cli_host *host, const struct policy *policy, bool own)
{
	static const char command_line[] = "command line";
	size_t count;
	const struct policy_host_path *way = policy_get_host_paths(policy, &count);

	for (size_t i = 0; i < count; i++) {
		const char *path = way[i].text;

		if (way[i].kind != POLICY_HOST_PATH_GRANT || way[i].bad_path_drops_grant ||
		    (own && strncmp(way[i].source_location, command_line, strlen(command_line)) != 0) ||
		    (host->policy.workdir && path_is_below(path, host->policy.workdir)) ||
		    (host->policy.scratch_path && path_is_below(path, host->policy.scratch_path)))
			continue;
		if (access(path, F_OK) < 0 && errno == ENOENT)
			cli_print_error(verb, "%s: warning: %s does not exist, so nothing is granted",
					way[i].source_location, path);
	}
}
