#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/installed.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hostname.h"
#include "base/io.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/host/account.h"
#include "cli/cli.h"
#include "cli/host/host.h"
#include "cli/host/interpreter.h"
#include "cli/host/places.h"
#include "cli/host/program.h"
#include "cli/libraries/find.h"
#include "cli/libraries/sets.h"

#define HOST_POLICY_BYTES_MAX (UINT64_C(1) << 20)

/* ---- notes: a path and a text, such as the file's content ---- */

/* A path and a text about it, in one of the lists of struct cli_host. */
struct cli_host_note {
	struct cli_host_note *next;
	const char *path, *text;
	bool was_reported; /* the user was told that the grant has no effect */
};

/* Finds the note for a path, borrowed; NULL: there is none. */
static const struct cli_host_note *host_find_note(const struct cli_host_note *note, const char *path)
{
	while (note && strcmp(note->path, path) != 0)
		note = note->next;
	return note;
}

/* Puts a note with copies of path and text at the start of the list. 0 or -ENOMEM. */
static int host_add_note(struct cli_host *host, struct cli_host_note **list, const char *path, const char *text)
{
	struct cli_host_note *note = arena_alloc(&host->arena, sizeof(*note));

	if (note)
		*note = (struct cli_host_note){
			*list, arena_dup(&host->arena, path), arena_dup(&host->arena, text), false};
	if (!note || !note->path || !note->text)
		return -ENOMEM;
	*list = note;
	return 0;
}

/* ---- reading policy files ---- */

/* *ctx: whether the last link of a path, of all those that this is called for, is in /proc. */
static void host_set_link_in_proc(void *ctx, const char *link)
{
	bool *in_proc = ctx;

	/* called for each link of a path in turn, so the result is that of the last link */
	*in_proc = path_is_below(link, "/proc");
}

/*
 * Opens a file whose path cannot be resolved. It is accepted if the path as written equals the kernel's name of the
 * open file, so that no link was followed.
 */
static int host_open_without_following_links(const char *path)
{
	char here[PATH_MAX], rooted[PATH_MAX], name[PATH_MAX];
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
	bool lexical;
	ssize_t len;

	if (fd < 0)
		return -errno;
	len = io_read_fd_name(fd, name);
	if (len < 0 || !getcwd(here, sizeof(here)) || path_join(here, path, rooted, sizeof(rooted), &lexical) != len ||
	    memcmp(rooted, name, (size_t)len) != 0)
		return -ESTALE;
	return steal_fd(&fd);
}

/*
 * Opens a file by its canonical path and through no link. A name of an open descriptor (-p /dev/fd/63) is opened as
 * written.
 */
static int host_open_file(struct cli_host *host, const char *path)
{
	bool in_proc = false;
	_cleanup_free_ char *real =
		cli_resolve_real_path_noting_links(&host->path_cache, path, host_set_link_in_proc, &in_proc);
	int fd;

	if (real)
		return io_open_without_links(real, O_RDONLY | O_NOCTTY);
	if (in_proc) {
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		return fd < 0 ? -errno : fd;
	}
	return host_open_without_following_links(path);
}

/* Reads a policy file, only once even if several policies name it. *ret_file: its path and text, borrowed. */
static int host_read_file(struct cli_host *host, const char *path, const struct cli_host_note **ret_file)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *text = NULL;
	size_t len;
	int ret;

	*ret_file = host_find_note(host->read_files, path);
	if (*ret_file)
		return 0;
	fd = host_open_file(host, path);
	ret = fd < 0 ? fd : io_read_fd(fd, HOST_POLICY_BYTES_MAX, &text, &len);
	if (ret == 0)
		ret = strlen(text) == len ? host_add_note(host, &host->read_files, path, text) : -EILSEQ;
	*ret_file = host->read_files;
	return ret;
}

/* Reads NAME.json of a directory with profiles. 0 or -errno; -ENOENT also without a directory. */
static int host_read_profile_in_dir(struct cli_host *host, const char *dir, const char *name,
			const struct cli_host_note **ret_file)
{
	char path[PATH_MAX];

	if (!dir || (size_t)snprintf(path, sizeof(path), "%s/%s.json", dir, name) >= sizeof(path))
		return -ENOENT;
	return host_read_file(host, path, ret_file);
}

/* Loads a profile from $CALLGATE_PROFILES, the installed profiles or, if callgate is not installed, the build tree. */
static int host_load_profile(struct cli_host *host, const char *name, const struct cli_host_note **ret_file)
{
	char tree[PATH_MAX];
	int ret = host_read_profile_in_dir(host, getenv("CALLGATE_PROFILES"), name, ret_file);

	if (ret == -ENOENT)
		ret = host_read_profile_in_dir(host, PKGDATADIR "/profiles", name, ret_file);
	if (ret == -ENOENT &&
	    /* in a build directory, configure has made policy/profiles a link to the source tree */
	    installed_get_sibling_path("policy/profiles", tree))
		ret = host_read_profile_in_dir(host, tree, name, ret_file);
	return ret;
}

/* Loads a policy file. A relative name is relative to the directory of the file that names it (`from`). */
static int host_load_file(struct cli_host *host, const char *name, const char *from,
			  const struct cli_host_note **ret_file)
{
	const char *slash = from && name[0] != '/' ? strrchr(from, '/') : NULL;
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%.*s%s", slash ? (int)(slash - from + 1) : 0, slash ? from : "",
			     name) >= sizeof(path))
		return -ENAMETOOLONG;
	return host_read_file(host, path, ret_file);
}

int cli_host_judge_files(const struct cli_host *host, const struct writable_places *places,
			 struct policy_errors *errors)
{
	int ret = 0;

	for (const struct cli_host_note *file = host->read_files; file; file = file->next) {
		struct places_refusal why = {""};

		if (places_judge_path(places, PLACES_PATH_MUST_BE_TRUSTED, file->path, NULL, &why) == 0)
			continue;
		policy_errors_add(errors, "%s: %s", file->path, why.text);
		ret = -EPERM;
	}
	return ret;
}

/* ---- generated files: what "machine:hostname" and "machine:hosts" stand for in "provide" rules ---- */

/* Makes the text of "machine:hostname" or "machine:hosts", and keeps it. 0, -ENOMEM, or -ENOENT for another name. */
static int host_make_hostname_or_hosts(struct cli_host *host, const char *name, const struct cli_host_note **ret_file)
{
	_cleanup_buf_ struct buf text = {0};
	char line[HOSTNAME_LINE_MAX];
	int ret;

	if (strcmp(name, "machine:hostname") == 0) {
		hostname_get(line);
		buf_printf(&text, "%s\n", line);
	} else if (strcmp(name, "machine:hosts") == 0) {
		hostname_make_hosts_line(line);
		buf_printf(&text, "127.0.0.1\tlocalhost\n::1\tlocalhost\n%s", line);
	} else {
		return -ENOENT;
	}
	ret = text.failed ? -ENOMEM : host_add_note(host, &host->generated_files, name, text.data);
	*ret_file = host->generated_files;
	return ret;
}

/* ---- generated files: what "account:passwd" and "account:group" stand for in "provide" rules ---- */

/* The account name of host->uid, or "user". Looked up once, because the name service may be slow. NULL: no memory. */
static const char *host_find_account_name(struct cli_host *host)
{
	const struct account *user = host->login_name ? NULL : account_find(NULL, host->uid);
	bool plain = user && *user->name && !strpbrk(user->name, ":\n"); /* no separators of passwd(5) in it */

	if (!host->login_name)
		host->login_name = arena_dup(&host->arena, plain ? user->name : "user");
	return host->login_name;
}

/* Makes the text of "account:passwd" or "account:group", with root, the user and nobody. 0 or -errno. */
static int host_make_account_file(struct cli_host *host, const char *name, const struct cli_host_note **ret_file)
{
	const char *login = host->uid != 0 ? host_find_account_name(host) : NULL;
	_cleanup_buf_ struct buf text = {0};
	int ret;

	if (host->uid != 0 && !login)
		return -ENOMEM;
	if (strcmp(name, "account:passwd") == 0) {
		buf_puts(&text, "root:x:0:0:root:/root:/bin/sh\n");
		if (host->uid != 0)
			buf_printf(&text, "%s:x:%u:%u:%s:/:/bin/sh\n", login, host->uid, host->gid, login);
		buf_puts(&text, "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n");
	} else if (strcmp(name, "account:group") == 0) {
		buf_puts(&text, "root:x:0:\n");
		if (host->gid != 0)
			buf_printf(&text, "%s:x:%u:\n", login, host->gid);
		buf_puts(&text, "nogroup:x:65534:\n");
	} else {
		return -ENOENT;
	}
	ret = text.failed ? -ENOMEM : host_add_note(host, &host->generated_files, name, text.data);
	*ret_file = host->generated_files;
	return ret;
}

/* ---- callbacks of struct policy_host ---- */

/* The policy's callback `load`: returns the text of a file, a profile, or a generated file. */
static int host_load_policy_text(void *ctx, const char *name, const char *from, char **ret_text, char **ret_path)
{
	size_t len = strlen(name);
	const struct cli_host_note *file = NULL;
	_cleanup_free_ char *text = NULL, *path = NULL;
	int ret;

	if (strncmp(name, "account:", strlen("account:")) == 0)
		ret = host_make_account_file(ctx, name, &file);
	else if (strncmp(name, "machine:", strlen("machine:")) == 0)
		ret = host_make_hostname_or_hosts(ctx, name, &file);
	else if (strchr(name, '/') || (len > 5 && strcmp(name + len - 5, ".json") == 0))
		ret = host_load_file(ctx, name, from, &file);
	else
		ret = host_load_profile(ctx, name, &file);
	if (ret < 0)
		return ret;
	text = strdup(file->text);
	path = strdup(file->path);
	if (!text || !path)
		return -ENOMEM;
	*ret_text = steal_pointer(&text);
	*ret_path = steal_pointer(&path);
	return 0;
}

/* The policy's callback `realpath`, with a cache. */
static char *host_resolve_path(void *ctx, const char *path)
{
	struct cli_host *host = ctx;

	return cli_resolve_real_path(&host->path_cache, path);
}

static const char *host_get_variable(void *ctx, const char *name)
{
	(void)ctx;
	return getenv(name);
}

const char *cli_host_find_program(struct cli_host *host)
{
	const char *program = host->program;
	_cleanup_free_ char *inside = NULL, *found = NULL;

	if (host->program_path || !program)
		return host->program_path;
	/* "./prog" is relative to the program's workdir, not to callgate's */
	if (strchr(program, '/') && program[0] != '/' && host->workdir)
		inside = text_format("%s/%s", host->workdir, program);
	found = program_find_executable(inside ? inside : program);
	host->program_path = found ? arena_dup(&host->arena, found) : NULL;
	return host->program_path;
}

/* The callback for @interpreter: paths of the program's interpreter, looked for at the first call. NULL: none. */
static const char *const *host_find_interpreter(void *ctx)
{
	struct cli_host *host = ctx;

	if (!host->interpreter)
		host->interpreter =
			interpreter_find(&host->arena, cli_host_find_program(host), host->policy.home, host->workdir);
	return host->interpreter ? host->interpreter->granted_path : NULL;
}

/* An answer about "libraries", which a run needs several times. */
struct cli_host_libraries {
	struct cli_host_libraries *next;
	enum policy_language language;
	const char *names; /* what was asked for, each name followed by a space */
	struct policy_library_answer answer;
};

/* Sets where packages are looked for. */
static void host_get_library_places(struct cli_host *host, bool needs_sets, struct library_places *ret_places)
{
	const char *const *granted = host_find_interpreter(host);
	const struct cli_host_note *sets = NULL;

	if (needs_sets && host_load_profile(host, SETS_PROFILE, &sets) < 0)
		sets = NULL;
	*ret_places = (struct library_places){granted, granted ? host->interpreter->prefix : NULL, host->policy.home,
					      host->workdir, sets ? sets->text : NULL};
}

/* Finds out what "libraries" hides, and keeps the answer. */
static int host_ask_for_libraries(struct cli_host *host, enum policy_language language, const char *key,
				  const char *const *names, struct policy_library_answer *ret_answer)
{
	bool has_sets = false;
	struct library_places places;
	struct cli_host_libraries *found = arena_alloc(&host->arena, sizeof(*found));
	int ret;

	if (!found)
		return -ENOMEM;
	for (const char *const *name = names; *name; name++)
		has_sets = has_sets || sets_is_name(*name);
	host_get_library_places(host, has_sets, &places);
	*found = (struct cli_host_libraries){host->libraries, language, arena_dup(&host->arena, key), {0}};
	ret = found->names ? libraries_find_hidden(&host->arena, &places, language, names, &found->answer) : -ENOMEM;
	if (ret < 0)
		return ret;
	host->libraries = found;
	*ret_answer = found->answer;
	return 0;
}

int cli_host_find_libraries(struct cli_host *host, enum policy_language language, const char *const *names,
			    struct library_finding *ret_finding)
{
	struct library_places places;

	host_get_library_places(host, true, &places);
	return libraries_find(&host->arena, &places, language, names, ret_finding);
}

/* The callback for "libraries". */
static int host_find_hidden_libraries(void *ctx, enum policy_language language, const char *const *names,
				      struct policy_library_answer *ret_answer)
{
	struct cli_host *host = ctx;
	_cleanup_buf_ struct buf key = {0};

	buf_puts(&key, "");
	for (const char *const *name = names; *name; name++)
		buf_printf(&key, "%s ", *name);
	if (key.failed)
		return -ENOMEM;
	for (const struct cli_host_libraries *known = host->libraries; known; known = known->next)
		if (known->language == language && strcmp(known->names, key.data ? key.data : "") == 0) {
			*ret_answer = known->answer;
			return 0;
		}
	return host_ask_for_libraries(host, language, key.data ? key.data : "", names, ret_answer);
}

/* Whether cli_host_add_void_grant() was told that a grant of this path has no effect. */
static bool host_grant_is_void(void *ctx, const char *path)
{
	const struct cli_host *host = ctx;

	return host_find_note(host->void_grants, path);
}

int cli_host_make_grant_void(struct cli_host *host, const char *path, const char *why)
{
	if (host_find_note(host->void_grants, path))
		return 0;
	return host_add_note(host, &host->void_grants, path, why) < 0 ? -ENOMEM : 1;
}

void cli_host_report_void_grants(struct cli_host *host)
{
	const char *note =
		host->interpreter && !host->interpreter_note_was_printed ? host->interpreter->why_left_out : NULL;

	if (note)
		cli_note("callgate: %s", note);
	host->interpreter_note_was_printed = host->interpreter_note_was_printed || host->interpreter;
	for (struct cli_host_note *refused = host->void_grants; refused; refused = refused->next) {
		if (!refused->was_reported)
			cli_note("callgate: not granted: %s %s", refused->path, refused->text);
		refused->was_reported = true;
	}
}

/* Returns the home directory: HOME, else the account's home directory, else "/". */
static const char *host_find_home(void)
{
	const char *home = getenv("HOME");
	const struct account *user = home && *home == '/' ? NULL : account_find(NULL, getuid());

	if (user)
		home = user->home;
	return home && *home == '/' ? home : "/";
}

int cli_host_init(struct cli_host *host, const char *program)
{
	*host = (struct cli_host){
		.uid = geteuid(),
		.gid = getegid(),
		.program = program,
		.policy =
			{
				.ctx = host,
				.load = host_load_policy_text,
				.realpath = host_resolve_path,
				.refused = host_grant_is_void,
				.interpreter = host_find_interpreter,
				.libraries = host_find_hidden_libraries,
				.env = host_get_variable,
			},
	};
	host->policy.home = arena_dup(&host->arena, host_find_home());
	return host->policy.home ? 0 : -ENOMEM;
}

int cli_host_set_workdir_and_scratch(struct cli_host *host, const char *workdir, const char *scratch)
{
	cli_path_cache_release(&host->path_cache); /* a setup may have made links since the policy was last loaded */
	policy_free(host->other_phase_policy);
	host->other_phase_policy = NULL;
	host->libraries = NULL;
	host->policy.scratch_path = arena_dup(&host->arena, scratch ? scratch : CLI_HOST_SCRATCH_OF_NO_RUN);
	host->workdir = workdir ? arena_dup(&host->arena, workdir)
				: arena_printf(&host->arena, "%s/work", host->policy.scratch_path);
	host->policy.workdir = host->workdir;
	host->policy.workdir_virt_default = workdir ? host->workdir : "/work";
	return host->policy.scratch_path && host->workdir ? 0 : -ENOMEM;
}

void cli_host_release(struct cli_host *host)
{
	policy_free(host->other_phase_policy);
	cli_path_cache_release(&host->path_cache);
	arena_release(&host->arena);
	*host = (struct cli_host){0};
}

int cli_host_set_home(struct cli_host *host, const char *home)
{
	host->policy.home = arena_dup(&host->arena, home && *home == '/' ? home : "/");
	return host->policy.home ? 0 : -ENOMEM;
}
