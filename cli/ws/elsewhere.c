#include "cli/ws/elsewhere.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/content.h"
#include "cli/ws/apply-private.h"

#define ELSEWHERE_COMPARED_MAX 1000 /* most files that one is compared with; of more, it is left out */

struct elsewhere_file {
	uint64_t size;
	size_t dir;
	char *path; /* owned */
};

static bool elsewhere_is_new(const struct workspace_change *change)
{
	return S_ISREG(change->upper.mode) && change->upper.exists && change->upper.size > 0 &&
	       (change->kind != WORKSPACE_MODIFIED || change->differences & WORKSPACE_CONTENT_DIFFERS);
}

static bool elsewhere_is_old(const struct workspace_change *change)
{
	return S_ISREG(change->base.mode) && change->base.exists && change->base.size > 0 &&
	       (change->kind != WORKSPACE_MODIFIED || change->differences & WORKSPACE_CONTENT_DIFFERS);
}

static int elsewhere_compare(const void *left, const void *right)
{
	const struct elsewhere_file *a = left, *b = right;

	return (a->size > b->size) - (a->size < b->size);
}

/* Adds a file. 0 or -ENOMEM. */
static int elsewhere_add_file(struct ws_elsewhere *elsewhere, const struct workspace_change *change)
{
	struct elsewhere_file file = {.size = change->upper.size, .dir = elsewhere->dirs, .path = strdup(change->path)};

	if (!file.path || !array_reserve(&elsewhere->item, elsewhere->count, &elsewhere->room)) {
		free(file.path);
		return -ENOMEM;
	}
	elsewhere->item[elsewhere->count++] = file;
	return 0;
}

int ws_elsewhere_add(struct ws_elsewhere *elsewhere, const struct plan *plan, bool all)
{
	const size_t before = elsewhere->count;
	int r = 0, fd = -1;

	for (size_t i = 0; plan && r == 0 && i < plan->changes.count; i++)
		if ((plan->state[i] > PLAN_APPLY || (all && plan->state[i] == PLAN_APPLY)) &&
		    elsewhere_is_new(&plan->changes.item[i]))
			r = elsewhere_add_file(elsewhere, &plan->changes.item[i]);
	if (r == 0 && elsewhere->count > before) {
		fd = fcntl(plan->layer->upper_fd, F_DUPFD_CLOEXEC, 0);
		r = fd < 0 ? -errno : 0;
		qsort(elsewhere->item, elsewhere->count, sizeof(*elsewhere->item), elsewhere_compare);
	}
	elsewhere->upper_fd[elsewhere->dirs++] = fd;
	return r;
}

void ws_elsewhere_release(struct ws_elsewhere *elsewhere)
{
	for (size_t i = 0; i < elsewhere->count; i++)
		free(elsewhere->item[i].path);
	for (size_t i = 0; i < elsewhere->dirs; i++)
		close_fd(&elsewhere->upper_fd[i]);
	free(elsewhere->item);
}

/* True if a file of the directory, open for reading, may be equal to one that is left out. */
static bool elsewhere_may_be_equal(const struct ws_elsewhere *elsewhere, const struct elsewhere_file *file, int old_fd)
{
	_cleanup_close_ int entry = workspace_open_entry(elsewhere->upper_fd[file->dir], file->path), fd = -1;

	fd = entry < 0 ? entry : workspace_open_content(entry);
	return fd < 0 || content_is_equal(old_fd, fd, file->size) != 0;
}

/* True if one of the files that are left out in other directories may be equal to the old one of a change. */
static bool elsewhere_has(const struct ws_elsewhere *elsewhere, size_t at, const struct plan *plan,
			  const struct workspace_change *change)
{
	const struct elsewhere_file key = {.size = change->base.size};
	const struct elsewhere_file *end, *file;
	_cleanup_close_ int entry = -1, fd = -1;
	bool found = false;

	if (elsewhere->count == 0)
		return false;
	end = elsewhere->item + elsewhere->count;
	file = bsearch(&key, elsewhere->item, elsewhere->count, sizeof(key), elsewhere_compare);
	while (file && file > elsewhere->item && file[-1].size == key.size)
		file--;
	for (size_t compared = 0; file && !found && file < end && file->size == key.size; file++) {
		if (file->dir == at)
			continue;
		if (fd < 0) {
			entry = workspace_open_entry(plan->layer->base_fd, change->path);
			fd = entry < 0 ? entry : workspace_open_content(entry);
		}
		found = fd < 0 || compared++ == ELSEWHERE_COMPARED_MAX || elsewhere_may_be_equal(elsewhere, file, fd);
	}
	return found;
}

bool ws_elsewhere_hold(const struct ws_elsewhere *elsewhere, size_t at, const struct plan *plan)
{
	bool held = false;

	for (size_t i = 0; i < plan->changes.count; i++) {
		const struct workspace_change *change = &plan->changes.item[i];

		if (plan->state[i] != PLAN_APPLY || !elsewhere_is_old(change) ||
		    !elsewhere_has(elsewhere, at, plan, change))
			continue;
		apply_hold(plan, i, PLAN_CONFLICT);
		apply_hold_dirs_above(plan, change->path, PLAN_CONFLICT);
		held = true;
	}
	return held;
}
