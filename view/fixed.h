/*
 * Devices and links that every view shows, whatever the policy grants. The view is built from these lists, and replay/
 * judges by them.
 */
#ifndef CALLGATE_VIEW_FIXED_H
#define CALLGATE_VIEW_FIXED_H

#include <stdbool.h>

/* A symbolic link that every view has. */
struct view_fixed_link {
	const char *path, *target;
};

#define VIEW_TTY_PATH "/dev/tty"

/* The devices, NULL-ended; the links, which end with a NULL path. */
extern const char *const view_fixed_devices[];
extern const struct view_fixed_link view_fixed_links[];
/* Links of systems that have /bin and /lib in /usr. They are shown when they lead into a grant. NULL-ended. */
extern const char *const view_merged_usr[];

bool view_is_fixed_device(const char *path);
/* True for a path in view_fixed_links or view_merged_usr. */
bool view_is_fixed_link(const char *path);

#endif
