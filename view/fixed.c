#include "view/fixed.h"

#include <stddef.h>
#include <string.h>

const char *const view_fixed_devices[] = {"/dev/null",    "/dev/zero",   "/dev/full", "/dev/random",
					  "/dev/urandom", VIEW_TTY_PATH, NULL};

const struct view_fixed_link view_fixed_links[] = {{"/dev/fd", "/proc/self/fd"},
						   {"/dev/stdin", "/proc/self/fd/0"},
						   {"/dev/stdout", "/proc/self/fd/1"},
						   {"/dev/stderr", "/proc/self/fd/2"},
						   {NULL, NULL}};

const char *const view_merged_usr[] = {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", NULL};

static bool fixed_has_path(const char *const *list, const char *path)
{
	for (; *list; list++)
		if (strcmp(*list, path) == 0)
			return true;
	return false;
}

bool view_is_fixed_device(const char *path)
{
	return fixed_has_path(view_fixed_devices, path);
}

bool view_is_fixed_link(const char *path)
{
	for (const struct view_fixed_link *link = view_fixed_links; link->path; link++)
		if (strcmp(link->path, path) == 0)
			return true;
	return fixed_has_path(view_merged_usr, path);
}
