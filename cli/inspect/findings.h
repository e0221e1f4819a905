/* What callgate inspect finds in a file: lists of findings, whose kinds are those of policy/findings.h. */
#ifndef CALLGATE_CLI_INSPECT_FINDINGS_H
#define CALLGATE_CLI_INSPECT_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/options.h"
#include "policy/findings.h"

#define INSPECT_WHAT_BYTES_MAX 400 /* most bytes of a finding's text */
#define INSPECT_OF_A_KIND_MAX 300u /* findings of one kind of one file; further ones are counted */
#define INSPECT_IMPORTS_OF_FILE_MAX 1000u /* parsers tell no more names of files that one file imports */

/* One finding. */
struct inspect_finding {
	enum inspect_kind kind;
	uint32_t line; /* from 1; 0: none */
	char *what;    /* owned; any bytes but NUL: to be printed by base/text.h */
};

/* The findings of one file. Zero-initialise. */
struct inspect_findings {
	struct inspect_finding *item;
	size_t count, room;
	size_t count_of_kind[INSPECT_KIND_MAX];
	uint64_t unlisted_of_kind[INSPECT_KIND_MAX]; /* that were left out because there were too many */
	struct cli_list commands; /* of a shell script: what it runs, as JSON (parsers/shell_commands.py) */
	struct cli_list imports;  /* what may be files of the program that it imports (imports.h) */
};

/* Adds a finding; the text is copied, and shortened to INSPECT_WHAT_BYTES_MAX. 0 or -ENOMEM. */
int inspect_findings_add(struct inspect_findings *findings, enum inspect_kind kind, uint32_t line, const char *what);

/* Whether there is a finding of this kind and text, in whichever line. */
bool inspect_findings_have(const struct inspect_findings *findings, enum inspect_kind kind, const char *what);

/* Notes that the parser has left out so many findings of a kind. */
void inspect_findings_add_unlisted(struct inspect_findings *findings, enum inspect_kind kind, uint32_t count);
/* How many findings of these kinds, INSPECT_BITs, were left out. */
uint64_t inspect_findings_count_unlisted(const struct inspect_findings *findings, uint32_t kinds);

/*
 * Adds what an assignment to an environment variable, "NAME=VALUE" or "NAME+=VALUE", does to programs; nothing if the
 * variable is none of policy/variables.h. is_of_text: it is one of a program's text, as parsers tell it, in which
 * "$PATH" is the value that PATH has already, and "\$PATH" is text. 0 or -ENOMEM.
 */
int inspect_findings_add_assignment(struct inspect_findings *findings, uint32_t line, const char *assignment,
				    bool is_of_text);

/* Puts them in the order of their lines. */
void inspect_findings_sort(struct inspect_findings *findings);

/* True, with the highest level, unless there are none. */
bool inspect_findings_get_worst(const struct inspect_findings *findings, enum inspect_level *ret_level);

/*
 * True if a module may be imported: the list has its name, or that of a package above it, or, if the module is of the
 * language's own library, "@standard". Names that begin with "." or "/" are files of the program and always allowed.
 */
bool inspect_module_is_allowed(const struct cli_list *allowed, const char *module, bool is_standard);

void inspect_findings_release(struct inspect_findings *findings);
#define _cleanup_findings_ __attribute__((cleanup(inspect_findings_release)))

#endif
