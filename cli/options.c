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
#include "cli/options.h"

#include "base/banned.h"

const char *cli_policy_help(void)
{
	return "  -p, --policy FILE         policy file; may be given more than once, together with --profile\n"
	       "      --profile NAME        minimal, python, data, extended, or FILE's name in $CALLGATE_PROFILES;\n"
	       "                            without -p and --profile: minimal, and the program named may be executed\n"
	       "  -w, --workdir DIR         work in this directory; without it in an empty one, named /work\n"
	       "  -r, --allow-read PATH     the program may read PATH and what is below (globs as in the policy)\n"
	       "  -W, --allow-write PATH    ... and change it\n"
	       "  -x, --allow-exec PATH     ... and execute it\n"
	       "  -e, --env NAME[=VALUE]    pass or set an environment variable\n"
	       "  -t, --timeout TIME        end the run after TIME: 30, 500ms, 10s, 2m, 1h\n"
	       "      --output-limit SIZE   show at most SIZE of stdout and of stderr: 64K, 1M\n";
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
	free(options->workdir);
	*options = (struct cli_policy_options){0};
}

/* ---- one option ---- */

/*
 * A path on the command line may be relative to where the user is. Only the text is made absolute, so that a link's own
 * name can be granted; ".." behind a name is for the kernel to resolve. Variables pass as they are.
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
	if (ret > 0 && lexical)
		return cli_list_take(list, strdup(path));
	if (ret > 0 && realpath(value, path))
		return cli_list_take(list, strdup(path));
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
	return 0;
}

static int take_amount(const char *verb, const char *option, const char *value, const char *examples,
		       int (*parse)(const char *text, uint64_t *ret_value), uint64_t *ret_amount)
{
	if (parse(value, ret_amount) == 0 && *ret_amount > 0)
		return 0;
	cli_error(verb, "%s %s: not understood; write %s", option, value, examples);
	return -EINVAL;
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
	case 't':
		return take_amount(verb, "-t", value, "30, 500ms, 10s, 2m or 1h", text_duration, &options->wall_ns);
	case CLI_OPT_OUTPUT_LIMIT:
		return take_amount(verb, "--output-limit", value, "a size such as 64K or 1M", text_size,
				   &options->output_bytes);
	default:
		return 1;
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

int cli_policy_load(const struct cli_policy_options *options, const char *verb, struct cli_host *host,
		    const char *scratch, struct policy **ret_policy)
{
	static const char *const usual[] = {CLI_DEFAULT_PROFILE, NULL};
	struct policy_errors errors = {0};
	struct cli_list exec = {0};
	struct policy_cli cli;
	int ret = cli_host_place(host, options->workdir, scratch);

	if (ret == 0)
		ret = grant_program(options, host, &exec);
	cli = (struct policy_cli){
		.read = (const char *const *)options->read.item,
		.write = (const char *const *)options->write.item,
		.exec = (const char *const *)exec.item,
		.env = (const char *const *)options->env.item,
		.wall_ns = options->wall_ns,
		.output_bytes = options->output_bytes,
	};
	if (ret == 0)
		ret = policy_load(options->names.count ? (const char *const *)options->names.item : usual, &cli,
				  &host->policy, ret_policy, &errors);
	cli_policy_errors(verb, &errors);
	if (ret == -ENOMEM)
		cli_error(verb, "out of memory");
	policy_errors_done(&errors);
	cli_list_done(&exec);
	return ret;
}
