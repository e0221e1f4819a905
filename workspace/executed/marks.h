/* What a directory is by what it contains, whatever its name: a git directory, a virtual environment. */
#ifndef CALLGATE_WORKSPACE_EXECUTED_MARKS_H
#define CALLGATE_WORKSPACE_EXECUTED_MARKS_H

#include <stdbool.h>
#include <stddef.h>

#include "workspace/layer.h"

#define EXECUTED_MARKS_MAX 5
#define EXECUTED_MARK_GIT 1u /* bit of a git directory */

/*
 * What a directory of the host is, and one of a workspace, "" being its root: bits. An entry counts if the directory
 * has it or the layer has it.
 */
unsigned executed_marks_find_on_host(const char *dir);
unsigned executed_marks_find(const struct workspace_layer *layer, const char *dir);

/*
 * The name by which workspace/executed/names.h knows directories of a mark, by its number. NULL: of such a directory,
 * what is at `rest` below it is no part, like the sources of a project beside the "bin" of its environment.
 */
const char *executed_marks_get_name(unsigned mark, const char *rest);

#endif
