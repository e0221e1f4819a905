#include "cli/inspect/visits.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

static bool visits_has_seen(const struct inspect_program *inspection, const struct inspect_seen *seen)
{
	for (size_t i = 0; i < inspection->seen_count; i++)
		if (strcmp(inspection->seen[i].found, seen->found) == 0 &&
		    inspection->seen[i].status.st_ino == seen->status.st_ino)
			return true;
	return false;
}

int inspect_visits_keep_seen(struct inspect_program *inspection, const char *name, const char *path, const char *found)
{
	struct inspect_seen *grown, seen = {.found = (char *)(uintptr_t)found};

	if (!found || strncmp(found, "/proc/", strlen("/proc/")) == 0)
		return 0;
	if (path && stat(path, &seen.status) < 0)
		return -errno;
	if (visits_has_seen(inspection, &seen))
		return 0;
	inspection->lacks_seen = inspection->seen_count >= INSPECT_SEEN_MAX;
	if (inspection->lacks_seen)
		return 0;
	grown = realloc(inspection->seen, (inspection->seen_count + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	inspection->seen = grown;
	seen.name = strdup(name);
	seen.found = strdup(found);
	grown[inspection->seen_count++] = seen;
	return seen.name && seen.found ? 0 : -ENOMEM;
}

/* Adds texts to a key, which it frees. Owned; NULL: no memory. */
static char *visits_extend_key(char *key, char mark, char *const *texts, size_t count)
{
	for (size_t i = 0; key && i < count; i++) {
		_cleanup_free_ char *shorter = key;

		key = text_format("%s\n%c%s", shorter, mark, texts[i]);
	}
	return key;
}

/*
 * A text for a file that is looked at as this, for commands in these directories, with programs in those of PATH, for
 * this HOME, and with this standard input. Owned; NULL: no memory.
 */
static char *visits_make_key(const struct inspect_program *inspection, const struct stat *status,
			     enum inspect_type type)
{
	const struct cli_list *directories = &inspection->directories;
	const bool is_in_workdir = directories->count == 1 && *directories->item[0] == '\0'; /* as without any */
	char *home = (char *)(uintptr_t)inspection->home, *input = (char *)(uintptr_t)inspection->input;
	char *key = text_format("%ju:%ju %jd.%ld %d %d %d %d", (uintmax_t)status->st_dev, (uintmax_t)status->st_ino,
				(intmax_t)status->st_ctim.tv_sec, status->st_ctim.tv_nsec, (int)type,
				inspection->is_of_interpreter, inspection->is_lost, inspection->has_other_input);

	if (!is_in_workdir)
		key = visits_extend_key(key, 'd', directories->item, directories->count);
	key = visits_extend_key(key, 'p', inspection->paths.item, inspection->paths.count);
	key = visits_extend_key(key, 'h', &home, home ? 1 : 0);
	return visits_extend_key(key, 'i', &input, input ? 1 : 0);
}

int inspect_visits_find(struct inspect_program *inspection, const struct stat *status, enum inspect_type type)
{
	const struct cli_list *ends = &inspection->ends;
	char *key = visits_make_key(inspection, status, type);
	int r;

	for (size_t i = 0; key && i < inspection->visited.count; i++)
		if (strcmp(inspection->visited.item[i], key) == 0) {
			free(key);
			r = *ends->item[i]
				    ? cli_list_add_owned(&inspection->commands, text_format("=%s", ends->item[i]))
				    : 0;
			return r == 0 ? 1 : r;
		}
	r = key ? cli_list_add_owned(&inspection->visited, key) : -ENOMEM;
	return r == 0 ? cli_list_add_owned(&inspection->ends, strdup("")) : r;
}
