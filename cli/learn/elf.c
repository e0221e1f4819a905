#include "cli/learn/elf.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/elf-machine.h"
#include "base/io.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/host/libraries.h"

#define ELF_FILES_MAX 2000u

/* The ELF file that is being inspected. */
struct elf_file {
	const char *path;
	int fd;
	Elf *elf;
	GElf_Ehdr header;
	/*
	 * DT_RPATH and DT_RUNPATH with $ORIGIN replaced; owned; NULL: none. A DT_RUNPATH makes the loader ignore
	 * DT_RPATH
	 */
	char *rpath, *runpath;
};

/* ---- libraries ---- */

int elf_search_add_file(struct elf_search *search, const char *path, const char *written, unsigned want,
			char *because_taken)
{
	_cleanup_free_ char *because = because_taken;
	int r = because ? needs_add_path(search->needs, path, written, want, because) : -ENOMEM;

	for (size_t i = 0; i < search->files.count; i++)
		if (strcmp(search->files.item[i], path) == 0)
			return r;
	if (r < 0 || search->files.count >= ELF_FILES_MAX)
		return r;
	return cli_list_add_owned(&search->files, strdup(path));
}

/* True if the ELF file at `path` is for the same type of machine as `file`. */
static bool elf_library_is_of_same_machine(const struct elf_file *file, const char *path)
{
	_cleanup_close_ int fd = io_open_regular(path);
	GElf_Ehdr header;
	bool alike;
	Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);

	alike = elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &header) &&
		header.e_machine == file->header.e_machine &&
		header.e_ident[EI_CLASS] == file->header.e_ident[EI_CLASS];
	(void)elf_end(elf);
	return alike;
}

/*
 * Looks for a library in a directory or, if its name is an absolute path, at that path. 1: found and added; 0: there is
 * none for the same type of machine; or -errno.
 */
static int elf_try_library(struct elf_search *search, const struct elf_file *file, const char *dir, const char *name,
			   const char *how)
{
	_cleanup_free_ char *top = *dir ? realpath(dir, NULL) : strdup(""), *path = NULL, *real = NULL;
	int r;

	if (!top)
		return 0;
	path = *name == '/' ? strdup(name) : text_format("%s/%s", top, name);
	real = path ? realpath(path, NULL) : NULL;
	if (!path)
		return -ENOMEM;
	if (!real || !elf_library_is_of_same_machine(file, real))
		return 0;
	r = elf_search_add_file(search, real, path, POLICY_READ,
				text_format("needed by %s as %s, found by %s", file->path, name, how));
	return r < 0 ? r : 1;
}

/*
 * Looks for a library in directories separated by colons; relative ones are left out. `how`: why it is looked for
 * there.
 */
static int elf_try_path_list(struct elf_search *search, const struct elf_file *file, const char *list,
			     const char *name, const char *how)
{
	int r = 0;

	for (const char *at = list; r == 0 && at && *at; at += *at == ':') {
		size_t len = strcspn(at, ":");
		_cleanup_free_ char *dir = strndup(at, len);

		r = !dir ? -ENOMEM : *dir == '/' ? elf_try_library(search, file, dir, name, how) : 0;
		at += len;
	}
	return r;
}

/* Finds a library where ld.so(8) looks for it, and adds it. If it is nowhere, prints a warning. 0 or -errno. */
static int elf_find_library(struct elf_search *search, const struct elf_file *file, const char *name)
{
	int r = 0;

	if (search->has_musl && libraries_are_in_musl_loader(name))
		return 0;
	if (*name == '/')
		r = elf_try_library(search, file, "", name, "its path");
	if (r == 0 && !strchr(name, '/') && !file->runpath)
		r = elf_try_path_list(search, file, file->rpath, name, "DT_RPATH");
	if (r == 0 && !strchr(name, '/') && !file->runpath)
		r = elf_try_path_list(search, file, search->rpath, name, "the program's DT_RPATH");
	if (r == 0 && !strchr(name, '/'))
		r = elf_try_path_list(search, file, file->runpath, name, "DT_RUNPATH");
	for (size_t i = 0; r == 0 && !strchr(name, '/') && i < search->dirs.count; i++)
		r = elf_try_library(search, file, search->dirs.item[i], name, "the system's directories");
	if (r == 0)
		cli_print_error("learn", "warning: %s needs the library %s, which is not where the loader looks",
				file->path, name);
	return r < 0 ? r : 0;
}

/* ---- one ELF file ---- */

/* The text that an entry of an ELF file's dynamic section refers to, such as a library's name. */
static const char *elf_get_string(const struct elf_file *file, const GElf_Shdr *section, const GElf_Dyn *entry)
{
	return elf_strptr(file->elf, section->sh_link, entry->d_un.d_val);
}

/* Calls `visit` with the text of each entry of the dynamic section that has this tag. */
static int elf_visit_dynamic(struct elf_search *search, struct elf_file *file, GElf_Sxword tag,
			     int (*visit)(struct elf_search *search, struct elf_file *file, const char *text))
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
				r = visit(search, file, elf_get_string(file, &section, &entry));
	}
	return r;
}

/* Keeps the file's DT_RUNPATH, with $ORIGIN replaced. 0 or -ENOMEM. */
static int elf_use_runpath(struct elf_search *search, struct elf_file *file, const char *text)
{
	(void)search;
	free(file->runpath);
	file->runpath = libraries_expand_origin(file->path, text, strlen(text));
	return file->runpath ? 0 : -ENOMEM;
}

/* Keeps the file's DT_RPATH, with $ORIGIN replaced. 0 or -ENOMEM. */
static int elf_use_rpath(struct elf_search *search, struct elf_file *file, const char *text)
{
	(void)search;
	free(file->rpath);
	file->rpath = libraries_expand_origin(file->path, text, strlen(text));
	return file->rpath ? 0 : -ENOMEM;
}

/* Finds and adds a library of DT_NEEDED. */
static int elf_add_needed_library(struct elf_search *search, struct elf_file *file, const char *text)
{
	return elf_find_library(search, file, text);
}

/* Returns the right that exec(2) needs on the loader of a program: reading for the usual loaders, else executing. */
static unsigned elf_get_loader_right(const char *loader)
{
	static const char *const loaders[] = ELF_LOADERS;

	for (size_t i = 0; i < sizeof(loaders) / sizeof(loaders[0]); i++)
		if (strcmp(loader, loaders[i]) == 0)
			return POLICY_READ;
	return POLICY_EXEC;
}

/* Has libraries looked for as musl's loader does. 0 or -ENOMEM. */
static int elf_use_musl(struct elf_search *search, const char *loader)
{
	struct cli_list before = search->dirs;
	int r;

	search->has_musl = true;
	search->dirs = (struct cli_list){0};
	r = libraries_list_musl_directories(loader, &search->dirs);
	cli_list_release(&before);
	return r;
}

/* Adds the loader that a program's PT_INTERP names to the files that are needed. A wrong one only gives a warning. */
static int elf_add_loader(struct elf_search *search, const struct elf_file *file, const char *loader)
{
	_cleanup_free_ char *real = *loader == '/' ? realpath(loader, NULL) : NULL;
	int r = 0;

	if (libraries_is_musl_loader(loader) && !search->has_musl)
		r = elf_use_musl(search, loader);
	if (r < 0)
		return r;
	if (!real || !elf_library_is_of_same_machine(file, real)) {
		cli_print_error("learn", "warning: %s needs the loader %s, which is no ELF file of its kind",
				file->path, loader);
		return 0;
	}
	return elf_search_add_file(search, real, loader, elf_get_loader_right(loader),
				   text_format("the loader of %s", file->path));
}

/* Adds the loader that the program's PT_INTERP names. */
static int elf_add_loader_of_program(struct elf_search *search, const struct elf_file *file)
{
	size_t count = 0;
	GElf_Phdr segment;

	(void)elf_getphdrnum(file->elf, &count); /* on failure, count stays 0 */
	for (size_t i = 0; i < count; i++) {
		char loader[PATH_MAX] = "";

		if (!gelf_getphdr(file->elf, (int)i, &segment))
			return 0;
		if (segment.p_type != PT_INTERP)
			continue;
		if (segment.p_filesz < sizeof(loader) && segment.p_offset <= INT64_MAX &&
		    pread(file->fd, loader, segment.p_filesz, (off_t)segment.p_offset) == (ssize_t)segment.p_filesz)
			return elf_add_loader(search, file, loader);
	}
	return 0;
}

/* Adds the loader and all libraries of an ELF file to the search. 0 or -errno. */
static int elf_inspect_open_file(struct elf_search *search, struct elf_file *file)
{
	int r = elf_add_loader_of_program(search, file);

	if (r == 0)
		r = elf_visit_dynamic(search, file, DT_RPATH, elf_use_rpath);
	if (r == 0)
		r = elf_visit_dynamic(search, file, DT_RUNPATH, elf_use_runpath);
	if (r == 0)
		r = elf_visit_dynamic(search, file, DT_NEEDED, elf_add_needed_library);
	/* the program is inspected before its libraries, so search->rpath becomes the program's DT_RPATH */
	if (r == 0 && !search->rpath && !file->runpath)
		search->rpath = strdup(file->rpath ? file->rpath : "");
	return r;
}

/* Inspects a file. 0; -ENOEXEC: it is no ELF file; or another -errno. */
static int elf_inspect_path(struct elf_search *search, const char *path)
{
	_cleanup_close_ int fd = io_open_regular(path);
	struct elf_file file = {.path = path, .fd = fd};
	int r = fd == -EINVAL ? -ENOEXEC : fd < 0 ? fd : 0;

	if (r == 0)
		file.elf = elf_begin(fd, ELF_C_READ, NULL);
	if (r == 0 && (!file.elf || elf_kind(file.elf) != ELF_K_ELF || !gelf_getehdr(file.elf, &file.header)))
		r = -ENOEXEC;
	if (r == 0)
		r = elf_inspect_open_file(search, &file);
	free(file.rpath);
	free(file.runpath);
	(void)elf_end(file.elf);
	return r;
}

/* ---- inspecting all files ---- */

int elf_search_init(struct elf_search *search, struct needs *needs)
{
	*search = (struct elf_search){.needs = needs};
	return elf_version(EV_CURRENT) == EV_NONE ? -ENOTSUP : libraries_list_directories(&search->dirs);
}

void elf_search_release(struct elf_search *search)
{
	cli_list_release(&search->dirs);
	cli_list_release(&search->files);
	free(search->rpath);
}

int elf_search_inspect_files(struct elf_search *search)
{
	int r = 0;

	/* elf_inspect_path() adds files to the list while the loop runs */
	for (size_t i = 0; r == 0 && i < search->files.count; i++)
		r = elf_inspect_path(search, search->files.item[i]);
	return r;
}
