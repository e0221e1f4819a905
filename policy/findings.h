/*
 * The kinds of what callgate inspect finds, and their levels: in its output, in its parsers' lines, and in "inspect" of
 * a policy. cli/inspect/ has the rest.
 */
#ifndef CALLGATE_POLICY_FINDINGS_H
#define CALLGATE_POLICY_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
	INSPECT_VARIABLE, /* a variable of policy/variables.h gets a value by which no code comes */
	/* warnings */
	INSPECT_NOT_PARSED,    /* no parser for it here */
	INSPECT_NOT_LOOKED_AT, /* a part of what is run that cannot be found, or read */
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
	INSPECT_CODE_VARIABLE, /* one by which code may come */
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

#define INSPECT_BIT(kind) (UINT32_C(1) << (kind))

const char *inspect_kind_get_name(enum inspect_kind kind);
enum inspect_level inspect_kind_get_level(enum inspect_kind kind);
const char *inspect_level_get_name(enum inspect_level level);
/* True: *ret_kind or *ret_level is what has this name. `len`: the name's, which needs no NUL. */
bool inspect_kind_find(const char *name, size_t len, enum inspect_kind *ret_kind);
bool inspect_level_find(const char *name, enum inspect_level *ret_level);

/* The INSPECT_BITs of a kind, or of all kinds of a level and worse; 0: neither has this name. */
uint32_t inspect_parse_bits(const char *name);
uint32_t inspect_level_get_bits(enum inspect_level level);

/* The message of a program that is not started because of this finding. Owned by the caller; NULL: no memory. */
char *inspect_make_refusal(const char *why);

#endif
