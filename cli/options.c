#include "cli/options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/host/real.h"
#include "policy/parse/layer-names.h"

#include "base/banned.h"

const char *cli_policy_help(void)
{
	return "  -p, --policy FILE         policy file; may be given more than once, together with --profile\n"
	       "      --profile NAME        minimal, python, data, extended, or for the network pypi, npm, debian,\n"
	       "                            github-read; or a file's name in $CALLGATE_PROFILES;\n"
	       "                            without -p and --profile: minimal, and PROGRAM may be executed\n"
	       "  -w, --workdir DIR         work in this directory; otherwise in an empty one, named /work\n"
	       "  -r, --allow-read PATH     the program may read PATH and everything below it (globs as in a policy)\n"
	       "  -W, --allow-write PATH    ... and change it\n"
	       "  -x, --allow-exec PATH     ... and execute it\n"
	       "      --allow-host HOST[:PORT]  the program may connect to HOST, *.NAME or **.NAME; default port 443\n"
	       "      --allow 'METHOD,... HOST[:PORT]/PATH'\n"
	       "                            ... and make these requests there, no others\n"
	       "      --no-net              no network, whatever the policy grants\n"
	       "      --secret NAME@HOST[,HOST...]\n"
	       "                            these hosts get the variable's value, the program a placeholder\n"
	       "  -e, --env NAME[=VALUE]    pass or set an environment variable\n"
	       "  -t, --timeout TIME        end the run after TIME: 30, 500ms, 10s, 2m, 1h; \"none\" lifts a limit\n"
	       "  -m, --memory SIZE         end it when it uses more memory: 512M, 2G\n"
	       "      --cpu TIME            ... more processor time, summed over all processes\n"
	       "      --disk SIZE           ... more disk space, wherever it may write\n"
	       "      --pids N              at most N processes and threads at a time\n"
	       "      --open-files N        at most N file descriptors in each process\n"
	       "      --file-size SIZE      no file becomes larger\n"
	       "      --output-limit SIZE   show at most SIZE of stdout and of stderr: 64K, 1M\n"
	       "      --audit-limit SIZE    end the run when its audit log is larger\n"
	       "      --require LAYERS      refuse to run without these layers: landlock,namespaces,...\n"
	       "      --phase setup|run     apply the policy's rules for this phase; default run\n"
	       "      --user UID[:GID]      as root: run as this user, without supplementary groups; ids or names\n"
	       "      --without LAYERS      leave out these layers, to compare or to work around one\n";
}

/* ---- lists ---- */

int cli_list_take(struct cli_list *list, char *text)
{
	char **grown = text ? realloc(list->item, (list->count + 2) * sizeof(*grown)) : NULL;

	if (!grown) {
		free(text);
		return -ENOMEM;
	}
	grown[list->count++] = text;
	grown[list->count] = NULL;
	list->item = grown;
	return 0;
}

void cli_list_done(struct cli_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->item[i]);
	free(list->item);
	*list = (struct cli_list){0};
}

void cli_policy_options_done(struct cli_policy_options *options)
{
	struct cli_list *const lists[] = {&options->names, &options->read,       &options->write, &options->exec,
					  &options->env,   &options->allow_host, &options->allow, &options->secret};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		cli_list_done(lists[i]);
	free(options->workdir);
	*options = (struct cli_policy_options){0};
}

/* ---- one option ---- */

/*
 * Whether the text without ".." leads to the same file as the value does. The links on the way are judged later, when
 * it is known which of them a program could have made (cli/host/places.h).
 */
static bool options_same_path(const char *value, const char *text)
{
	struct cli_real real = {0};
	_cleanup_free_ char *resolved = cli_real_path(&real, value), *found = cli_real_path(&real, text);

	cli_real_done(&real);
	return resolved && found && strcmp(resolved, found) == 0;
}

/*
 * A path on the command line may be relative to the current directory. It is made absolute as text, so that a symbolic
 * link itself can be granted; ".." behind a link is refused. Variables are left to the policy's compiler.
 */
static int options_take_path(struct cli_list *list, const char *verb, const char *option, const char *value)
{
	char cwd[PATH_MAX], path[PATH_MAX];
	bool lexical = true;
	int ret;

	if (!*value || *value == '@' || *value == '~' || strncmp(value, "${", 2) == 0)
		return cli_list_take(list, strdup(value));
	if (!getcwd(cwd, sizeof(cwd))) {
		cli_error(verb, "%s %s: the current directory has no name (%s); write an absolute path", option, value,
			  strerror(errno));
		return -EINVAL;
	}
	ret = path_join(cwd, value, path, sizeof(path), &lexical);
	if (ret > 0 && (lexical || options_same_path(value, path)))
		return cli_list_take(list, strdup(path));
	if (ret > 0 && access(value, F_OK) == 0)
		cli_error(verb, "%s %s: has a \"..\" behind a symbolic link; write the path without", option, value);
	else
		cli_error(verb, "%s %s: %s", option, value, strerror(ret < 0 ? -ret : errno));
	return -EINVAL;
}

/* The value of -p is a file even when it looks like the name of a profile. */
static int options_take_file(struct cli_list *list, const char *value)
{
	return cli_list_take(list, strchr(value, '/') ? strdup(value) : cli_format("./%s", value));
}

static int options_take_profile(struct cli_list *list, const char *verb, const char *value)
{
	if (*value && !strchr(value, '/'))
		return cli_list_take(list, strdup(value));
	cli_error(verb, "--profile %s: not a profile's name; use -p for a file", value);
	return -EINVAL;
}

static int options_take_workdir(struct cli_policy_options *options, const char *verb, const char *value)
{
	char *path = realpath(value, NULL);

	if (!path) {
		cli_error(verb, "-w %s: %s; name a directory that exists", value, strerror(errno));
		return -EINVAL;
	}
	free(options->workdir);
	options->workdir = path;
	options->workdir_named = value;
	return 0;
}

/* 1: not an option that sets a limit. */
static int options_take_limit(struct cli_policy_options *options, const char *verb, int opt, const char *value)
{
	static const struct {
		int opt;
		const char *name;
		enum policy_limit first, last;
	} table[] = {
		{'t', "-t", POLICY_LIMIT_WALL, POLICY_LIMIT_WALL},
		{'m', "-m", POLICY_LIMIT_MEMORY, POLICY_LIMIT_MEMORY},
		{CLI_OPT_CPU, "--cpu", POLICY_LIMIT_CPU, POLICY_LIMIT_CPU},
		{CLI_OPT_PIDS, "--pids", POLICY_LIMIT_PIDS, POLICY_LIMIT_PIDS},
		{CLI_OPT_OPEN_FILES, "--open-files", POLICY_LIMIT_OPEN_FILES, POLICY_LIMIT_OPEN_FILES},
		{CLI_OPT_FILE_SIZE, "--file-size", POLICY_LIMIT_FILE_SIZE, POLICY_LIMIT_FILE_SIZE},
		{CLI_OPT_DISK, "--disk", POLICY_LIMIT_DISK, POLICY_LIMIT_DISK},
		{CLI_OPT_OUTPUT_LIMIT, "--output-limit", POLICY_LIMIT_STDOUT, POLICY_LIMIT_STDERR},
		{CLI_OPT_AUDIT_LIMIT, "--audit-limit", POLICY_LIMIT_AUDIT, POLICY_LIMIT_AUDIT},
	};
	const size_t count = sizeof(table) / sizeof(table[0]);
	uint64_t amount = 0;
	char why[160];
	size_t i = 0;

	while (i < count && table[i].opt != opt)
		i++;
	if (i == count)
		return 1;
	if (policy_limit_parse(table[i].first, value, &amount, why, sizeof(why)) < 0) {
		cli_error(verb, "%s %s: %s", table[i].name, value, why);
		return -EINVAL;
	}
	for (enum policy_limit which = table[i].first; which <= table[i].last; which++) {
		*policy_limit_field(&options->limits, which) = amount;
		options->limits_given |= POLICY_LIMIT_BIT(which);
	}
	return 0;
}

static int options_take_layers(const char *verb, const char *option, const char *list, unsigned permitted,
			       unsigned *bits)
{
	unsigned named = 0;
	const char *nearest;
	char bad[32];

	if (layers_parse(list, &named, bad, sizeof(bad)) < 0) {
		nearest = layer_nearest(bad);
		if (nearest)
			cli_error(verb, "%s: there is no layer \"%s\"; did you mean \"%s\"?", option, bad, nearest);
		else
			cli_error(verb, "%s: there is no layer \"%s\"; callgate doctor lists them", option, bad);
		return -EINVAL;
	}
	if (named & ~permitted) {
		cli_error(verb, "%s %s: nothing runs without seccomp_notify, no_new_privs and capabilities", option,
			  list);
		return -EINVAL;
	}
	*bits |= named;
	return 0;
}

static int options_take_user(struct cli_policy_options *options, const char *verb, const char *value)
{
	const char *wrong = policy_user_error(value);

	if (wrong) {
		cli_error(verb, "--user %s: %s; write UID, UID:GID or names", value, wrong);
		return -EINVAL;
	}
	options->user = value;
	return 0;
}

static int options_take_phase(struct cli_policy_options *options, const char *verb, const char *value)
{
	enum policy_phase phase = 0;

	while (phase < POLICY_PHASE_MAX && strcmp(value, policy_phase_name(phase)) != 0)
		phase++;
	if (phase == POLICY_PHASE_MAX) {
		cli_error(verb, "--phase %s: must be setup or run", value);
		return -EINVAL;
	}
	options->phase = phase;
	options->phase_given = true;
	return 0;
}

static int options_take(struct cli_policy_options *options, const char *verb, int opt, const char *value)
{
	switch (opt) {
	case 'p':
		return options_take_file(&options->names, value);
	case CLI_OPT_PROFILE:
		return options_take_profile(&options->names, verb, value);
	case 'w':
		return options_take_workdir(options, verb, value);
	case 'r':
		return options_take_path(&options->read, verb, "-r", value);
	case 'W':
		return options_take_path(&options->write, verb, "-W", value);
	case 'x':
		return options_take_path(&options->exec, verb, "-x", value);
	case 'e':
		return cli_list_take(&options->env, strdup(value));
	case CLI_OPT_ALLOW_HOST:
		return cli_list_take(&options->allow_host, strdup(value));
	case CLI_OPT_ALLOW:
		return cli_list_take(&options->allow, strdup(value));
	case CLI_OPT_NO_NET:
		options->no_net = true;
		return 0;
	case CLI_OPT_SECRET:
		return cli_list_take(&options->secret, strdup(value));
	case CLI_OPT_PHASE:
		return options_take_phase(options, verb, value);
	case CLI_OPT_REQUIRE:
		return options_take_layers(verb, "--require", value, ~0U, &options->required);
	case CLI_OPT_USER:
		return options_take_user(options, verb, value);
	case CLI_OPT_WITHOUT:
		return options_take_layers(verb, "--without", value, LAYERS_OPTIONAL, &options->without);
	default:
		return options_take_limit(options, verb, opt, value);
	}
}

int cli_policy_option(struct cli_policy_options *options, const char *verb, int opt, const char *value)
{
	int ret = options_take(options, verb, opt, value);

	if (ret == -ENOMEM)
		(void)cli_no_memory(verb);
	return ret < 0 ? ret : ret == 0;
}
