/*
 * Policy text, as a user or an agent may hand it over. Input: a policy, and behind a 0xff byte one that `extends` may
 * name. What compiles must print as a policy that compiles to the same text and decides the same.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/network/net.h"
#include "policy/parse/load.h"
#include "policy/policy.h"
#include "tests/fuzz/fuzz.h"

struct input {
	const char *text[2];
	size_t len[2];
	const char *shown; /* instead, in the second round */
};

static char *copy(const char *text, size_t len)
{
	char *owned = malloc(len + 1);

	promise(owned != NULL);
	memcpy(owned, text, len);
	owned[len] = '\0';
	return owned;
}

static int fake_load(void *ctx, const char *name, const char *from, char **ret_text, char **ret_path)
{
	const struct input *input = ctx;
	const char *text = input->text[from != NULL];
	size_t len = input->len[from != NULL];

	if (from && strlen(name) > 64)
		return -ENOENT;
	if (input->shown) {
		text = input->shown;
		len = strlen(text);
	}
	if (!text)
		return -ENOENT;
	if (memchr(text, '\0', len))
		return -EILSEQ;
	*ret_text = copy(text, len);
	*ret_path = copy(name, strlen(name));
	return 0;
}

/* A host in which every name exists and /lib is a link. */
static char *fake_realpath(void *ctx, const char *path)
{
	(void)ctx;
	if (strncmp(path, "/absent", 7) == 0)
		return NULL;
	return strncmp(path, "/lib", 5) == 0 ? copy("/usr/lib", 8) : copy(path, strlen(path));
}

static const char *const *fake_interpreter(void *ctx)
{
	static const char *const roots[] = {"/usr/bin/python3", "/usr/lib/python3", NULL};

	(void)ctx;
	return roots;
}

static const char *fake_env(void *ctx, const char *name)
{
	(void)ctx;
	return strcmp(name, "HOME") == 0 ? "/home/user" : NULL;
}

static struct policy *load(struct input *input)
{
	static const char *const names[] = {"fuzz.json", NULL}, *const none[] = {NULL};
	const struct policy_cli cli = {.read = none, .write = none, .exec = none, .env = none};
	const struct policy_host host = {
		.ctx = input,
		.load = fake_load,
		.realpath = fake_realpath,
		.interpreter = fake_interpreter,
		.env = fake_env,
		.home = "/home/user",
		.workdir = "/tmp/run/work",
		.workdir_virt_default = "/work",
		.scratch_path = "/tmp/run",
	};
	struct policy_errors errors = {0};
	struct policy *policy = NULL;
	int err = policy_load(names, &cli, &host, &policy, &errors);

	if (err < 0 && err != -EINVAL)
		(void)fprintf(stderr, "policy_load: %s\n", strerror(-err));
	promise(err == 0 || (err == -EINVAL && errors.count > 0 && !policy));
	for (size_t i = 0; i < errors.count; i++)
		promise(errors.item[i].text[0] && memchr(errors.item[i].text, '\0', sizeof(errors.item[i].text)));
	policy_errors_release(&errors);
	return policy;
}

/* Both answer every question alike. */
static void compare(const struct policy *a, const struct policy *b)
{
	static const char *const paths[] = {"/", "/usr", "/usr/bin/python3", "/work", "/work/a/b.csv", "/work/.env",
					    "/etc/passwd", "/tmp", "/tmp/x", "/home/user/.ssh/id", "/data/x"};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		size_t len = strlen(paths[i]);

		promise(policy_get_rights(a, paths[i], len) == policy_get_rights(b, paths[i], len));
		promise(policy_may_grant_below(a, paths[i], len) == policy_may_grant_below(b, paths[i], len));
		for (unsigned want = 1; want < 8; want++) {
			struct policy_decision one = policy_decide_access(a, paths[i], len, want);
			struct policy_decision two = policy_decide_access(b, paths[i], len, want);

			promise(one.verdict == two.verdict && one.error == two.error);
			promise(one.verdict != VERDICT_DENY || (one.error > 0 && one.reason));
		}
	}
}

static void same_verdict(struct net_verdict one, struct net_verdict two)
{
	promise(one.is_allowed == two.is_allowed && strcmp(one.reason, two.reason) == 0);
	promise(one.is_allowed == (strcmp(one.reason, "granted") == 0));
}

static void compare_network(const struct policy *a, const struct policy *b)
{
	static const char *const hosts[] = {
		"api.test.example",        "a.test",   "b.test", "x.c.test", "db.test", "evil.example", "x.w.example",
		"a.xn--bcher-kva.example", "10.0.0.1", "::1"};
	static const unsigned ports[] = {0, 1, 22, 53, 80, 443, 5432, 8000, 8443, 65535};
	static const char *const targets[] = {"/", "/a", "/chat", "/repos/a/x/b"};

	promise(policy_net_is_enabled(a) == policy_net_is_enabled(b));
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		same_verdict(policy_net_judge_name(a, hosts[i]), policy_net_judge_name(b, hosts[i]));
		for (size_t j = 0; j < sizeof(ports) / sizeof(ports[0]); j++) {
			same_verdict(policy_net_judge_listen(a, ports[j]), policy_net_judge_listen(b, ports[j]));
			promise(policy_net_intercepts_tls(a, hosts[i], ports[j]) ==
				policy_net_intercepts_tls(b, hosts[i], ports[j]));
			for (unsigned k = 0; k < 8; k++) {
				same_verdict(policy_net_judge_connect(a, hosts[i], ports[j], k % 2),
					     policy_net_judge_connect(b, hosts[i], ports[j], k % 2));
				same_verdict(policy_net_judge_request(a, hosts[i], ports[j], k % 2 ? "GET" : "POST",
								targets[k / 2], k % 3 == 0),
					     policy_net_judge_request(b, hosts[i], ports[j], k % 2 ? "GET" : "POST",
								targets[k / 2], k % 3 == 0));
			}
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {.text = {(const char *)data}, .len = {size}};
	const uint8_t *split = size ? memchr(data, 0xff, size) : NULL;
	struct policy *policy, *again;
	char *shown;

	if (split) {
		input.len[0] = (size_t)(split - data);
		input.text[1] = (const char *)split + 1;
		input.len[1] = size - input.len[0] - 1;
	}
	policy = load(&input);
	if (!policy)
		return 0;
	shown = policy_make_json(policy);
	promise(shown != NULL);
	input.shown = shown;
	again = load(&input);
	promise(again != NULL);
	compare(policy, again);
	compare_network(policy, again);
	policy_free(again);
	policy_free(policy);
	free(shown);
	return 0;
}
