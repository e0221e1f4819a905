/* Command lines of git, of which settings and commands run programs. */
#ifndef CALLGATE_CLI_INSPECT_GIT_H
#define CALLGATE_CLI_INSPECT_GIT_H

#include "cli/inspect/command.h"

/* Notes what a setting does, "NAME=VALUE": sets code or unseen. What is not known is unseen. */
void inspect_git_take_setting(struct inspect_command *command, const char *setting);
/* Notes whether a command of git, with its words, runs a program: sets unseen. */
void inspect_git_take_command(struct inspect_command *command, char *const *argv);

#endif
