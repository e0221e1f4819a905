/*
 * Whether the kernel's own resolution shows the program more than the view does: the question behind everything that could
 * be left to it. Each of the answers is "no" only when nothing that happens outside of the run can make it untrue.
 */
#include <string.h>

#include "policy/paths/below.h"
#include "view/private.h"

#include "base/banned.h"

/* What is hidden has a cover for the kernel, until somebody outside replaces the file or directory under it. */
static bool has_holes(const struct view *view)
{
	for (unsigned i = 0; i < VIEW_BUCKETS; i++)
		for (const struct node *node = view->bucket[i]; node; node = node->next)
			if (!node->mount && !node->link)
				return true;
	return false;
}

/*
 * True when nobody outside can uncover what lies below the mount: the directory its name is in is the run's own, or shows the
 * very same there. A mount point that is removed or renamed over elsewhere loses its mount (detach_mounts() in fs/namespace.c).
 */
static bool is_fast(const struct view *view, const struct mount *mount)
{
	struct place place = {.virt_len = mount->virt_len};
	const char *rest;
	size_t origin_len;

	memcpy(place.virt, mount->virt, mount->virt_len);
	while (place.virt_len > 1 && place.virt[--place.virt_len] != '/')
		;
	place.virt_len += place.virt_len == 0;
	place.virt[place.virt_len] = '\0';
	if (view_place(view, &place) < 0)
		return false;
	if (place.mount->flags & (MOUNT_SKELETON | MOUNT_PRIVATE))
		return true;
	if (place.mount->flags & MOUNT_FILE || mount->flags & MOUNT_PROC)
		return false;
	rest = mount->virt + (place.mount->virt_len > 1 ? place.mount->virt_len : 0);
	origin_len = place.mount->origin[1] ? strlen(place.mount->origin) : 0;
	return strncmp(mount->origin, place.mount->origin, origin_len) == 0 &&
	       strcmp(mount->origin + origin_len, rest) == 0;
}

bool view_is_kernels(const struct view *view)
{
	if (!view->attached || !view->machine || view->veiled || view->top != view->root)
		return false;
	if (!policy_sees_whole(view->policy) || has_holes(view))
		return false;
	for (size_t i = 0; i < view->mounts; i++)
		if (view->mount[i] != view->root && view->mount[i] != view->machine && !is_fast(view, view->mount[i]))
			return false;
	return true;
}
