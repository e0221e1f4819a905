/* A tree of directories, files and symbolic links for a test, made from a table. */
#ifndef CALLGATE_TESTS_UNIT_CLI_MADE_TREE_H
#define CALLGATE_TESTS_UNIT_CLI_MADE_TREE_H

#include <check.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct made_entry {
	const char *path, *target; /* target: of a symbolic link; NULL: a directory; "": a file */
};

/* Makes the directory `top`, a template of mkdtemp(3), and the entries in it, in their order. */
static inline void made_tree_create(char *top, const struct made_entry *entry, size_t count)
{
	char path[PATH_MAX];

	ck_assert_ptr_nonnull(mkdtemp(top));
	for (size_t i = 0; i < count; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", top, entry[i].path);
		if (!entry[i].target)
			ck_assert_int_eq(mkdir(path, 0700), 0);
		else if (!*entry[i].target)
			ck_assert_int_eq(mknod(path, S_IFREG | 0700, 0), 0);
		else
			ck_assert_int_eq(symlink(entry[i].target, path), 0);
	}
}

/* Removes the entries and the directory. Fails when there is anything else in it. */
static inline void made_tree_remove(const char *top, const struct made_entry *entry, size_t count)
{
	char path[PATH_MAX];

	while (count-- > 0) {
		(void)snprintf(path, sizeof(path), "%s/%s", top, entry[count].path);
		ck_assert_int_eq(remove(path), 0);
	}
	ck_assert_int_eq(rmdir(top), 0);
}

#endif
