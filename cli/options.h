/* Options of the command line, in tables from which they are parsed and --help is printed. */
#ifndef CALLGATE_CLI_OPTIONS_H
#define CALLGATE_CLI_OPTIONS_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/cli.h"
#include "policy/parse/load.h"

/* An option that the user gave. */
struct cli_given_option {
	const char *verb;   /* the verb that has the option, for messages */
	const char *option; /* name of the option for messages: "-r", or "--cpu" if it has no letter */
	char *value;        /* the option's argument, in main's argv; NULL: there is none */
	unsigned setter_param; /* cli_option.setter_param of the option's row in its table */
};

/* A row of a table of options. A row without a name ends the table. */
struct cli_option {
	const char *name;     /* the long option without its dashes */
	char letter;          /* the short option; 0: none */
	/* the argument's name in --help; "[=NAME]": it may be left out, without a letter; NULL: there is none */
	const char *argument;
	const char *help;     /* text in --help: one or more lines */
	/* sets the option's value in `field`; 0, -ENOMEM, or -EINVAL with a message printed */
	int (*set)(const struct cli_given_option *given, void *field);
	size_t field_offset;         /* offset of the option's value in the structure that the table fills */
	unsigned setter_param;       /* a number for `set`, such as which limit the option sets */
};

/*
 * Setters for the usual types of options, and macros for rows of an option table with these setters. The comment at
 * each setter names the type that `field` points to.
 */
int cli_set_flag(const struct cli_given_option *given, void *field); /* field: bool */
int cli_set_text(const struct cli_given_option *given, void *field); /* field: const char *, set to a text in argv */
int cli_add_text(const struct cli_given_option *given, void *field); /* field: struct cli_list */
/* As the two above, of a directory that is there, and of a file that can be read. The path is kept as it was given. */
int cli_set_directory(const struct cli_given_option *given, void *field);  /* field: const char * */
int cli_set_input_file(const struct cli_given_option *given, void *field); /* field: const char * */
int cli_add_input_file(const struct cli_given_option *given, void *field); /* field: struct cli_list */
/* a row of an option table: an option without argument; `at`: offset of its bool in the options' struct */
#define CLI_FLAG(name, letter, help, at) {name, letter, NULL, help, cli_set_flag, at, 0}
/* a row for an option with a text; `at`: offset of its `const char *` */
#define CLI_TEXT(name, argument, help, at) {name, 0, argument, help, cli_set_text, at, 0}
/* a row for an option that may be repeated; `at`: offset of its list of texts */
#define CLI_LIST(name, letter, argument, help, at) {name, letter, argument, help, cli_add_text, at, 0}

/* Prints a message that begins with the option and its value. Returns -EINVAL. */
#define cli_refuse_value(given, ...) cli_refuse_value_((given), __VA_ARGS__, "")
#define cli_refuse_value_(given, format, ...) \
	(cli_print_error((given)->verb, "%s %s: " format "%s", (given)->option, (given)->value, __VA_ARGS__), -EINVAL)

/* The command line of a verb. --help and --version belong to every verb. */
struct cli_syntax {
	const char *verb;
	const char *usage;    /* the text of --help before the options */
	const char *epilogue; /* the text of --help after the options; NULL: none */
	bool allows_mixed_order; /* options may also follow arguments */
	struct {
		const char *title; /* printed before the table's options; NULL: nothing */
		const struct cli_option *options;
		void *fills; /* the structure that the table fills: cli_option.field_offset is an offset in it */
	} table[2];
};

#define CLI_OPTIONS_PARSED (-1) /* returned instead of an exit status: the caller goes on with the parsed options */
/*
 * Parses the options; the arguments begin at argv[optind]. Returns CLI_OPTIONS_PARSED, or the exit status after --help,
 * --version or a message. Messages are not getopt_long(3)'s own, which print argv unescaped.
 */
int cli_parse_options(int argc, char **argv, const struct cli_syntax *syntax);

/* A NULL-ended list of owned strings that grows. Zero-initialise. */
struct cli_list {
	char **item; /* NULL if the list is empty */
	size_t count;
};

/* Adds a text, which the list then owns; on failure it is freed. NULL stands for no memory. 0 or -ENOMEM. */
int cli_list_add_owned(struct cli_list *list, char *text);
void cli_list_release(struct cli_list *list);
#define _cleanup_list_ __attribute__((cleanup(cli_list_release)))

/* The options that say what is allowed. run, show and why share them, so that all three compose the same policy. */
const struct cli_option *cli_get_policy_table(void);

/* The values of the options in cli_get_policy_table(). Zero-initialise; cli_policy_options_release releases. */
struct cli_policy_options {
	struct policy_cli cli; /* the options that are no lists, as the policy compiler takes them */
	struct cli_list policy_names; /* -p and --profile, in the order given */
	struct cli_list read, write, exec, env, allow_host, allow_private, listen, allow_request, secret;
	bool phase_was_given;           /* --phase was given */
	const char *workdir_as_written; /* value of -w as the user wrote it, in main's argv */
	char *workdir;             /* -w: canonical host directory; NULL: not given; owned */
	/* LAYER_BITs of the layers that --without names; not part of the policy, used by `callgate run` alone */
	unsigned switched_off_layers;
};

void cli_policy_options_release(struct cli_policy_options *options);
#define _cleanup_policy_options_ __attribute__((cleanup(cli_policy_options_release)))

#endif
