/* The made-up tree, and policies on names below it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/judged-calls.h"
#include "policy/parse/load.h"

#define GRANTS 1000

char judged_top[32] = "/tmp/cg-instructions-XXXXXX";

const char judged_policy[] =
	"{\"version\": 1, \"name\": \"made-up\", \"filesystem\": {"
	"\"read\": [\"${TOP}/usr\", \"${TOP}/opt\", \"${TOP}/etc/bash.bashrc\", \"${TOP}/etc/debian_version\", "
	"\"${TOP}/etc/dpkg\","
	"\"${TOP}/etc/emacs\", \"${TOP}/etc/gai.conf\", \"${TOP}/etc/gitconfig\", \"${TOP}/etc/groff\", "
	"\"${TOP}/etc/inputrc\","
	"\"${TOP}/etc/java\", \"${TOP}/etc/login.defs\", \"${TOP}/etc/magic\", \"${TOP}/etc/mime.types\", "
	"\"${TOP}/etc/networks\","
	"\"${TOP}/etc/perl\", \"${TOP}/etc/profile\", \"${TOP}/etc/profile.d\", \"${TOP}/etc/protocols\", "
	"\"${TOP}/etc/services\","
	"\"${TOP}/etc/shells\", \"${TOP}/etc/ssl/certs\", \"${TOP}/etc/ssl/openssl.cnf\", \"${TOP}/etc/terminfo\","
	"\"${TOP}/etc/vim\", \"${TOP}/sys/kernel\", \"${TOP}/var/lib/dpkg\", \"${TOP}/var/lib/gems\", "
	"\"${TOP}/etc/fonts\","
	"\"${TOP}/usr/share/fonts\", \"${TOP}/usr/share/javascript\", \"${TOP}/var/cache/fontconfig\"],"
	"\"write\": [\"${TOP}/work\"],"
	"\"exec\": [\"${TOP}/usr/bin\", \"${TOP}/usr/lib\", \"${TOP}/usr/libexec\", \"${TOP}/usr/share\", "
	"\"${TOP}/usr/local\","
	"\"${TOP}/opt\", \"${TOP}/work\"],"
	"\"deny\": [\"${TOP}/home/.ssh\", \"${TOP}/home/.aws\", \"${TOP}/home/.azure\", \"${TOP}/home/.gnupg\","
	"\"${TOP}/home/.kube\", \"${TOP}/home/.docker\", \"${TOP}/home/.config/gcloud\", \"${TOP}/home/.config/gh\","
	"\"${TOP}/home/.netrc\", \"${TOP}/home/.git-credentials\", \"${TOP}/home/.npmrc\", \"${TOP}/home/.pypirc\","
	"\"${TOP}/home/.cargo/credentials\", \"${TOP}/work/secret\", \"**/.env\"]}}";

static const char *const directories[] = {
	"usr",           "usr/bin",
	"usr/lib",       "usr/lib/package",
	"usr/share",     "opt",
	"etc",           "etc/dpkg",
	"etc/emacs",     "etc/groff",
	"etc/java",      "etc/perl",
	"etc/profile.d", "etc/ssl",
	"etc/ssl/certs", "etc/terminfo",
	"etc/vim",       "sys",
	"sys/kernel",    "var",
	"var/lib",       "var/lib/dpkg",
	"var/lib/gems",  "etc/fonts",
	"var/cache",     "var/cache/fontconfig",
	"work",          "home",
	"scratch",       "scratch/many",
};
static const char *const files[] = {
	"usr/bin/env",     "usr/lib/package/module.py",
	"etc/bash.bashrc", "etc/debian_version",
	"etc/gai.conf",    "etc/gitconfig",
	"etc/inputrc",     "etc/login.defs",
	"etc/magic",       "etc/mime.types",
	"etc/networks",    "etc/profile",
	"etc/protocols",   "etc/services",
	"etc/shells",      "etc/ssl/openssl.cnf",
	"work/.env",       "work/secret",
};

_Noreturn void judged_die(const char *what, int error)
{
	fprintf(stderr, "bench-instructions: %s: %s\n", what, strerror(error));
	exit(1);
}

void judged_make_tree(void)
{
	char path[PATH_MAX];

	if (!mkdtemp(judged_top))
		judged_die(judged_top, errno);
	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", judged_top, directories[i]);
		if (mkdir(path, 0700) < 0)
			judged_die(path, errno);
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", judged_top, files[i]);
		if (mknod(path, S_IFREG | 0600, 0) < 0)
			judged_die(path, errno);
	}
}

static int load_text(void *ctx, const char *name, const char *from, char **ret_text, char **ret_path)
{
	(void)from;
	*ret_text = strdup(ctx);
	*ret_path = strdup(name);
	return *ret_text && *ret_path ? 0 : -ENOMEM;
}

/* The thousand need not be there: the directory that holds them is granted as well, and is what is mounted. */
static char *real_name(void *ctx, const char *path)
{
	(void)ctx;
	return strstr(path, "/grant-") ? strdup(path) : realpath(path, NULL);
}

static const char *const *no_interpreter(void *ctx)
{
	static const char *const none[] = {NULL};

	(void)ctx;
	return none;
}

static const char *variable(void *ctx, const char *name)
{
	(void)ctx;
	return strcmp(name, "TOP") == 0 ? judged_top : NULL;
}

struct policy *judged_load(const char *text, const char *scratch)
{
	static const char *const names[] = {"made-up.json", NULL};
	char work[PATH_MAX];
	const struct policy_cli cli = {.read = NULL};
	const struct policy_host host = {.ctx = (void *)(uintptr_t)text,
					 .load = load_text,
					 .realpath = real_name,
					 .interpreter = no_interpreter,
					 .env = variable,
					 .home = "/home/nobody",
					 .workdir = work,
					 .workdir_virt_default = work,
					 .scratch_path = scratch};
	struct policy_errors errors = {0};
	struct policy *policy = NULL;

	(void)snprintf(work, sizeof(work), "%s/work", judged_top);
	if (policy_load(names, &cli, &host, &policy, &errors) < 0)
		judged_die(errors.count ? errors.item[0].text : "policy", EINVAL);
	return policy;
}

char *judged_many_grants(void)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		judged_die("policy", errno);
	fputs("{\"version\": 1, \"name\": \"many\", \"filesystem\": {\"read\": [\"${TOP}/usr\"", out);
	for (unsigned i = 0; i < GRANTS; i++)
		fprintf(out, ", \"${TOP}/usr/lib/grant-%u\"", i);
	fputs("]}}", out);
	if (fclose(out) != 0)
		judged_die("policy", errno);
	return text;
}
