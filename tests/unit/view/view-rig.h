/*
 * A small host tree and a view of it, with a policy of three lines in place of the real one: /data is granted, /globs
 * only for *.csv, /etc/motd is provided.
 */
#ifndef CALLGATE_TESTS_VIEW_RIG_H
#define CALLGATE_TESTS_VIEW_RIG_H

#include <check.h>
#include <limits.h>

#include "tests/unit/unit.h"
#include "view/prepare.h"
#include "view/view.h"

struct view_rig {
	char host[PATH_MAX], data[PATH_MAX], globs[PATH_MAX], scratch[PATH_MAX], runs[PATH_MAX];
	struct policy_mount grants[3];
	struct view *view;
};
extern struct view_rig view_rig;

/*
 * Of the run: where nothing is granted, in place of what the policy provides, within a granted tree, and denied by a
 * rule.
 */
#define VIEW_RIG_PROVIDED_FILES 5
extern const struct view_provided_file view_rig_provides[VIEW_RIG_PROVIDED_FILES];

void view_rig_set_up(void);
void view_rig_tear_down(void);

void view_rig_path_to(char out[PATH_MAX], const char *dir, const char *name);

void view_rig_make_file(const char *dir, const char *name);

void view_rig_make_dir(const char *dir, const char *name, char out[PATH_MAX]);

void view_rig_make_link(const char *target, const char *dir, const char *name);

void view_rig_make_view(struct view **ret_view);

#endif
