#include "cli/libraries/list.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup-json.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/libraries/python.h"
#include "cli/libraries/read.h"
#include "supervisor/report.h"

#define LIST_DEPTH_MAX 32u /* directories, one in the other, in which files are counted */
#define LIST_ENTRIES_MAX 2000000u /* entries of directories that are looked at for that; links may lead to one often */

/* ---- JSON ---- */

/* Counts the files below a directory, at most *left entries. */
static size_t list_count_in_dir(int dir_fd, const char *path, unsigned depth, size_t *left)
{
	_cleanup_closedir_ DIR *dir = depth < LIST_DEPTH_MAX ? package_open_dir(dir_fd, path) : NULL;
	struct dirent *entry;
	size_t count = 0;

	while (dir && *left > 0 && (entry = readdir(dir))) {
		struct stat status;

		if (path_is_dot_name(entry->d_name) ||
		    fstatat(dirfd(dir), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		*left -= 1;
		count += S_ISDIR(status.st_mode) ? list_count_in_dir(dirfd(dir), entry->d_name, depth + 1, left) : 1;
	}
	return count;
}

/* Whether a directory that a name of a site leads to is of packages: a link may lead anywhere. */
static bool list_is_of_packages(const char *site, const char *real)
{
	const size_t above = (size_t)(strrchr(site, '/') - site);

	return above > 0 && strncmp(real, site, above) == 0 && real[above] == '/';
}

/*
 * Counts the files of a package that exist. RECORD and dpkg list each; other sources name directories for all in it.
 * left: entries of directories that may be looked at; 0 afterwards: not all were.
 */
static size_t list_count_files(const struct packages *packages, const struct package *package, size_t *left)
{
	const bool lists_all = strcmp(package->source, "RECORD") == 0 || strcmp(package->source, "dpkg") == 0;
	const char *site = packages->site[package->site].path;
	size_t count = 0;

	for (size_t i = 0; i < package->file_count; i++) {
		_cleanup_free_ char *path = text_format("%s/%s", site, package->file[i]);
		_cleanup_free_ char *real = path ? realpath(path, NULL) : NULL;
		_cleanup_close_ int fd = real ? io_open_without_links(real, O_PATH) : -1;
		struct stat status;

		if (fd < 0 || fstat(fd, &status) < 0)
			continue;
		if (!S_ISDIR(status.st_mode))
			count++;
		else if (!lists_all && list_is_of_packages(site, real))
			count += list_count_in_dir(fd, ".", 0, left);
	}
	return count;
}

/* Where a package comes from. */
static const char *list_get_origin(const struct package *package, enum policy_language language)
{
	const size_t len = strlen(package->own_name);

	if (language == POLICY_NODE)
		return package->own_name[0] == '.' ? "store" : "node_modules";
	if (package->debian_package)
		return "dpkg";
	return len > 9 && strcmp(package->own_name + len - 9, "dist-info") == 0 ? "dist-info" : "egg-info";
}

/* What a package needs, by its names if it is installed. */
static json_t *list_make_needs(const struct packages *packages, const struct package *package)
{
	json_t *needs = json_array();

	for (size_t i = 0; i < package->need_count; i++) {
		const struct package *need = choose_find_needed(packages, package->need[i]);

		if (need != package)
			(void)json_array_append_new(needs, report_make_text_json(need ? need->name : package->need[i]));
	}
	return needs;
}

/* Adds why something was chosen, or is missing. */
static int list_add_reason(json_t *object, const struct library_choice *choice, const struct package *needed_by)
{
	return json_object_set_new(object, "chosen_by", report_make_text_json(choice ? choice->name : NULL)) |
	       json_object_set_new(object, "set", report_make_text_json(choice ? choice->set : NULL)) |
	       json_object_set_new(object, "needed_by", report_make_text_json(needed_by ? needed_by->name : NULL));
}

static json_t *list_make_package(const struct packages *packages, const struct package *package,
				 enum policy_language language, bool with_reason, size_t *left)
{
	json_t *object = json_pack("{s:o, s:o, s:s, s:o, s:o, s:I, s:o}", "name", report_make_text_json(package->name),
				   "version", report_make_text_json(package->version), "from",
				   list_get_origin(package, language), "debian_package",
				   report_make_text_json(package->debian_package), "site",
				   report_make_text_json(packages->site[package->site].path), "files",
				   (json_int_t)list_count_files(packages, package, left), "needs",
				   list_make_needs(packages, package));

	if (with_reason && object)
		(void)list_add_reason(object, package->chosen_by, package->needed_by);
	return object;
}

/* Order of packages: by site, then by key. */
static int list_compare_packages(const void *left, const void *right)
{
	const struct package *a = *(const struct package *const *)left, *b = *(const struct package *const *)right;

	return a->site != b->site ? (a->site > b->site) - (a->site < b->site) : strcmp(a->key, b->key);
}

static json_t *list_make_packages(const struct packages *packages, enum policy_language language, bool chosen_only)
{
	_cleanup_free_ const struct package **sorted = calloc(packages->package_count + 1, sizeof(*sorted));
	json_t *list = sorted ? json_array() : NULL;
	size_t count = 0, left = LIST_ENTRIES_MAX;

	for (size_t i = 0; list && i < packages->package_count; i++)
		if (packages->package[i].is_chosen || !chosen_only)
			sorted[count++] = &packages->package[i];
	if (list)
		qsort(sorted, count, sizeof(struct package *), list_compare_packages);
	for (size_t i = 0; i < count; i++)
		(void)json_array_append_new(list, list_make_package(packages, sorted[i], language, chosen_only, &left));
	return list;
}

static void list_add_missing(json_t *list, const char *name, const struct library_choice *choice,
			     const struct package *needed_by)
{
	json_t *object = json_object();

	(void)json_object_set_new(object, "name", report_make_text_json(name));
	(void)list_add_reason(object, choice, needed_by);
	(void)json_array_append_new(list, object);
}

/* What was chosen, or is needed by something chosen, and is not installed. modules: gets names of modules instead. */
static json_t *list_make_missing(const struct library_finding *finding, enum policy_language language, json_t *modules)
{
	json_t *list = json_array();

	for (size_t i = 0; i < finding->choices.count; i++) {
		const struct library_choice *choice = &finding->choices.choice[i];

		if (choice->is_missing && language == POLICY_PYTHON &&
		    python_has_module(&finding->packages, choice->name))
			(void)json_array_append_new(modules, report_make_text_json(choice->name));
		else if (choice->is_missing)
			list_add_missing(list, choice->name, choice, NULL);
	}
	for (size_t i = 0; i < finding->packages.package_count; i++) {
		const struct package *package = &finding->packages.package[i];

		for (size_t j = 0; package->is_chosen && j < package->need_count; j++)
			if (!choose_find_needed(&finding->packages, package->need[j]))
				list_add_missing(list, package->need[j], NULL, package);
	}
	return list;
}

/* The sets, with which of their members are installed. */
static json_t *list_make_sets(const struct library_finding *finding)
{
	json_t *sets = json_object();

	for (size_t i = 0; i < finding->choices.count; i++) {
		const struct library_choice *choice = &finding->choices.choice[i];
		json_t *set = json_object_get(sets, choice->set);

		if (!set && (set = json_pack("{s:[], s:[]}", "installed", "missing")))
			(void)json_object_set_new(sets, choice->set, set);
		(void)json_array_append_new(json_object_get(set, choice->is_missing ? "missing" : "installed"),
					    json_string(choice->name));
	}
	return sets;
}

json_t *list_make_json(const struct library_finding *finding, enum policy_language language, bool chosen_only)
{
	json_t *object = json_pack("{s:s, s:o}", "language", policy_language_get_name(language), "packages",
				   list_make_packages(&finding->packages, language, chosen_only));
	json_t *modules = json_array();

	if (!chosen_only) {
		json_decref(modules);
		(void)json_object_set_new(object, "sets", list_make_sets(finding));
		return object;
	}
	(void)json_object_set_new(object, "missing", list_make_missing(finding, language, modules));
	(void)json_object_set_new(object, "modules", modules);
	return object;
}

/* ---- text ---- */

static const char *list_get_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* Adds a text without control characters: names in node_modules may have newlines. */
static void list_put(struct buf *text, const char *value)
{
	const size_t len = strlen(value);
	_cleanup_free_ char *shown = malloc(len * TEXT_ESCAPED_BYTES_PER_BYTE_MAX + 1);

	if (!shown)
		text->failed = true;
	else
		buf_add(text, shown, text_escape_for_display(shown, value, len, false));
}

/* Adds "WORDSa, b\n"; of an empty list, nothing. */
static void list_put_names(struct buf *text, const char *words, const json_t *names)
{
	for (size_t i = 0; i < json_array_size(names); i++) {
		buf_puts(text, i == 0 ? words : ", ");
		list_put(text, json_string_value(json_array_get(names, i)));
	}
}

/* Adds why something was chosen. */
static void list_put_reason(struct buf *text, const json_t *object)
{
	const char *set = list_get_text(object, "set"), *needed_by = list_get_text(object, "needed_by");

	list_put(text, *set ? set : needed_by);
	buf_puts(text, *set ? " has it\n" : *needed_by ? " needs it\n" : "named\n");
}

static void list_put_packages(struct buf *text, const json_t *packages, bool chosen_only)
{
	const char *site = "";
	const json_t *package;
	size_t i;

	json_array_foreach(packages, i, package)
	{
		if (strcmp(site, list_get_text(package, "site")) != 0) {
			site = list_get_text(package, "site");
			list_put(text, site);
			buf_puts(text, ":\n");
		}
		buf_puts(text, "  ");
		list_put(text, list_get_text(package, "name"));
		buf_puts(text, " ");
		list_put(text, *list_get_text(package, "version") ? list_get_text(package, "version") : "?");
		buf_printf(text, ", %s, %lld files", list_get_text(package, "from"),
			   (long long)json_integer_value(json_object_get(package, "files")));
		if (chosen_only) {
			buf_puts(text, ": ");
			list_put_reason(text, package);
		} else {
			list_put_names(text, "; needs ", json_object_get(package, "needs"));
			buf_puts(text, "\n");
		}
	}
}

static void list_put_sets(struct buf *text, json_t *sets)
{
	const char *name;
	json_t *set;

	json_object_foreach(sets, name, set)
	{
		list_put(text, name);
		buf_puts(text, ":");
		list_put_names(text, " ", json_object_get(set, "installed"));
		list_put_names(text,
			       json_array_size(json_object_get(set, "installed")) ? "; not installed: "
										  : " not installed: ",
			       json_object_get(set, "missing"));
		buf_puts(text, "\n");
	}
}

int list_print_text(const json_t *object)
{
	json_t *sets = json_object_get(object, "sets"), *missing = json_object_get(object, "missing");
	const json_t *packages = json_object_get(object, "packages"), *item;
	_cleanup_buf_ struct buf text = {0};
	json_int_t files = 0;
	size_t i;

	list_put_packages(&text, packages, !sets);
	list_put_names(&text, "modules that belong to no package: ", json_object_get(object, "modules"));
	if (json_array_size(json_object_get(object, "modules")))
		buf_puts(&text, "\n");
	if (json_array_size(missing))
		buf_puts(&text, "not installed:\n");
	json_array_foreach(missing, i, item)
	{
		buf_puts(&text, "  ");
		list_put(&text, list_get_text(item, "name"));
		buf_puts(&text, ": ");
		list_put_reason(&text, item);
	}
	json_array_foreach(packages, i, item)
	{
		files += json_integer_value(json_object_get(item, "files"));
	}
	list_put_sets(&text, sets);
	buf_printf(&text, "%s: %zu packages, %lld files\n", list_get_text(object, "language"),
		   json_array_size(packages), (long long)files);
	return cli_print_buf("libraries", &text);
}
