/* Narrows a rule to what recorded runs used of it: from writing to reading, from a directory to what was used in it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "cli/policy/minimise.h"

#define NARROWER_PATHS_PER_RULE_MAX 8 /* most rules that may replace one rule */

/* Paths, sorted by their components, so that what is below a directory follows it. */
struct path_list {
	char **path; /* array of owned paths; owned */
	size_t count;
};

static void path_list_release(struct path_list *paths)
{
	for (size_t i = 0; i < paths->count; i++)
		free(paths->path[i]);
	free(paths->path);
}

/*
 * Returns the path to grant for a denied access. For a written file that is its directory, because the next run may
 * choose another file name. For a link that was followed it is the link, whose grant includes the target. "": no path
 * can be named. Owned; NULL: no memory.
 */
static char *paths_get_path_to_grant(const struct query *query, const struct query_answer *answer)
{
	const struct query_path *lost = &query->paths[answer->deciding_path_index];
	char link[PATH_MAX];

	if (query->kind != QUERY_PATHS || !answer->is_certain)
		return strdup("");
	if (lost->wanted_rights & POLICY_WRITE && lost->len > 1) {
		size_t len =
			(size_t)((const char *)memrchr(lost->canonical_path, '/', lost->len) - lost->canonical_path);

		return strndup(lost->canonical_path, len ? len : 1);
	}
	if (lost->path_as_written_len == 0)
		return strdup(lost->canonical_path);
	return strdup(query_follow_merged_usr(lost->path_as_written, link) ? link : lost->path_as_written);
}

/* Callback that appends the path which the access needs to be granted. 0 or -ENOMEM. */
static int path_list_add_path_of_query(void *ctx, const struct query *query, const struct query_answer *answer)
{
	struct path_list *paths = ctx;
	char **list = reallocarray(paths->path, paths->count + 1, sizeof(*list));
	char *path = list ? paths_get_path_to_grant(query, answer) : NULL;

	if (list)
		paths->path = list;
	if (!path)
		return -ENOMEM;
	paths->path[paths->count++] = path;
	return 0;
}

static int path_list_compare_paths(const void *a, const void *b)
{
	const char *one = *(char *const *)a, *other = *(char *const *)b;
	unsigned char first, second;

	while (*one && *one == *other) {
		one++;
		other++;
	}
	first = *one == '/' ? 1 : (unsigned char)*one;
	second = *other == '/' ? 1 : (unsigned char)*other;
	return first - second;
}

/* Returns the length of the longest directory that both paths are at or below. The first path is `len` long. */
static size_t paths_get_common_dir_len(const char *one, size_t len, const char *other)
{
	size_t same = 0, at = 0;

	while (at < len && other[at] == one[at])
		if (one[at++] == '/')
			same = at - 1;
	if (at == len && (other[at] == '/' || other[at] == '\0'))
		return len;
	return at < len && one[at] == '/' && other[at] == '\0' ? at : same;
}

/* Returns the length of the longest directory that the paths `first` to `last` - 1 are at or below. */
static size_t paths_get_common_dir_len_of_all(const struct path_list *paths, size_t first, size_t last)
{
	size_t len = strlen(paths->path[first]);

	for (size_t i = first + 1; i < last; i++)
		len = paths_get_common_dir_len(paths->path[first], len, paths->path[i]);
	return len;
}

/*
 * Returns the index after the last path that continues, after the `common` bytes that all paths share, with the same
 * component as the path with index `first`.
 */
static size_t paths_find_end_of_child_dir(const struct path_list *paths, size_t first, size_t common)
{
	const char *path = paths->path[first];
	size_t len = common + 1 + strcspn(path + common + 1, "/"), last = first + 1;

	while (last < paths->count && strncmp(paths->path[last], path, len) == 0 &&
	       (paths->path[last][len] == '/' || paths->path[last][len] == '\0'))
		last++;
	return last;
}

/*
 * Finds paths to replace a granted directory: the longest common directory of the used paths or, if that is the granted
 * directory itself, a path for each name in it. Returns their number; 0: they would grant as much as the directory.
 */
static size_t paths_find_narrower_paths(const struct path_list *paths, const char *wide,
					char *narrow[NARROWER_PATHS_PER_RULE_MAX])
{
	size_t common = paths_get_common_dir_len_of_all(paths, 0, paths->count), count = 0, last;

	if (paths->path[0][0] != '/')
		return 0;
	if (common > strlen(wide)) {
		narrow[0] = strndup(paths->path[0], common);
		return 1;
	}
	if (common == 0)
		return 0;
	for (size_t first = 0; first < paths->count; first = last) {
		if (paths->path[first][common] == '\0' || count == NARROWER_PATHS_PER_RULE_MAX)
			break; /* no narrower paths: the common directory itself was used, or they would be too many */
		last = paths_find_end_of_child_dir(paths, first, common);
		narrow[count++] = strndup(paths->path[first], paths_get_common_dir_len_of_all(paths, first, last));
		if (last == paths->count)
			return count;
	}
	while (count > 0)
		free(narrow[--count]);
	return 0;
}

/* Copies a rule's entry, with `path` in place of the entry's path. Owned; NULL: no memory. */
static json_t *narrow_make_entry(const json_t *entry, const char *path)
{
	json_t *copy;

	if (!json_is_object(entry))
		return json_string(path);
	copy = json_deep_copy(entry);
	(void)json_object_set_new(copy, "path", json_string(path));
	(void)json_object_del(copy, "also_grants"); /* the member described the wider path */
	return copy;
}

/* Replaces the wide rule by the narrow ones, unless a used access would then be denied. True: it was replaced. */
static bool narrow_replace_rule(struct minimise *all, struct minimise_rule *rule, char *const *narrow, size_t count)
{
	size_t at = minimise_get_index_of_entry(rule);
	json_t *wide = json_incref(rule->entry);
	_cleanup_buf_ struct buf text = {0};
	bool replaced;

	(void)json_array_remove(rule->list, at);
	for (size_t i = 0; i < count; i++) {
		(void)json_array_insert_new(rule->list, at + i, narrow_make_entry(wide, narrow[i]));
		buf_printf(&text, "%s%s", i ? ", " : "", narrow[i]);
	}
	replaced = minimise_find_lost_accesses(all, NULL, NULL) == 0;
	if (replaced) {
		minimise_print_change("narrowed", rule, minimise_get_path_or_host_of_entry(wide), text.data);
		all->narrowed++;
	} else {
		for (size_t i = 0; i < count; i++)
			(void)json_array_remove(rule->list, at);
		(void)json_array_insert(rule->list, at, wide);
	}
	json_decref(wide);
	return replaced;
}

/* Finds which used accesses would be denied without the rule, as paths without duplicates. 0 or -errno. */
static int narrow_find_paths_used_through_rule(struct minimise *all, const struct minimise_rule *rule,
					       struct path_list *paths)
{
	size_t at = minimise_get_index_of_entry(rule), count = 0;
	json_t *entry = json_incref(rule->entry);
	int r;

	(void)json_array_remove(rule->list, at);
	r = minimise_find_lost_accesses(all, path_list_add_path_of_query, paths);
	(void)json_array_insert_new(rule->list, at, entry);
	if (r < 0 || paths->count == 0)
		return r < 0 ? r : 0;
	qsort(paths->path, paths->count, sizeof(*paths->path), path_list_compare_paths);
	for (size_t i = 1; i < paths->count; i++) {
		if (strcmp(paths->path[count], paths->path[i]) == 0)
			free(paths->path[i]);
		else
			paths->path[++count] = paths->path[i];
	}
	paths->count = count + 1;
	return 0;
}

static int narrow_path(struct minimise *all, struct minimise_rule *rule);

/* Narrows the `count` rules, from index `at` of the list on, that have replaced the rule `wide`. 0 or -ENOMEM. */
static int narrow_replacement_rules(struct minimise *all, const struct minimise_rule *wide, size_t at, size_t count)
{
	json_t *entry[NARROWER_PATHS_PER_RULE_MAX];
	int r = 0;

	for (size_t i = 0; i < count; i++)
		entry[i] = json_array_get(wide->list, at + i);
	for (size_t i = 0; i < count && r == 0; i++) {
		struct minimise_rule rule = {wide->list, entry[i], wide->key, wide->right};

		r = narrow_path(all, &rule);
	}
	return r;
}

/*
 * Replaces a rule's path by narrower ones that have all paths used through it, if that loses no access. 0 or -ENOMEM.
 */
static int narrow_path(struct minimise *all, struct minimise_rule *rule)
{
	const char *wide = minimise_get_path_or_host_of_entry(rule->entry);
	struct path_list paths = {NULL, 0};
	char *narrow[NARROWER_PATHS_PER_RULE_MAX];
	size_t count = 0, at = minimise_get_index_of_entry(rule);
	int r;

	if (!wide || wide[0] != '/' || strchr(wide, '*'))
		return 0; /* leaves a path with a pattern or variable as the user wrote it */
	r = narrow_find_paths_used_through_rule(all, rule, &paths);
	if (r == 0 && paths.count > 0)
		count = paths_find_narrower_paths(&paths, wide, narrow);
	path_list_release(&paths);
	if (count > 0 && !(count == 1 && strcmp(narrow[0], wide) == 0) && narrow_replace_rule(all, rule, narrow, count))
		r = narrow_replacement_rules(all, rule, at, count);
	while (count > 0)
		free(narrow[--count]);
	return r == -ENOMEM ? r : 0;
}

/* Tries to move a rule to the list "read". True: it was moved, because no used access needs more. */
static bool narrow_write_rule_to_read(struct minimise *all, struct minimise_rule *rule)
{
	json_t *filesystem = json_object_get(all->policy_root, "filesystem"),
	       *read = json_object_get(filesystem, "read");
	json_t *entry = json_incref(rule->entry);
	size_t at = minimise_get_index_of_entry(rule);
	bool narrower;

	if (!read) {
		read = json_array();
		(void)json_object_set_new(filesystem, "read", read);
	}
	(void)json_array_remove(rule->list, at);
	(void)json_array_append(read, entry);
	narrower = minimise_find_lost_accesses(all, NULL, NULL) == 0;
	if (narrower) {
		minimise_print_change("narrowed", rule, minimise_get_path_or_host_of_entry(entry), "read");
		all->narrowed++;
		*rule = (struct minimise_rule){read, entry, "filesystem.read", "read"};
	} else {
		(void)json_array_remove(read, json_array_size(read) - 1);
		(void)json_array_insert(rule->list, at, entry);
	}
	json_decref(entry);
	return narrower;
}

int minimise_narrow_rule(struct minimise *all, struct minimise_rule *rule)
{
	if (strcmp(rule->right, "write") == 0 || strcmp(rule->right, "exec") == 0)
		(void)narrow_write_rule_to_read(all, rule);
	return strcmp(rule->right, "public") == 0 ? 0 : narrow_path(all, rule);
}
