#include "cli/inspect/findings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "policy/variables.h"

int inspect_findings_add(struct inspect_findings *findings, enum inspect_kind kind, uint32_t line, const char *what)
{
	char *copy;

	if (findings->count_of_kind[kind] >= INSPECT_OF_A_KIND_MAX) {
		findings->unlisted_of_kind[kind]++;
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

bool inspect_findings_have(const struct inspect_findings *findings, enum inspect_kind kind, const char *what)
{
	size_t i = 0;

	while (i < findings->count && (findings->item[i].kind != kind || strcmp(findings->item[i].what, what) != 0))
		i++;
	return i < findings->count;
}

void inspect_findings_add_unlisted(struct inspect_findings *findings, enum inspect_kind kind, uint32_t count)
{
	findings->unlisted_of_kind[kind] += count;
}

uint64_t inspect_findings_count_unlisted(const struct inspect_findings *findings, uint32_t kinds)
{
	uint64_t count = 0;

	for (enum inspect_kind kind = 0; kind < INSPECT_KIND_MAX; kind++)
		if (kinds & INSPECT_BIT(kind))
			count += findings->unlisted_of_kind[kind];
	return count;
}

int inspect_findings_add_assignment(struct inspect_findings *findings, uint32_t line, const char *assignment,
				    bool is_of_text)
{
	const struct variable *variable = variable_find(assignment);
	_cleanup_free_ char *what = NULL;
	bool brings_code;

	if (!variable || variable->meaning == VARIABLE_SPLITS)
		return 0;
	what = text_format("%s: %s", variable_describe(variable), assignment);
	if (!what)
		return -ENOMEM;
	brings_code = is_of_text ? variable_brings_code_in_shell(variable, assignment)
				 : variable_brings_code(variable, assignment);
	return inspect_findings_add(findings, brings_code ? INSPECT_CODE_VARIABLE : INSPECT_VARIABLE, line, what);
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
	bool has_some = false;

	for (enum inspect_kind kind = 0; kind < INSPECT_KIND_MAX; kind++)
		if (findings->count_of_kind[kind] > 0 || findings->unlisted_of_kind[kind] > 0) {
			has_some = true;
			worst = inspect_kind_get_level(kind) > worst ? inspect_kind_get_level(kind) : worst;
		}
	if (has_some)
		*ret_level = worst;
	return has_some;
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
	cli_list_release(&findings->commands);
	cli_list_release(&findings->imports);
	*findings = (struct inspect_findings){0};
}
