#include "cli/options.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/host/real.h"
#include "policy/parse/layer-names.h"

void cli_policy_options_release(struct cli_policy_options *options)
{
	struct cli_list *const lists[] = {
		&options->policy_names, &options->read,       &options->write,         &options->exec,
		&options->env,   &options->allow_host, &options->allow_request, &options->secret,
		&options->allow_private, &options->listen,
	};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		cli_list_release(lists[i]);
	free(options->workdir);
	*options = (struct cli_policy_options){0};
}

/*
 * Whether `text`, which is `value` with each ".." removed, leads to the same file. The links on the way are judged
 * later, when it is known which of them a program could have created (cli/host/places.h).
 */
static bool options_paths_are_same(const char *value, const char *text)
{
	struct cli_path_cache real = {0};
	_cleanup_free_ char *resolved = cli_resolve_real_path(&real, value),
			    *found = cli_resolve_real_path(&real, text);

	cli_path_cache_release(&real);
	return resolved && found && strcmp(resolved, found) == 0;
}

/*
 * Adds a path, which may be relative to the current directory. It is made absolute as text, so that a symbolic link
 * itself can be granted; ".." behind a link is refused. Variables are left to the policy compiler.
 */
static int options_add_path(const struct cli_given_option *given, void *list)
{
	const char *value = given->value;
	char cwd[PATH_MAX], path[PATH_MAX];
	bool lexical = true;
	int ret;

	if (!*value || *value == '@' || *value == '~' || strncmp(value, "${", 2) == 0)
		return cli_list_add_owned(list, strdup(value));
	if (!getcwd(cwd, sizeof(cwd)))
		return cli_refuse_value(given, "the current directory has no name (%s); write an absolute path",
				      strerror(errno));
	ret = path_join(cwd, value, path, sizeof(path), &lexical);
	if (ret > 0 && (lexical || options_paths_are_same(value, path)))
		return cli_list_add_owned(list, strdup(path));
	if (ret > 0 && access(value, F_OK) == 0)
		return cli_refuse_value(given, "has a \"..\" behind a symbolic link; write the path without");
	return cli_refuse_value(given, "%s", strerror(ret < 0 ? -ret : errno));
}

/* Adds the policy that -p names. The name is that of a file even if it looks like the name of a profile. */
static int options_add_file(const struct cli_given_option *given, void *list)
{
	if (!*given->value)
		return cli_refuse_value(given, "is empty; name a policy file");
	return cli_list_add_owned(list,
				  strchr(given->value, '/') ? strdup(given->value) : text_format("./%s", given->value));
}

/* Setter that adds a profile's name. A path is refused. */
static int options_add_profile(const struct cli_given_option *given, void *list)
{
	if (*given->value && !strchr(given->value, '/'))
		return cli_list_add_owned(list, strdup(given->value));
	return cli_refuse_value(given, "not a profile's name; use -p for a file");
}

/* Setter of the working directory, which must exist. Keeps it resolved, and as the user wrote it. */
static int options_set_workdir(const struct cli_given_option *given, void *all)
{
	struct cli_policy_options *options = all;
	char *path = realpath(given->value, NULL);

	if (!path)
		return cli_refuse_value(given, "%s; name a directory that exists", strerror(errno));
	free(options->workdir);
	options->workdir = path;
	options->workdir_as_written = given->value;
	return 0;
}

/* Sets the limit given->setter_param. --output-limit sets two limits, those of stdout and of stderr. */
static int options_set_limit(const struct cli_given_option *given, void *all)
{
	enum policy_limit last = given->setter_param == POLICY_LIMIT_STDOUT ? POLICY_LIMIT_STDERR : given->setter_param;
	struct cli_policy_options *options = all;
	uint64_t amount = 0;
	char why[160];

	if (policy_limit_parse_value(given->setter_param, given->value, &amount, why, sizeof(why)) < 0)
		return cli_refuse_value(given, "%s", why);
	for (enum policy_limit limit = given->setter_param; limit <= last; limit++) {
		*policy_limit_get_field(&options->cli.limits, limit) = amount;
		options->cli.given_limits_mask |= POLICY_LIMIT_BIT(limit);
	}
	return 0;
}

/* Adds the named layers. given->setter_param has the LAYER_BITs that the option accepts. */
static int options_add_layers(const struct cli_given_option *given, void *layers)
{
	unsigned named = 0;
	const char *nearest;
	char bad[32];

	if (layers_parse_list(given->value, &named, bad, sizeof(bad)) < 0) {
		nearest = layer_find_nearest_name(bad);
		cli_print_error(given->verb, "%s: there is no layer \"%s\"; %s%s%s", given->option, bad,
			  nearest ? "did you mean \"" : "callgate doctor lists them", nearest ? nearest : "",
			  nearest ? "\"?" : "");
		return -EINVAL;
	}
	if (named & ~given->setter_param & LAYER_BIT(LAYER_KERNEL_READS))
		return cli_refuse_value(given, "kernel-reads is only there with --judge changes; write --judge all");
	if (named & ~given->setter_param)
		return cli_refuse_value(given, "nothing runs without seccomp_notify, no_new_privs and capabilities");
	*(unsigned *)layers |= named;
	return 0;
}

static int options_set_user(const struct cli_given_option *given, void *user)
{
	const char *wrong = policy_find_user_error(given->value);

	return wrong ? cli_refuse_value(given, "%s; write UID, UID:GID or names", wrong) : cli_set_text(given, user);
}

/* Setter of "all" or "changes". */
static int options_set_judge(const struct cli_given_option *given, void *judge)
{
	for (unsigned i = 0; policy_judge_names[i]; i++)
		if (strcmp(given->value, policy_judge_names[i]) == 0) {
			*(enum policy_judge *)judge = (enum policy_judge)(POLICY_JUDGE_ALL + i);
			return 0;
		}
	return cli_refuse_value(given, "must be all or changes");
}

/* Setter of the phase, "setup" or "run". */
static int options_set_phase(const struct cli_given_option *given, void *all)
{
	struct cli_policy_options *options = all;
	enum policy_phase phase = 0;

	while (phase < POLICY_PHASE_MAX && strcmp(given->value, policy_phase_get_name(phase)) != 0)
		phase++;
	if (phase == POLICY_PHASE_MAX)
		return cli_refuse_value(given, "must be setup or run");
	options->cli.phase = phase;
	options->phase_was_given = true;
	return 0;
}

#define FIELD_OFFSET(member) offsetof(struct cli_policy_options, member)
#define LIMIT_OPTION(name, letter, argument, help, limit) \
	{name, letter, argument, help, options_set_limit, 0, POLICY_LIMIT_##limit}

const struct cli_option *cli_get_policy_table(void)
{
	static const struct cli_option table[] = {
		{"policy", 'p', "FILE", "policy file; may be given more than once, together with --profile",
		 options_add_file, FIELD_OFFSET(policy_names), 0},
		{"profile", 0, "NAME",
		 "minimal, python, data, extended, or for the network pypi, npm, debian,\n"
		 "github-read; or the name of a file in $CALLGATE_PROFILES",
		 options_add_profile, FIELD_OFFSET(policy_names), 0},
		{"workdir", 'w', "DIR", "work in this directory; otherwise in an empty one, named /work",
		 options_set_workdir, 0, 0},
		{"allow-read", 'r', "PATH", "the program may read PATH and everything below it (globs as in a policy)",
		 options_add_path, FIELD_OFFSET(read), 0},
		{"allow-write", 'W', "PATH", "... and change it", options_add_path, FIELD_OFFSET(write), 0},
		{"allow-exec", 'x', "PATH", "... and execute it", options_add_path, FIELD_OFFSET(exec), 0},
		CLI_LIST("allow-host", 0, "HOST[:PORT]",
			 "the program may connect to HOST, *.NAME or **.NAME; default port 443",
			 FIELD_OFFSET(allow_host)),
		CLI_LIST("allow", 0, "'METHOD,... HOST[:PORT]/PATH'", "... and make these requests there, no others",
			 FIELD_OFFSET(allow_request)),
		CLI_LIST("allow-private", 0, "HOST[:PORT]",
			 "as --allow-host, also where HOST has an address that is not public",
			 FIELD_OFFSET(allow_private)),
		CLI_LIST("listen", 0, "PORT",
			 "the program may listen at PORT, FIRST-LAST, 0 (any free one) or '*', on a\n"
			 "loopback of the run's own",
			 FIELD_OFFSET(listen)),
		CLI_FLAG("no-net", 0, "no network, whatever the policy grants", FIELD_OFFSET(cli.denies_network)),
		CLI_LIST("secret", 0, "NAME@HOST[,HOST...]",
			 "these hosts get the variable's value, the program a placeholder", FIELD_OFFSET(secret)),
		CLI_LIST("env", 'e', "NAME[=VALUE]", "pass or set an environment variable", FIELD_OFFSET(env)),
		LIMIT_OPTION("timeout", 't', "TIME",
			     "end the run after TIME: 30, 500ms, 10s, 2m, 1h; \"none\" lifts a limit", WALL),
		LIMIT_OPTION("memory", 'm', "SIZE", "end it when it uses more memory: 512M, 2G", MEMORY),
		LIMIT_OPTION("cpu", 0, "TIME", "... more processor time, summed over all processes", CPU),
		LIMIT_OPTION("disk", 0, "SIZE", "... more disk space, wherever it may write", DISK),
		LIMIT_OPTION("pids", 0, "N", "at most N processes and threads at a time", PIDS),
		LIMIT_OPTION("open-files", 0, "N", "at most N file descriptors in each process", OPEN_FILES),
		LIMIT_OPTION("file-size", 0, "SIZE", "no file becomes larger", FILE_SIZE),
		LIMIT_OPTION("output-limit", 0, "SIZE", "show at most SIZE of stdout and of stderr: 64K, 1M", STDOUT),
		LIMIT_OPTION("audit-limit", 0, "SIZE", "end the run when its audit log is larger", AUDIT),
		{"require", 0, "LAYERS", "refuse to run without these layers: landlock,namespaces,...",
		 options_add_layers, FIELD_OFFSET(cli.required_layers), ~0U},
		{"judge", 0, "all|changes",
		 "changes: leave calls that only read to the kernel, unrecorded, where it\n"
		 "denies what the policy denies; default all",
		 options_set_judge, FIELD_OFFSET(cli.judge), 0},
		{"phase", 0, "setup|run", "apply the policy's rules for this phase; default run", options_set_phase, 0,
		 0},
		{"user", 0, "UID[:GID]", "as root: run as this user, without supplementary groups; ids or names",
		 options_set_user, FIELD_OFFSET(cli.user), 0},
		{"without", 0, "LAYERS", "leave out these layers, to compare or to work around one", options_add_layers,
		 FIELD_OFFSET(switched_off_layers), LAYERS_OPTIONAL},
		{0},
	};

	return table;
}
