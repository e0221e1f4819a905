/*
 * Declarations shared by the verbs of callgate: their main functions, and functions that print. A main function gets
 * argv from the verb's name on, and returns the exit status.
 */
#ifndef CALLGATE_CLI_CLI_H
#define CALLGATE_CLI_CLI_H

#include <jansson.h>
#include <stdio.h>

#include "base/cleanup-json.h"
#include "policy/parse/errors.h"
#include "policy/policy.h"

#define _cleanup_policy_errors_ __attribute__((cleanup(policy_errors_release)))
#define _cleanup_policy_ __attribute__((cleanup(cli_policy_freep)))
static inline void cli_policy_freep(struct policy **policy)
{
	policy_free(*policy);
}

/* Exit statuses of callgate's own; otherwise the program's own status is passed on (128+n for a signal). */
enum cli_exit {
	CLI_EXIT_OK = 0,
	CLI_EXIT_TIMEOUT = 124,      /* the wall-clock limit ended the run */
	CLI_EXIT_ERROR = 125,        /* callgate could not do what was asked: bad usage, bad policy, no supervision */
	CLI_EXIT_EXEC_REFUSED = 126, /* the policy refused to execute the program */
	CLI_EXIT_PROGRAM_NOT_FOUND = 127, /* no such program in the view */
};

int cli_main_run(int argc, char **argv);
int cli_main_check(int argc, char **argv);
int cli_main_show(int argc, char **argv);
int cli_main_why(int argc, char **argv);
int cli_main_policy(int argc, char **argv);
int cli_main_audit(int argc, char **argv);
int cli_main_compare(int argc, char **argv);
int cli_main_experiment(int argc, char **argv);
int cli_main_replay(int argc, char **argv);
int cli_main_inspect(int argc, char **argv);
int cli_main_libraries(int argc, char **argv);
int cli_main_learn(int argc, char **argv);
int cli_main_attest(int argc, char **argv);
int cli_main_key(int argc, char **argv);
int cli_main_session(int argc, char **argv);
int cli_main_ws(int argc, char **argv);
int cli_main_mcp(int argc, char **argv);
int cli_main_serve(int argc, char **argv);
int cli_main_doctor(int argc, char **argv);

/*
 * Prints one line on stderr: "callgate VERB: message"; with `verb` NULL only the message. All functions of this header
 * escape control characters and invisible characters (text_escape_for_display).
 */
void cli_print_error(const char *verb, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define cli_note(...) cli_print_error(NULL, __VA_ARGS__)

/* Prints a message that memory ran out. Returns CLI_EXIT_ERROR. */
int cli_fail_no_memory(const char *verb);

/*
 * The messages as a JSON array of {"file", "line", "key", "message"}. For a mistake on the command line, file and line
 * are null and key is the option. key is null for a message that names no key. Owned by the caller.
 */
json_t *cli_policy_errors_json(const struct policy_errors *errors);
/* Prints each message on a line: "callgate VERB: file:line: key: …". With `verb` NULL, "callgate VERB: " is omitted. */
void cli_print_policy_errors(const char *verb, const struct policy_errors *errors);
void cli_print_policy_warnings(const char *verb, const struct policy *policy);

/*
 * Prints a line that refers to --help. To be called after the message that says what is wrong. Returns CLI_EXIT_ERROR.
 */
int cli_fail_usage(const char *verb);

/* Prints "callgate VERSION" to stdout. CLI_EXIT_OK, or CLI_EXIT_ERROR when stdout cannot be written. */
int cli_print_version(void);

/*
 * For verbs that change something: when a reader of their output ends, such as head(1), writing fails, and SIGPIPE does
 * not end them in the middle.
 */
void cli_ignore_broken_pipes(void);

/*
 * Prints text to stdout and flushes it. CLI_EXIT_OK, or CLI_EXIT_ERROR with a message; text NULL stands for no memory.
 */
int cli_print_text(const char *verb, const char *text);
struct buf;
int cli_print_buf(const char *verb, const struct buf *text);

/* Prints an indented JSON value, and releases it; NULL stands for no memory. */
int cli_print_json(const char *verb, json_t *value);

#endif
