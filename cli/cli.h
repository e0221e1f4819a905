/* The verbs, one file each. Every verb gets argv from its own name on and returns the process's exit status. */
#ifndef CALLGATE_CLI_CLI_H
#define CALLGATE_CLI_CLI_H

#include "policy/policy.h"

/* Exit statuses of callgate's own; otherwise the program's own status is passed on (128+n for a signal). */
enum cli_exit {
	CLI_OK = 0,
	CLI_TIMEOUT = 124,   /* the wall-clock limit ended the run */
	CLI_ERROR = 125,     /* callgate could not do what was asked: bad usage, bad policy, no supervision */
	CLI_REFUSED = 126,   /* the policy refused the program itself */
	CLI_NOT_FOUND = 127, /* no such program in the view */
};

int cli_run(int argc, char **argv);
int cli_check(int argc, char **argv);
int cli_show(int argc, char **argv);
int cli_why(int argc, char **argv);
int cli_audit(int argc, char **argv);
int cli_doctor(int argc, char **argv);

/* One line on stderr: "callgate VERB: message". */
void cli_error(const char *verb, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* One line on stderr as it is. Text of others is made harmless here and in cli_error and cli_print (text_show). */
void cli_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* getopt_long(3), whose own messages would show argv as it is: '?' after a line on stderr that begins with argv[0]. */
struct option;
int cli_getopt(int argc, char **argv, const char *shorts, const struct option *longs);

/* Every message of the list on stderr, one a line, as "callgate VERB: file:line: key: …". */
void cli_policy_errors(const char *verb, const struct policy_errors *errors);

/* Every warning of the policy on stderr, one a line; verb NULL: as they are. */
void cli_policy_warnings(const char *verb, const struct policy *policy);

/* After getopt_long said '?' or ':': one line saying what was wrong is printed already; points at --help. CLI_ERROR. */
int cli_usage_error(const char *verb);

/* Prints "callgate VERSION" to stdout. CLI_OK, or CLI_ERROR when stdout cannot be written. */
int cli_version(void);

/* Prints text to stdout and flushes it. CLI_OK, or CLI_ERROR with a message when stdout cannot be written. */
int cli_print(const char *verb, const char *text);

#endif
