/*
 * Finds the files that ELF files need to start: the loader, the libraries that the ELF files name, and the libraries
 * that libraries name. Looks where ld.so(8) does: in DT_RPATH, in DT_RUNPATH with $ORIGIN, in the directories of
 * /etc/ld.so.conf, in the default directories. No program is run.
 */
#ifndef CALLGATE_CLI_LEARN_ELF_H
#define CALLGATE_CLI_LEARN_ELF_H

#include "cli/learn/needs.h"
#include "cli/options.h"

/* The search for the shared libraries that a program loads. */
struct elf_search {
	struct needs *needs;
	struct cli_list dirs;  /* directories of libraries: those of /etc/ld.so.conf and the default ones */
	bool has_musl;         /* musl's loader loads the program, and looks in its own directories */
	struct cli_list files; /* paths of the files found so far, in the order in which they are inspected */
	char *rpath;           /* DT_RPATH of the program, which applies to its libraries as well; owned; NULL: none */
};

/* Reads the list of directories with libraries. 0, -ENOTSUP (libelf is too old), or -ENOMEM. */
int elf_search_init(struct elf_search *search, struct needs *needs);
void elf_search_release(struct elf_search *search);

/*
 * Adds a file to the needs, and to the files that elf_search_inspect_files will inspect. path: canonical. written: a
 * name that leads to the file through a link, or NULL. because_taken: why the file is needed; owned by the needs from
 * then on; NULL means that memory ran out. 0 or -ENOMEM.
 */
int elf_search_add_file(struct elf_search *search, const char *path, const char *written, unsigned want,
			char *because_taken);

/* Inspects all files, and adds the files that they need. 0; -ENOEXEC: a file is no ELF file; or another -errno. */
int elf_search_inspect_files(struct elf_search *search);

#endif
