#include "cli/inspect/loader.h"

#include <elf.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/host/libraries.h"

/* Loaders of the distributions, of all architectures; besides those of musl. */
static const char *const loaders[] = {
	"/lib64/ld-linux-x86-64.so.2",
	"/lib/ld-linux.so.2",
	"/libx32/ld-linux-x32.so.2",
	"/lib/ld-linux-aarch64.so.1",
	"/lib/ld-linux-armhf.so.3",
	"/lib/ld-linux.so.3", /* armel */
	"/lib/ld-linux-riscv64-lp64d.so.1",
	"/lib64/ld-linux-loongarch-lp64d.so.1",
	"/lib64/ld64.so.2", /* ppc64el */
	"/lib/ld64.so.1",   /* s390x */
};

#define MUSL_LOADERS "/lib/ld-musl-*.so.1"

/* The file that is judged. */
struct loading {
	const struct inspect_subject *subject;
	const char *file; /* its canonical path; NULL: unknown */
	struct inspect_findings *findings;
	char *musl;           /* musl's loader, which loads the file; owned; NULL: it is another one */
	struct cli_list dirs; /* where libraries are looked for: search paths of the file, then the system's */
	unsigned char ident[EI_NIDENT + 4]; /* of the file: class, byte order and machine */
};

/* True if the file at `path` is of the same class, byte order and machine. */
static bool loading_is_alike(const struct loading *loading, const char *path)
{
	_cleanup_close_ int fd = io_open_regular(path);
	unsigned char ident[sizeof(loading->ident)];

	return fd >= 0 && pread(fd, ident, sizeof(ident), 0) == (ssize_t)sizeof(ident) &&
	       memcmp(ident, loading->ident, EI_VERSION) == 0 &&                      /* magic, class, byte order */
	       memcmp(ident + EI_NIDENT + 2, loading->ident + EI_NIDENT + 2, 2) == 0; /* e_machine */
}

/* ---- search paths ---- */

/* Directories in which all can make files. */
static const char *const shared_dirs[] = {"/tmp", "/var/tmp", "/dev/shm"};

/* True if a directory is shared, or below one that is. is_own: it does not count if the file is below the same one. */
static bool loading_is_below_shared(const struct loading *loading, const char *dir, bool is_own)
{
	for (size_t i = 0; i < sizeof(shared_dirs) / sizeof(shared_dirs[0]); i++)
		if (path_is_below(dir, shared_dirs[i]) && !(is_own && path_is_below(loading->file, shared_dirs[i])))
			return true;
	return false;
}

/*
 * Why it is dangerous to look for libraries in a directory; is_own: it is named by where the file is, which may be
 * anywhere. NULL: no reason.
 */
static const char *loading_find_danger(const struct loading *loading, const char *dir, bool is_own)
{
	char named[PATH_MAX], real[PATH_MAX], own[PATH_MAX] = "";
	const char *file;
	struct stat status;
	bool lexical;

	is_own = is_own && loading->file && path_split(loading->file, own, &file) == 0;
	if (*dir != '/')
		return "is relative to the working directory";
	if (path_join("/", dir, named, sizeof(named), &lexical) < 0)
		return "is longer than a path can be";
	if (!realpath(dir, real))
		(void)snprintf(real, sizeof(real), "%s", named);
	if (loading_is_below_shared(loading, named, is_own) || loading_is_below_shared(loading, real, is_own))
		return "is below a directory that all can write to";
	if (is_own && strcmp(real, own) == 0)
		return NULL;
	return stat(dir, &status) == 0 && (status.st_mode & S_IWOTH) ? "can be written to by all" : NULL;
}

/* Takes the directories of DT_RPATH or DT_RUNPATH. 0 or -ENOMEM. */
static int loading_take_path(struct loading *loading, const char *list)
{
	int r = 0;

	for (const char *at = list;; at++) {
		size_t len = strcspn(at, ":");
		_cleanup_free_ char *dir = libraries_expand_origin(loading->file, at, len), *what = NULL;
		const char *danger = dir ? loading_find_danger(loading, dir, *at == '$') : NULL;

		if (!dir)
			return -ENOMEM;
		if (danger) {
			what = text_format("\"%.*s\" %s", (int)len, at, danger);
			r = what ? inspect_findings_add(loading->findings, INSPECT_UNSAFE_RPATH, 0, what) : -ENOMEM;
		} else {
			r = cli_list_add_owned(&loading->dirs, steal_pointer(&dir));
		}
		at += len;
		if (r < 0 || *at == '\0')
			return r;
	}
}

/* ---- libraries ---- */

/* The path at which the loader finds a library. Owned; NULL: nowhere, or no memory. */
static char *loading_find_library(const struct loading *loading, const char *name)
{
	if (loading->musl && libraries_are_in_musl_loader(name))
		return loading_is_alike(loading, loading->musl) ? strdup(loading->musl) : NULL;
	if (strchr(name, '/'))
		return loading_is_alike(loading, name) ? strdup(name) : NULL;
	for (size_t i = 0; i < loading->dirs.count; i++) {
		char *path = text_format("%s/%s", loading->dirs.item[i], name);

		if (path && loading_is_alike(loading, path))
			return path;
		free(path);
	}
	return NULL;
}

/* Completes the text of a finding about a needed library. 0 or -ENOMEM. */
static int loading_judge_library(struct loading *loading, size_t at)
{
	struct inspect_finding *finding = &loading->findings->item[at];
	_cleanup_free_ char *path = loading_find_library(loading, finding->what);
	char *what;

	if (!path)
		return inspect_findings_add(loading->findings, INSPECT_MISSING_LIBRARY, 0, finding->what);
	what = text_format("%s from %s", finding->what, path);
	if (!what)
		return -ENOMEM;
	free(finding->what);
	finding->what = what;
	return 0;
}

static int loading_judge_loader(struct loading *loading, const char *loader)
{
	if (libraries_is_musl_loader(loader))
		return 0;
	for (size_t i = 0; i < sizeof(loaders) / sizeof(loaders[0]); i++)
		if (strcmp(loaders[i], loader) == 0)
			return 0;
	return inspect_findings_add(loading->findings, INSPECT_ODD_LOADER, 0, loader);
}

static int loading_judge_mode(struct loading *loading)
{
	const mode_t mode = loading->subject->mode;
	char what[64];

	if (!(mode & (S_ISUID | S_ISGID)))
		return 0;
	(void)snprintf(what, sizeof(what), "mode %04o: runs with its owner's rights", (unsigned)(mode & 07777));
	return inspect_findings_add(loading->findings, INSPECT_SET_ID, 0, what);
}

/* Finds one of musl's loaders that is of the file's machine. Owned; NULL: there is none, or no memory. */
static char *loading_find_musl(const struct loading *loading)
{
	char *path = NULL;
	glob_t all = {0};

	(void)glob(MUSL_LOADERS, 0, NULL, &all); /* on failure, there are none */
	for (size_t i = 0; !path && i < all.gl_pathc; i++)
		if (loading_is_alike(loading, all.gl_pathv[i]))
			path = strdup(all.gl_pathv[i]);
	globfree(&all);
	return path;
}

/* Whether it is musl's loader that loads the file: by PT_INTERP or, of a library, by the C library that it needs. */
static void loading_take_musl(struct loading *loading)
{
	const struct inspect_findings *findings = loading->findings;
	bool has_loader = false, needs_musl = false;

	for (size_t i = 0; i < findings->count; i++) {
		const struct inspect_finding *finding = &findings->item[i];

		has_loader = has_loader || finding->kind == INSPECT_LOADER;
		if (finding->kind == INSPECT_LOADER && !loading->musl && libraries_is_musl_loader(finding->what))
			loading->musl = strdup(finding->what);
		if (finding->kind == INSPECT_NEEDS && (strcmp(finding->what, "libc.so") == 0 ||
						       strncmp(finding->what, "libc.musl-", strlen("libc.musl-")) == 0))
			needs_musl = true;
	}
	if (!has_loader && needs_musl)
		loading->musl = loading_find_musl(loading);
}

/* Judges the findings that the parser made; further ones are added behind them. */
static int loading_judge(struct loading *loading)
{
	const size_t count = loading->findings->count;
	int r = loading_judge_mode(loading);

	for (size_t i = 0; r == 0 && i < count; i++)
		if (loading->findings->item[i].kind == INSPECT_RPATH)
			r = loading_take_path(loading, loading->findings->item[i].what);
	loading_take_musl(loading);
	if (r == 0)
		r = loading->musl ? libraries_list_musl_directories(loading->musl, &loading->dirs)
				  : libraries_list_directories(&loading->dirs);
	for (size_t i = 0; r == 0 && i < count; i++) {
		if (loading->findings->item[i].kind == INSPECT_NEEDS)
			r = loading_judge_library(loading, i);
		else if (loading->findings->item[i].kind == INSPECT_LOADER)
			r = loading_judge_loader(loading, loading->findings->item[i].what);
	}
	return r;
}

int inspect_judge_loading(const struct inspect_subject *subject, struct inspect_findings *findings)
{
	_cleanup_free_ char *file = realpath(subject->path, NULL);
	struct loading loading = {.subject = subject, .file = file, .findings = findings};
	int r = 0;

	if (pread(subject->fd, loading.ident, sizeof(loading.ident), 0) == (ssize_t)sizeof(loading.ident))
		r = loading_judge(&loading);
	free(loading.musl);
	cli_list_release(&loading.dirs);
	return r;
}
