#include "policy/findings.h"

#include <string.h>

#include "base/text.h"

static const char *const level_names[INSPECT_LEVEL_MAX] = {
	[INSPECT_NOTE] = "note",
	[INSPECT_WARNING] = "warning",
	[INSPECT_ALARM] = "alarm",
};

/* Names in the output, in the parsers' lines, and on the man page. */
static const struct {
	const char *name;
	enum inspect_level level;
} kinds[INSPECT_KIND_MAX] = {
	[INSPECT_IMPORT] = {"import", INSPECT_NOTE},
	[INSPECT_NETWORK] = {"network", INSPECT_NOTE},
	[INSPECT_PROCESS] = {"process", INSPECT_NOTE},
	[INSPECT_LOADER] = {"loader", INSPECT_NOTE},
	[INSPECT_NEEDS] = {"needs", INSPECT_NOTE},
	[INSPECT_RPATH] = {"rpath", INSPECT_NOTE},
	[INSPECT_STATIC] = {"static", INSPECT_NOTE},
	[INSPECT_VARIABLE] = {"variable", INSPECT_NOTE},
	[INSPECT_NOT_PARSED] = {"not-parsed", INSPECT_WARNING},
	[INSPECT_NOT_LOOKED_AT] = {"not-looked-at", INSPECT_WARNING},
	[INSPECT_SYNTAX] = {"syntax", INSPECT_WARNING},
	[INSPECT_NATIVE] = {"native", INSPECT_WARNING},
	[INSPECT_DYNAMIC] = {"dynamic", INSPECT_WARNING},
	[INSPECT_SECRET] = {"secret", INSPECT_WARNING},
	[INSPECT_CREDENTIALS] = {"credentials", INSPECT_WARNING},
	[INSPECT_PERSISTENCE] = {"persistence", INSPECT_WARNING},
	[INSPECT_INVISIBLE] = {"invisible", INSPECT_WARNING},
	[INSPECT_SET_ID] = {"set-id", INSPECT_WARNING},
	[INSPECT_MISSING_LIBRARY] = {"missing-library", INSPECT_WARNING},
	[INSPECT_ODD_LOADER] = {"odd-loader", INSPECT_WARNING},
	[INSPECT_CODE_VARIABLE] = {"code-variable", INSPECT_WARNING},
	[INSPECT_MODULE] = {"module", INSPECT_ALARM},
	[INSPECT_BIDIRECTIONAL] = {"bidirectional", INSPECT_ALARM},
	[INSPECT_OBFUSCATED] = {"obfuscated", INSPECT_ALARM},
	[INSPECT_DOWNLOAD_RUN] = {"download-run", INSPECT_ALARM},
	[INSPECT_REVERSE_SHELL] = {"reverse-shell", INSPECT_ALARM},
	[INSPECT_DESTRUCTIVE] = {"destructive", INSPECT_ALARM},
	[INSPECT_EXECUTABLE_STACK] = {"executable-stack", INSPECT_ALARM},
	[INSPECT_WRITABLE_CODE] = {"writable-code", INSPECT_ALARM},
	[INSPECT_UNSAFE_RPATH] = {"unsafe-rpath", INSPECT_ALARM},
	[INSPECT_UNPARSABLE] = {"unparsable", INSPECT_ALARM},
};
_Static_assert(INSPECT_KIND_MAX <= 32, "each kind has a bit");

const char *inspect_kind_get_name(enum inspect_kind kind)
{
	return kinds[kind].name;
}

enum inspect_level inspect_kind_get_level(enum inspect_kind kind)
{
	return kinds[kind].level;
}

const char *inspect_level_get_name(enum inspect_level level)
{
	return level_names[level];
}

bool inspect_kind_find(const char *name, size_t len, enum inspect_kind *ret_kind)
{
	for (enum inspect_kind kind = 0; kind < INSPECT_KIND_MAX; kind++)
		if (strlen(kinds[kind].name) == len && memcmp(kinds[kind].name, name, len) == 0) {
			*ret_kind = kind;
			return true;
		}
	return false;
}

bool inspect_level_find(const char *name, enum inspect_level *ret_level)
{
	for (enum inspect_level level = 0; level < INSPECT_LEVEL_MAX; level++)
		if (strcmp(level_names[level], name) == 0) {
			*ret_level = level;
			return true;
		}
	return false;
}

uint32_t inspect_level_get_bits(enum inspect_level level)
{
	uint32_t bits = 0;

	for (enum inspect_kind kind = 0; kind < INSPECT_KIND_MAX; kind++)
		if (kinds[kind].level >= level)
			bits |= INSPECT_BIT(kind);
	return bits;
}

uint32_t inspect_parse_bits(const char *name)
{
	enum inspect_level level;
	enum inspect_kind kind;

	if (inspect_level_find(name, &level))
		return inspect_level_get_bits(level);
	return inspect_kind_find(name, strlen(name), &kind) ? INSPECT_BIT(kind) : 0;
}

char *inspect_make_refusal(const char *why)
{
	return text_format("not started, because of what was found in it: %s", why);
}
