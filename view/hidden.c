/* Processes of the run that the program shall not see: those by which a session starts programs. */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "view/private.h"

int view_hide_process(struct view *view, pid_t pid)
{
	struct hidden_processes *hidden = &view->hidden_processes;

	if (!array_reserve(&hidden->pid, hidden->count, &hidden->room))
		return -ENOMEM;
	hidden->pid[hidden->count++] = pid;
	return 0;
}

void view_unhide_process(struct view *view, pid_t pid)
{
	struct hidden_processes *hidden = &view->hidden_processes;

	for (size_t i = 0; i < hidden->count; i++)
		if (hidden->pid[i] == pid) {
			hidden->pid[i] = hidden->pid[--hidden->count];
			return;
		}
}

bool view_hides_process(const struct view *view, pid_t pid)
{
	const struct hidden_processes *hidden = &view->hidden_processes;

	for (size_t i = 0; i < hidden->count; i++)
		if (hidden->pid[i] == pid)
			return true;
	return false;
}

size_t view_drop_hidden_processes(const struct view *view, pid_t *pid, size_t count)
{
	size_t kept = 0;

	if (view->hidden_processes.count == 0)
		return count;
	for (size_t i = 0; i < count; i++)
		if (!view_hides_process(view, pid[i]))
			pid[kept++] = pid[i];
	return kept;
}
