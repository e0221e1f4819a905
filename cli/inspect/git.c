#include "cli/inspect/git.h"

#include <fnmatch.h>
#include <string.h>

#include "cli/inspect/command-add.h"

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/*
 * Settings of git whose value a shell runs, and those that start nothing: patterns of fnmatch(3), without case. Of gc,
 * recentObjectsHook is a command.
 */
static const char *const code_settings[] = {"core.pager",    "pager.*",         "core.editor",  "sequence.editor",
					    "diff.external", "core.sshCommand", "core.askPass", "core.fsmonitor"};
static const char *const plain_settings[] = {"user.*",
					     "author.*",
					     "committer.*",
					     "color.*",
					     "advice.*",
					     "column.*",
					     "init.defaultBranch",
					     "safe.*",
					     "log.*",
					     "status.*",
					     "push.*",
					     "pull.*",
					     "fetch.*",
					     "branch.*",
					     "core.quotePath",
					     "core.autocrlf",
					     "commit.*",
					     "tag.*",
					     "pack.*",
					     "http.*",
					     "index.*",
					     "protocol.version",
					     "core.fileMode",
					     "i18n.*",
					     "clone.*",
					     "checkout.*",
					     "rerere.*",
					     "gc.auto",
					     "gc.autoDetach",
					     "gc.autoPackLimit",
					     "gc.pruneExpire",
					     "gc.reflogExpire",
					     "gc.writeCommitGraph",
					     "gc.packRefs"};

/* Words behind a command of git by which it runs a program: patterns, since options may be cut. */
static const struct {
	const char *name;
	const char *const *words;
} git_commands[] = {
	{"archive", WORDS("--exe*")},
	{"bisect", WORDS("run")},
	{"clone", WORDS("-c*", "--co*", "-u*", "--up*", "--te*")},
	{"difftool", WORDS("*")},
	{"fetch", WORDS("--up*")},
	{"filter-branch", WORDS("*")},
	{"grep", WORDS("-O*", "--op*")},
	{"hook", WORDS("run")},
	{"init", WORDS("--te*")},
	{"ls-remote", WORDS("--up*", "--ex*")},
	{"mergetool", WORDS("*")},
	{"pull", WORDS("--up*")},
	{"push", WORDS("--rece*", "--ex*")},
	{"rebase", WORDS("-x*", "--ex*")},
	{"submodule", WORDS("foreach")},
};

static bool git_setting_is_one_of(const char *setting, const char *const *patterns, size_t count)
{
	const size_t len = strcspn(setting, "=");
	char name[64] = "";

	if (len < sizeof(name))
		memcpy(name, setting, len);
	for (size_t i = 0; i < count; i++)
		if (fnmatch(patterns[i], name, FNM_CASEFOLD) == 0)
			return true;
	return false;
}

void inspect_git_take_setting(struct inspect_command *command, const char *setting)
{
	static const char *const aliases[] = {"alias.*"};
	const char *value = strchr(setting, '=');

	if (git_setting_is_one_of(setting, plain_settings, COUNT(plain_settings)))
		return;
	if (value && value[1] == '!' && git_setting_is_one_of(setting, aliases, COUNT(aliases)))
		value++;
	else if (!git_setting_is_one_of(setting, code_settings, COUNT(code_settings)))
		value = NULL;
	if (value) {
		inspect_command_add_code(command, value + 1);
		command->type = INSPECT_TYPE_SHELL;
	} else {
		command->unseen = "git";
	}
}

void inspect_git_take_command(struct inspect_command *command, char *const *argv)
{
	for (size_t i = 0; *argv && i < COUNT(git_commands); i++)
		for (char *const *word = argv + 1; strcmp(*argv, git_commands[i].name) == 0 && *word; word++)
			for (const char *const *pattern = git_commands[i].words; *pattern; pattern++)
				if (fnmatch(*pattern, *word, 0) == 0)
					command->unseen = "git";
}
