/*
 * Looks at what a command line is about to run: program, script, code. For callgate run and callgate session exec, and
 * what callgate mcp looks for.
 */
#ifndef CALLGATE_CLI_INSPECT_PROGRAM_H
#define CALLGATE_CLI_INSPECT_PROGRAM_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "cli/inspect/findings.h"
#include "cli/inspect/imports.h"
#include "cli/inspect/subject.h"
#include "cli/options.h"

#define INSPECT_SECONDS_MAX 60u        /* in which parsers are started; that there was more to look at is told */
#define INSPECT_SEEN_MAX 1000u         /* names of files that are kept; that there were more is told */
#define INSPECT_JSON_FINDINGS_MAX 200u /* findings that are warned of, and as many that refuse the program */

/* A name of a file that was looked at, and which file that was. */
struct inspect_seen {
	char *name;         /* in messages; owned */
	char *found;        /* by which find_file finds it again; owned */
	struct stat status; /* st_ino 0: it was looked for, and was not there */
};

/* What is looked at, and for what. */
struct inspect_program {
	const char *verb;         /* for messages */
	const char *source;       /* what the command line is called in messages */
	char *const *argv;        /* NULL-ended, not empty */
	/*
	 * Its environment, "NAME=VALUE", which may make it run further files: what the policy says, of which only the
	 * files are of note, and what the caller has added.
	 */
	struct cli_list environment, variables;
	uint32_t refused, warned; /* INSPECT_BITs; both 0: nothing is looked at */
	struct cli_list modules;  /* what may be imported; empty: everything */
	bool is_quiet;
	bool reads_stdin; /* the program reads this process's standard input; false: its input is empty */
	/*
	 * Finds a file as the program would: a name is relative to its working directory, or, of a program without a
	 * slash, looked for along PATH. Returns a path by which this process can open it, owned by the caller; NULL:
	 * there is none. ret_name: the name by which it was found, likewise. Sets lacks_files if it does not look. That
	 * it could not look is kept in `data`: nothing may start then.
	 */
	char *(*find_file)(void *data, const char *name, bool is_program, char **ret_name);
	void *data;
	bool lacks_files; /* some files were not looked for, because there were too many */
	char *why; /* the first finding that refuses the program; owned; NULL: none */
	/*
	 * Takes findings that refuse or are warned of as JSON objects: "file", and as inspect_make_finding_json(). They
	 * are printed as well, unless is_quiet. Owned; NULL: they are only printed.
	 */
	json_t *findings;
	/*
	 * Of callgate inspect: takes what is found in code in a script, in the line of the command that gets it. Only
	 * code is looked at then: no files are looked for, and nothing is printed or refused. Borrowed; NULL: of other
	 * verbs.
	 */
	struct inspect_findings *code_findings;
	uint64_t warned_count, refused_count; /* of these: how many there were, also those that were left out */

	/* while it is looked at: */
	/*
	 * What the shell programs that were looked at last run, as JSON; "+N" is the end of the N-th visited file, and
	 * "=STATE" stands for one whose commands were followed before: what is to be taken from it (state.h).
	 */
	struct cli_list commands;
	struct cli_list directories; /* in which relative names may be; empty: only the working directory */
	bool is_lost;                /* and others, which are not known */
	bool has_other_input;        /* a shell has its standard input from elsewhere */
	const char *input;           /* what the command line reads, if that is not what this process reads; or NULL */
	bool is_of_interpreter;      /* a file of an interpreter of the system, of which nothing is warned of */
	const char *home;            /* HOME, in which shells look for files that they run first; NULL: not set */
	struct cli_list paths;       /* where else than along PATH programs are: the script sets PATH */
	const char *script;          /* the shell script whose commands are looked at; NULL: the command line */
	const char *own_directory;   /* of the script by which $0 is; NULL: not known */
	unsigned script_line;        /* in which line the command is; 0: none */

	unsigned line_count;       /* command lines that were looked at */
	uint64_t end_ns; /* when no further parser is started, CLOCK_MONOTONIC; 0: INSPECT_SECONDS_MAX from now */
	bool is_late;    /* that is over, and was told */
	unsigned file_count;       /* files and texts that were looked at, each by a parser */
	struct inspect_imports imports; /* what these import, which is looked at last */
	struct cli_list visited;   /* which files those are, as what, and in which state */
	struct cli_list ends;      /* for each of these the state at its end, as JSON; "": not known yet */
	struct inspect_seen *seen; /* by all names by which they were found, and names of files that were not there */
	size_t seen_count;
	bool lacks_seen; /* some names were not kept, because there were too many */
};

/* Adds a module to those that may be imported. The first brings the language's own library. 0 or -ENOMEM. */
int inspect_allow_module(struct cli_list *modules, const char *module);
/* With --inspect, or a list of modules, and without "inspect" in the policy: what is looked for then. */
void inspect_set_default(bool is_wanted, const struct cli_list *modules, uint32_t *refused, uint32_t *warned);
/* Prints what is to be warned of, and sets `why`. 0 or -errno; a message was printed, unless it is -ENOMEM. */
int inspect_program_look(struct inspect_program *inspection);
/* The same for code that an interpreter is given, such as a cell of a notebook. argv is not used. */
int inspect_program_look_at_code(struct inspect_program *inspection, const char *code, enum inspect_type type);
/*
 * Looks at the code that the commands of a file give to interpreters ("python3 -c", here-documents), and adds what is
 * found to the findings of the file, whose commands it takes. modules: what may be imported; empty: everything.
 */
int inspect_program_look_at_inner_code(const char *path, const struct cli_list *modules,
				       struct inspect_findings *findings);
/* How many findings were left out of `findings`, because there were too many. */
uint64_t inspect_program_count_unlisted(const struct inspect_program *inspection);
/*
 * "inspect" of a result: "refused", "findings" and "unlisted", with the members of `changes`, or with NULL none.
 * Owned by the caller; NULL: nothing was looked at, findings were not taken, or no memory.
 */
json_t *inspect_program_make_report(const struct inspect_program *inspection, const json_t *changes);
/*
 * Finds which files are other ones than when they were looked at: {"changed": [names], "added": [names], "removed":
 * [names]}; of an added one there was none. To be called when what is run has read them. is_lost: when it becomes true,
 * find_file does not know, and nothing more is found; NULL: it knows. Owned by the caller; NULL: no memory.
 */
json_t *inspect_program_make_changes(const struct inspect_program *inspection, const bool *is_lost);
/* Prints these, unless it is to be quiet. */
void inspect_program_print_changes(const struct inspect_program *inspection, const json_t *changes);
/* Finds and prints them. */
void inspect_program_tell_changes(const struct inspect_program *inspection);
/* The files that were looked at as JSON, for inspect_program_take_seen() of another process. NULL: no memory. */
json_t *inspect_program_make_seen(const struct inspect_program *inspection);
/* 0, -EBADMSG: they are not of this form; or -ENOMEM. */
int inspect_program_take_seen(struct inspect_program *inspection, const json_t *seen);
void inspect_program_release(struct inspect_program *inspection);

#endif
