/*
 * Verbs below a verb ("callgate audit show"): finds the verb that the command line names, lists the verbs for --help,
 * and refuses unknown names.
 */
#ifndef CALLGATE_CLI_VERBS_H
#define CALLGATE_CLI_VERBS_H

#include <stddef.h>

/* A verb of the command line, such as "run". */
struct cli_verb {
	const char *name;
	int (*run)(int argc, char **argv); /* gets argv from the verb on; returns the exit status */
	const char *help;                  /* one line */
};

/* The verbs of callgate, or those below one of its verbs. */
struct cli_verbs {
	const char *parent; /* "audit"; "": these are the verbs of callgate itself */
	const char *usage;  /* the texts of --help before and after the list of verbs */
	const char *epilogue;
	const struct cli_verb *verbs;
	size_t verb_count;
};

/* The number of verbs in an array. */
#define CLI_VERB_COUNT(verbs) (sizeof(verbs) / sizeof((verbs)[0]))

/* Runs the verb that argv[1] names, or answers --help and --version. Returns the exit status. */
int cli_run_verb(const struct cli_verbs *verbs, int argc, char **argv);

#endif
