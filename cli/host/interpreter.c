#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "cli/host/interpreter.h"
#include "cli/host/managers.h"
#include "cli/host/program.h"

#define VENV_CHAIN_LEN_MAX 4 /* longest chain of virtual environments, each based on the next */

/* Programs of one interpreter, such as python, and the files that it needs. */
struct interpreter_family {
	/* start of its programs' names: "python" matches python, python3 and python3.11 */
	const char *program_name_start;
	const char *command;       /* the program looked for in PATH */
	/* the interpreter's files below a shared prefix such as /usr; "%s" stands for its version */
	const char *const *files_in_prefix;
};

static const char *const python_parts[] = {"bin/python",     "bin/python3",   "bin/python%s",
					   "lib/python3",    "lib/python%s",  "share/python3",
					   "/etc/python%s",  "/usr/local/lib/python%s", NULL};
static const char *const node_parts[] = {"bin/node",     "bin/nodejs",         "bin/npm",
					 "bin/npx",      "lib/node_modules",   "lib/nodejs",
					 "share/nodejs", "share/node_modules", NULL};
static const char *const ruby_parts[] = {"bin/ruby",      "bin/ruby%s", "bin/irb",
					 "bin/gem",       "bin/bundle", "bin/rake",
					 "lib/ruby",      "share/ruby", "share/rubygems-integration",
					 "/var/lib/gems", NULL};

static const struct interpreter_family families[] = {
	{"python", "python3", python_parts},
	{"pypy", "pypy3", NULL},
	{"node", "node", node_parts},
	{"ruby", "ruby", ruby_parts},
};

#define INTERPRETER_FAMILY_COUNT (sizeof(families) / sizeof(families[0]))

/* The family of an interpreter's file name: "python3.11" belongs to "python", "pythonista" to none. NULL: none. */
static const struct interpreter_family *interpreter_find_family(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < INTERPRETER_FAMILY_COUNT; i++) {
		size_t len = strlen(families[i].program_name_start);

		if (strncmp(name, families[i].program_name_start, len) == 0 &&
		    (!name[len] || isdigit((unsigned char)name[len]) || strcmp(name + len, "js") == 0))
			return &families[i];
	}
	return NULL;
}

/* Adds a path to grant. `place`: the version manager's directory in which the path was found; NULL: none. */
static void interpreter_add_granted_path(struct cli_interpreter *found, const char *path, const char *place)
{
	if (found->granted_path_count == INTERPRETER_GRANTED_PATHS_MAX || access(path, F_OK) != 0)
		return;
	for (size_t i = 0; i < found->granted_path_count; i++)
		if (strcmp(found->granted_path[i], path) == 0)
			return;
	found->manager_dirs[found->granted_path_count] = place ? arena_dup(found->arena, place) : NULL;
	found->granted_path[found->granted_path_count] = arena_dup(found->arena, path);
	if (found->granted_path[found->granted_path_count])
		found->granted_path_count++;
}

/* Sets the note on why an interpreter is left out. A note that is set already stays. */
#define INTERPRETER_NOTE_WHY_LEFT_OUT(found, ...) \
	((found)->why_left_out =                  \
		 (found)->why_left_out ? (found)->why_left_out : arena_printf((found)->arena, __VA_ARGS__))

/*
 * Adds an installation outside of /usr and /usr/local. It must be where interpreters are installed, or in the workdir.
 */
static void interpreter_add_prefix(struct cli_interpreter *found, const char *path)
{
	_cleanup_free_ char *real = realpath(path, NULL), *place = NULL;

	if (real && found->prefix_count < INTERPRETER_PREFIXES_MAX)
		found->prefix[found->prefix_count++] = arena_dup(found->arena, real);
	if (real && managers_may_grant_prefix(real, found->home, found->workdir, &place))
		interpreter_add_granted_path(found, path, place);
	else
		INTERPRETER_NOTE_WHY_LEFT_OUT(found,
				     "@interpreter does not stand for %s, which is no place of the system's or of a "
				     "known version manager; if it is the intended interpreter, grant it by its name "
				     "(-r, -x)",
				     real ? real : path);
}

/* Whether an interpreter with this prefix is installed with the system: in /usr, /usr/local or /. */
static bool interpreter_is_system_prefix(const char *prefix)
{
	return strcmp(prefix, "/usr") == 0 || strcmp(prefix, "/usr/local") == 0 || strcmp(prefix, "") == 0;
}

/* Adds the files that an interpreter needs of a prefix that it shares with the system, and the interpreter itself. */
static void interpreter_add_paths_of_family(struct cli_interpreter *found, const struct interpreter_family *family,
					    const char *prefix, const char *real)
{
	const char *version = strrchr(real, '/') + 1 + strlen(family->program_name_start);
	char path[PATH_MAX];

	for (const char *const *part = family->files_in_prefix; part && *part; part++) {
		const char *mark = strstr(*part, "%s");
		int len = snprintf(path, sizeof(path), "%s%s%.*s%s%s", **part == '/' ? "" : prefix,
				   **part == '/' ? "" : "/", mark ? (int)(mark - *part) : (int)strlen(*part), *part,
				   mark ? version : "", mark ? mark + 2 : "");

		if (len > 0 && (size_t)len < sizeof(path))
			interpreter_add_granted_path(found, path, NULL);
	}
	interpreter_add_granted_path(found, real, NULL);
}

/*
 * Reads "home" from a virtual environment's pyvenv.cfg: the directory of the Python that the environment is based on.
 */
static bool interpreter_read_venv_home(const char *prefix, char out[PATH_MAX])
{
	char path[PATH_MAX], line[PATH_MAX + 16];
	_cleanup_fclose_ FILE *file = NULL;

	if ((size_t)snprintf(path, sizeof(path), "%s/pyvenv.cfg", prefix) >= sizeof(path))
		return false;
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		char *value = strchr(line, '=');

		if (strncmp(line, "home", 4) != 0 || !value || line[4 + strspn(line + 4, " \t")] != '=')
			continue;
		value += 1 + strspn(value + 1, " \t");
		value[strcspn(value, "\r\n")] = '\0';
		return *value == '/' && (size_t)snprintf(out, PATH_MAX, "%s", value) < PATH_MAX;
	}
	return false;
}

/* Finds a Python in a directory by its usual names. */
static bool interpreter_find_python_in(const char *dir, char out[PATH_MAX])
{
	static const char *const names[] = {"python3", "python"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if ((size_t)snprintf(out, PATH_MAX, "%s/%s", dir, names[i]) < PATH_MAX && program_is_executable(out))
			return true;
	return false;
}

/* Adds what @interpreter grants for this program: its installation and, of a virtual environment, also the base's. */
static void interpreter_add_installation(struct cli_interpreter *found, const char *program, unsigned depth)
{
	char prefix[PATH_MAX], base[PATH_MAX], home[PATH_MAX];
	_cleanup_free_ char *real = realpath(program, NULL);
	const struct interpreter_family *family = real ? interpreter_find_family(real) : NULL;

	if (!real)
		return;
	if (depth < VENV_CHAIN_LEN_MAX && program_strip_directory(program, "bin", prefix) &&
	    interpreter_read_venv_home(prefix, home)) {
		interpreter_add_prefix(found, prefix);
		if (interpreter_find_python_in(home, base))
			interpreter_add_installation(found, base, depth + 1);
	}
	if (!family)
		INTERPRETER_NOTE_WHY_LEFT_OUT(found,
				     "@interpreter does not stand for %s, to which %s leads: that is no interpreter "
				     "known here",
				     real, program);
	else if (!program_strip_directory(real, "bin", prefix))
		/* skips a relative path, which would depend on the current directory */
		interpreter_add_prefix(found, real);
	else if (interpreter_is_system_prefix(prefix))
		interpreter_add_paths_of_family(found, family, prefix, real);
	else
		interpreter_add_prefix(found, prefix);
}

struct cli_interpreter *interpreter_find(struct arena *arena, const char *program, const char *home,
					 const char *workdir)
{
	struct cli_interpreter *found = arena_alloc(arena, sizeof(*found));
	const struct interpreter_family *family = program ? interpreter_find_family(program) : NULL;
	bool unknown = false;
	_cleanup_free_ char *script = program && !family ? program_find_script_interpreter(program, &unknown) : NULL;
	const char *named = script ? script : program;

	if (!found)
		return NULL;
	found->arena = arena;
	found->home = home;
	found->workdir = workdir;
	if (unknown) {
		INTERPRETER_NOTE_WHY_LEFT_OUT(found,
				     "@interpreter stands for nothing: the \"#!\" line of %s has options of env that "
				     "are not understood; name the interpreter there",
				     program);
		return found;
	}
	if (script)
		family = interpreter_find_family(script);
	if (family) {
		char cwd[PATH_MAX], path[PATH_MAX];
		bool unused;

		/* made absolute as text: resolving the link bin/python3 would lose the virtual environment */
		if (getcwd(cwd, sizeof(cwd)) && path_join(cwd, named, path, sizeof(path), &unused) > 0)
			interpreter_add_installation(found, path, 0);
		return found;
	}
	for (size_t i = 0; i < INTERPRETER_FAMILY_COUNT; i++) {
		_cleanup_free_ char *path = program_find_executable(families[i].command);

		if (path && path[0] == '/') /* a relative path would depend on the current directory */
			interpreter_add_installation(found, path, 0);
	}
	return found;
}

const char *interpreter_find_manager(const struct cli_interpreter *interpreter, const char *path)
{
	for (size_t i = 0; i < interpreter->granted_path_count; i++)
		if (interpreter->manager_dirs[i] && path_is_below(path, interpreter->granted_path[i]))
			return interpreter->manager_dirs[i];
	return NULL;
}
