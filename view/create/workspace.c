/* Shows the directories of --cow: each by one overlay, or by a copy where none can be mounted. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
#include "view/create/build.h"
#include "view/copy/copy.h"
#include "view/copy/fill.h"
#include "view/copy/groups.h"
#include "view/copy/moves.h"
#include "view/create/measure.h"

/* Sets the error of --cow about a directory. Returns -EOPNOTSUPP. */
static int build_refuse_workspace(const struct build_state *build, int at, const char *why, const char *path)
{
	(void)snprintf(build->error->text, sizeof(build->error->text), "--cow: %s cannot be kept as it is: %s%s",
		       build->options->workspace_dirs[at], why, path);
	return -EOPNOTSUPP;
}

int build_find_workspace_dir(const struct build_state *build, const char *host)
{
	const char *const *dirs = build->options->workspace_dirs;

	for (int i = 0; dirs[i]; i++)
		if (path_is_below(host, dirs[i]))
			return i;
	return -ENOENT;
}

bool build_workspace_owner_is_hidden(const struct build_state *build, const char *host, int at)
{
	struct stat st;

	return build->options->foreign_workspace_dirs & UINT64_C(1) << at && stat(host, &st) == 0 &&
	       st.st_uid == geteuid() && st.st_gid == getegid();
}

int build_check_workspace_grant(const struct build_state *build, const struct policy_mount *grant, int at)
{
	const char *mounted;

	if (strcmp(grant->host_path, build->options->workspace_dirs[at]) != 0)
		return build_refuse_workspace(build, at, "the policy also shows a part of it at ", grant->virt);
	mounted = overlays_find_mount_below(&build->overlays, grant->host_path);
	if (mounted)
		return build_refuse_workspace(build, at, "its layer would lack what is mounted below it, at ", mounted);
	if (build->workspace_dirs_mounted & UINT64_C(1) << at)
		return build_refuse_workspace(build, at, "the policy shows it a second time, at ", grant->virt);
	return 0;
}

/* ---- what the setup of a run has left ---- */

/* Opens the directory of layer `at`. A descriptor or -errno. */
static int build_open_kept_layer(const struct build_state *build, int at)
{
	_cleanup_free_ char *path = text_format("%s/%d", build->options->workspace_host, at);

	return path ? io_open_without_links(path, O_RDONLY | O_DIRECTORY) : -ENOMEM;
}

enum build_layer build_find_layer(const struct build_state *build, int at)
{
	_cleanup_close_ int layer = build_open_kept_layer(build, at);

	if (layer >= 0 && overlay_layer_has_begun(layer))
		return BUILD_LAYER_OVERLAY;
	return layer >= 0 && faccessat(layer, COPY_RECORDS_NAME, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ? BUILD_LAYER_COPY
												 : BUILD_LAYER_NEW;
}

int build_refuse_mounting_again(const struct build_state *build, int at)
{
	return build_refuse_workspace(build, at, "its overlay, which the setup has written to, cannot be mounted again",
				      "");
}

/* ---- by a copy ---- */

/* Refuses a run of which directory `at` cannot be copied. Returns -EOPNOTSUPP. */
static int build_refuse_copy(const struct build_state *build, int at, int error, const struct copy_failure *failure)
{
	char why[480], needed[TEXT_SIZE_SIZE], limit[TEXT_SIZE_SIZE];

	if (failure->needed_bytes > 0) {
		text_format_size(failure->needed_bytes, needed);
		text_format_size(build->options->copy_limit_bytes, limit);
		(void)snprintf(why, sizeof(why), "copying takes %s, and limits.disk is %s", needed, limit);
		return build_refuse_workspace(build, at, why, "; raise that, or write --disk none");
	}
	if (failure->advice) {
		(void)snprintf(why, sizeof(why), "the directory %s; ", failure->what);
		return build_refuse_workspace(build, at, why, failure->advice);
	}
	(void)snprintf(why, sizeof(why), "%s%.300s %s: %s", *failure->path ? "./" : "the directory", failure->path,
		       failure->what, strerror(-error));
	return build_refuse_workspace(
		build, at, why,
		error == -ENOSPC || error == -EDQUOT ? "; free some room or set TMPDIR to another directory" : "");
}

/* Makes directory `name` for a layer, without what an overlay has left that was not mounted. A descriptor or -errno. */
static int build_open_layer(const char *workspace_host, const char *name)
{
	_cleanup_close_ int workspace = io_open_without_links(workspace_host, O_RDONLY | O_DIRECTORY);

	if (workspace < 0)
		return workspace;
	if (mkdirat(workspace, name, 0700) < 0 &&
	    (errno != EEXIST || io_remove_tree(workspace, name) < 0 || mkdirat(workspace, name, 0700) < 0))
		return -errno;
	return io_open_dir(workspace, name);
}

/* Notes which groups the copy can have. What fails is told as a change of the owner by ws diff. */
static void build_note_groups(int layer_fd)
{
	_cleanup_close_ int from = open("/proc/self/gid_map", O_RDONLY | O_CLOEXEC), to = -1;
	char map[4096];
	const ssize_t len = from < 0 ? -1 : read(from, map, sizeof(map));

	to = len < 0 ? -1
		     : openat(layer_fd, VIEW_GROUPS_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to >= 0)
		(void)io_write_all(to, map, (size_t)len);
}

/* Copies directory `at`. 0, -ECANCELED, or -EOPNOTSUPP with its message. */
static int build_copy_dir(const struct build_state *build, const char *host, int at)
{
	_cleanup_close_ int from = io_open_without_links(host, O_RDONLY | O_DIRECTORY), layer = -1;
	const struct copy_options options = {.makes_placeholders = build->options->fills_copies_later,
					     .limit_bytes = build->options->copy_limit_bytes,
					     .go_on = build->options->copy_go_on,
					     .acls_fd = build->options->acls_fd};
	struct copy_failure failure = {.path = "", .what = "cannot be opened"};
	char name[16];
	int r;

	(void)snprintf(name, sizeof(name), "%d", at);
	layer = from < 0 ? from : build_open_layer(build->options->workspace_host, name);
	r = layer < 0 ? layer : copy_tree(from, layer, &options, &build->view->copy_size, &failure);
	if (r < 0 && r != -ECANCELED)
		return build_refuse_copy(build, at, r, &failure);
	if (r == 0)
		build_note_groups(layer);
	return r;
}

/* Takes the copy of directory `at` that the setup has written to. 0, or -EOPNOTSUPP with its message. */
static int build_take_copy(const struct build_state *build, int at)
{
	_cleanup_close_ int layer = build_open_kept_layer(build, at);
	_cleanup_close_ int copy = layer < 0 ? layer : io_open_dir(layer, COPY_DIR_NAME);
	const int r = copy < 0                                ? copy
		      : build->options->copy_limit_bytes == 0 ? 0
							      : measure_tree(copy, &build->view->copy_size);

	return r < 0 ? build_refuse_workspace(build, at, "its copy cannot be read: ", strerror(-r)) : 0;
}

int build_find_workspace_copy(struct build_state *build, const struct policy_mount *grant, int at, char **ret_host)
{
	int r = build_find_layer(build, at) == BUILD_LAYER_COPY ? build_take_copy(build, at)
								: build_copy_dir(build, grant->host_path, at);

	if (r == 0 && build_put_inputs(build, at, COPY_DIR_NAME, &build->view->copy_size) < 0)
		r = build_refuse_workspace(build, at, "the inputs cannot be put into its copy", "");
	build->overlays.made += r == 0;
	if (r < 0)
		return r;
	*ret_host = text_format("%s/%d/" COPY_DIR_NAME, build->options->workspace_host, at);
	return *ret_host ? 0 : -ENOMEM;
}

/* Whether the policy has a mount of this host directory at this virtual path. */
static bool build_has_mount(const struct build_state *build, const char *virt, const char *host)
{
	size_t count;
	const struct policy_mount *mount = policy_get_mounts(build->view->policy, &count);

	for (size_t i = 0; i < count; i++)
		if (mount[i].host_path && strcmp(mount[i].virt, virt) == 0 && strcmp(mount[i].host_path, host) == 0)
			return true;
	return false;
}

/* ---- what is kept beside the layer ---- */

/* Makes the file that gets the names of moved files; that of the setup stays. Where it fails, nothing is known. */
static void build_make_moves_file(int layer_fd)
{
	_cleanup_close_ int fd =
		openat(layer_fd, VIEW_MOVES_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	char boot_id[COPY_BOOT_ID_SIZE];

	copy_read_boot_id(boot_id);
	if (fd >= 0)
		(void)io_write_all(fd, boot_id, strlen(boot_id) + 1);
}

/* Opens what is known of the placeholders of a copy. 0, or -EOPNOTSUPP with its message. */
static int build_open_fills(const struct build_state *build, const struct policy_mount *grant, struct view_layer *layer,
			    int at)
{
	_cleanup_close_ int base = io_open_without_links(grant->host_path, O_PATH | O_DIRECTORY);
	int r = base < 0 ? base : fills_open(layer->dir_fd, base, true, &layer->fills);

	if (r < 0 && r != -ENOENT)
		return build_refuse_workspace(build, at, "its layer cannot be opened: ", strerror(-r));
	build->view->has_placeholders |= r == 0;
	return 0;
}

int build_add_workspace_layer(const struct build_state *build, const struct policy_mount *grant, int at)
{
	struct mount *mount = build->view->mount[build->view->mount_count - 1];
	struct view_layer *layer = mount->layer = malloc(sizeof(*layer));
	int r = 0;

	if (!layer)
		return -ENOMEM;
	*layer = (struct view_layer){
		.dir_fd = build_open_kept_layer(build, at), .lower_fd = -1, .bases_fd = -1, .reads_fd = -1};
	/* What the layer began with looked like the owner of the directory: only the mode is compared. */
	if (layer->dir_fd >= 0 && build_workspace_owner_is_hidden(build, grant->host_path, at))
		(void)unlinkat(layer->dir_fd, COPY_ROOT_NAME, 0);
	if (layer->dir_fd >= 0 && !(mount->flags & MOUNT_OVERLAY))
		r = build_open_fills(build, grant, layer, at);
	if (layer->dir_fd >= 0 && mount->flags & MOUNT_OVERLAY)
		build_make_moves_file(layer->dir_fd);
	if (layer->dir_fd >= 0 && mount->flags & MOUNT_OVERLAY)
		layer->lower_fd = io_open_without_links(grant->host_path, O_PATH | O_DIRECTORY);
	if (r < 0)
		return r;
	if (layer->dir_fd < 0 || (mount->flags & MOUNT_OVERLAY && layer->lower_fd < 0))
		return build_refuse_workspace(build, at, "its layer cannot be opened: ",
					      strerror(layer->dir_fd < 0 ? -layer->dir_fd : -layer->lower_fd));
	return 0;
}

int build_refuse_grant_above_workspace(const struct build_state *build, const struct policy_mount *grant)
{
	const struct view_options *options = build->options;
	char virt[PATH_MAX];

	for (int i = 0; options->overlay == VIEW_OVERLAY_WORKSPACE && options->workspace_dirs[i]; i++) {
		const char *dir = options->workspace_dirs[i], *rest = path_get_rest_below(dir, grant->host_path);

		if (!rest || !*rest || !policy_may_write(build->view->policy, grant->virt))
			continue;
		/* The overlay is mounted over the name that the grant gives the directory; unless it has another. */
		if ((size_t)snprintf(virt, sizeof(virt), "%s/%s", strcmp(grant->virt, "/") == 0 ? "" : grant->virt,
				     rest) < sizeof(virt) &&
		    (build_has_mount(build, virt, dir) || !policy_may_write(build->view->policy, virt)))
			continue;
		return build_refuse_workspace(build, i, "it would be written through the grant of ", grant->virt);
	}
	return 0;
}

int build_check_workspace(const struct build_state *build)
{
	for (int i = 0; build->options->workspace_dirs[i]; i++)
		if (!(build->workspace_dirs_mounted & UINT64_C(1) << i))
			return build_refuse_workspace(build, i, "the policy does not grant writing there", "");
	return 0;
}
