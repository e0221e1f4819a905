#include "cli/inspect/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "cli/inspect/inspect.h"
#include "cli/inspect/judge.h"
#include "cli/inspect/visits.h"

#define PARTS_FILES_MAX 64u /* files that are looked at: each costs the start of a parser */

/* 1: it is a regular file; 0: not; or -errno: it is not known. */
static int parts_is_file(const char *path)
{
	struct stat status;

	if (path && stat(path, &status) < 0)
		return io_error_means_absent(-errno) ? 0 : -errno;
	return path && S_ISREG(status.st_mode);
}

/* Whether a further file may be looked at. False: there were too many, or it took too long; that is told once. */
static bool parts_may_look(struct inspect_program *inspection, int *ret_error)
{
	*ret_error = 0;
	if (io_read_clock_ns() >= inspection->end_ns) {
		if (!inspection->is_late)
			*ret_error = inspect_tell_limit(inspection, "seconds of looking", INSPECT_SECONDS_MAX);
		inspection->is_late = true;
		return false;
	}
	if (inspection->file_count++ < PARTS_FILES_MAX)
		return true;
	if (inspection->file_count == PARTS_FILES_MAX + 1)
		*ret_error = inspect_tell_limit(inspection, "files", PARTS_FILES_MAX);
	return false;
}

int inspect_parts_take_commands(struct inspect_program *inspection, struct cli_list *commands)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < commands->count; i++) {
		char *taken = steal_pointer(&commands->item[i]);

		/* only what is JSON: the parser may be a hostile one by now */
		r = cli_list_add_owned(&inspection->commands, *taken == '{' ? taken : strdup("{}"));
		if (*taken != '{')
			free(taken);
	}
	return r;
}

/* Adds what the visited file of this number runs to what is to be looked at. 0 or -ENOMEM. */
static int parts_take_commands(struct inspect_program *inspection, struct cli_list *commands, size_t number)
{
	const int r = inspect_parts_take_commands(inspection, commands);

	return r == 0 && commands->count > 0 ? cli_list_add_owned(&inspection->commands, text_format("+%zu", number))
					     : r;
}

/*
 * Takes what a file imports, to be followed later. root: the directory in which Python looks for modules; NULL: the one
 * in which code runs, which is no file. 0 or -ENOMEM.
 */
static int parts_take_imports(struct inspect_program *inspection, const struct inspect_findings *findings,
			      enum inspect_type type, const char *dir, const char *root)
{
	char *joined;
	int r = 0;

	/* of the interpreters that the system has, files are the system's */
	if (inspection->code_findings || inspection->is_of_interpreter)
		return 0;
	if (root)
		return inspect_imports_take(&inspection->imports, findings, type, dir, root);
	for (size_t i = 0; r == 0 && (joined = inspect_parts_join(inspection, i, "")); i++) {
		_cleanup_free_ char *directory = joined;
		const char *const shown = *directory ? directory : ".";

		r = inspect_imports_take(&inspection->imports, findings, type, shown, shown);
	}
	return r;
}

/*
 * Looks at a regular file. name: in messages; found: its name for find_file; NULL: it has none; root: the directory in
 * which the modules of the program are; NULL: that of the file. 0 or -errno; a message was printed, unless it is
 * -ENOMEM.
 */
static int parts_look_at_file(struct inspect_program *inspection, const char *name, const char *path, const char *found,
			      const char *root, enum inspect_type type)
{
	_cleanup_findings_ struct inspect_findings findings = {0};
	_cleanup_free_ char *dir = inspect_imports_get_directory(path, found);
	struct stat status = {0};
	size_t number;
	int r = dir ? inspect_visits_keep_seen(inspection, name, path, found) : -ENOMEM;

	(void)stat(path, &status); /* to be told when it is opened */
	if (r == 0)
		r = inspect_visits_find(inspection, &status, type);
	if (r != 0)
		return r < 0 ? r : 0;
	number = inspection->visited.count - 1;
	if (!parts_may_look(inspection, &r))
		return r;
	r = inspect_imports_note_file(&inspection->imports, &status);
	if (r == 0)
		r = inspect_look_at_file(path, type, inspection->modules.count > 0 ? &inspection->modules : NULL,
					 &findings, &type);
	if (r == 0)
		r = inspect_judge_findings(inspection, name, root ? root : dir, &findings);
	if (r == 0)
		r = parts_take_imports(inspection, &findings, type, dir, root || !found ? root : dir);
	return r == 0 ? parts_take_commands(inspection, &findings.commands, number) : r;
}

char *inspect_parts_join(const struct inspect_program *inspection, size_t i, const char *name)
{
	const char *directory = i < inspection->directories.count ? inspection->directories.item[i] : "";

	if (i > 0 && (i >= inspection->directories.count || *name == '/'))
		return NULL;
	if (!*name)
		return strdup(directory);
	return *directory && *name != '/' ? text_format("%s/%s", directory, name) : strdup(name);
}

/*
 * Looks at a file that is found by a name, wherever that may be. is_module: modules of the program are there, too;
 * false: they are in the directory of the file. 0 or -errno.
 */
static int parts_look_at_name(struct inspect_program *inspection, const char *name, enum inspect_type type,
			      bool is_module, bool *ret_is_found)
{
	char *joined;
	int r = 0;

	*ret_is_found = false;
	for (size_t i = 0; r == 0 && (joined = inspect_parts_join(inspection, i, name)); i++) {
		_cleanup_free_ char *shown = joined, *found = NULL,
				    *path = inspection->find_file(inspection->data, shown, false, &found),
				    *directory = is_module ? inspect_parts_join(inspection, i, "") : NULL;
		const char *const root = directory && !*directory ? "." : directory;

		r = parts_is_file(path);
		*ret_is_found = *ret_is_found || r > 0;
		if (r > 0)
			r = parts_look_at_file(inspection, shown, path, found, root, type);
	}
	if (inspection->is_lost && *name != '/')
		*ret_is_found = false;
	return r;
}

/*
 * What a program is looked at as: shells and execvp(3) have a shell run texts that do not name an interpreter. Shells
 * take a file for a text by its first line. 0 or -errno.
 */
static int parts_get_program_type(const char *path, enum inspect_type *ret_type)
{
	_cleanup_close_ int fd = io_open_regular(path);
	char start[256];
	const ssize_t len = fd < 0 ? -1 : pread(fd, start, sizeof(start), 0);
	const int error = fd < 0 ? fd : len < 0 ? -errno : 0;
	const char *line_end = len > 1 ? memchr(start, '\n', (size_t)len) : NULL;
	const size_t line_len = line_end ? (size_t)(line_end - start) : (size_t)len;
	const bool is_text =
		len > 1 && strncmp(start, "#!", 2) != 0 && inspect_find_type("", start, line_len) == INSPECT_TYPE_TEXT;

	*ret_type = is_text ? INSPECT_TYPE_SHELL : INSPECT_TYPE_MAX;
	return error;
}

int inspect_parts_look_at_program(struct inspect_program *inspection, const char *name, const char *path,
				  const char *found, bool *ret_is_found)
{
	enum inspect_type type;
	int r = parts_is_file(path);

	if (r <= 0) {
		*ret_is_found = false;
		return r;
	}
	r = parts_get_program_type(path, &type);
	return r == 0 ? parts_look_at_file(inspection, name, path, found, NULL, type) : r;
}

/* Whether a path has a component "..". */
static bool parts_leads_up(const char *path)
{
	for (; path; path = strchr(path, '/')) {
		path += strspn(path, "/");
		if (strncmp(path, "..", 2) == 0 && (path[2] == '/' || path[2] == '\0'))
			return true;
	}
	return false;
}

bool inspect_parts_is_named_of_system(const char *path)
{
	static const char *const directories[] = {"/usr/",   "/bin/",   "/sbin/",  "/lib/",
						  "/lib32/", "/lib64/", "/libx32/"};

	for (size_t i = 0; path && i < sizeof(directories) / sizeof(directories[0]); i++)
		if (strncmp(path, directories[i], strlen(directories[i])) == 0)
			return !parts_leads_up(path);
	return false;
}

bool inspect_parts_is_of_system(const char *path)
{
	char real[PATH_MAX];

	return inspect_parts_is_named_of_system(path && realpath(path, real) ? real : path);
}

int inspect_parts_tell_missing(struct inspect_program *inspection, const char *name)
{
	return inspect_tell(inspection, "%s: no regular file that can be read",
			    *name ? name : "what the shell puts together");
}

int inspect_parts_look_at_optional(struct inspect_program *inspection, const char *name, bool *ret_is_found)
{
	return parts_look_at_name(inspection, name, INSPECT_TYPE_SHELL, false, ret_is_found);
}

int inspect_parts_keep_missing(struct inspect_program *inspection, const char *name)
{
	char *joined;
	int r = 0;

	for (size_t i = 0; r == 0 && (joined = inspect_parts_join(inspection, i, name)); i++) {
		_cleanup_free_ char *shown = joined;

		r = inspect_visits_keep_seen(inspection, shown, NULL, shown);
	}
	return r;
}

/* What an interpreter runs instead of a script that is no file: the part that is behind the script's name. */
static const char *parts_get_other_end(enum inspect_type type)
{
	return type == INSPECT_TYPE_PYTHON ? "/__main__.py" : type == INSPECT_TYPE_JAVASCRIPT ? ".js" : NULL;
}

int inspect_parts_look_at_script(struct inspect_program *inspection, const char *name, enum inspect_type type)
{
	const char *end = parts_get_other_end(type);
	bool is_found;
	int r = parts_look_at_name(inspection, name, type, false, &is_found);

	if (r == 0 && !is_found && end) {
		_cleanup_free_ char *other = text_format("%s%s", name, end);

		r = other ? parts_look_at_name(inspection, other, type, false, &is_found) : -ENOMEM;
	}
	return r == 0 && !is_found ? inspect_parts_tell_missing(inspection, name) : r;
}

int inspect_parts_look_at_code(struct inspect_program *inspection, const char *code, enum inspect_type type)
{
	_cleanup_close_ int fd = memfd_create("callgate-code", MFD_CLOEXEC);
	struct io_proc_fd_path path = io_proc_fd_path(fd);
	_cleanup_free_ char *name =
		inspection->script ? text_format("code in %s", inspection->script) : strdup(inspection->source);

	if (fd < 0 || !name || io_write_all(fd, code, strlen(code)) < 0)
		return -ENOMEM;
	return parts_look_at_file(inspection, name, path.path, NULL, NULL, type);
}

/* Looks at a file of Python's in the working directory, if it is there. 0 or -errno. */
static int parts_look_at_part(struct inspect_program *inspection, const char *part, const char *end, bool *ret_found)
{
	_cleanup_free_ char *name = text_format("%s%s", part, end);

	if (!name)
		return -ENOMEM;
	return parts_look_at_name(inspection, name, INSPECT_TYPE_PYTHON, true, ret_found);
}

int inspect_parts_look_at_module(struct inspect_program *inspection, const char *module)
{
	static const char *const ends[] = {".py", "/__init__.py", "/__main__.py"};
	_cleanup_free_ char *path = strdup(module);
	bool found = false, any = false;
	int r = path ? 0 : -ENOMEM;

	for (char *dot = path; r == 0 && (dot = strchr(dot, '.')); *dot++ = '/') {
		*dot = '\0';
		r = parts_look_at_part(inspection, path, "/__init__.py", &found);
	}
	for (size_t i = 0; r == 0 && i < sizeof(ends) / sizeof(ends[0]); i++) {
		r = parts_look_at_part(inspection, path, ends[i], &found);
		any = any || found;
	}
	if (r == 0 && !any)
		r = inspect_tell(inspection, "module %s: not in the working directory", module);
	return r;
}

int inspect_parts_look_at_stdin(struct inspect_program *inspection, enum inspect_type type)
{
	struct stat status;

	if (!inspection->reads_stdin)
		return 0;
	if (fstat(STDIN_FILENO, &status) == 0 && S_ISREG(status.st_mode))
		return parts_look_at_file(inspection, "standard input", io_proc_fd_path(STDIN_FILENO).path, NULL, NULL,
					  type);
	return inspect_tell(inspection, "the program is read from standard input, which is no file");
}

/* ---- what programs import ---- */

/* Whether there is room for the bytes of an imported file. False: that is told once. */
static bool parts_has_room(struct inspect_program *inspection, uint64_t size, int *ret_error)
{
	const uint64_t bytes = inspection->imports.bytes, limit = (uint64_t)INSPECT_IMPORTED_MIB_MAX << 20;

	*ret_error = 0;
	if (bytes > limit && bytes - size <= limit)
		*ret_error = inspect_tell_limit(inspection, "MiB of imported files", INSPECT_IMPORTED_MIB_MAX);
	return bytes <= limit;
}

static int parts_look_at_imported(void *data, const struct inspect_imported *file)
{
	struct inspect_program *inspection = data;
	int fd, r = 0;

	if (inspect_parts_is_of_system(file->path) || inspect_parts_is_named_of_system(file->found) ||
	    !parts_has_room(inspection, (uint64_t)file->status.st_size, &r))
		return r;
	if (file->type == INSPECT_TYPE_PACKAGE)
		return inspect_tell(inspection, "%s: says which file is imported", file->name);
	fd = io_open_regular(file->path);
	if (fd < 0)
		return io_error_means_absent(fd) ? inspect_parts_tell_missing(inspection, file->name) : fd;
	(void)close(fd);
	return parts_look_at_file(inspection, file->name, file->path, file->found, file->root, file->type);
}

int inspect_parts_look_at_imports(struct inspect_program *inspection)
{
	const struct inspect_import_user user = {inspection->find_file, inspection->data, parts_look_at_imported,
						 inspection};
	const int r = inspect_imports_follow(&inspection->imports, &user);

	return r == 0 && inspection->imports.lacks_some ? inspect_tell(inspection, "further imports") : r;
}
