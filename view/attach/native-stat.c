/* Whether the kernel shows, by names, exactly what the view does. */
#include <string.h>

#include "policy/paths/below.h"
#include "view/private.h"

/* True when there are covered names. A process outside the run can uncover one, by replacing the mount point. */
static bool attach_has_covered_names(const struct view *view)
{
	for (unsigned i = 0; i < VIEW_NODE_BUCKETS; i++)
		for (const struct view_node *node = view->node_bucket[i]; node; node = node->next)
			if (node_is_covered(node))
				return true;
	return false;
}

/*
 * True when no process outside of the run can uncover what lies below a mount, by removing or replacing the mount
 * point: its mount is then lost (detach_mounts() in fs/namespace.c). That holds if the mount point is in a directory of
 * the run's own, or if the mounted object is the one that the host has at the same place.
 */
static bool attach_mount_is_fixed(const struct view *view, const struct mount *mount)
{
	struct place place = {.virt_len = mount->virt_len};
	const char *rest;
	size_t origin_len;

	memcpy(place.virt, mount->virt, mount->virt_len + 1);
	view_drop_last_component(&place);
	if (view_set_mount_of_place(view, &place) < 0)
		return false;
	if (place.mount->flags & (MOUNT_SKELETON | MOUNT_PRIVATE))
		return true;
	if (place.mount->flags & MOUNT_OF_SINGLE_FILE || mount->flags & MOUNT_PROC)
		return false;
	rest = mount->virt + (place.mount->virt_len > 1 ? place.mount->virt_len : 0);
	origin_len = place.mount->recorded_host_path[1] ? strlen(place.mount->recorded_host_path) : 0;
	return strncmp(mount->recorded_host_path, place.mount->recorded_host_path, origin_len) == 0 &&
	       strcmp(mount->recorded_host_path + origin_len, rest) == 0;
}

bool view_native_stat_is_safe(const struct view *view)
{
	if (!view->is_attached || !view->proc_files_of_no_process || view->program_proc_has_machine_files ||
	    view->some_mount_is_unattached || view->top != view->skeleton_mount)
		return false;
	if (!policy_grants_only_whole_trees(view->policy) || attach_has_covered_names(view))
		return false;
	for (size_t i = 0; i < view->mount_count; i++)
		if (view->mount[i] != view->skeleton_mount && view->mount[i] != view->proc_files_of_no_process &&
		    !attach_mount_is_fixed(view, view->mount[i]))
			return false;
	return true;
}
