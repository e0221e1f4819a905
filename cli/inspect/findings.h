/* What callgate inspect finds in a file: kinds of findings with their levels, and lists of findings. */
#ifndef CALLGATE_CLI_INSPECT_FINDINGS_H
#define CALLGATE_CLI_INSPECT_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/options.h"

/* How bad a finding is. Programs without any fault have notes and warnings; an alarm is rare among them. */
enum inspect_level {
	INSPECT_NOTE,
	INSPECT_WARNING,
	INSPECT_ALARM,
	INSPECT_LEVEL_MAX,
};

enum inspect_kind {
	/* notes */
	INSPECT_IMPORT,
	INSPECT_NETWORK,
	INSPECT_PROCESS,
	INSPECT_LOADER,
	INSPECT_NEEDS,
	INSPECT_RPATH,
	INSPECT_STATIC,
	/* warnings */
	INSPECT_NOT_PARSED, /* no parser for it here */
	INSPECT_SYNTAX,
	INSPECT_NATIVE,
	INSPECT_DYNAMIC,
	INSPECT_SECRET,
	INSPECT_CREDENTIALS,
	INSPECT_PERSISTENCE,
	INSPECT_INVISIBLE,
	INSPECT_SET_ID,
	INSPECT_MISSING_LIBRARY,
	INSPECT_ODD_LOADER,
	/* alarms */
	INSPECT_MODULE, /* an import outside of the allowlist */
	INSPECT_BIDIRECTIONAL,
	INSPECT_OBFUSCATED,
	INSPECT_DOWNLOAD_RUN,
	INSPECT_REVERSE_SHELL,
	INSPECT_DESTRUCTIVE,
	INSPECT_EXECUTABLE_STACK,
	INSPECT_WRITABLE_CODE,
	INSPECT_UNSAFE_RPATH,
	INSPECT_UNPARSABLE, /* the parser died, was ended, or printed what it may not */
	INSPECT_KIND_MAX,
};

#define INSPECT_WHAT_BYTES_MAX 400 /* most bytes of a finding's text */
#define INSPECT_OF_A_KIND_MAX 300u /* findings of one kind of one file; further ones are counted */

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
	size_t unlisted; /* findings that were left out because there were too many of their kind */
	size_t count_of_kind[INSPECT_KIND_MAX];
};

const char *inspect_kind_get_name(enum inspect_kind kind);
enum inspect_level inspect_kind_get_level(enum inspect_kind kind);
const char *inspect_level_get_name(enum inspect_level level);
/* True: *ret_kind or *ret_level is what has this name. `len`: the name's, which needs no NUL. */
bool inspect_kind_find(const char *name, size_t len, enum inspect_kind *ret_kind);
bool inspect_level_find(const char *name, enum inspect_level *ret_level);

/* Adds a finding; the text is copied, and shortened to INSPECT_WHAT_BYTES_MAX. 0 or -ENOMEM. */
int inspect_findings_add(struct inspect_findings *findings, enum inspect_kind kind, uint32_t line, const char *what);

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
