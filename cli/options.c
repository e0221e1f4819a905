#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/interpreter.h"
#include "cli/options.h"
#include "policy/parse/errors.h"
#include "policy/parse/layer-names.h"
#include "policy/paths/ways.h"

#include "base/banned.h"

const char *cli_policy_help(void)
{
	return "  -p, --policy FILE         policy file; may be given more than once, together with --profile\n"
	       "      --profile NAME        minimal, python, data, extended, or for the network pypi, npm, debian,\n"
	       "                            github-read; or FILE's name in $CALLGATE_PROFILES;\n"
	       "                            without -p and --profile: minimal, and the program named may be executed\n"
	       "  -w, --workdir DIR         work in this directory; without it in an empty one, named /work\n"
	       "  -r, --allow-read PATH     the program may read PATH and what is below (globs as in the policy)\n"
	       "  -W, --allow-write PATH    ... and change it\n"
	       "  -x, --allow-exec PATH     ... and execute it\n"
	       "      --allow-host HOST[:PORT]  the program may connect to HOST, *.NAME or **.NAME; port 443 unless "
	       "said\n"
	       "      --allow 'METHOD,... HOST[:PORT]/PATH'\n"
	       "                            ... and make these requests there, no others\n"
	       "      --no-net              no network, whatever the policy grants\n"
	       "      --secret NAME@HOST[,HOST...]\n"
	       "                            these hosts get the variable's value, the program a placeholder\n"
	       "  -e, --env NAME[=VALUE]    pass or set an environment variable\n"
	       "  -t, --timeout TIME        end the run after TIME: 30, 500ms, 10s, 2m, 1h; \"none\" lifts a limit\n"
	       "  -m, --memory SIZE         end it when it uses more memory: 512M, 2G\n"
	       "      --cpu TIME            ... more processor time than TIME, over all processes\n"
	       "      --disk SIZE           ... when it adds more to the disk, wherever it may write\n"
	       "      --pids N              at most N processes and threads at a time\n"
	       "      --open-files N        at most N descriptors in each process\n"
	       "      --file-size SIZE      no file becomes larger\n"
	       "      --output-limit SIZE   show at most SIZE of stdout and of stderr: 64K, 1M\n"
	       "      --audit-limit SIZE    end the run when its audit log is larger\n"
	       "      --require LAYERS      run nothing unless these hold the program: landlock,namespaces,...\n"
	       "      --phase setup|run     judge by what the policy says in this phase; run unless said\n"
	       "      --user UID[:GID]      as root: run as this user, without further groups; numbers or names\n"
	       "      --without LAYERS      do without these, to compare or to work round one\n";
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
	cli_list_done(&options->names);
	cli_list_done(&options->read);
	cli_list_done(&options->write);
	cli_list_done(&options->exec);
	cli_list_done(&options->env);
	cli_list_done(&options->allow_host);
	cli_list_done(&options->allow);
	cli_list_done(&options->secret);
	free(options->workdir);
	*options = (struct cli_policy_options){0};
}

/* ---- one option ---- */

/*
 * Whether the text without ".." means what the kernel makes of the value. Only the text is kept: which links are on the
 * way is judged when it is known who could have made them (cli/places.h).
 */
static bool is_same(const char *value, const char *text)
{
	struct cli_real real = {0};
	_cleanup_free_ char *meant = cli_real_path(&real, value), *found = cli_real_path(&real, text);

	cli_real_done(&real);
	return meant && found && strcmp(meant, found) == 0;
}

/*
 * A path on the command line may be relative to where the user is. Only the text is made absolute, so that a link's own
 * name can be granted; ".." behind a link is refused. Variables pass as they are.
 */
static int take_path(struct cli_list *list, const char *verb, const char *option, const char *value)
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
	if (ret > 0 && (lexical || is_same(value, path)))
		return cli_list_take(list, strdup(path));
	if (ret > 0 && access(value, F_OK) == 0)
		cli_error(verb, "%s %s: has a \"..\" behind a symbolic link; write the path without", option, value);
	else
		cli_error(verb, "%s %s: %s", option, value, strerror(ret < 0 ? -ret : errno));
	return -EINVAL;
}

/* -p names a file, whatever it is called. */
static int take_file(struct cli_list *list, const char *value)
{
	char *path;

	if (strchr(value, '/'))
		return cli_list_take(list, strdup(value));
	return cli_list_take(list, asprintf(&path, "./%s", value) < 0 ? NULL : path);
}

static int take_profile(struct cli_list *list, const char *verb, const char *value)
{
	if (*value && !strchr(value, '/'))
		return cli_list_take(list, strdup(value));
	cli_error(verb, "--profile %s: not a profile's name; use -p for a file", value);
	return -EINVAL;
}

static int take_workdir(struct cli_policy_options *options, const char *verb, const char *value)
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

/* The option as it is written, and the limits it sets. */
struct limit_option {
	int opt;
	const char *name;
	enum policy_limit first, last;
};

static const struct limit_option limit_options[] = {
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

/* 1: no option of a limit's. */
static int take_limit(struct cli_policy_options *options, const char *verb, int opt, const char *value)
{
	const struct limit_option *option = limit_options;
	const struct limit_option *end = option + sizeof(limit_options) / sizeof(limit_options[0]);
	uint64_t amount = 0;
	char why[160];

	while (option < end && option->opt != opt)
		option++;
	if (option == end)
		return 1;
	if (policy_limit_parse(option->first, value, &amount, why, sizeof(why)) < 0) {
		cli_error(verb, "%s %s: %s", option->name, value, why);
		return -EINVAL;
	}
	for (enum policy_limit which = option->first; which <= option->last; which++) {
		*policy_limit_field(&options->limits, which) = amount;
		options->limits_given |= POLICY_LIMIT_BIT(which);
	}
	return 0;
}

static int take_layers(const char *verb, const char *option, const char *list, unsigned permitted, unsigned *bits)
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

static int take_user(struct cli_policy_options *options, const char *verb, const char *value)
{
	const char *wrong = policy_user_error(value);

	if (wrong) {
		cli_error(verb, "--user %s: %s; write UID, UID:GID or names", value, wrong);
		return -EINVAL;
	}
	options->user = value;
	return 0;
}

static int take_phase(struct cli_policy_options *options, const char *verb, const char *value)
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

static int take(struct cli_policy_options *options, const char *verb, int opt, const char *value)
{
	switch (opt) {
	case 'p':
		return take_file(&options->names, value);
	case CLI_OPT_PROFILE:
		return take_profile(&options->names, verb, value);
	case 'w':
		return take_workdir(options, verb, value);
	case 'r':
		return take_path(&options->read, verb, "-r", value);
	case 'W':
		return take_path(&options->write, verb, "-W", value);
	case 'x':
		return take_path(&options->exec, verb, "-x", value);
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
		return take_phase(options, verb, value);
	case CLI_OPT_REQUIRE:
		return take_layers(verb, "--require", value, ~0U, &options->required);
	case CLI_OPT_USER:
		return take_user(options, verb, value);
	case CLI_OPT_WITHOUT:
		return take_layers(verb, "--without", value, LAYERS_OPTIONAL, &options->without);
	default:
		return take_limit(options, verb, opt, value);
	}
}

int cli_policy_option(struct cli_policy_options *options, const char *verb, int opt, const char *value)
{
	int ret = take(options, verb, opt, value);

	if (ret == -ENOMEM)
		cli_error(verb, "out of memory");
	return ret < 0 ? ret : ret == 0;
}

/* ---- the policy they make ---- */

/* The program as a rule names it: below the workdir when its name is relative, as it is started from there. */
static char *program_rule(struct cli_host *host)
{
	const char *program = host->program, *found = cli_host_program(host);
	char path[PATH_MAX], *rule;
	bool lexical;

	if (!found || strchr(found, '*') || path_join("/", found, path, sizeof(path), &lexical) < 0 || !lexical)
		return NULL;
	if (strchr(program, '/') && program[0] != '/' && path_below(path, host->workdir))
		return asprintf(&rule, "@workdir/%s", path_rest(path, host->workdir)) < 0 ? NULL : rule;
	return strdup(path);
}

/* Who gives no policy means the named program to run: it is granted exec. 0 or -ENOMEM. */
static int grant_program(const struct cli_policy_options *options, struct cli_host *host, struct cli_list *exec)
{
	char *rule;

	for (size_t i = 0; i < options->exec.count; i++)
		if (cli_list_take(exec, strdup(options->exec.item[i])) < 0)
			return -ENOMEM;
	if (options->names.count || !host->program)
		return 0;
	rule = program_rule(host);
	return rule ? cli_list_take(exec, rule) : 0;
}

struct places cli_policy_places(const struct cli_policy_options *options, struct cli_host *host,
				const struct policy *policy, const struct policy *further)
{
	return (struct places){
		.policy = {policy, host->other, further}, .workdir = options->workdir, .real = &host->real};
}

/* Where some file speaks of phases: what the other one may write counts as well. */
static int load_other(const char *const *names, const struct policy_cli *cli, struct cli_host *host,
		      const struct policy *policy, struct policy_errors *errors)
{
	struct policy_cli other = *cli;

	other.phase = cli->phase == POLICY_PHASE_RUN ? POLICY_PHASE_SETUP : POLICY_PHASE_RUN;
	other.draft = NULL;
	policy_free(host->other);
	host->other = NULL;
	if (!policy_has_phase(policy, POLICY_PHASE_RUN) && !policy_has_phase(policy, POLICY_PHASE_SETUP))
		return 0;
	return policy_load(names, &other, &host->policy, &host->other, errors);
}

static int load_phases(const char *const *names, const struct policy_cli *cli, struct cli_host *host,
		       struct policy **ret_policy, struct policy_errors *errors)
{
	int ret = policy_load(names, cli, &host->policy, ret_policy, errors);

	return ret < 0 ? ret : load_other(names, cli, host, *ret_policy, errors);
}

/* The way to what a profile or @interpreter names, and to the version manager that made it an interpreter's. */
static int judge_optional(const struct places *places, const struct cli_host *host, const char *path,
			  struct places_why *ret_why)
{
	const char *manager = host->interpreter ? interpreter_place(host->interpreter, path) : NULL;
	struct places_why why = {""};

	if (manager && places_judge(places, PLACES_GRANT, manager, NULL, &why) < 0) {
		(void)snprintf(ret_why->text, sizeof(ret_why->text), "is in %.400s, which %.500s", manager, why.text);
		return -EPERM;
	}
	return places_judge(places, PLACES_GRANT, path, NULL, ret_why);
}

/*
 * What profiles and @interpreter name by a link that a run may have made is not granted: where /etc may be written,
 * say, /etc/localtime. The user did not write it, and could not leave it out. 1: the policy has to be loaded again; 0,
 * -ENOMEM.
 */
static int do_without(const struct cli_policy_options *options, struct cli_host *host, const struct policy *policy)
{
	const struct places places = cli_policy_places(options, host, policy, NULL);
	int again = 0;
	size_t count;
	const struct policy_way *way = policy_ways(policy, &count);

	for (size_t i = 0; i < count && again >= 0; i++) {
		struct places_why why = {""};
		int refused = 0;

		if (way[i].optional && judge_optional(&places, host, way[i].text, &why) < 0)
			refused = cli_host_refuse(host, way[i].text, why.text);
		again = refused < 0 ? refused : refused || again;
	}
	return again;
}

/* That no program has chosen what the policy leads to. -EINVAL with messages. */
static int judge_places(const struct cli_policy_options *options, struct cli_host *host, const struct policy *policy,
			struct policy_errors *errors)
{
	const struct places places = cli_policy_places(options, host, policy, NULL);
	struct places_why why = {""};
	int ways = places_judge_policy(&places, policy, errors), other = 0, files, workdir = 0;

	if (host->other && ways == 0) /* most of what they name they have in common */
		other = places_judge_policy(&places, host->other, errors);
	files = cli_host_judge_files(host, &places, errors);
	if (options->workdir)
		workdir = places_judge(&places, PLACES_GRANT, options->workdir_named, NULL, &why);
	if (workdir < 0)
		policy_errors_add(errors, "-w %s: %s", options->workdir_named, why.text);
	return ways < 0 || other < 0 || files < 0 || workdir < 0 ? -EINVAL : 0;
}

int cli_policy_load(const struct cli_policy_options *options, const char *verb, struct cli_host *host,
		    const char *scratch, struct policy **ret_policy)
{
	static const char *const usual[] = {CLI_DEFAULT_PROFILE, NULL};
	const char *const *names = options->names.count ? (const char *const *)options->names.item : usual;
	struct policy_errors errors = {0};
	struct cli_list exec = {0};
	struct policy *policy = NULL;
	struct policy_cli cli;
	int ret = cli_host_place(host, options->workdir, scratch);

	if (ret == 0)
		ret = grant_program(options, host, &exec);
	cli = (struct policy_cli){
		.read = (const char *const *)options->read.item,
		.write = (const char *const *)options->write.item,
		.exec = (const char *const *)exec.item,
		.env = (const char *const *)options->env.item,
		.limits = options->limits,
		.limits_given = options->limits_given,
		.required = options->required,
		.user = options->user,
		.allow_host = (const char *const *)options->allow_host.item,
		.allow_request = (const char *const *)options->allow.item,
		.secret = (const char *const *)options->secret.item,
		.no_net = options->no_net,
		.phase = options->phase,
		.draft = options->draft,
	};
	if (ret == 0)
		ret = load_phases(names, &cli, host, &policy, &errors);
	while (ret == 0 && (ret = do_without(options, host, policy)) > 0) {
		policy_free(policy);
		policy = NULL;
		ret = load_phases(names, &cli, host, &policy, &errors);
	}
	if (ret == 0)
		ret = judge_places(options, host, policy, &errors);
	if (ret == 0)
		*ret_policy = policy;
	else
		policy_free(policy);
	cli_policy_errors(verb, &errors);
	if (ret == -ENOMEM)
		cli_error(verb, "out of memory");
	policy_errors_done(&errors);
	cli_list_done(&exec);
	return ret;
}
