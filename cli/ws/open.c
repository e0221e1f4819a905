#include "cli/ws/open.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "keeper/scratch.h"
#include "workspace/checkpoint/checkpoint.h"

int ws_open_runs(const char *verb)
{
	struct policy_error error = {""};
	int fd = scratch_open_directory_of_runs(&error);

	if (fd < 0)
		cli_print_error(verb, "%s", error.text[0] ? error.text : strerror(-fd));
	return fd < 0 ? -1 : fd;
}

const char *ws_explain_unread(int error)
{
	if (error == -EACCES)
		return "Permission denied: it may not be read, or what is in it not be looked at; chmod u+rwX helps if "
		       "it is yours";
	if (error == -EXDEV)
		return "something is mounted there, below the directory: unmount that, and do it again";
	return strerror(-error);
}

void ws_print_failure(const char *verb, const char *id, int error)
{
	if (error == -ENOENT)
		cli_print_error(verb, "%s: no such workspace; see callgate ws list", *id ? id : "\"\"");
	else if (error == WORKSPACE_IN_USE)
		cli_print_error(verb,
				"%s: in use: its run has not ended, or another callgate ws goes on; wait for that", id);
	else if (error == WORKSPACE_INTERRUPTED)
		cli_print_error(verb, "%s: an apply of it was interrupted; callgate ws recover ends that", id);
	else if (error == WORKSPACE_KEPT)
		cli_print_error(verb, "%s: kept; callgate ws keep --undo lets it be discarded", id);
	else if (error == -ENOSPC || error == -EDQUOT)
		cli_print_error(verb,
				"%s: no room in the file system of TMPDIR for what compares it: %s; free some, and do "
				"it again",
				id, strerror(-error));
	else
		cli_print_error(verb, "%s: cannot be opened or removed: %s", id, strerror(-error));
}

const char *ws_get_failure_word(int error)
{
	return error == 0                       ? NULL
	       : error == -ENOENT               ? "no_such_workspace"
	       : error == WORKSPACE_IN_USE      ? "in_use"
	       : error == WORKSPACE_INTERRUPTED ? "interrupted"
	       : error == WORKSPACE_KEPT        ? "kept"
						: "failed";
}

/* Prints why the layer of a directory cannot be read. */
static void ws_print_layer_failure(const char *verb, const struct workspace *workspace, const char *why, int error)
{
	cli_print_error(verb, "%s, of %s: %s: %s", workspace->id, workspace->dir, why, strerror(-error));
}

int ws_open_checkpoint(const char *verb, const char *id, const char *name, struct workspace *ret_workspace,
		       int *ret_workspace_fd)
{
	_cleanup_close_ int runs = ws_open_runs(verb), workspace = -1, fd = -1;

	if (runs < 0)
		return -1;
	workspace = workspace_is_id(id) ? workspace_open_of_run(runs, id, ret_workspace) : -ENOENT;
	if (workspace < 0) {
		ws_print_failure(verb, id, workspace);
		return -1;
	}
	fd = checkpoint_open(workspace, name);
	if (fd < 0) {
		cli_print_error(verb, "%s: no checkpoint %s: %s", id, name, strerror(-fd));
		return -1;
	}
	*ret_workspace_fd = steal_fd(&workspace);
	return steal_fd(&fd);
}

int ws_open_workspace(const char *verb, const char *id, struct workspace *ret_workspace)
{
	_cleanup_close_ int runs = ws_open_runs(verb), fd = -1;

	if (runs < 0)
		return -1;
	fd = workspace_is_id(id) ? workspace_open(runs, id, ret_workspace) : -ENOENT;
	if (fd >= 0)
		return steal_fd(&fd);
	ws_print_failure(verb, id, fd);
	return -1;
}

int ws_open_layer(const char *verb, int workspace_fd, int layers_fd, size_t at, struct workspace *workspace,
		  struct workspace_layer *ret_layer)
{
	const char *why = "what it is of cannot be read";
	int r = workspace_read_dir(workspace_fd, at, workspace);

	if (r == 0 && !workspace_layer_exists(layers_fd, at))
		return 1;
	if (r == 0)
		r = workspace_layer_open(layers_fd, at, workspace->dir, ret_layer, &why);
	if (r < 0)
		ws_print_layer_failure(verb, workspace, why, r);
	return r < 0 ? -1 : 0;
}

int ws_lock_workspace(const char *verb, const char *id, int workspace_fd)
{
	const int r = workspace_lock(workspace_fd);

	if (r < 0)
		ws_print_failure(verb, id, r);
	return r < 0 ? -1 : 0;
}

int ws_lock_directory(const char *verb, const struct workspace *workspace, const struct workspace_layer *layer)
{
	if (workspace_lock(layer->base_fd) != WORKSPACE_IN_USE) /* without locks there, as on some NFS: as it was */
		return 0;
	cli_print_error(verb, "%s: in use: another callgate ws goes on that changes this directory; wait for that",
			workspace->dir);
	return -1;
}
