#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/installed.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "cli/host/account.h"
#include "cli/cli.h"
#include "cli/host/host.h"
#include "cli/host/interpreter.h"
#include "cli/host/places.h"
#include "cli/host/program.h"
#include "policy/parse/errors.h"

#include "base/banned.h"

#define POLICY_BYTES_MAX (UINT64_C(1) << 20)

/* ---- files ---- */

struct cli_file {
	struct cli_file *next;
	char *path, *text;
};

static void free_files(struct cli_file *file)
{
	while (file) {
		struct cli_file *next = file->next;

		free(file->path);
		free(file->text);
		free(file);
		file = next;
	}
}

/* Borrowed; NULL: not read yet. */
static const char *find_file(const struct cli_host *host, const char *path)
{
	const struct cli_file *file = host->files;

	while (file && strcmp(file->path, path) != 0)
		file = file->next;
	return file ? file->text : NULL;
}

static int keep_file(struct cli_host *host, const char *path, const char *text)
{
	struct cli_file *file = calloc(1, sizeof(*file));

	if (!file)
		return -ENOMEM;
	*file = (struct cli_file){.next = host->files, .path = strdup(path), .text = strdup(text)};
	if (!file->path || !file->text) {
		file->next = NULL;
		free_files(file);
		return -ENOMEM;
	}
	host->files = file;
	return 0;
}

struct descriptor_way {
	bool in_proc; /* the last link on the way is one of /proc */
};

static void note_link(void *ctx, const char *link)
{
	struct descriptor_way *way = ctx;

	way->in_proc = path_below(link, "/proc");
}

/* A file below directories that we may pass but not look at, if it has no other name than the one written. */
static int open_unseen(const char *path)
{
	char here[PATH_MAX], rooted[PATH_MAX], link[sizeof("/proc/self/fd/") + 10], name[PATH_MAX];
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
	bool lexical;
	ssize_t len;

	if (fd < 0)
		return -errno;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, name, sizeof(name));
	if (!getcwd(here, sizeof(here)) || path_join(here, path, rooted, sizeof(rooted), &lexical) != len ||
	    memcmp(rooted, name, (size_t)len) != 0)
		return -ESTALE;
	return steal_fd(&fd);
}

/* By its canonical name, through no link; or a descriptor ("-p /dev/fd/63"), which has no name. */
static int open_policy(struct cli_host *host, const char *path)
{
	struct descriptor_way way = {false};
	_cleanup_free_ char *real = cli_real_way(&host->real, path, note_link, &way);
	int fd;

	if (real)
		return io_open_plain(real, O_RDONLY | O_NOCTTY);
	if (way.in_proc) {
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		return fd < 0 ? -errno : fd;
	}
	return open_unseen(path); /* for the reason, where there is nothing */
}

static int read_text(struct cli_host *host, const char *path, char **ret_text, size_t *ret_len)
{
	_cleanup_close_ int fd = open_policy(host, path);

	return fd < 0 ? fd : io_read_fd(fd, POLICY_BYTES_MAX, ret_text, ret_len);
}

static int read_policy(struct cli_host *host, const char *path, char **ret_text, char **ret_path)
{
	const char *known = find_file(host, path);
	_cleanup_free_ char *text = known ? strdup(known) : NULL, *copy = strdup(path);
	size_t len;
	int ret = known ? 0 : read_text(host, path, &text, &len);

	if (ret < 0)
		return ret;
	if (!copy || !text)
		return -ENOMEM;
	if (!known && strlen(text) != len)
		return -EILSEQ;
	ret = known ? 0 : keep_file(host, path, text);
	if (ret < 0)
		return ret;
	*ret_text = steal_pointer(&text);
	*ret_path = steal_pointer(&copy);
	return 0;
}

static int load_in(struct cli_host *host, const char *dir, const char *name, char **ret_text, char **ret_path)
{
	char path[PATH_MAX];

	if (!dir || (size_t)snprintf(path, sizeof(path), "%s/%s.json", dir, name) >= sizeof(path))
		return -ENOENT;
	return read_policy(host, path, ret_text, ret_path);
}

/* What the user says first, then what is installed, then what lies beside a program that was not installed. */
static int load_profile(struct cli_host *host, const char *name, char **ret_text, char **ret_path)
{
	char tree[PATH_MAX];
	int ret = load_in(host, getenv("CALLGATE_PROFILES"), name, ret_text, ret_path);

	if (ret == -ENOENT)
		ret = load_in(host, PKGDATADIR "/profiles", name, ret_text, ret_path);
	if (ret == -ENOENT && beside_path("policy/profiles", tree)) /* configure links those of the source tree there */
		ret = load_in(host, tree, name, ret_text, ret_path);
	return ret;
}

/* A file beside the one that names it. */
static int load_file(struct cli_host *host, const char *name, const char *from, char **ret_text, char **ret_path)
{
	const char *slash = from && name[0] != '/' ? strrchr(from, '/') : NULL;
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%.*s%s", slash ? (int)(slash - from + 1) : 0, slash ? from : "",
			     name) >= sizeof(path))
		return -ENAMETOOLONG;
	return read_policy(host, path, ret_text, ret_path);
}

int cli_host_judge_files(const struct cli_host *host, const struct places *places, struct policy_errors *errors)
{
	int ret = 0;

	for (const struct cli_file *file = host->files; file; file = file->next) {
		struct places_why why = {""};

		if (places_judge(places, PLACES_CONTENT, file->path, NULL, &why) == 0)
			continue;
		policy_errors_add(errors, "%s: %s", file->path, why.text);
		ret = -EPERM;
	}
	return ret;
}

/* ---- files about the caller ---- */

/* False for names that would break the file's lines or fields. */
static bool is_plain_name(const char *name)
{
	return *name && !strpbrk(name, ":\n");
}

/* The account's name: asked for once, it may come from afar. NULL: no memory. */
static const char *login_of(struct cli_host *host)
{
	const struct account *user = host->login ? NULL : account_of_uid(host->uid);

	if (!host->login)
		host->login = strdup(user && is_plain_name(user->name) ? user->name : "user");
	return host->login;
}

static int make_account(struct cli_host *host, const char *name, char **ret_text, char **ret_path)
{
	const char *login = host->uid != 0 ? login_of(host) : NULL;
	_cleanup_free_ char *path = strdup(name);
	_cleanup_buf_ struct buf text = {0};

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
	*ret_text = buf_take(&text);
	if (!*ret_text || !path)
		return -ENOMEM;
	*ret_path = steal_pointer(&path);
	return 0;
}

/* ---- struct policy_host ---- */

static int host_load(void *ctx, const char *name, const char *from, char **ret_text, char **ret_path)
{
	size_t len = strlen(name);

	if (strncmp(name, "account:", strlen("account:")) == 0)
		return make_account(ctx, name, ret_text, ret_path);
	if (strchr(name, '/') || (len > 5 && strcmp(name + len - 5, ".json") == 0))
		return load_file(ctx, name, from, ret_text, ret_path);
	return load_profile(ctx, name, ret_text, ret_path);
}

static char *host_realpath(void *ctx, const char *path)
{
	struct cli_host *host = ctx;

	return cli_real_path(&host->real, path);
}

static const char *host_env(void *ctx, const char *name)
{
	(void)ctx;
	return getenv(name);
}

const char *cli_host_program(struct cli_host *host)
{
	const char *program = host->program;
	_cleanup_free_ char *inside = NULL;

	if (host->found || !program)
		return host->found;
	/* "./prog" is looked for where the program will be started, not where callgate was */
	if (strchr(program, '/') && program[0] != '/' && host->workdir &&
	    asprintf(&inside, "%s/%s", host->workdir, program) < 0)
		inside = NULL; /* undefined after a failure */
	host->found = program_find(inside ? inside : program);
	return host->found;
}

static const char *const *host_interpreter(void *ctx)
{
	struct cli_host *host = ctx;

	const struct interpreter_places places = {.home = host->home, .workdir = host->workdir};

	if (!host->interpreter)
		host->interpreter = interpreter_find(cli_host_program(host), &places);
	return host->interpreter ? interpreter_roots(host->interpreter) : NULL;
}

struct cli_refused {
	struct cli_refused *next;
	char *path, *why;
	bool told;
};

static bool host_refused(void *ctx, const char *path)
{
	const struct cli_host *host = ctx;
	const struct cli_refused *refused = host->refused;

	while (refused && strcmp(refused->path, path) != 0)
		refused = refused->next;
	return refused;
}

static void free_refused(struct cli_refused *refused)
{
	while (refused) {
		struct cli_refused *next = refused->next;

		free(refused->path);
		free(refused->why);
		free(refused);
		refused = next;
	}
}

int cli_host_refuse(struct cli_host *host, const char *path, const char *why)
{
	bool known = host_refused(host, path);
	struct cli_refused *refused = known ? NULL : calloc(1, sizeof(*refused));

	if (!refused)
		return known ? 0 : -ENOMEM;
	*refused = (struct cli_refused){.path = strdup(path), .why = strdup(why)};
	if (!refused->path || !refused->why) {
		free_refused(refused);
		return -ENOMEM;
	}
	refused->next = host->refused;
	host->refused = refused;
	return 1;
}

void cli_host_tell(struct cli_host *host)
{
	const char *note = host->interpreter && !host->noted ? interpreter_note(host->interpreter) : NULL;

	if (note)
		cli_note("callgate: %s", note);
	host->noted = host->noted || host->interpreter;
	for (struct cli_refused *refused = host->refused; refused; refused = refused->next) {
		if (!refused->told)
			cli_note("callgate: not granted: %s %s", refused->path, refused->why);
		refused->told = true;
	}
}

/* HOME, else the account's directory, else the root, as for accounts without one. */
static char *find_home(void)
{
	const char *home = getenv("HOME");
	const struct account *user = home && *home == '/' ? NULL : account_of_uid(getuid());

	if (user)
		home = user->home;
	return strdup(home && *home == '/' ? home : "/");
}

int cli_host_init(struct cli_host *host, const char *program)
{
	*host = (struct cli_host){.uid = geteuid(),
				  .gid = getegid(),
				  .home = find_home(),
				  .program = program ? strdup(program) : NULL};
	if (!host->home || (program && !host->program)) {
		cli_host_done(host);
		return -ENOMEM;
	}
	host->policy = (struct policy_host){
		.ctx = host,
		.load = host_load,
		.realpath = host_realpath,
		.refused = host_refused,
		.interpreter = host_interpreter,
		.env = host_env,
		.home = host->home,
	};
	return 0;
}

int cli_host_place(struct cli_host *host, const char *workdir, const char *scratch)
{
	cli_real_done(&host->real); /* a setup may have made links since the last policy */
	policy_free(host->other);
	host->other = NULL;
	free(host->scratch);
	free(host->workdir);
	host->workdir = NULL;
	host->scratch = strdup(scratch ? scratch : "/callgate-scratch");
	if (workdir)
		host->workdir = strdup(workdir);
	else if (host->scratch && asprintf(&host->workdir, "%s/work", host->scratch) < 0)
		host->workdir = NULL; /* undefined after a failure */
	if (!host->scratch || !host->workdir)
		return -ENOMEM;
	host->policy.scratch = host->scratch;
	host->policy.workdir = host->workdir;
	host->policy.workdir_virt_default = workdir ? host->workdir : "/work";
	return 0;
}

void cli_host_done(struct cli_host *host)
{
	interpreter_free(host->interpreter);
	free_files(host->files);
	free_refused(host->refused);
	policy_free(host->other);
	cli_real_done(&host->real);
	free(host->login);
	free(host->program);
	free(host->found);
	free(host->home);
	free(host->workdir);
	free(host->scratch);
	*host = (struct cli_host){0};
}
