/* Shows the workdir with --cow: by one overlay, or not at all. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "policy/paths/below.h"
#include "view/build.h"

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
	if (build->options->tmpfs_fd < 0)
		return build_refuse_workspace(build, "that takes a mount namespace of the run's own (callgate doctor)",
					      "");
	if (overlays_has_mount_below(&build->overlays, grant->host_path))
		return build_refuse_workspace(build, "something is mounted below it, which overlayfs cannot show", "");
	if (build->overlays.made > 0)
		return build_refuse_workspace(build, "the policy shows it a second time, at ", grant->virt);
	return 0;
}

int build_refuse_workspace_layer(const struct build_state *build)
{
	return build_refuse_workspace(build,
				      "overlayfs cannot be mounted over it with a layer below TMPDIR; set that to a "
				      "directory outside of it, on a local file system that is no overlayfs itself, "
				      "instead of ",
				      build->options->scratch_base);
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
