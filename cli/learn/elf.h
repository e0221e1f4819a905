/*
 * What ELF files need to start: the loader, and the libraries that they and these name. Looked for as ld.so(8) does:
 * DT_RPATH, DT_RUNPATH with $ORIGIN, the directories of /etc/ld.so.conf, the usual ones. Nothing is run.
 */
#ifndef CALLGATE_CLI_LEARN_ELF_H
#define CALLGATE_CLI_LEARN_ELF_H

#include "cli/learn/needs.h"
#include "cli/options.h"

struct elf_search {
	struct needs *needs;
	struct cli_list dirs;  /* of /etc/ld.so.conf, and the usual ones */
	struct cli_list files; /* found so far, in the order in which they are inspected */
	char *rpath;           /* DT_RPATH of the program, which holds for its libraries; owned; NULL: none */
};

/* Reads where libraries are. 0, -ENOTSUP (an older libelf), or -ENOMEM. */
int elf_search_init(struct elf_search *search, struct needs *needs);
void elf_search_release(struct elf_search *search);

/*
 * Adds a file to what is needed, and to the files that elf_search_inspect inspects. path: canonical. written: the name
 * that leads there, or NULL. because_taken: taken, NULL is no memory. 0 or -ENOMEM.
 */
int elf_search_add(struct elf_search *search, const char *path, const char *written, unsigned want,
		   char *because_taken);

/* Adds what the files need, and what that needs. 0; -ENOEXEC: a file is no ELF file; other -errno. */
int elf_search_inspect(struct elf_search *search);

#endif
