/*
 * Files that programs import from beside them: takes the names that the parsers of Python and JavaScript tell, and
 * finds the files as the interpreters do. Each file is found once, so that files may import one another. The
 * interpreter's own library, and installed packages, are looked for elsewhere by it, and are not found here.
 */
#ifndef CALLGATE_CLI_INSPECT_IMPORTS_H
#define CALLGATE_CLI_INSPECT_IMPORTS_H

#include <stddef.h>
#include <sys/stat.h>

#include "cli/inspect/findings.h"
#include "cli/inspect/subject.h"

#define INSPECT_IMPORTED_FILES_MAX 64u /* of callgate inspect; of others, they are among parts.c's files */
#define INSPECT_IMPORTED_MIB_MAX 64u /* bytes of imported files that are looked at; that there were more is told */

struct inspect_import;

/* The names that programs import, and which files were looked at. Zero-initialise. */
struct inspect_imports {
	struct inspect_import *item;
	size_t count, room;
	struct cli_list files; /* that were looked at: "DEVICE:INODE" */
	bool lacks_some;       /* some names were not taken, because there were too many */
	uint64_t bytes;        /* of the imported files; of one that leads beyond the limit, too */
};

/* A file that is imported. Texts are borrowed. */
struct inspect_imported {
	const char *name, *path; /* in messages, and where this process opens it */
	const char *found;       /* its name for `find_file` */
	const char *root;        /* in which the modules of the program are */
	enum inspect_type type;  /* PACKAGE: says which file is imported in its place; MAX: told from the file */
	struct stat status;
};

/* What finds files for inspect_imports_follow(), and gets what it finds. */
struct inspect_import_user {
	char *(*find_file)(void *data, const char *name, bool is_program, char **ret_name); /* of inspect_program */
	void *find_data;
	int (*look)(void *data, const struct inspect_imported *file); /* may add to the imports. 0 or -errno */
	void *look_data;
};

/* The directory of a file, from which its imports are found; of a link, of what it leads to. Owned; NULL: no memory. */
char *inspect_imports_get_directory(const char *path, const char *found);
/* Notes that a file was looked at. 0 or -ENOMEM. */
int inspect_imports_note_file(struct inspect_imports *imports, const struct stat *status);
/*
 * Takes what a file of this type imports, unless it is of a language without a parser. dir: the file's directory; root:
 * the one in which Python looks for modules. Both by their names for `find_file`. 0 or -ENOMEM.
 */
int inspect_imports_take(struct inspect_imports *imports, const struct inspect_findings *findings,
			 enum inspect_type type, const char *dir, const char *root);
/* Finds the files of all names that were taken, and of those that are taken meanwhile. 0 or -errno. */
int inspect_imports_follow(struct inspect_imports *imports, const struct inspect_import_user *user);
void inspect_imports_release(struct inspect_imports *imports);

#endif
