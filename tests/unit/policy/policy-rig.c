#include "tests/unit/policy/policy-rig.h"

#include <check.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "policy/parse/format.h"

static int rig_read(void *ctx, const char *name, const char *from, char **ret_text, char **ret_path)
{
	struct rig *rig = ctx;

	(void)from;
	rig->reads++;
	if (strcmp(name, "account:passwd") == 0) {
		*ret_text = strdup("root:x:0:0::/:/bin/sh\n");
		*ret_path = strdup(name);
		return 0;
	}
	for (const struct rig_file *file = rig->files; file->name; file++) {
		if (strcmp(file->name, name) != 0)
			continue;
		if (!file->text)
			return rig->error ? rig->error : -EILSEQ;
		*ret_text = strdup(file->text);
		*ret_path = strdup(name);
		return 0;
	}
	return -ENOENT;
}

struct rig_link {
	const char *path;
	const char *target;
};

static const struct rig_link links[] = {
	{"/lib", "/usr/lib"},		{"/lib64", "/usr/lib64"},	 {"/bin", "/usr/bin"},
	{"/home/u/link", "/srv/target"}, {"/home/u/.ssh", "/vault/keys"}, {"/scratch/run/work/out", "/etc"},
	{"/home/u/proj/out", "/etc"},	{"/home/u/bytes", "/\xff\xfe"},
	{"/scratch/run/work/in", "/scratch/run/work/real"},
};

static char *rig_realpath(void *ctx, const char *path)
{
	char real[PATH_MAX], next[PATH_MAX];

	(void)ctx;
	(void)snprintf(real, sizeof(real), "%s", path);
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		const char *rest = path_get_rest_below(real, links[i].path);

		if (!rest)
			continue;
		(void)snprintf(next, sizeof(next), "%s%s%s", links[i].target, *rest ? "/" : "", rest);
		memcpy(real, next, sizeof(real));
	}
	return strstr(real, "missing") ? NULL : strdup(real);
}

static const char *const *rig_interpreter(void *ctx)
{
	static const char *const roots[] = {"/opt/venv", "/opt/py", NULL};

	(void)ctx;
	return roots;
}

static const char *rig_env(void *ctx, const char *name)
{
	(void)ctx;
	if (strcmp(name, "SET") == 0)
		return "/srv/set";
	if (strcmp(name, "STAR") == 0)
		return "/a*b";
	if (strcmp(name, "EMPTY") == 0)
		return "";
	return strcmp(name, "BYTES") == 0 ? "/\xff\xfe" : NULL;
}

static bool rig_refuses(void *ctx, const char *path)
{
	struct rig *rig = ctx;

	return rig->refused && strcmp(rig->refused, path) == 0;
}

static struct policy_host host_of(struct rig *rig)
{
	return (struct policy_host){
		.ctx = rig,
		.load = rig_read,
		.realpath = rig_realpath,
		.refused = rig_refuses,
		.interpreter = rig_interpreter,
		.env = rig_env,
		.home = "/home/u",
		.workdir = rig->workdir ? rig->workdir : "/scratch/run/work",
		.workdir_virt_default = rig->workdir_virt_default ? rig->workdir_virt_default : "/work",
		.scratch_path = "/scratch/run",
	};
}

char *rig_make_text(const char *text)
{
	char *made = calloc(1, RIG_TEXT_MAX), *out = made, *end;

	for (; *text; text++) {
		unsigned long count = *text == '#' ? strtoul(text + 1, &end, 10) : 0;

		if (!made || (unsigned long)(out - made) + count >= RIG_TEXT_MAX - 1)
			abort();
		memset(out, 'a', count);
		out += count;
		if (*text == '#')
			text = end;
		else
			*out++ = *text == '\'' ? '"' : *text;
	}
	return made;
}

struct policy_draft *rig_peek(struct rig *rig, const char *const *names, char **ret_user)
{
	const struct policy_host host = host_of(rig);

	return policy_find_user(names, &host, ret_user);
}

int rig_load_names(struct rig *rig, const char *const *names, const struct policy_cli *cli, struct policy **ret_policy)
{
	const struct policy_host host = host_of(rig);

	return policy_load(names, cli, &host, ret_policy, &rig->errors);
}

int rig_load(struct rig *rig, const char *text, const struct policy_cli *cli, struct policy **ret_policy)
{
	const struct rig_file one[] = {{"p.json", text}, {NULL, NULL}};
	static const char *const names[] = {"p.json", NULL};
	const struct rig_file *files = rig->files;
	int ret;

	if (!files)
		rig->files = one;
	ret = rig_load_names(rig, names, cli, ret_policy);
	rig->files = files;
	return ret;
}

void rig_done(struct rig *rig)
{
	policy_errors_release(&rig->errors);
}

const char *rig_quote(const char *text)
{
	static char out[4][RIG_QUOTED_MAX];
	static unsigned next;
	char *copy = out[next++ % 4];

	ck_assert_uint_lt(strlen(text), RIG_QUOTED_MAX);
	for (size_t i = 0; i == 0 || text[i - 1]; i++)
		copy[i] = text[i] == '\'' ? '"' : text[i];
	return copy;
}

static struct policy *load_or_fail(const char *text, const struct policy_cli *cli)
{
	struct rig rig = {0};
	struct policy *policy = NULL;
	int ret = rig_load(&rig, text, cli, &policy);

	ck_assert_msg(ret == 0, "%s", rig.errors.count ? rig.errors.item[0].text : "no memory");
	rig_done(&rig);
	return policy;
}

struct policy *rig_load_good(const char *text)
{
	return load_or_fail(text, NULL);
}

struct policy *rig_load_text(const char *text, const struct policy_cli *cli)
{
	return load_or_fail(rig_quote(text), cli);
}

struct policy *rig_reload(struct policy *policy)
{
	char *shown = policy_make_json(policy), *again;
	struct policy *second;
	struct rig rig = {0};

	ck_assert_ptr_nonnull(shown);
	ck_assert_msg(rig_load(&rig, shown, NULL, &second) == 0, "%s\n%s",
		      rig.errors.count ? rig.errors.item[0].text : "", shown);
	again = policy_make_json(second);
	ck_assert_str_eq(again, shown);
	free(again);
	free(shown);
	policy_free(policy);
	rig_done(&rig);
	return second;
}

struct policy *rig_load_json(const json_t *json)
{
	_cleanup_free_ char *text = json_dumps(json, 0);
	struct rig rig = {0};
	struct policy *policy = NULL;

	if (rig_load(&rig, text, NULL, &policy) < 0)
		policy = NULL;
	rig_done(&rig);
	return policy;
}

char *rig_format_text(const char *text)
{
	struct policy_errors errors = {0};
	char *formatted = NULL;

	ck_assert_msg(policy_format_text("p.json", text, &errors, &formatted) == 0, "%s",
		      errors.count ? errors.item[0].text : "");
	return formatted;
}
