/* Looks at the parts of what a command line runs, and judges what is found as struct inspect_program says. */
#ifndef CALLGATE_CLI_INSPECT_PARTS_H
#define CALLGATE_CLI_INSPECT_PARTS_H

#include "cli/inspect/program.h"
#include "cli/inspect/subject.h"

/*
 * All of these print what is to be warned of, and set `why` of the inspection. They return 0 or -errno; a message was
 * printed, unless it is -ENOMEM. What cannot be looked at is a finding, too. What shell programs run is added to
 * `commands`.
 */

/* A name in the i-th directory where it may be found. Owned; NULL: there are no further ones, or no memory. */
char *inspect_parts_join(const struct inspect_program *inspection, size_t i, const char *name);
/*
 * Looks at a program. path: where this process can open it; found: its path for the program. Both may be NULL. False in
 * *ret_is_found: it is no regular file; untouched otherwise.
 */
int inspect_parts_look_at_program(struct inspect_program *inspection, const char *name, const char *path,
				  const char *found, bool *ret_is_found);
/* Whether a file is one of the system's: what these do is known, and no program of a run makes one. */
bool inspect_parts_is_of_system(const char *path);
/* The same by the name alone, for one of a view in which links are followed already. */
bool inspect_parts_is_named_of_system(const char *path);
/* Tells that a file is not looked at, because there is none of this name. */
int inspect_parts_tell_missing(struct inspect_program *inspection, const char *name);
/* Adds the commands that a parser has told to what is to be looked at, and empties their list. */
int inspect_parts_take_commands(struct inspect_program *inspection, struct cli_list *commands);
/* Looks at a script of a shell that need not be there. */
int inspect_parts_look_at_optional(struct inspect_program *inspection, const char *name, bool *ret_is_found);
/* Keeps that there is no file of this name. If there is one in the end, that is a change. */
int inspect_parts_keep_missing(struct inspect_program *inspection, const char *name);
/* Looks at a script, of an interpreter of this type. A directory stands for the file in it that Python runs. */
int inspect_parts_look_at_script(struct inspect_program *inspection, const char *name, enum inspect_type type);
/* Looks at code of the command line, which becomes a file in memory. */
int inspect_parts_look_at_code(struct inspect_program *inspection, const char *code, enum inspect_type type);
/*
 * Looks at a module of Python (-m), if it is in the working directory, where Python looks first: at all files that
 * Python may run for it, packages before it included.
 */
int inspect_parts_look_at_module(struct inspect_program *inspection, const char *module);
/* Looks at a program that an interpreter reads from standard input, if that is a file. */
int inspect_parts_look_at_stdin(struct inspect_program *inspection, enum inspect_type type);
/* Looks at the files that all of these import, and those that such files import. To be called at the end. */
int inspect_parts_look_at_imports(struct inspect_program *inspection);

#endif
