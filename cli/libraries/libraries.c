/* callgate libraries: lists the installed packages, and what a choice of them comes to. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/libraries/list.h"
#include "cli/load.h"

#define LIBRARIES_JSON_SCHEMA "callgate-libraries/1"
#define LIBRARIES_EXIT_MISSING 1 /* a name is not installed */

/* The options of the verb. */
struct libraries_options {
	struct cli_policy_options policy; /* first, so that a row of cli_get_policy_table() fits */
	const char *python, *node;        /* arguments of --python and --node; NULL: not given */
	bool json;
};

#define AT(member) offsetof(struct libraries_options, member)

static const char usage[] =
	"Usage: callgate libraries [OPTION...] [NAME...]\n\n"
	"Lists the installed packages of Python, or of node, with what they need. With NAMEs of packages, modules\n"
	"or sets such as @analysis, or with a policy: the packages that would exist under \"libraries\" with these\n"
	"names, why each would, and what is not installed.\n\n";

/* Whether to show a language: those that are asked for; else those of the policy; else Python. */
static bool libraries_shows(const struct libraries_options *options, const struct policy *policy,
			    enum policy_language language)
{
	if (options->python || options->node)
		return language == POLICY_PYTHON ? options->python : options->node;
	if (policy && (policy_get_libraries(policy, POLICY_PYTHON) || policy_get_libraries(policy, POLICY_NODE)))
		return policy_get_libraries(policy, language);
	return language == POLICY_PYTHON;
}

/* All names that were chosen, NULL-ended. Owned by the caller; NULL: no memory. */
static const char **libraries_join_names(const char *const *of_policy, char *const *given)
{
	const char **names;
	size_t count = 0;

	for (size_t i = 0; of_policy && of_policy[i]; i++)
		count++;
	for (size_t i = 0; given[i]; i++)
		count++;
	names = calloc(count + 1, sizeof(*names));
	for (count = 0; names && of_policy && *of_policy; of_policy++)
		names[count++] = *of_policy;
	for (; names && *given; given++)
		names[count++] = *given;
	return names;
}

/* Whether a name that is no set's member is not installed. */
static bool libraries_lack_name(const json_t *object)
{
	const json_t *missing = json_object_get(object, "missing"), *item;
	size_t i;

	json_array_foreach(missing, i, item)
	{
		if (json_is_string(json_object_get(item, "chosen_by")) && json_is_null(json_object_get(item, "set")))
			return true;
	}
	return false;
}

/* Prints unknown sets. CLI_EXIT_OK: there are none. */
static int libraries_check_sets(const struct library_finding *finding)
{
	for (const char *const *name = finding->unknown_sets; *name; name++)
		cli_print_error("libraries", "there is no set \"%s\"; without names, all are listed", *name);
	return *finding->unknown_sets ? CLI_EXIT_ERROR : CLI_EXIT_OK;
}

/* Finds and prints the packages of one language, or adds them to `list`. Returns the exit status. */
static int libraries_show(const struct libraries_options *options, struct cli_host *host, enum policy_language language,
			  const char *const *names, json_t *list)
{
	_cleanup_json_ json_t *object = NULL;
	struct library_finding finding;
	int status;

	if (cli_host_find_libraries(host, language, names, &finding) < 0)
		return cli_fail_no_memory("libraries");
	status = libraries_check_sets(&finding);
	if (status != CLI_EXIT_OK)
		return status;
	object = list_make_json(&finding, language, names);
	if (!object || json_array_append(list, object) < 0)
		return cli_fail_no_memory("libraries");
	if (!options->json)
		status = list_print_text(object);
	return status == CLI_EXIT_OK && libraries_lack_name(object) ? LIBRARIES_EXIT_MISSING : status;
}

/* Shows all languages that are to be shown. Returns the exit status. */
static int libraries_show_all(const struct libraries_options *options, struct cli_host *host,
			      const struct policy *policy, char **given)
{
	_cleanup_json_ json_t *list = json_array();
	int status = CLI_EXIT_OK;

	for (enum policy_language language = 0; language < POLICY_LANGUAGE_MAX; language++) {
		const char *const *of_policy = policy ? policy_get_libraries(policy, language) : NULL;
		_cleanup_free_ const char **names = libraries_join_names(of_policy, given);
		int r;

		if (!names)
			return cli_fail_no_memory("libraries");
		if (!libraries_shows(options, policy, language))
			continue;
		r = libraries_show(options, host, language, of_policy || *given ? names : NULL, list);
		if (r == CLI_EXIT_ERROR)
			return r;
		status = r == CLI_EXIT_OK ? status : r;
	}
	if (options->json && cli_print_json("libraries", json_pack("{s:s, s:O}", "schema", LIBRARIES_JSON_SCHEMA,
								   "languages", list)) != CLI_EXIT_OK)
		return CLI_EXIT_ERROR;
	return status;
}

/*
 * The path of --python, which is relative to where callgate is called, as an absolute one; links stay, since they make
 * a virtual environment. Owned; NULL: it is a name, or absolute, or there is no such directory.
 */
static char *libraries_make_absolute(const char *python)
{
	_cleanup_free_ char *here = python && *python != '/' && strchr(python, '/') ? realpath(".", NULL) : NULL;

	return here ? text_format("%s/%s", here, python) : NULL;
}

/* Makes the host, with the policy if there is one. Returns CLI_EXIT_OK or CLI_EXIT_ERROR. */
static int libraries_prepare(struct libraries_options *options, struct cli_host *host, struct policy **ret_policy)
{
	int status = CLI_EXIT_OK;

	options->policy.workdir_as_written = options->node;
	options->policy.workdir = options->node ? realpath(options->node, NULL) : NULL;
	if (options->node && !options->policy.workdir) {
		cli_print_error("libraries", "--node %s: %s; name a directory that exists", options->node,
				strerror(errno));
		return CLI_EXIT_ERROR;
	}
	if (options->policy.policy_names.count > 0)
		status = cli_load_policy_without_run(&options->policy, "libraries", options->python, host, ret_policy);
	else if (cli_host_init(host, options->python) < 0 ||
		 cli_host_set_workdir_and_scratch(host, options->policy.workdir, NULL) < 0)
		status = cli_fail_no_memory("libraries");
	if (status == CLI_EXIT_OK && options->python && !cli_host_find_program(host)) {
		cli_print_error("libraries", "--python %s: there is no such program", options->python);
		status = CLI_EXIT_ERROR;
	}
	return status;
}

int cli_main_libraries(int argc, char **argv)
{
	struct libraries_options options = {0};
	const struct cli_option table[] = {
		CLI_TEXT("python", "PYTHON",
			 "this Python's; its name in PATH, or its path, as of a virtual environment", AT(python)),
		CLI_TEXT("node", "DIR", "node's, as a program sees them that works in DIR", AT(node)),
		cli_get_policy_table()[0], /* -p, --policy */
		CLI_FLAG("json", 0, "print one JSON object", AT(json)),
		{0},
	};
	const struct cli_syntax syntax = {
		.verb = "libraries",
		.usage = usage,
		.epilogue = "\nExit status: 0; 1 when a NAME is not installed; 125 an error.\n",
		.allows_mixed_order = true,
		.table = {{NULL, table, &options}},
	};
	_cleanup_policy_ struct policy *policy = NULL;
	_cleanup_host_ struct cli_host host = {0};
	_cleanup_free_ char *python = NULL;
	int status = cli_parse_options(argc, argv, &syntax);

	if (status == CLI_OPTIONS_PARSED) {
		python = libraries_make_absolute(options.python);
		options.python = python ? python : options.python;
		status = libraries_prepare(&options, &host, &policy);
		if (status == CLI_EXIT_OK)
			status = libraries_show_all(&options, &host, policy, argv + optind);
	}
	cli_policy_options_release(&options.policy);
	return status;
}
