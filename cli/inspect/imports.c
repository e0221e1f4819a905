#include "cli/inspect/imports.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"

#define IMPORTS_MAX 4096u /* names that are followed */

/* A name that a file imports. All texts are owned. */
struct inspect_import {
	char *name;             /* as the parser tells it: "package.module", "..module"; "./file" of JavaScript */
	char *dir;              /* of the file */
	char *root;             /* in which Python looks for modules */
	enum inspect_type type; /* PYTHON or JAVASCRIPT */
};

char *inspect_imports_get_directory(const char *path, const char *found)
{
	struct stat status;
	char real[PATH_MAX];
	/* of a session, the path is that of a descriptor, and in `found` links are followed already */
	const bool is_link = path && strncmp(path, "/proc/", strlen("/proc/")) != 0 && lstat(path, &status) == 0 &&
			     S_ISLNK(status.st_mode) && realpath(path, real);
	const char *name = is_link ? real : found;

	return text_copy_directory(name ? name : "");
}

/* ---- names that are to be followed ---- */

static char *imports_describe_file(const struct stat *status)
{
	return text_format("%ju:%ju", (uintmax_t)status->st_dev, (uintmax_t)status->st_ino);
}

static bool imports_have_file(const struct inspect_imports *imports, const char *file)
{
	for (size_t i = 0; i < imports->files.count; i++)
		if (strcmp(imports->files.item[i], file) == 0)
			return true;
	return false;
}

int inspect_imports_note_file(struct inspect_imports *imports, const struct stat *status)
{
	return cli_list_add_owned(&imports->files, imports_describe_file(status));
}

/* Whether the same name is followed already. */
static bool imports_have(const struct inspect_imports *imports, const struct inspect_import *import)
{
	/* where Python looks for a module that is not named by dots does not depend on the file's directory */
	const bool needs_dir = import->type != INSPECT_TYPE_PYTHON || *import->name == '.';

	for (size_t i = 0; i < imports->count; i++) {
		const struct inspect_import *other = &imports->item[i];

		if (other->type == import->type && strcmp(other->name, import->name) == 0 &&
		    strcmp(other->root, import->root) == 0 && (!needs_dir || strcmp(other->dir, import->dir) == 0))
			return true;
	}
	return false;
}

/* Takes a name. The texts of `import` are copied. 0 or -ENOMEM. */
static int imports_add(struct inspect_imports *imports, const struct inspect_import *import)
{
	struct inspect_import copy = {.type = import->type};

	if (imports_have(imports, import))
		return 0;
	if (imports->count >= IMPORTS_MAX) {
		imports->lacks_some = true;
		return 0;
	}
	if (imports->count == imports->room) {
		const size_t room = imports->room ? imports->room * 2 : 32;
		struct inspect_import *item = reallocarray(imports->item, room, sizeof(*item));

		if (!item)
			return -ENOMEM;
		imports->item = item;
		imports->room = room;
	}
	copy.name = strdup(import->name);
	copy.dir = strdup(import->dir);
	copy.root = strdup(import->root);
	imports->item[imports->count++] = copy;
	return copy.name && copy.dir && copy.root ? 0 : -ENOMEM;
}

int inspect_imports_take(struct inspect_imports *imports, const struct inspect_findings *findings,
			 enum inspect_type type, const char *dir, const char *root)
{
	const bool is_python = type == INSPECT_TYPE_PYTHON || type == INSPECT_TYPE_NOTEBOOK;
	struct inspect_import import = {.dir = (char *)(uintptr_t)dir,
					.root = (char *)(uintptr_t)root,
					.type = is_python ? INSPECT_TYPE_PYTHON : type};
	int r = 0;

	if (!is_python && type != INSPECT_TYPE_JAVASCRIPT)
		return 0;
	imports->lacks_some = imports->lacks_some || findings->imports.count >= INSPECT_IMPORTS_OF_FILE_MAX;
	for (size_t i = 0; r == 0 && i < findings->imports.count; i++) {
		import.name = findings->imports.item[i];
		r = imports_add(imports, &import);
	}
	return r;
}

void inspect_imports_release(struct inspect_imports *imports)
{
	for (size_t i = 0; i < imports->count; i++) {
		free(imports->item[i].name);
		free(imports->item[i].dir);
		free(imports->item[i].root);
	}
	free(imports->item);
	cli_list_release(&imports->files);
	*imports = (struct inspect_imports){0};
}

/* ---- files ---- */

/* What an import leads to is looked for. */
struct imports_search {
	struct inspect_imports *imports;
	const struct inspect_import_user *user;
	const char *root;
};

/* "DIRECTORY/NAME", without "./" in front of either. Owned; NULL: no memory. */
static char *imports_join(const char *directory, const char *name)
{
	size_t len;

	name += strncmp(name, "./", 2) == 0 ? 2 : 0;
	if (*name == '/' || strcmp(directory, ".") == 0)
		return strdup(name);
	directory += strncmp(directory, "./", 2) == 0 ? 2 : 0;
	len = strlen(directory);
	return text_format("%s%s%s", directory, len == 0 || directory[len - 1] == '/' ? "" : "/", name);
}

/* Has a file looked at, unless it was. 0 or -errno. */
static int imports_look_at(const struct imports_search *search, const struct inspect_imported *file)
{
	_cleanup_free_ char *described = imports_describe_file(&file->status);
	int r;

	if (!described)
		return -ENOMEM;
	if (imports_have_file(search->imports, described))
		return 0;
	r = inspect_imports_note_file(search->imports, &file->status);
	search->imports->bytes += (uint64_t)file->status.st_size;
	return r == 0 ? search->user->look(search->user->look_data, file) : r;
}

/* What a file is looked at as. Of JavaScript, names with a suffix are imported as well. */
static enum inspect_type imports_get_type(const char *name, enum inspect_type type)
{
	const char *suffix = type == INSPECT_TYPE_JAVASCRIPT ? strrchr(name, '.') : NULL;

	if (suffix && strcmp(suffix, ".json") == 0)
		return INSPECT_TYPE_DATA;
	return suffix && (strcmp(suffix, ".node") == 0 || strcmp(suffix, ".wasm") == 0) ? INSPECT_TYPE_MAX : type;
}

/*
 * Looks for a regular file of this name, and has it looked at. 1: it is what is imported; 0: there is none, or it says
 * which file is; or -errno.
 */
static int imports_try(const struct imports_search *search, const char *name, enum inspect_type type)
{
	_cleanup_free_ char *found = NULL,
			    *path = search->user->find_file(search->user->find_data, name, false, &found);
	struct inspect_imported file = {
		.name = name, .path = path, .found = found, .root = search->root, .type = imports_get_type(name, type)};
	int r;

	if (!path || !found)
		return 0; /* what went wrong is kept by find_file */
	if (stat(path, &file.status) < 0)
		return io_error_means_absent(-errno) ? 0 : -errno;
	if (!S_ISREG(file.status.st_mode))
		return 0;
	r = file.type == INSPECT_TYPE_DATA ? 0 : imports_look_at(search, &file);
	return r == 0 ? type != INSPECT_TYPE_PACKAGE : r;
}

/* How a name of a module, or of a file without its suffix, goes on. NULL-ended. */
struct imports_end {
	const char *text;
	enum inspect_type type;
};

/* In the order in which Python looks for them; extension modules also have names with a version. */
static const struct imports_end python_ends[] = {
	{"/__init__.py", INSPECT_TYPE_PYTHON}, {".abi3.so", INSPECT_TYPE_MAX}, {".so", INSPECT_TYPE_MAX},
	{".py", INSPECT_TYPE_PYTHON},          {".pyc", INSPECT_TYPE_MAX},     {NULL, 0}};

/* In the order of node's require(). DATA: it is not run. */
static const struct imports_end javascript_ends[] = {{"", INSPECT_TYPE_JAVASCRIPT},
						     {".js", INSPECT_TYPE_JAVASCRIPT},
						     {".json", INSPECT_TYPE_DATA},
						     {".node", INSPECT_TYPE_MAX},
						     {"/package.json", INSPECT_TYPE_PACKAGE},
						     {"/index.js", INSPECT_TYPE_JAVASCRIPT},
						     {NULL, 0}};

/*
 * Looks for the first of these files that there is. *ret_end: which of the ends it has. 1: there is one; 0: none; or
 * -errno.
 */
static int imports_try_ends(const struct imports_search *search, const char *base, const struct imports_end *ends,
			    const struct imports_end **ret_end)
{
	int r = 0;

	for (const struct imports_end *end = ends; r == 0 && end->text; end++) {
		_cleanup_free_ char *name = text_format("%s%s", base, end->text);

		*ret_end = end;
		r = name ? imports_try(search, name, end->type) : -ENOMEM;
	}
	return r;
}

/* Takes components off the end of a directory. False: it has not so many. */
static bool imports_go_up(char *directory, size_t count)
{
	for (; count > 0; count--) {
		char *slash = strrchr(directory, '/'), *last = slash ? slash + 1 : directory;

		if (*last == '\0' || strcmp(last, ".") == 0 || strcmp(last, "..") == 0)
			return false;
		if (slash)
			slash[slash == directory] = '\0';
		else
			(void)memcpy(directory, ".", 2);
	}
	return true;
}

/* "a.b": the files a/__init__.py and a/b.py, or what takes their place. Each dot in front but one leads up. */
static int imports_follow_python(const struct imports_search *search, const struct inspect_import *import)
{
	const size_t dots = strspn(import->name, ".");
	_cleanup_free_ char *at = strdup(dots > 0 ? import->dir : import->root), *parts = strdup(import->name + dots);
	const struct imports_end *end = NULL;
	char *rest = NULL;
	int r = at && parts ? 0 : -ENOMEM;

	if (r < 0 || strchr(parts, '/') || (dots > 1 && !imports_go_up(at, dots - 1)))
		return r;
	for (char *part = strtok_r(parts, ".", &rest); r == 0 && part; part = strtok_r(NULL, ".", &rest)) {
		char *joined = imports_join(at, part);

		free(at);
		at = joined;
		r = at ? imports_try_ends(search, at, python_ends, &end) : -ENOMEM;
		if (r > 0 && end != python_ends)
			return 0; /* only packages have modules in them */
		r = r > 0 ? 0 : r;
	}
	return r;
}

/* "./file", "../directory" or "/file": the file, or with a suffix, or in the directory. */
static int imports_follow_javascript(const struct imports_search *search, const struct inspect_import *import)
{
	_cleanup_free_ char *base = imports_join(import->dir, import->name);
	const struct imports_end *end = NULL;
	int r = base ? imports_try_ends(search, base, javascript_ends, &end) : -ENOMEM;

	return r > 0 ? 0 : r;
}

int inspect_imports_follow(struct inspect_imports *imports, const struct inspect_import_user *user)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < imports->count; i++) {
		const struct inspect_import import = imports->item[i];
		const struct imports_search search = {imports, user, import.root};

		r = import.type == INSPECT_TYPE_PYTHON ? imports_follow_python(&search, &import)
						       : imports_follow_javascript(&search, &import);
	}
	return r;
}
