/*
 * Shows grants whose writes go elsewhere, by an overlay each: --mode observe, --dry-run and --cow. A grant that has
 * mounts below it is split.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "base/text.h"
#include "view/create/build.h"

#define VIEW_OVERLAYS_MAX 200u /* overlays of grants whose writes go to the scratch directory */

int build_mount_overlay(struct build_state *build, const struct policy_mount *grant, unsigned flags)
{
	const unsigned restrictions = view_get_mount_restrictions(build->view, flags, grant->host_path, grant->virt);
	_cleanup_close_ int lower = -1;
	int fd;

	if (build->options->tmpfs_fd < 0 || build->overlays.made >= VIEW_OVERLAYS_MAX ||
	    overlays_has_mount_below(&build->overlays, grant->host_path))
		return -EAGAIN;
	lower = build_open_dir(build, grant->host_path);
	if (lower < 0)
		return lower == -EPERM ? lower : -EAGAIN;
	fd = overlay_create(&build->overlays, build->options->scratch_host, lower, grant->host_path, restrictions);
	return fd < 0 ? -EAGAIN : build_mount_dir(build, grant, fd, flags | MOUNT_DETACHED);
}

/* Whether an overlay may be mounted at this path or below it. */
static bool build_overlay_is_possible_below(const struct build_state *build, const char *virt)
{
	static const char *const machine[] = {"/proc", "/sys", "/dev"};

	for (size_t i = 0; i < sizeof(machine) / sizeof(machine[0]); i++)
		if (path_is_below(virt, machine[i]))
			return false;
	/* A path that has another mount or a link of the view, such as a redirected /tmp, gets no overlay. */
	return !view_find_node(build->view, virt, strlen(virt), view_hash_path(virt, strlen(virt)));
}

static int build_mount_overlays_below(struct build_state *build, const struct policy_mount *grant, unsigned flags);

/*
 * Mounts an overlayfs over a subdirectory of a granted directory that has mounts below it; where the subdirectory has
 * such mounts itself, over its subdirectories instead.
 */
static int build_mount_overlay_at(struct build_state *build, const struct policy_mount *grant, unsigned flags,
				  const char *name)
{
	_cleanup_free_ char *virt = text_format("%s/%s", grant->virt[1] ? grant->virt : "", name);
	_cleanup_free_ char *host = text_format("%s/%s", grant->host_path[1] ? grant->host_path : "", name);
	struct policy_mount part = *grant;
	int r;

	if (!virt || !host)
		return -ENOMEM;
	part.virt = virt;
	part.host_path = host;
	if (!build_overlay_is_possible_below(build, virt))
		return 0;
	if (overlays_has_mount_below(&build->overlays, host))
		return build_mount_overlays_below(build, &part, flags);
	r = build_mount_overlay(build, &part, flags);
	return r == -EAGAIN ? 0 : r; /* without an overlay the outer mount shows the entry, read-only */
}

/*
 * Mounts an overlayfs over each subdirectory of a granted directory; where a subdirectory has mounts below it, over its
 * subdirectories instead. 0 or -errno.
 */
static int build_mount_overlays_below(struct build_state *build, const struct policy_mount *grant, unsigned flags)
{
	_cleanup_closedir_ DIR *dir = opendir(grant->host_path);
	const struct dirent *entry;
	int r = 0;

	while (r == 0 && dir && (entry = io_read_entry(dir, &r)))
		if (entry->d_type == DT_DIR)
			r = build_mount_overlay_at(build, grant, flags, entry->d_name);
	return r;
}

/* Makes a missing directory that a run would make (@workdir/.tmp) in the scratch directory, and mounts that. */
static int build_mount_missing_grant(struct build_state *build, const struct policy_mount *grant, unsigned flags)
{
	_cleanup_free_ char *host = text_format("%s/made-%zu", build->options->scratch_host, build->overlays.count++);
	struct policy_mount made = *grant;
	int r;

	if (!host)
		return -ENOMEM;
	made.host_path = host;
	r = build_make_private_dir(host);
	return r < 0 ? r : build_mount_without_overlay(build, &made, flags & ~(unsigned)MOUNT_OVERLAY);
}

/* Sets the error: what is written to the grant cannot be kept apart. */
static int build_refuse_dry_run_of_grant(const struct build_state *build, const struct policy_mount *grant)
{
	(void)snprintf(build->error->text, sizeof(build->error->text),
		       "--dry-run: what is written to %s cannot be kept apart: %s", grant->virt,
		       build->options->tmpfs_fd < 0 ? "that takes a mount namespace of the run's own (callgate doctor)"
						    : "that takes a directory, and an overlayfs that can be mounted "
						      "over it; grant its directory, or run in a copy");
	return -EOPNOTSUPP;
}

int build_mount_redirected(struct build_state *build, const struct policy_mount *grant, unsigned flags)
{
	const bool dry = build->options->overlay == VIEW_OVERLAY_ALL;
	int r = build_mount_overlay(build, grant, flags);

	if (r != -EAGAIN)
		return r;
	if (grant->creates_host_path && access(grant->host_path, F_OK) < 0)
		return build_mount_missing_grant(build, grant, flags);
	if (build->options->tmpfs_fd >= 0 && overlays_has_mount_below(&build->overlays, grant->host_path)) {
		if (!array_reserve(&build->split, build->splits, &build->split_room))
			return -ENOMEM;
		build->split[build->splits++] = grant;
	} else if (dry) {
		return build_refuse_dry_run_of_grant(build, grant);
	}
	return build_mount_without_overlay(build, grant, (flags & ~(unsigned)MOUNT_OVERLAY) | MOUNT_LACKS_OVERLAY);
}

int build_mount_split_grants(struct build_state *build)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < build->splits; i++)
		r = build_mount_overlays_below(build, build->split[i], build_get_mount_flags(build, build->split[i]));
	return r;
}
