/* Files on files and the command line: what overrides what, what the view gets, what show prints. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "tests/unit/policy/policy-rig.h"
#include "policy/parse/layer-names.h"
#include "policy/network/net.h"
#include "policy/parse/locate.h"
#include "policy/paths/explain.h"
#include "policy/policy.h"
#include "tests/unit/unit.h"

static const struct rig_file files[] = {
	{"base", "{\"name\": \"base\", \"filesystem\": {\"read\": [\"/usr\"], \"write\": [\"@workdir\"], \"redirect\": "
		 "[{\"from\": \"/tmp\","
		 "\"to\": \"@scratch/tmp\"}], \"provide\": {\"/etc/passwd\": {\"from\": \"account:passwd\"}, "
		 "\"/etc/motd\": \"a\"}},"
		 "\"env\": {\"pass\": [\"LANG\", \"LC_*\", \"TZ\"], \"set\": {\"A\": \"1\", \"P\": "
		 "\"@interpreter/bin:@workdir/b:/usr/bin\"}},"
		 "\"limits\": {\"wall\": \"90s\", \"stdout\": \"1K\"}, \"require\": [\"landlock\", \"landlock\"]}"},
	{"mid.json", "{\"extends\": [\"base\"], \"exec\": {\"deny\": [\"**/curl\"]}, \"audit\": {\"allowed\": false, "
		     "\"compact\": true, \"fstat\": true},"
		     "\"require\": [\"namespaces\"]}"},
	{"top.json",
	 "{\"name\": \"top\", \"extends\": [\"mid.json\", \"base\"], \"workdir\": \"/job\", \"filesystem\": "
	 "{\"redirect\":"
	 "[{\"from\": \"/tmp\", \"to\": \"@workdir/.tmp\"}], \"read\": [\"/etc/passwd\"], \"provide\": {\"/etc/motd\": "
	 "\"b\","
	 "\"/usr/x\": {\"from\": \"file:./motd\"}}}, \"env\": {\"set\": {\"TZ\": \"UTC\", \"B\": \"x${SET}y$${Z}\"}, "
	 "\"pass\": [\"A\"]},"
	 "\"limits\": {\"wall\": \"1500ms\", \"stderr\": 7}, \"audit\": {\"file\": \"/var/log/${SET}/a\"}}"},
	{"bounds.json", "{\"limits\": {\"wall\": 90, \"cpu\": \"1.5s\", \"memory\": \"512M\", \"pids\": 64, "
			"\"open_files\": \"256\", \"disk\": \"1G\","
			"\"file_size\": \"100M\", \"stdout\": \"1M\", \"stderr\": 4096, \"audit\": \"2G\"}}"},
	{"fewer.json", "{\"extends\": [\"bounds.json\"], \"limits\": {\"wall\": \"none\", \"memory\": \"none\", "
		       "\"disk\": \"2G\"}, \"process\": {\"max\": 9, \"unix_datagrams\": true}}"},
	{"alike.json", "{\"process\": {\"max\": 9}, \"limits\": {\"pids\": \"9\"}}"},
	{"./motd", "hello\n"},
	{"binary.json", NULL},
	{"a.json", "{\"extends\": [\"b.json\"]}"},
	{"b.json", "{\"extends\": [\"a.json\"]}"},
	{NULL, NULL},
};

static struct policy *load(struct rig *rig, const char *name, const struct policy_cli *cli)
{
	const char *const names[] = {name, NULL};
	struct policy *policy = NULL;
	int ret;

	rig->files = files;
	ret = rig_load_names(rig, names, cli, &policy);
	ck_assert_msg(ret == 0, "%s", rig->errors.count ? rig->errors.item[0].text : strerror(-ret));
	return policy;
}

static struct policy_decision decide(const struct policy *policy, const char *path, unsigned want)
{
	return policy_decide_access(policy, path, strlen(path), want);
}

static const struct policy_mount *mount_at(const struct policy *policy, const char *virt)
{
	size_t count;
	const struct policy_mount *mounts = policy_get_mounts(policy, &count);

	for (size_t i = 0; i < count; i++)
		if (strcmp(mounts[i].virt, virt) == 0)
			return &mounts[i];
	return NULL;
}

static const struct policy_env *env_of(const struct policy *policy, const char *name)
{
	size_t count;
	const struct policy_env *env = policy_get_env(policy, &count);

	for (size_t i = 0; i < count; i++)
		if (strcmp(env[i].name, name) == 0)
			return &env[i];
	return NULL;
}

START_TEST(test_extends)
{
	struct rig rig = {0};
	struct policy *policy = load(&rig, "top.json", NULL);

	ck_assert_str_eq(policy_get_settings(policy)->name, "top");
	ck_assert_str_eq(policy_get_settings(policy)->workdir, "/job");
	ck_assert_uint_eq(policy_get_settings(policy)->limits.wall_ns, 1500000000u);
	ck_assert_uint_eq(policy_get_settings(policy)->limits.stdout_bytes, 1024);
	ck_assert_uint_eq(policy_get_settings(policy)->limits.stderr_bytes, 7);
	ck_assert(!policy_get_settings(policy)->audits_allowed_calls);
	ck_assert(policy_get_settings(policy)->audit_is_compact && policy_get_settings(policy)->audits_fstat);
	/* all that any file asks for */
	ck_assert_uint_eq(policy_get_settings(policy)->required_layers, LAYER_BIT(LAYER_LANDLOCK) | LAYERS_NAMESPACES);
	ck_assert_str_eq(policy_get_settings(policy)->audit_file, "/var/log/srv/set/a");
	ck_assert_str_eq(mount_at(policy, "/tmp")->host_path, "/scratch/run/work/.tmp");
	ck_assert(mount_at(policy, "/tmp")->is_redirect && mount_at(policy, "/tmp")->creates_host_path);
	ck_assert_str_eq(mount_at(policy, "/etc/motd")->provided_text, "b");
	ck_assert_str_eq(mount_at(policy, "/usr/x")->provided_text, "hello\n");
	ck_assert_int_eq(mount_at(policy, "/etc/passwd")->kind, POLICY_MOUNT_TREE);
	ck_assert_int_eq(decide(policy, "/usr/bin/curl", POLICY_READ).error, 0);
	ck_assert_str_eq(decide(policy, "/usr/bin/ls", POLICY_READ).rule, "base: filesystem.read[0] /usr");
	policy_free(policy);
	rig_done(&rig);
}
END_TEST

/* A later file says something else, or "none"; what it does not mention stays. */
START_TEST(test_limits)
{
	const struct policy_limits all = {.wall_ns = 90000000000,
					  .stdout_bytes = 1 << 20,
					  .stderr_bytes = 4096,
					  .cpu_ns = 1500000000,
					  .memory_bytes = 512u << 20,
					  .pids = 64,
					  .open_files = 256,
					  .file_size_bytes = 100u << 20,
					  .disk_bytes = 1u << 30,
					  .audit_log_bytes = 2ull << 30};
	struct policy_limits fewer = all;
	struct rig rig = {0}, other = {0}, third = {0};
	struct policy *policy = load(&rig, "bounds.json", NULL);

	ck_assert_mem_eq(&policy_get_settings(policy)->limits, &all, sizeof(all));
	ck_assert(!policy_get_settings(policy)->allows_unix_datagrams);
	policy_free(policy);
	fewer.wall_ns = fewer.memory_bytes = 0;
	fewer.disk_bytes = 2ull << 30;
	fewer.pids = 9;
	policy = load(&other, "fewer.json", NULL);
	ck_assert_mem_eq(&policy_get_settings(policy)->limits, &fewer, sizeof(fewer));
	ck_assert(policy_get_settings(policy)->allows_unix_datagrams);
	policy_free(policy);
	policy = load(&third, "alike.json", NULL);
	ck_assert_uint_eq(policy_get_settings(policy)->limits.pids, 9);
	policy_free(policy);
	rig_done(&rig);
	rig_done(&other);
	rig_done(&third);
}
END_TEST

START_TEST(test_environment)
{
	struct rig rig = {0};
	struct policy *policy = load(&rig, "top.json", NULL);

	ck_assert_ptr_null(env_of(policy, "A")->value);
	ck_assert_str_eq(env_of(policy, "TZ")->value, "UTC");
	ck_assert_str_eq(env_of(policy, "B")->value, "x/srv/sety${Z}");
	ck_assert_str_eq(env_of(policy, "P")->value, "/opt/venv/bin:/opt/py/bin:/job/b:/usr/bin");
	ck_assert(policy_env_passes_variable(policy, "LANG") && policy_env_passes_variable(policy, "LC_ALL") &&
		  policy_env_passes_variable(policy, "A"));
	ck_assert(!policy_env_passes_variable(policy, "TZ") && !policy_env_passes_variable(policy, "LANGUAGE") &&
		  !policy_env_passes_variable(policy, "LC"));
	policy_free(policy);
	rig_done(&rig);
}
END_TEST

START_TEST(test_command_line)
{
	static const char *const reads[] = {"/etc/motd", "/srv/*.csv", NULL}, *const writes[] = {"/tmp", NULL};
	static const char *const execs[] = {"/bin/sh", NULL}, *const envs[] = {"A=${x}", "TERM", "Q=", NULL};
	const struct policy_cli cli = {.read = reads,
				       .write = writes,
				       .exec = execs,
				       .env = envs,
				       .limits = {.wall_ns = 5, .stdout_bytes = 9, .pids = 7, .memory_bytes = 3},
				       .given_limits_mask = POLICY_LIMIT_BIT(POLICY_LIMIT_WALL) |
							    POLICY_LIMIT_BIT(POLICY_LIMIT_PIDS) |
							    POLICY_LIMIT_BIT(POLICY_LIMIT_STDOUT),
				       .required_layers = LAYER_BIT(LAYER_CGROUPS)};
	struct rig rig = {0};
	struct policy *policy = load(&rig, "base", &cli);

	ck_assert_int_eq(mount_at(policy, "/etc/motd")->kind, POLICY_MOUNT_TREE);
	ck_assert(!mount_at(policy, "/tmp")->is_redirect);
	ck_assert_str_eq(decide(policy, "/usr/bin/sh", POLICY_EXEC).rule, "command line: -x /bin/sh");
	ck_assert_str_eq(decide(policy, "/tmp/x", POLICY_WRITE).rule, "command line: -W /tmp");
	ck_assert_str_eq(env_of(policy, "A")->value, "${x}"); /* the shell has had its turn */
	ck_assert_str_eq(env_of(policy, "Q")->value, "");
	ck_assert(policy_env_passes_variable(policy, "TERM"));
	ck_assert_uint_eq(policy_get_settings(policy)->limits.wall_ns, 5);
	ck_assert_uint_eq(policy_get_settings(policy)->limits.stdout_bytes, 9);
	ck_assert_uint_eq(policy_get_settings(policy)->limits.pids, 7);
	ck_assert_uint_eq(policy_get_settings(policy)->limits.memory_bytes, 0); /* not among those given */
	ck_assert_uint_eq(policy_get_settings(policy)->required_layers,
			  LAYER_BIT(LAYER_LANDLOCK) | LAYER_BIT(LAYER_CGROUPS));
	ck_assert_str_eq(policy_get_settings(policy)->name, "base");
	policy_free(policy);
	rig_done(&rig);
}
END_TEST

START_TEST(test_bad_command_line)
{
	static const char *const names[] = {"base", NULL}, *const reads[] = {"", "rel", NULL},
				 *const envs[] = {"=x", "A*=1", NULL};
	const struct policy_cli bad_env = {.env = envs}, bad_read = {.read = reads};
	static const char *const relative[] = {"rel", NULL};
	const struct policy_cli bad_path = {.read = relative};
	struct rig rig = {.files = files};
	struct policy *policy;

	ck_assert_int_eq(rig_load_names(&rig, names, &bad_env, &policy), -EINVAL);
	ck_assert_uint_eq(rig.errors.count, 2);
	rig_done(&rig);
	ck_assert_int_eq(rig_load_names(&rig, names, &bad_read, &policy), -EINVAL);
	ck_assert_ptr_nonnull(strstr(rig.errors.item[0].text, "command line: -r: must not be empty"));
	rig_done(&rig);
	ck_assert_int_eq(rig_load_names(&rig, names, &bad_path, &policy), -EINVAL);
	ck_assert_ptr_nonnull(strstr(rig.errors.item[0].text, "command line: -r: \"rel\" is relative"));
	rig_done(&rig);
}
END_TEST

START_TEST(test_bad_files)
{
	static const char *const names[][2] = {{"a.json", NULL}, {"binary.json", NULL}, {"nope", NULL}};
	static const char *const messages[] = {"b.json:1: extends[0]: \"a.json\" extends itself in a circle",
					       "NUL byte", "no profile"};

	for (size_t i = 0; i < 3; i++) {
		struct rig rig = {.files = files};
		struct policy *policy;

		ck_assert_int_eq(rig_load_names(&rig, names[i], NULL, &policy), -EINVAL);
		ck_assert_msg(strstr(rig.errors.item[0].text, messages[i]) != NULL, "%s", rig.errors.item[0].text);
		rig_done(&rig);
	}
}
END_TEST

/* Shown, read, shown again: the same text, the same digest. */
START_TEST(test_show_is_a_fixed_point)
{
	static const char *const names[] = {"top.json", "mid.json", "base"};

	for (size_t i = 0; i < 3; i++) {
		struct rig rig = {0}, other = {0};
		struct policy *policy = load(&rig, names[i], NULL), *again = NULL;
		char *shown = policy_make_json(policy), *twice;
		int ret = rig_load(&other, shown, NULL, &again);

		ck_assert_msg(ret == 0, "%s: %s", shown, other.errors.count ? other.errors.item[0].text : "");
		twice = policy_make_json(again);
		ck_assert_str_eq(shown, twice);
		ck_assert_str_eq(policy_get_settings(policy)->sha256, "");
		ck_assert_int_eq(policy_compute_sha256(policy), 0);
		ck_assert_int_eq(policy_compute_sha256(again), 0);
		ck_assert_str_eq(policy_get_settings(policy)->sha256, policy_get_settings(again)->sha256);
		ck_assert_uint_eq(policy_get_settings(policy)->required_layers,
				  policy_get_settings(again)->required_layers);
		ck_assert_uint_eq(strlen(policy_get_settings(policy)->sha256), 64);
		free(shown);
		free(twice);
		policy_free(policy);
		policy_free(again);
		rig_done(&rig);
		rig_done(&other);
	}
}
END_TEST

static const char explained[] =
	"{\"filesystem\": {\"read\": [\"/usr\", {\"path\": \"/usr\", \"because\": \"libraries\"},"
	"{\"path\": \"/etc/ssl\", \"because\": \"TLS\", "
	"\"also_grants\": {\"count\": 3, \"names\": [\"/etc/ssl/private\"]}},"
	"{\"path\": \"/etc/ssl\", \"because\": \"second\"}, {\"path\": \"/bare\"},"
	"{\"path\": \"/etc/shadow\", \"disabled\": \"a secret\"}, {\"path\": \"${NOPE}\", \"disabled\": \"unset\"}],"
	"\"deny\": [{\"path\": \"**/.env\", \"because\": \"tokens\"},"
	" {\"path\": \"/usr\", \"disabled\": \"too much\"}],"
	"\"decoy\": [{\"path\": \"/home/u/.netrc\", \"because\": \"bait\"}],"
	"\"redirect\": [{\"from\": \"/tmp\", \"to\": \"@scratch/t\", \"because\": \"room\"},"
	"{\"from\": \"/tmp\", \"to\": \"@scratch/u\", \"disabled\": \"twice\"}]},"
	"\"exec\": {\"deny\": [{\"path\": \"**/curl\", \"disabled\": \"needed\"}]},"
	"\"network\": {\"allow\": [{\"host\": \"a.test\"}, {\"host\": \"b.test\", \"disabled\": \"not yet\"}],"
	"\"deny\": [{\"host\": \"a.test\", \"disabled\": \"no longer\"}]}}";

static const char *rule_at(const struct policy *policy, const char *path, unsigned want)
{
	struct policy_decision decision = policy_decide_access(policy, path, strlen(path), want);

	return decision.rule ? decision.rule : "none";
}

/* Rules as objects: their reasons are shown, disabled ones do nothing, and their numbers are those of the file. */
START_TEST(test_rules_as_objects)
{
	static const char *const kept[] = {"libraries", "TLS", "tokens", "bait", "room"};
	static const char *const dropped[] = {"second", "disabled", "also_grants"};
	struct rig rig = {0};
	struct policy *policy = NULL, *again = NULL;
	char *shown, *second;

	ck_assert_msg(rig_load(&rig, explained, NULL, &policy) == 0, "%s",
		      rig.errors.count ? rig.errors.item[0].text : "");
	ck_assert_str_eq(rule_at(policy, "/etc/ssl/a", POLICY_READ), "p.json: filesystem.read[2] /etc/ssl");
	ck_assert_str_eq(rule_at(policy, "/bare", POLICY_READ), "p.json: filesystem.read[4] /bare");
	ck_assert_str_eq(rule_at(policy, "/etc/shadow", POLICY_READ), "none");
	ck_assert_str_eq(rule_at(policy, "/usr/.env", POLICY_READ), "p.json: filesystem.deny[0] **/.env");
	ck_assert_int_eq(policy_decide_access(policy, "/tmp/a", 6, POLICY_WRITE).verdict, VERDICT_REDIRECT);
	ck_assert(policy_net_judge_connect(policy, "a.test", 443, false).is_allowed);
	ck_assert(!policy_net_judge_connect(policy, "b.test", 443, false).is_allowed);
	shown = policy_make_json(policy);
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		ck_assert_msg(strstr(shown, kept[i]) != NULL, "no %s in %s", kept[i], shown);
	for (size_t i = 0; i < sizeof(dropped) / sizeof(dropped[0]); i++)
		ck_assert_msg(strstr(shown, dropped[i]) == NULL, "%s in %s", dropped[i], shown);
	ck_assert_msg(rig_load(&rig, shown, NULL, &again) == 0, "%s",
		      rig.errors.count ? rig.errors.item[0].text : "");
	second = policy_make_json(again);
	ck_assert_str_eq(shown, second);
	free(shown);
	free(second);
	policy_free(policy);
	policy_free(again);
	rig_done(&rig);
}
END_TEST

START_TEST(test_mounts)
{
	struct rig rig = {0};
	struct policy *policy;
	const struct policy_mount *mounts;
	size_t count;

	ck_assert_int_eq(rig_load(&rig,
				  "{\"filesystem\": {\"read\": [\"/usr\", \"/usr/share\", \"/usr/lib/*.so\", \"/a-b\", "
				  "\"/a/b\", \"/a\","
				  "\"/lib\", \"/q/*.txt\", \"/missing\"], \"write\": [\"@workdir\", \"@workdir/sub\", "
				  "\"/usr/local\"],"
				  "\"redirect\": [{\"from\": \"/usr/tmp\", \"to\": \"@scratch/t\"}]}}",
				  NULL, &policy),
			 0);
	mounts = policy_get_mounts(policy, &count);
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
			ck_assert_msg(strncmp(mounts[j].virt, mounts[i].virt, strlen(mounts[i].virt)) != 0 ||
					      mounts[j].virt[strlen(mounts[i].virt)] != '/',
				      "%s after %s", mounts[i].virt, mounts[j].virt);
	ck_assert_ptr_nonnull(mount_at(policy, "/usr"));
	ck_assert_ptr_null(mount_at(policy, "/usr/share"));
	ck_assert_ptr_null(mount_at(policy, "/usr/local"));
	ck_assert_ptr_null(mount_at(policy, "/a/b"));
	ck_assert_ptr_null(mount_at(policy, "/missing"));
	ck_assert_ptr_null(mount_at(policy, "/work/sub"));
	ck_assert_ptr_nonnull(mount_at(policy, "/a-b"));
	ck_assert(mount_at(policy, "/q")->is_granted_by_globs_only &&
		  !mount_at(policy, "/usr")->is_granted_by_globs_only);
	ck_assert(mount_at(policy, "/work")->creates_host_path && !mount_at(policy, "/usr")->creates_host_path);
	ck_assert_str_eq(mount_at(policy, "/work")->host_path, "/scratch/run/work");
	ck_assert_str_eq(mount_at(policy, "/usr/tmp")->host_path, "/scratch/run/t");
	ck_assert_ptr_null(mount_at(policy, "/usr/lib")); /* granted as /lib, which stays a link */
	policy_free(policy);
	rig_done(&rig);
}
END_TEST

START_TEST(test_links)
{
	struct rig rig = {0};
	struct policy *policy;
	const struct policy_link *links;
	char out[PATH_MAX];
	size_t count;

	ck_assert_int_eq(rig_load(&rig,
				  "{\"filesystem\": {\"read\": [\"/usr\", \"/lib/x86_64/libc.so\", \"/home/u/link\", "
				  "\"/lib/y/*.so\"],"
				  "\"provide\": {\"/bin/hi\": \"\"}}}", NULL, &policy), 0);
	links = policy_get_links(policy, &count);
	ck_assert_uint_eq(count, 3);
	for (size_t i = 0; i < count; i++)
		ck_assert(strcmp(links[i].path, "/lib") == 0 ? strcmp(links[i].target, "/usr/lib") == 0 :
			  strcmp(links[i].path, "/bin") == 0 ? strcmp(links[i].target, "/usr/bin") == 0 :
			  strcmp(links[i].path, "/home/u/link") == 0 && strcmp(links[i].target, "/srv/target") == 0);
	ck_assert_int_eq(policy_follow_links(policy, "/lib/z", out), 10);
	ck_assert_str_eq(out, "/usr/lib/z");
	ck_assert_int_eq(policy_map_to_host(policy, "/usr/lib/z", out), 10);
	ck_assert_int_eq(policy_map_to_host(policy, "/usr/bin/hi", out), -ENOENT);
	ck_assert_ptr_null(policy_find_mount(policy, "/nowhere"));
	policy_free(policy);
	rig_done(&rig);
}
END_TEST

static mode_t denial_get_host_file_type(void *ctx, const char *path)
{
	(void)ctx;
	if (strstr(path, "missing"))
		return 0;
	return strstr(path, "dir") || strcmp(path, "/") == 0 ? S_IFDIR : S_IFREG;
}

static const struct {
	const char *path;
	unsigned want;
	const char *grant; /* NULL: nothing is suggested */
} narrows[] = {
	{"/srv/x", POLICY_READ, "/srv/x"},
	{"/srv/dir/missing", POLICY_READ, "/srv/dir"},
	{"/srv/dir/missing/x", POLICY_WRITE, "/srv/dir"},
	{"/missing", POLICY_READ, NULL},
	{"/", POLICY_READ, NULL},
	{"/etc", POLICY_READ, NULL},
	{"/etc/missing", POLICY_READ, NULL},
	{"/etc/motd", POLICY_READ, "/etc/motd"},
	{"/etc/motd", POLICY_WRITE, NULL},
	{"/etc/shadow", POLICY_READ, NULL},
	{"/etc/ssl/private/key.pem", POLICY_READ, NULL},
	{"/run", POLICY_READ, NULL},
	{"/run/docker.sock", POLICY_WRITE, NULL},
	{"/home/u", POLICY_READ, NULL},
	{"/home/u/.config", POLICY_READ, NULL},
	{"/home/u/missing", POLICY_READ, NULL},
	{"/home/u/dir/missing", POLICY_READ, "/home/u/dir"},
	{"/home/u/.ssh/missing", POLICY_READ, NULL},
	{"/home/u/dir/.env", POLICY_READ, NULL},
	{"/far/home", POLICY_READ, NULL},
	{"/far/home/x", POLICY_READ, "/far/home/x"},
	{"/dev/sda", POLICY_READ, NULL},
	{"/usr/bin/cc", POLICY_EXEC, "/usr/bin/cc"},
	{"/usr/dir", POLICY_EXEC, NULL},
	{"/usr/bin/missing", POLICY_EXEC, NULL},
};

START_TEST(test_narrow)
{
	const struct suggest_host host = {.home = "/far/home", .type = denial_get_host_file_type};
	char path[PATH_MAX];
	const char *why;

	(void)snprintf(path, sizeof(path), "%s", narrows[_i].path);
	why = suggest_shorten_path(&host, path, narrows[_i].want);
	ck_assert_msg(!why == (narrows[_i].grant != NULL), "%s: %s", narrows[_i].path, why ? why : "suggested");
	if (!why)
		ck_assert_str_eq(path, narrows[_i].grant);
}
END_TEST

START_TEST(test_suggest)
{
	const struct suggest_host host = {.type = denial_get_host_file_type};
	char *why = NULL;
	struct rig rig = {0};
	struct policy *policy = load(&rig, "base", NULL);
	struct policy_decision decision = decide(policy, "/srv/x", POLICY_WRITE);
	char *text = policy_suggest_grant(&decision, &host, "/srv/it's", POLICY_WRITE, &why);

	ck_assert_str_eq(text, "-W '/srv/it'\\''s', or in a policy {\"version\": 1, "
			       "\"filesystem\": {\"write\": [\"/srv/it's\"]}}");
	free(text);
	ck_assert_ptr_null(policy_suggest_grant(&decision, &host, "/etc", POLICY_WRITE, &why));
	ck_assert_ptr_nonnull(why);
	free(why);
	why = NULL;
	decision = decide(policy, "/usr/x", POLICY_READ);
	ck_assert_ptr_null(policy_suggest_grant(&decision, &host, "/usr/x", POLICY_READ, &why));
	ck_assert_ptr_null(why);
	policy_free(policy);
	rig_done(&rig);
}
END_TEST

START_TEST(test_decoys_differ)
{
	struct rig rig = {0};
	struct policy *policy;

	ck_assert_int_eq(rig_load(&rig,
				  "{\"filesystem\": {\"decoy\": [\"~/.aws/credentials\", \"/a/id_rsa\", \"/b/id_rsa\", "
				  "\"/c/.env\", \"/d/any\"]}}",
				  NULL, &policy),
			 0);
	ck_assert_ptr_nonnull(
		strstr(mount_at(policy, "/home/u/.aws/credentials")->provided_text, "aws_secret_access_key = "));
	ck_assert_ptr_nonnull(
		strstr(mount_at(policy, "/a/id_rsa")->provided_text, "-----END OPENSSH PRIVATE KEY-----"));
	ck_assert_str_ne(mount_at(policy, "/a/id_rsa")->provided_text, mount_at(policy, "/b/id_rsa")->provided_text);
	ck_assert_uint_gt(mount_at(policy, "/d/any")->provided_text_len, 20);
	policy_free(policy);
	rig_done(&rig);
}
END_TEST

/* Each kind looks like a file of that name. */
START_TEST(test_decoy_kinds)
{
	static const struct {
		const char *path, *begin, *part;
	} kinds[] = {
		{"/h/.aws/credentials", "[default]\n", "aws_access_key_id = AKIA"},
		{"/h/.aws/config", "[default]\n", "region = "},
		{"/h/.kube/config", "apiVersion: v1\n", "users:\n"},
		{"/h/.docker/config.json", "{\"auths\": {", "\"auth\": \""},
		{"/h/.cargo/credentials.toml", "[registry]\n", "token = \"cio"},
		{"/h/.config/gcloud/application_default_credentials.json", "{\n", "\"refresh_token\": \"1//0"},
		{"/h/.ssh/id_ed25519", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA", "-----END"},
		{"/h/.ssh/id_ed25519.pub", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI", " ci@build\n"},
		{"/etc/shadow", "root:$6$", ":0:99999:7:::\n"},
		{"/h/server.pem", "-----BEGIN PRIVATE KEY-----\n", "-----END PRIVATE KEY-----\n"},
		{"/h/.env", "DATABASE_URL=", "API_TOKEN="},
		{"/h/.env.production", "DATABASE_URL=", "API_TOKEN="},
		{"/h/.pgpass", "db.internal:5432:", ":"},
		{"/h/.my.cnf", "[client]\n", "password = "},
		{"/h/.netrc", "machine ", " password "},
		{"/h/.npmrc", "//registry.npmjs.org/", "_authToken=npm_"},
		{"/h/.pypirc", "[pypi]\n", "pypi-AgEI"},
		{"/h/.vault-token", "hvs.", "\n"},
		{"/h/.config/gh/hosts.yml", "github.com:\n", "oauth_token: gho_"},
		{"/h/.bash_history", "cd ", "AWS_SECRET_ACCESS_KEY="},
		{"/h/.git-credentials", "https://ci:ghp_", "@github.com\n"},
		{"/h/service.json", "{\"token\": \"", "\"}"},
		{"/h/config", "token = ", "\n"},
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct rig rig = {0};
		struct policy *policy = NULL;
		char *text = NULL;
		const char *content;

		ck_assert_int_gt(asprintf(&text, "{\"filesystem\": {\"decoy\": [\"%s\"]}}", kinds[i].path), 0);
		ck_assert_int_eq(rig_load(&rig, text, NULL, &policy), 0);
		content = mount_at(policy, kinds[i].path)->provided_text;
		ck_assert_msg(strncmp(content, kinds[i].begin, strlen(kinds[i].begin)) == 0, "%s", content);
		ck_assert_msg(strstr(content, kinds[i].part) && !strchr(content, '<'), "%s", content);
		free(text);
		policy_free(policy);
		rig_done(&rig);
	}
}
END_TEST

START_TEST(test_lines)
{
	static const char text[] = "{\n \"a\": {\"x\": [1, {\"}\": \"]\\\"\"}, -2.5e3, true],\n \"\\u0062\\/\": "
				   "null,\n\n \"c\": [\n[],\n\"z\"]}}";
	const struct json_path cases[] = {
		{{{"a", 0}, {"x", 0}}, 2},
		{{{"a", 0}, {"b/", 1}}, 2},
		{{{"a", 0}, {"c", 2}, {NULL, 1}}, 3},
		{{{"nope", 9}}, 1},
		{{{"a", 0}, {"x", 0}, {NULL, 9}}, 3},
		{{{"a", 0}, {"x", 0}, {NULL, 2}, {NULL, 0}}, 4},
		{{{"a", 0}, {"c", 2}, {NULL, 0}}, 3},
		{{{"a", 0}, {"c", 2}}, 2},
		{{{"a", 0}, {"nope", 3}}, 2},
	};
	static const unsigned lines[] = {2, 3, 7, 1, 2, 2, 6, 5, 2};
	char out[64];

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct json_last_line_search memo = {.found_item = NULL};

		/* whatever was looked for before */
		for (size_t j = 0; j < sizeof(lines) / sizeof(lines[0]); j++) {
			ck_assert_uint_eq(locate_find_line(text, &cases[i], &memo), lines[i]);
			ck_assert_uint_eq(locate_find_line(text, &cases[j], &memo), lines[j]);
		}
	}
	locate_print_path(&cases[1], out, sizeof(out));
	ck_assert_str_eq(out, "a[\"b/\"]");
	locate_print_path(&cases[2], out, sizeof(out));
	ck_assert_str_eq(out, "a.c[1]");
	locate_print_path(&cases[2], out, 4);
	ck_assert_uint_lt(strlen(out), 4);
}
END_TEST

/* 40 rules, a path six names deep: generous, because the machine that tests is busy; alone it takes some 50 ns. */
START_TEST(test_quick)
{
	char text[8192] = "{\"filesystem\": {\"read\": [\"/usr/lib\"";
	static const char path[] = "/usr/lib/python3/dist-packages/pandas/core/frame.py";
	size_t len = strlen(text);
	struct rig rig = {0};
	struct policy *policy;
	struct timespec begin, end;
	double best = 1e9;
	int errors = 0;

	for (unsigned i = 0; i < 34; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, ", \"/usr/share/%u\"", i);
	(void)snprintf(text + len, sizeof(text) - len,
		       "], \"deny\": [\"**/.env\", \"**/.git\", \"**/*.pem\", \"~/.ssh\", \"**/id_*\"]}}");
	ck_assert_int_eq(rig_load(&rig, text, NULL, &policy), 0);
	for (unsigned round = 0; round < 20; round++) {
		double ns;

		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
		for (unsigned i = 0; i < 10000; i++)
			errors |= policy_decide_access(policy, path, sizeof(path) - 1, POLICY_READ).error;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
		ns = ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / 10000;
		best = ns < best ? ns : best;
	}
	printf("policy_decide_access: %.0f ns\n", best);
	ck_assert_int_eq(errors, 0);
	if (!getenv("CALLGATE_SLOW")) /* under valgrind, or emulated */
		ck_assert_double_lt(best, 5000);
	policy_free(policy);
	rig_done(&rig);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("policy compose");
	TCase *tcase = tcase_create("compose");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, test_extends);
	tcase_add_test(tcase, test_limits);
	tcase_add_test(tcase, test_environment);
	tcase_add_test(tcase, test_command_line);
	tcase_add_test(tcase, test_bad_command_line);
	tcase_add_test(tcase, test_bad_files);
	tcase_add_test(tcase, test_show_is_a_fixed_point);
	tcase_add_test(tcase, test_rules_as_objects);
	tcase_add_test(tcase, test_mounts);
	tcase_add_test(tcase, test_links);
	tcase_add_loop_test(tcase, test_narrow, 0, sizeof(narrows) / sizeof(narrows[0]));
	tcase_add_test(tcase, test_suggest);
	tcase_add_test(tcase, test_decoys_differ);
	tcase_add_test(tcase, test_decoy_kinds);
	tcase_add_test(tcase, test_lines);
	tcase_add_test(tcase, test_quick);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
