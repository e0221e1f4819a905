/*
 * Declarations shared by the verbs of `callgate audit`. Each main function gets the arguments from its verb's name on,
 * and returns the exit status.
 */
#ifndef CALLGATE_CLI_AUDIT_AUDIT_H
#define CALLGATE_CLI_AUDIT_AUDIT_H

#include "cli/audit/fields.h"
#include "cli/audit/filter.h"
#include "cli/audit/logs.h"

int audit_main_show(int argc, char **argv);
int audit_main_top(int argc, char **argv);
int audit_main_stats(int argc, char **argv);
int audit_main_diff(int argc, char **argv);
int audit_main_export(int argc, char **argv);
int audit_main_verify(int argc, char **argv);

/* Prints the processes of the logs as a tree, with counts. CLI_EXIT_OK or CLI_EXIT_ERROR. */
int audit_print_tree(const char *const *paths, const struct audit_filter *filter);

#endif
