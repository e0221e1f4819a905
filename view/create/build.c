/* Makes the view: mounts for grants. Called before the program starts. */
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "view/create/build.h"

/* ---- directories of --cow ---- */

/* With --cow: shows a copy of directory `at`. For records it is the directory itself. */
static int build_mount_workspace_copy(struct build_state *build, const struct policy_mount *grant, unsigned flags,
				      int at)
{
	_cleanup_free_ char *host = NULL;
	struct policy_mount copy = *grant;
	struct mount *mount;
	int r = build_find_workspace_copy(build, grant, at, &host);

	if (r < 0)
		return r;
	copy.host_path = host;
	r = build_mount_without_overlay(build, &copy, (flags & ~(unsigned)MOUNT_OVERLAY) | MOUNT_WORKSPACE_COPY);
	if (r < 0)
		return r;
	mount = build->view->mount[build->view->mount_count - 1];
	if (strcmp(mount->host_path, host) != 0)
		return -EIO; /* it was left out, as a grant is that cannot be opened */
	free(mount->recorded_host_path);
	mount->recorded_host_path = strdup(grant->host_path);
	return mount->recorded_host_path ? 0 : -ENOMEM;
}

/*
 * Whether a directory of --cow is copied without trying an overlay: by option, or because it is one of another user or
 * group in which the user may write. What it contains is most likely like it.
 */
static bool build_wants_workspace_copy(const struct build_state *build, const struct policy_mount *grant, int at)
{
	const char *host = grant->host_path;

	return build->options->copies_workspace || overlay_dir_is_unmapped(AT_FDCWD, host, W_OK | X_OK) ||
	       (build_workspace_owner_is_hidden(build, host, at) &&
		faccessat(AT_FDCWD, host, W_OK | X_OK, AT_EACCESS) == 0);
}

/* With --cow: mounts an overlay over directory `at`, with the inputs in its layer. Returns as build_mount_overlay(). */
static int build_mount_workspace_overlay(struct build_state *build, const struct policy_mount *grant, unsigned flags,
					 int at)
{
	int back, r = build_put_inputs(build, at, OVERLAY_LAYER_NAME, NULL);

	if (r < 0)
		return r;
	build->overlays.count = (size_t)at; /* the layer has the number of the directory */
	r = build_mount_overlay(build, grant, flags);
	back = r == -EAGAIN ? build_take_inputs_back(build, at, OVERLAY_LAYER_NAME) : 0;
	return back < 0 ? back : r;
}

/* With --cow: mounts a writable grant in a directory that stays as it is. */
static int build_mount_workspace(struct build_state *build, const struct policy_mount *grant, unsigned flags)
{
	const int at = build_find_workspace_dir(build, grant->host_path);
	const enum build_layer layer = build_find_layer(build, at);
	int r = build_check_workspace_grant(build, grant, at);

	if (r < 0)
		return r;
	r = layer == BUILD_LAYER_COPY || (layer == BUILD_LAYER_NEW && build_wants_workspace_copy(build, grant, at))
		    ? -EAGAIN
		    : build_mount_workspace_overlay(build, grant, flags, at);
	if (r == -EAGAIN && layer == BUILD_LAYER_OVERLAY)
		return build_refuse_mounting_again(build, at);
	if (r == -EAGAIN)
		r = build_mount_workspace_copy(build, grant, flags, at);
	if (r < 0)
		return r;
	build->workspace_dirs_mounted |= UINT64_C(1) << at;
	build->view->mount[build->view->mount_count - 1]->workspace_dir = at;
	return build_add_workspace_layer(build, grant, at);
}

/* Mounts a grant. 0 or -errno, for some errors with a message. */
static int build_mount_grant(struct build_state *build, const struct policy_mount *grant)
{
	unsigned flags = build_get_mount_flags(build, grant);
	int r = build_refuse_grant_above_workspace(build, grant);

	if (r < 0)
		return r;
	if (!(flags & MOUNT_OVERLAY))
		return build_mount_without_overlay(build, grant, flags);
	return build->options->overlay == VIEW_OVERLAY_WORKSPACE ? build_mount_workspace(build, grant, flags)
								 : build_mount_redirected(build, grant, flags);
}

/* Mounts one grant of the policy. index: its number, which names a provided file in the scratch directory. */
static int build_mount_grant_of_rule(struct build_state *build, const struct policy_mount *grant, size_t index)
{
	char name[32];
	int r;

	if (build_path_is_provided_file(build, grant->virt))
		return 0;
	(void)snprintf(name, sizeof(name), "%zu", index);
	if (grant->kind == POLICY_MOUNT_PROVIDE)
		r = build_mount_file_with_text(build, name, grant->virt, grant->provided_text, grant->provided_text_len,
					       0, grant->rule);
	else
		r = build_mount_grant(build, grant);
	return r < 0 && !build->error->text[0] ? build_set_error(build, r, "cannot mount in the view", grant->virt) : r;
}

/* Adds the symbolic links that the host has in the paths of rules. */
static int build_add_links_of_rule_paths(struct build_state *build, const struct policy *policy)
{
	size_t links;
	const struct policy_link *link = policy_get_links(policy, &links);
	int r = 0;

	for (size_t i = 0; r == 0 && i < links; i++)
		r = view_add_links_of_path(build->view, link[i].path);
	if (r == 0)
		r = view_add_merged_usr(build->view);
	tdestroy(build->view->plain, free);
	build->view->plain = NULL;
	return r;
}

static int build_whole_view(struct build_state *build, const struct policy *policy)
{
	size_t count;
	const struct policy_mount *grant = policy_get_mounts(policy, &count);
	int r = build_mount_root(build);

	if (r != 0)
		return build_set_error(build, r, "cannot make the view in", build->options->scratch_host);
	/* Before the grants: a grant of /dev/pts must show the terminals of the run. */
	r = terminals_add_to_view(build->view, build->options->pts_fd,
				  build->options->tmpfs_fd >= 0 || build->options->root_fd >= 0);
	if (r < 0)
		return build_set_error(build, r, "cannot make in the view", "/dev/pts");
	for (size_t i = 0; r == 0 && i < count; i++)
		r = build_mount_grant_of_rule(build, &grant[i], i);
	if (r == 0)
		r = build_mount_split_grants(build);
	if (r == 0)
		r = build_mount_provided_files(build);
	if (r < 0)
		return r;
	r = build_mount_proc_and_devices(build);
	if (r == 0)
		r = build_add_links_of_rule_paths(build, policy);
	if (r == 0)
		r = view_add_covered_names(build->view, build->options->scratch_base);
	return r < 0 ? build_set_error(build, r, "cannot finish the view in", build->options->scratch_host) : 0;
}

/* ---- creating and freeing a view ---- */

/* Takes "callgate-UID" out of the path of the directory of all runs, which may have "-XXXXXX" behind it. */
static void build_take_name_of_runs(struct view *view, const char *scratch_base)
{
	const char *slash = scratch_base ? strrchr(scratch_base, '/') : NULL;
	const char *digits = slash && strncmp(slash, "/callgate-", 10) == 0 ? slash + 10 : NULL;

	if (digits)
		(void)snprintf(view->runs_name, sizeof(view->runs_name), "%.*s",
			       (int)(digits - slash - 1 + (ptrdiff_t)strspn(digits, "0123456789")), slash + 1);
}

int view_create(const struct policy *policy, const struct view_options *options, struct view **ret_view,
		struct policy_error *ret_error)
{
	struct view *view = calloc(1, sizeof(*view));
	struct build_state build = {.view = view, .options = options, .error = ret_error, .overlays = OVERLAYS_NONE};
	const char *written_dir[OVERLAYS_WRITTEN_DIRS] = {options->workdir_host, options->home_host,
							  options->scratch_base, "/var/tmp"};
	const bool cow = options->overlay == VIEW_OVERLAY_WORKSPACE;
	mode_t old;
	int r;

	ret_error->text[0] = '\0';
	if (!view || !(view->skeleton_names = view_skeleton_names_create())) {
		free(view);
		return -ENOMEM;
	}
	view->policy = policy;
	build_take_name_of_runs(view, options->scratch_base);
	view->shares_layers_with_second_view = options->second_view_shares_layers;
	view->proc_fd = view->standin_fd = view->host_root_fd = view->nosymfollow_root_fd = -1;
	old = umask(022);
	r = facts_create(view, options->scratch_fd);
	if (r == 0 && options->root_fd >= 0) {
		view->host_root_fd = fcntl(options->root_fd, F_DUPFD_CLOEXEC, 3);
		r = view->host_root_fd < 0 ? -errno : 0;
	}
	if (r == 0 && options->overlay != VIEW_OVERLAY_NONE && options->tmpfs_fd >= 0)
		r = overlays_read_mount_points(&build.overlays);
	memcpy(build.overlays.written_dir, written_dir, sizeof(written_dir));
	build.overlays.acls_fd = options->acls_fd;
	build.overlays.kept_dir = cow ? options->workspace_host : NULL;
	if (r == 0)
		r = build_whole_view(&build, policy);
	if (r == 0 && cow)
		r = build_check_workspace(&build);
	if (r == 0 && cow)
		build_end_inputs(&build);
	(void)umask(old);
	overlays_release(&build.overlays);
	free(build.split);
	if (r < 0) {
		view_free(view);
		return r;
	}
	*ret_view = view;
	return 0;
}

void view_free(struct view *view)
{
	if (!view)
		return;
	for (unsigned i = 0; i < VIEW_NODE_BUCKETS; i++) {
		while (view->node_bucket[i]) {
			struct view_node *node = view->node_bucket[i];

			view->node_bucket[i] = node->next;
			free(node->link_target);
			free(node);
		}
	}
	view_free_mounts(view);
	view_skeleton_names_free(view->skeleton_names);
	terminals_free(view);
	for (unsigned i = 0; view->start_dir_cache && i < VIEW_START_DIRS_CACHED; i++)
		free(view->start_dir_cache->cached_dir[i].virt);
	free(view->start_dir_cache);
	facts_free(view->facts);
	free(view->skeleton_host);
	free(view->standin_host);
	cleanup_close(&view->standin_fd);
	cleanup_close(&view->host_root_fd);
	cleanup_close(&view->proc_fd);
	cleanup_close(&view->nosymfollow_root_fd);
	free(view->hidden_processes.pid);
	free(view);
}

void view_set_policy(struct view *view, const struct policy *policy)
{
	view->policy = policy;
}

void view_set_supervisor_pid(struct view *view, pid_t root)
{
	view->run_root = root;
	if (root && !view->start_dir_cache)
		/* out of memory: paths are not cached */
		view->start_dir_cache = calloc(1, sizeof(*view->start_dir_cache));
}
