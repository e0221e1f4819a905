/* Finds the control groups of this process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mounts.h"
#include "confine/cgroup-private.h"

uint64_t cgroup_parse_number(const char *text, const char *key)
{
	size_t len = key ? strlen(key) : 0;

	if (!key)
		return strtoull(text, NULL, 10);
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		/* NOLINT(clang-analyzer-core*): text ends with a NUL */
		if (strncmp(line, key, len) == 0 && line[len] == ' ')
			return strtoull(line + len, NULL, 10);
	}
	return 0;
}

static const char *const v1_names[CGROUP_CONTROLLERS] = {
	[CGROUP_MEMORY] = "memory", [CGROUP_PIDS] = "pids", [CGROUP_CPU] = "cpuacct"};

/* True when a comma-separated list has this word. */
static bool cgroup_list_has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, word, len) == 0 && (at[len] == ',' || at[len] == '\0'))
			return true;
	}
	return false;
}

/* Gets the path of a group below a mount point. False: the group is not below the root of the mount. */
static bool cgroup_get_path_below_mount(const struct mountinfo_line *mount, const char *group, char *out)
{
	size_t root = strcmp(mount->root, "/") == 0 ? 0 : strlen(mount->root);
	const char *rest = group + root;

	/* A path that begins with "/.." is outside of the cgroup namespace. */
	if (strncmp(group, "/..", 3) == 0 || strncmp(mount->root, "/..", 3) == 0)
		return false;
	if (strncmp(group, mount->root, root) != 0 || (*rest != '/' && *rest != '\0'))
		return false;
	if (strcmp(rest, "/") == 0)
		rest = "";
	return snprintf(out, PATH_MAX, "%s%s", mount->mount_point, rest) < PATH_MAX;
}

/* Finds this process's group in the hierarchy of a controller ("": version 2). Owned by the caller; NULL: none. */
static char *cgroup_find_own_group(const char *self, const char *controller)
{
	_cleanup_free_ char *copy = strdup(self);
	char *save = NULL;

	for (char *line = copy ? strtok_r(copy, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save)) {
		char *list = strchr(line, ':'), *group = list ? strchr(list + 1, ':') : NULL;

		if (!group)
			continue;
		*group++ = '\0';
		if (*controller ? cgroup_list_has_word(list + 1, controller) : list[1] == '\0')
			return strdup(group);
	}
	return NULL;
}

/* Takes over where a control group mount shows callgate's own groups. */
static void cgroup_add_mount(const struct mountinfo_line *mount, const char *self, struct cgroup_own_dirs *places)
{
	bool v2 = strcmp(mount->type, "cgroup2") == 0;

	for (enum cgroup_controller c = 0; c < CGROUP_CONTROLLERS; c++) {
		char *place = v2 ? places->v2 : places->v1[c];
		_cleanup_free_ char *group = NULL;

		if (*place || (!v2 && !cgroup_list_has_word(mount->options, v1_names[c])))
			continue;
		group = cgroup_find_own_group(self, v2 ? "" : v1_names[c]);
		if (!group || !cgroup_get_path_below_mount(mount, group, place))
			*place = '\0';
		else if (v2)
			/*
			 * is never truncated: the mount point is a part of `v2`, which has the same size as
			 * `v2_mount_point`
			 */
			(void)snprintf(places->v2_mount_point, sizeof(places->v2_mount_point), "%s",
				       mount->mount_point);
	}
}

void cgroup_find_own_dirs(const char *self, const char *mountinfo, struct cgroup_own_dirs *ret_places)
{
	_cleanup_free_ char *copy = strdup(mountinfo);
	char *save = NULL;

	memset(ret_places, 0, sizeof(*ret_places));
	for (char *line = copy ? strtok_r(copy, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save)) {
		struct mountinfo_line mount;

		if (mounts_parse_mountinfo_line(line, &mount) &&
		    (strcmp(mount.type, "cgroup2") == 0 || strcmp(mount.type, "cgroup") == 0))
			cgroup_add_mount(&mount, self, ret_places);
	}
}
