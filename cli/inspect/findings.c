#include "cli/inspect/findings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

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
	[INSPECT_NOT_PARSED] = {"not-parsed", INSPECT_WARNING},
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

int inspect_findings_add(struct inspect_findings *findings, enum inspect_kind kind, uint32_t line, const char *what)
{
	char *copy;

	if (findings->count_of_kind[kind] >= INSPECT_OF_A_KIND_MAX) {
		findings->unlisted++;
		return 0;
	}
	if (findings->count == findings->room) {
		size_t room = findings->room ? findings->room * 2 : 32;
		struct inspect_finding *item = reallocarray(findings->item, room, sizeof(*item));

		if (!item)
			return -ENOMEM;
		findings->item = item;
		findings->room = room;
	}
	copy = strndup(what, INSPECT_WHAT_BYTES_MAX);
	if (!copy)
		return -ENOMEM;
	findings->item[findings->count++] = (struct inspect_finding){kind, line, copy};
	findings->count_of_kind[kind]++;
	return 0;
}

static int findings_compare(const void *left, const void *right)
{
	const struct inspect_finding *one = left, *other = right;

	if (one->line != other->line)
		return one->line < other->line ? -1 : 1;
	if (one->kind != other->kind)
		return one->kind < other->kind ? -1 : 1;
	return strcmp(one->what, other->what);
}

void inspect_findings_sort(struct inspect_findings *findings)
{
	if (findings->count > 0)
		qsort(findings->item, findings->count, sizeof(*findings->item), findings_compare);
}

bool inspect_findings_get_worst(const struct inspect_findings *findings, enum inspect_level *ret_level)
{
	enum inspect_level worst = INSPECT_NOTE;

	for (size_t i = 0; i < findings->count; i++)
		if (inspect_kind_get_level(findings->item[i].kind) > worst)
			worst = inspect_kind_get_level(findings->item[i].kind);
	if (findings->count > 0)
		*ret_level = worst;
	return findings->count > 0;
}

bool inspect_module_is_allowed(const struct cli_list *allowed, const char *module, bool is_standard)
{
	if (*module == '.' || *module == '/')
		return true;
	for (size_t i = 0; i < allowed->count; i++) {
		const char *name = allowed->item[i];
		size_t len = strlen(name);

		if (is_standard && strcmp(name, "@standard") == 0)
			return true;
		if (strncmp(module, name, len) == 0 &&
		    (module[len] == '\0' || module[len] == '.' || module[len] == '/'))
			return true;
	}
	return false;
}

void inspect_findings_release(struct inspect_findings *findings)
{
	for (size_t i = 0; i < findings->count; i++)
		free(findings->item[i].what);
	free(findings->item);
	*findings = (struct inspect_findings){0};
}
