/*
 * What a program needs before it has run, from its file: its "#!" chain, its ELF loader, and the libraries that it and
 * they name. Looked for as ld.so(8) does: DT_RPATH, DT_RUNPATH with $ORIGIN, the directories of /etc/ld.so.conf, the
 * usual ones. Nothing is run.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/learn/learn.h"

#define ELF_SCRIPTS_MAX 5
#define ELF_FILES_MAX 2000u
#define ELF_CONF "/etc/ld.so.conf"
#define ELF_CONF_DEPTH 4

struct elf_search {
	struct needs *needs;
	struct cli_list dirs;  /* of /etc/ld.so.conf, and the usual ones */
	struct cli_list files; /* found so far, in the order in which they are inspected */
};

/* One file while it is inspected. */
struct elf_file {
	const char *path;
	Elf *elf;
	GElf_Ehdr header;
	char *runpath; /* DT_RUNPATH, else DT_RPATH; owned; NULL: none */
};

/* ---- directories of libraries ---- */

static int elf_read_conf(struct elf_search *search, const char *path, int depth)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	_cleanup_free_ char *line = NULL;
	size_t room = 0;
	int r = 0;

	while (r == 0 && file && getline(&line, &room, file) > 0) {
		char *text = line + strspn(line, " \t");
		glob_t matches = {0};

		text[strcspn(text, "#\n")] = '\0';
		if (*text == '/')
			r = cli_list_add_owned(&search->dirs, strdup(text));
		if (strncmp(text, "include ", 8) != 0 || depth == ELF_CONF_DEPTH ||
		    glob(text + 8, 0, NULL, &matches) != 0)
			continue;
		for (size_t i = 0; r == 0 && i < matches.gl_pathc; i++)
			r = elf_read_conf(search, matches.gl_pathv[i], depth + 1);
		globfree(&matches);
	}
	return r;
}

static int elf_list_directories(struct elf_search *search)
{
	static const char *const usual[] = {"/lib64", "/usr/lib64", "/lib", "/usr/lib"};
	int r = elf_read_conf(search, ELF_CONF, 0);

	for (size_t i = 0; r == 0 && i < sizeof(usual) / sizeof(usual[0]); i++)
		r = cli_list_add_owned(&search->dirs, strdup(usual[i]));
	return r;
}

/* ---- libraries ---- */

/* because_taken: taken, NULL is no memory. */
static int elf_add_file(struct elf_search *search, const char *path, unsigned want, char *because_taken)
{
	_cleanup_free_ char *because = because_taken;
	int r = because ? needs_add_path(search->needs, path, want, because) : -ENOMEM;

	for (size_t i = 0; i < search->files.count; i++)
		if (strcmp(search->files.item[i], path) == 0)
			return r;
	if (r < 0 || search->files.count >= ELF_FILES_MAX)
		return r;
	return cli_list_add_owned(&search->files, strdup(path));
}

/* True for a library of the same kind of machine. */
static bool elf_is_alike(const struct elf_file *file, const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	GElf_Ehdr header;
	bool alike;
	Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);

	alike = elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &header) &&
		header.e_machine == file->header.e_machine &&
		header.e_ident[EI_CLASS] == file->header.e_ident[EI_CLASS];
	(void)elf_end(elf);
	return alike;
}

/* "$ORIGIN" and "${ORIGIN}" are the directory of the file; other "$" are left. Owned; NULL: no memory. */
static char *elf_expand_directory(const struct elf_file *file, const char *dir, size_t len)
{
	static const char *const names[] = {"$ORIGIN", "${ORIGIN}"};
	const char *slash = strrchr(file->path, '/');

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (len >= strlen(names[i]) && strncmp(dir, names[i], strlen(names[i])) == 0)
			return cli_format("%.*s%.*s", (int)(slash - file->path), file->path,
					  (int)(len - strlen(names[i])), dir + strlen(names[i]));
	return strndup(dir, len);
}

/* Looks in one directory. 1: found, and added; 0: not there; -errno. */
static int elf_try_directory(struct elf_search *search, const struct elf_file *file, const char *dir, const char *name,
			     const char *how)
{
	_cleanup_free_ char *path = cli_format("%s/%s", dir, name), *real = path ? realpath(path, NULL) : NULL;
	int r;

	if (!path)
		return -ENOMEM;
	if (!real || !elf_is_alike(file, real))
		return 0;
	r = elf_add_file(search, real, POLICY_READ,
			 cli_format("needed by %s as %s, found by %s", file->path, name, how));
	return r < 0 ? r : 1;
}

static int elf_try_runpath(struct elf_search *search, const struct elf_file *file, const char *name)
{
	int r = 0;

	for (const char *at = file->runpath; r == 0 && at && *at; at += *at == ':') {
		size_t len = strcspn(at, ":");
		_cleanup_free_ char *dir = elf_expand_directory(file, at, len);

		r = !dir ? -ENOMEM : *dir == '/' ? elf_try_directory(search, file, dir, name, "its run path") : 0;
		at += len;
	}
	return r;
}

static int elf_find_library(struct elf_search *search, const struct elf_file *file, const char *name)
{
	int r = elf_try_runpath(search, file, name);

	if (strchr(name, '/'))
		return r == 0 && *name == '/' ? elf_add_file(search, name, POLICY_READ,
							     cli_format("needed by %s", file->path))
					      : r;
	for (size_t i = 0; r == 0 && i < search->dirs.count; i++)
		r = elf_try_directory(search, file, search->dirs.item[i], name, "the system's directories");
	if (r == 0)
		cli_print_error("learn", "warning: %s needs the library %s, which is in none of the usual directories",
				file->path, name);
	return r < 0 ? r : 0;
}

/* ---- one ELF file ---- */

static const char *elf_get_string(const struct elf_file *file, const GElf_Shdr *section, const GElf_Dyn *entry)
{
	return elf_strptr(file->elf, section->sh_link, entry->d_un.d_val);
}

/* Calls `take` for the text of each entry of this tag in the dynamic section. */
static int elf_visit_dynamic(struct elf_search *search, struct elf_file *file, GElf_Sxword tag,
			     int (*take)(struct elf_search *search, struct elf_file *file, const char *text))
{
	Elf_Scn *scn = NULL;
	int r = 0;

	while (r == 0 && (scn = elf_nextscn(file->elf, scn))) {
		GElf_Shdr section;
		Elf_Data *data;
		GElf_Dyn entry;

		if (!gelf_getshdr(scn, &section) || section.sh_type != SHT_DYNAMIC)
			continue;
		data = elf_getdata(scn, NULL);
		for (int i = 0; r == 0 && data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++)
			if (entry.d_tag == tag && elf_get_string(file, &section, &entry))
				r = take(search, file, elf_get_string(file, &section, &entry));
	}
	return r;
}

static int elf_take_runpath(struct elf_search *search, struct elf_file *file, const char *text)
{
	(void)search;
	free(file->runpath);
	file->runpath = strdup(text);
	return file->runpath ? 0 : -ENOMEM;
}

static int elf_take_needed(struct elf_search *search, struct elf_file *file, const char *text)
{
	return elf_find_library(search, file, text);
}

/* The loader that PT_INTERP names. */
static int elf_take_loader(struct elf_search *search, const struct elf_file *file)
{
	size_t count = 0, size = 0;
	const char *image = elf_rawfile(file->elf, &size);
	GElf_Phdr segment;

	(void)elf_getphdrnum(file->elf, &count); /* on failure there are none */
	for (size_t i = 0; i < count; i++) {
		_cleanup_free_ char *loader = NULL;

		if (!gelf_getphdr(file->elf, (int)i, &segment) || segment.p_type != PT_INTERP || !image ||
		    segment.p_offset > size || segment.p_filesz > size - segment.p_offset)
			continue;
		loader = strndup(image + segment.p_offset, segment.p_filesz);
		return loader ? elf_add_file(search, loader, POLICY_READ, cli_format("the loader of %s", file->path))
			      : -ENOMEM;
	}
	return 0;
}

/* 0; -ENOEXEC: no ELF file; other -errno. */
static int elf_inspect(struct elf_search *search, const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct elf_file file = {.path = path};
	int r = fd < 0 ? -errno : 0;

	if (r == 0)
		file.elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (r == 0 && (!file.elf || elf_kind(file.elf) != ELF_K_ELF || !gelf_getehdr(file.elf, &file.header)))
		r = -ENOEXEC;
	if (r == 0)
		r = elf_take_loader(search, &file);
	if (r == 0)
		r = elf_visit_dynamic(search, &file, DT_RPATH, elf_take_runpath);
	if (r == 0)
		r = elf_visit_dynamic(search, &file, DT_RUNPATH, elf_take_runpath);
	if (r == 0)
		r = elf_visit_dynamic(search, &file, DT_NEEDED, elf_take_needed);
	free(file.runpath);
	(void)elf_end(file.elf);
	return r;
}

/* ---- the program ---- */

/* The interpreter of a "#!" line, with env's argument looked up in PATH. Owned; NULL: no script. */
static char *elf_read_interpreter(const char *path, char **ret_argument)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char head[PATH_MAX] = "", *at = head + 2, *end;

	*ret_argument = NULL;
	if (fd < 0 || read(fd, head, sizeof(head) - 1) < 3 || head[0] != '#' || head[1] != '!')
		return NULL;
	head[strcspn(head, "\n")] = '\0';
	at += strspn(at, " \t");
	end = at + strcspn(at, " \t");
	if (*end)
		*ret_argument = strdup(end + 1 + strspn(end + 1, " \t"));
	*end = '\0';
	return *at == '/' ? strdup(at) : NULL;
}

/* The file that a shell would start. Owned; NULL: there is none. */
static char *elf_find_program(const char *name)
{
	const char *path = getenv("PATH");
	char *found = NULL;

	if (strchr(name, '/'))
		return realpath(name, NULL);
	for (const char *at = path ? path : "/usr/bin:/bin"; !found && *at; at += *at == ':') {
		size_t len = strcspn(at, ":");
		_cleanup_free_ char *file = cli_format("%.*s/%s", (int)len, at, name);

		if (file && access(file, X_OK) == 0)
			found = realpath(file, NULL);
		at += len;
	}
	return found;
}

/* Adds the program and the chain of its interpreters. The last one is left in search->files. 0 or -errno. */
static int elf_follow_scripts(struct elf_search *search, const char *program)
{
	_cleanup_free_ char *path = elf_find_program(program), *because = strdup("the program");
	int r = !path ? -ENOENT : !because ? -ENOMEM : 0;

	for (int depth = 0; r == 0 && depth <= ELF_SCRIPTS_MAX; depth++) {
		_cleanup_free_ char *argument = NULL, *interpreter = elf_read_interpreter(path, &argument);
		bool env = interpreter && strcmp(strrchr(interpreter, '/'), "/env") == 0;

		if (!interpreter)
			return elf_add_file(search, path, POLICY_EXEC, steal_pointer(&because));
		r = needs_add_path(search->needs, path, POLICY_EXEC, because);
		if (r == 0 && env && argument) {
			char *next = elf_find_program(argument);

			r = elf_add_file(search, interpreter, POLICY_EXEC, cli_format("the interpreter of %s", path));
			if (next) {
				free(because);
				because = cli_format("started by env for %s", path);
				free(path);
				path = next;
				continue;
			}
		}
		free(because);
		because = cli_format("the interpreter of %s", path);
		free(path);
		path = steal_pointer(&interpreter);
		r = r == 0 && !because ? -ENOMEM : r;
	}
	return r;
}

int learn_inspect_program(struct needs *needs, const char *program)
{
	struct elf_search search = {.needs = needs};
	int r = elf_version(EV_CURRENT) == EV_NONE ? -ENOTSUP : elf_list_directories(&search);

	if (r == 0)
		r = elf_follow_scripts(&search, program);
	/* elf_inspect adds to the list. */
	for (size_t i = 0; r == 0 && i < search.files.count; i++)
		r = elf_inspect(&search, search.files.item[i]);
	if (r == -ENOENT)
		cli_print_error("learn", "--static %s: no such program; name its file", program);
	else if (r == -ENOEXEC)
		cli_print_error("learn", "--static %s: neither an ELF file nor a script with #!", program);
	else if (r < 0)
		cli_print_error("learn", "--static %s: %s", program, strerror(-r));
	cli_list_release(&search.dirs);
	cli_list_release(&search.files);
	return r;
}
