/* Shows the workdir with --cow: by one overlay, or by a copy where none can be mounted. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "base/text.h"
#include "policy/paths/below.h"
#include "view/build.h"
#include "view/copy.h"

/* Sets the error of --cow. Returns -EOPNOTSUPP. */
static int build_refuse_workspace(const struct build_state *build, const char *why, const char *path)
{
	(void)snprintf(build->error->text, sizeof(build->error->text), "--cow: %s cannot be kept as it is: %s%s",
		       build->options->workdir_host, why, path);
	return -EOPNOTSUPP;
}

int build_check_workspace_grant(const struct build_state *build, const struct policy_mount *grant)
{
	if (strcmp(grant->host_path, build->options->workdir_host) != 0)
		return build_refuse_workspace(build, "the policy also shows a part of it at ", grant->virt);
	if (overlays_has_mount_below(&build->overlays, grant->host_path))
		return build_refuse_workspace(build, "something is mounted below it, which is not in its layer", "");
	if (build->overlays.made > 0)
		return build_refuse_workspace(build, "the policy shows it a second time, at ", grant->virt);
	return 0;
}

/* ---- by a copy ---- */

/* Refuses a run whose directory cannot be copied. Returns -EOPNOTSUPP. */
static int build_refuse_copy(const struct build_state *build, int error, const struct copy_failure *failure)
{
	char why[480];

	(void)snprintf(why, sizeof(why), "%s%.300s %s: %s", *failure->path ? "./" : "the directory", failure->path,
		       failure->what, strerror(-error));
	return build_refuse_workspace(
		build, why,
		error == -ENOSPC || error == -EDQUOT ? "; free some room or set TMPDIR to another directory" : "");
}

/* Makes the directory of the layer, without what an overlay has left that was not mounted. A descriptor or -errno. */
static int build_open_layer(const char *workspace_host)
{
	_cleanup_close_ int workspace = io_open_without_links(workspace_host, O_RDONLY | O_DIRECTORY);

	if (workspace < 0)
		return workspace;
	if (mkdirat(workspace, "0", 0700) < 0 &&
	    (errno != EEXIST || io_remove_tree(workspace, "0") < 0 || mkdirat(workspace, "0", 0700) < 0))
		return -errno;
	return io_open_dir(workspace, "0");
}

/* Copies the workdir. 0, or -EOPNOTSUPP with its message. */
static int build_copy_workdir(const struct build_state *build, const char *host)
{
	_cleanup_close_ int from = io_open_without_links(host, O_RDONLY | O_DIRECTORY), layer = -1;
	struct copy_failure failure = {.path = "", .what = "cannot be opened"};
	int r;

	if (path_is_below(build->options->workspace_host, host))
		return build_refuse_workspace(build, "TMPDIR is in it, so that it would be copied into itself", "");
	layer = from < 0 ? from : build_open_layer(build->options->workspace_host);
	r = layer < 0 ? layer : copy_tree(from, layer, &failure);
	return r < 0 ? build_refuse_copy(build, r, &failure) : 0;
}

int build_find_workspace_copy(struct build_state *build, const struct policy_mount *grant, char **ret_host)
{
	int r = build_copy_workdir(build, grant->host_path);

	build->overlays.made += r == 0;
	if (r == 0 && asprintf(ret_host, "%s/0/" COPY_DIR_NAME, build->options->workspace_host) < 0)
		r = -ENOMEM;
	return r;
}

int build_refuse_grant_above_workspace(const struct build_state *build, const struct policy_mount *grant)
{
	const struct view_options *options = build->options;

	if (options->overlay != VIEW_OVERLAY_WORKDIR || strcmp(grant->host_path, options->workdir_host) == 0 ||
	    !path_is_below(options->workdir_host, grant->host_path) ||
	    !policy_may_write(build->view->policy, grant->virt))
		return 0;
	return build_refuse_workspace(build, "it would be written through the grant of ", grant->virt);
}

int build_check_workspace(const struct build_state *build)
{
	return build->overlays.made > 0 ? 0
					: build_refuse_workspace(build, "the policy does not grant writing there", "");
}
