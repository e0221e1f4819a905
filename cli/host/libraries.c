#include "cli/host/libraries.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

#define LD_SO_CONF "/etc/ld.so.conf"
#define LD_SO_CONF_DEPTH_MAX 4 /* how deep "include" lines of ld.so.conf may nest */

/* Adds the directories that a file such as /etc/ld.so.conf names, also by its "include" lines. 0 or -ENOMEM. */
static int libraries_read_conf(struct cli_list *dirs, const char *path, int depth)
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
			r = cli_list_add_owned(dirs, strdup(text));
		if (strncmp(text, "include ", 8) != 0 || depth == LD_SO_CONF_DEPTH_MAX ||
		    glob(text + 8, 0, NULL, &matches) != 0)
			continue;
		for (size_t i = 0; r == 0 && i < matches.gl_pathc; i++)
			r = libraries_read_conf(dirs, matches.gl_pathv[i], depth + 1);
		globfree(&matches);
	}
	return r;
}

int libraries_list_directories(struct cli_list *dirs)
{
	static const char *const usual[] = {"/lib64", "/usr/lib64", "/lib", "/usr/lib"};
	int r = libraries_read_conf(dirs, LD_SO_CONF, 0);

	for (size_t i = 0; r == 0 && i < sizeof(usual) / sizeof(usual[0]); i++)
		r = cli_list_add_owned(dirs, strdup(usual[i]));
	return r;
}

char *libraries_expand_origin(const char *file, const char *text, size_t len)
{
	static const char *const names[] = {"$ORIGIN", "${ORIGIN}"};
	const char *slash = file ? strrchr(file, '/') : NULL;
	_cleanup_buf_ struct buf out = {0};

	for (size_t at = 0; at < len;) {
		size_t skip = 0;

		for (size_t i = 0; slash && i < sizeof(names) / sizeof(names[0]); i++)
			if (len - at >= strlen(names[i]) && memcmp(text + at, names[i], strlen(names[i])) == 0)
				skip = strlen(names[i]);
		if (skip)
			buf_add(&out, file, (size_t)(slash - file));
		else
			buf_add(&out, text + at, 1);
		at += skip ? skip : 1;
	}
	return buf_take_text(&out);
}
