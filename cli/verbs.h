/* Verbs below a verb ("callgate audit show"): which one is named, their list in --help, and what is no verb. */
#ifndef CALLGATE_CLI_VERBS_H
#define CALLGATE_CLI_VERBS_H

#include <stddef.h>

struct cli_verb {
	const char *name;
	int (*run)(int argc, char **argv); /* gets argv from the verb on; returns the exit status */
	const char *help;                  /* one line */
};

struct cli_verbs {
	const char *parent; /* "audit"; "": these are the verbs of callgate itself */
	const char *usage;  /* the text of --help before the list, and behind it */
	const char *epilogue;
	const struct cli_verb *verb;
	size_t count;
};

/* The number of verbs in an array. */
#define CLI_VERB_COUNT(verbs) (sizeof(verbs) / sizeof((verbs)[0]))

/* Runs the verb that argv[1] names, or answers --help and --version. Returns the exit status. */
int cli_run_verb(const struct cli_verbs *verbs, int argc, char **argv);

#endif
