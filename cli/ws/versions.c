#include "cli/ws/versions.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "workspace/beside.h"
#include "workspace/conflict.h"

/* The length of a name without what workspace_write_beside() adds; 0: it has none of that. */
static size_t versions_get_stem(const char *path)
{
	static const char *const words[] = {".base", ".ours", ".theirs"};
	size_t len = strlen(path);

	if (len > 2 && path[len - 2] == '.' && path[len - 1] >= '2' && path[len - 1] <= '0' + BESIDE_NUMBERS_MAX)
		len -= 2;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const size_t word_len = strlen(words[i]);

		if (len > word_len && strncmp(path + len - word_len, words[i], word_len) == 0)
			return len - word_len;
	}
	return 0;
}

static int versions_compare_path(const void *path, const void *change)
{
	return strcmp(path, ((const struct workspace_change *)change)->path);
}

/*
 * Whether a change is such a file: it is beside a conflict, and was not there when the run began. 1, 0 or -errno.
 */
static int versions_have(const struct workspace_layer *layer, const struct workspace_bases *bases,
			 const struct workspace_changes *changes, const struct workspace_change *change)
{
	const size_t len = change->kind == WORKSPACE_DELETED ? versions_get_stem(change->path) : 0;
	const struct workspace_change *beside;
	char stem[PATH_MAX], base[PATH_MAX];
	int r;

	if (len == 0 || len >= sizeof(stem) || !S_ISREG(change->base.mode))
		return 0;
	memcpy(stem, change->path, len);
	stem[len] = '\0';
	beside = bsearch(stem, changes->item, changes->count, sizeof(*changes->item), versions_compare_path);
	r = beside ? workspace_is_conflict(layer, bases, beside) : 0;
	if (r <= 0 || workspace_bases_find(bases, layer, change, base))
		return r < 0 ? r : 0;
	return workspace_is_conflict(layer, bases, change);
}

int ws_versions_drop(const struct workspace_layer *layer, const struct workspace_bases *bases,
		     struct workspace_changes *changes)
{
	_cleanup_free_ char *is_version = calloc(changes->count + 1, 1);
	size_t count = 0;

	if (!is_version)
		return -ENOMEM;
	for (size_t i = 0; i < changes->count; i++) {
		const int r = versions_have(layer, bases, changes, &changes->item[i]);

		if (r < 0)
			return r;
		is_version[i] = (char)r;
	}
	for (size_t i = 0; i < changes->count; i++)
		if (is_version[i])
			workspace_change_release(&changes->item[i]);
		else
			changes->item[count++] = changes->item[i];
	changes->count = count;
	return 0;
}
