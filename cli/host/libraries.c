#include "cli/host/libraries.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"

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

#define MUSL_LOADER_START "/lib/ld-musl-"
#define MUSL_LOADER_END ".so.1"
#define MUSL_DIRECTORIES "/lib:/usr/local/lib:/usr/lib" /* musl, ldso/dynlink.c, load_library() */

bool libraries_is_musl_loader(const char *loader)
{
	const size_t start = strlen(MUSL_LOADER_START), len = strlen(loader), end = strlen(MUSL_LOADER_END);

	return len > start + end && strncmp(loader, MUSL_LOADER_START, start) == 0 &&
	       strcspn(loader + start, "/") == len - start && strcmp(loader + len - end, MUSL_LOADER_END) == 0;
}

int libraries_list_musl_directories(const char *loader, struct cli_list *dirs)
{
	const char *arch = loader + strlen(MUSL_LOADER_START);
	_cleanup_free_ char *path = text_format("/etc/ld-musl-%.*s.path", (int)strcspn(arch, "."), arch);
	_cleanup_fclose_ FILE *file = path ? fopen(path, "re") : NULL;
	_cleanup_free_ char *text = NULL;
	char *rest = NULL;
	size_t room = 0;
	int r = path ? 0 : -ENOMEM;

	if (r == 0 && (!file || getdelim(&text, &room, '\0', file) <= 0)) {
		free(text);
		text = strdup(MUSL_DIRECTORIES);
		r = text ? 0 : -ENOMEM;
	}
	for (char *dir = r == 0 ? strtok_r(text, ":\n", &rest) : NULL; r == 0 && dir;
	     dir = strtok_r(NULL, ":\n", &rest))
		r = cli_list_add_owned(dirs, strdup(dir));
	return r;
}

bool libraries_are_in_musl_loader(const char *name)
{
	/* the same list as in musl: load_library(), "reserved" */
	static const char *const own[] = {"libc.", "libpthread.", "librt.", "libm.", "libdl.", "libutil.", "libxnet."};

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (strncmp(name, own[i], strlen(own[i])) == 0)
			return true;
	return false;
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
