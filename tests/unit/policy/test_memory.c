/*
 * Every allocation fails once: what loads, shows, compares and formats policies then says that memory ran out, and
 * neither crashes nor gives another answer. The linker leads the allocations of the sources here (--wrap).
 */
#include <check.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "policy/diff/diff.h"
#include "policy/network/pack.h"
#include "policy/parse/format.h"
#include "tests/unit/policy/policy-rig.h"
#include "tests/unit/unit.h"

/* Allocations until the one that fails; negative: none fails. */
static long left = -1;

static bool fails(void)
{
	return left >= 0 && left-- == 0;
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size)
{
	return fails() ? NULL : __real_realloc(memory, size);
}

void *__real_arena_alloc(struct arena *arena, size_t size);
void *__wrap_arena_alloc(struct arena *arena, size_t size);
void *__wrap_arena_alloc(struct arena *arena, size_t size)
{
	return fails() ? arena_fail_no_memory(arena) : __real_arena_alloc(arena, size);
}

void *__real_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	return fails() ? MAP_FAILED : __real_mmap(at, size, prot, flags, fd, offset);
}

/* For jansson, which is a library of its own. */
static void *allocate(size_t size)
{
	return fails() ? NULL : malloc(size);
}

/* A bit of everything. */
static const struct rig_file files[] = {
	{"base", "{\"name\": \"base\", \"filesystem\": {\"read\": [\"/usr\", \"@interpreter/lib/*.so\"], \"write\": "
		 "[\"@workdir\"], \"redirect\": [{\"from\": \"/tmp\", \"to\": \"@scratch/tmp\","
		 "\"because\": \"room\"}],"
		 "\"provide\": {\"/etc/passwd\": {\"from\": \"account:passwd\"}, \"/etc/motd\": \"a\"}},"
		 "\"env\": {\"pass\": [\"LANG\", \"LC_*\"], \"set\": {\"A\": \"x${SET}y\", \"P\": "
		 "\"@interpreter/bin:@workdir/b\"}}, \"limits\": {\"wall\": \"90s\"}, \"require\": [\"landlock\"]}"},
	{"top.json",
	 "{\"extends\": [\"base\"], \"workdir\": \"/job\", \"user\": \"1:2\", \"filesystem\": {\"read\": [\"/lib\", "
	 "{\"path\": \"${SET}/x\", \"because\": \"why\"}], \"deny\": [\"**/.env\", \"@workdir/.git\", \"/d/**/k*\"],"
	 "\"public\": [\"/etc\"], \"private\": [\"/etc/shadow\", \"/etc/*.key\"], \"decoy\": [\"~/.aws/credentials\"],"
	 "\"exec\": [\"/usr/bin/py*\"], \"redirect\": [{\"from\": \"/mnt\", \"to\": \"/usr/share\"}]},"
	 "\"exec\": {\"deny\": [\"**/curl\"]}, \"audit\": {\"file\": \"/var/log/a\", \"compact\": true},"
	 "\"network\": {\"allow\": [{\"host\": \"api.test\", \"http\": [\"GET,POST /a/**\", \"WEBSOCKET /w\"],"
	 "\"credential\": {\"header\": \"Authorization\", \"value\": \"Bearer {T}\"}, \"max_requests\": 3},"
	 "{\"host\": \"**.b.test\", \"port\": [80, 8080], \"proto\": \"http\", \"reason\": \"r\"},"
	 "{\"host\": \"db.test\", \"port\": 53, \"proto\": \"udp\", \"private\": true}],"
	 "\"deny\": [{\"host\": \"x.b.test\", \"port\": [80], \"reason\": \"no\"}], \"listen\": [8000, \"9000-9010\"],"
	 "\"resolve\": {\"db.test\": [\"10.0.0.1\"]}, \"proxy\": \"env\", \"pool\": {\"v4\": \"198.18.0.0/16\"}},"
	 "\"secrets\": {\"T\": {\"from\": \"env:T\", \"hosts\": [\"api.test\"]}},"
	 "\"phases\": {\"setup\": {\"network\": {\"allow\": [{\"host\": \"pypi.test\"}]}}}}"},
	{"bad.json", "{\"filesystem\": {\"read\": [\"a\", \"${NOPE}\", \"/a/../b\"]}, \"limits\": {\"wall\": \"x\"}}"},
	{NULL, NULL},
};

static const char *const top[] = {"top.json", NULL};
static const char *const option[] = {"/opt", NULL}, *const variable[] = {"E=1", NULL};
static const char *const host[] = {"c.test", NULL};
static const char *const request[] = {"GET d.test/x", NULL}, *const secret[] = {"S@c.test", NULL};
static const char *const listen[] = {"7000", NULL};
static const struct policy_cli cli = {.read = option, .env = variable, .allow_host = host, .allow_request = request,
				      .secret = secret, .listen = listen};

static struct policy *loaded, *other; /* without any failure */

static int load(void)
{
	struct rig rig = {.files = files};
	struct policy *policy = NULL;
	int ret = rig_load_names(&rig, top, &cli, &policy);

	ck_assert((ret == 0) == (policy != NULL));
	policy_free(policy);
	rig_done(&rig);
	return ret;
}

/* Messages may be lost; that there are mistakes is not. */
static int load_bad(void)
{
	static const char *const bad[] = {"bad.json", NULL};
	struct rig rig = {.files = files};
	struct policy *policy = NULL;
	int ret = rig_load_names(&rig, bad, NULL, &policy);

	ck_assert_ptr_null(policy);
	rig_done(&rig);
	return ret == -EINVAL ? 0 : ret;
}

static int peek(void)
{
	struct rig rig = {.files = files};
	char *user = NULL;
	struct policy_draft *draft = rig_peek(&rig, top, &user);
	int ret = draft ? 0 : -ENOMEM;

	free(user);
	policy_draft_free(draft);
	rig_done(&rig);
	return ret;
}

static int show(void)
{
	_cleanup_free_ char *text = policy_make_json(loaded);

	return text ? 0 : -ENOMEM;
}

static int compare(void)
{
	struct policy_diff diff;
	int ret = policy_diff(loaded, other, &diff);

	if (ret == 0)
		ck_assert_uint_gt(diff.witness_count, 0);
	policy_diff_release(&diff);
	return ret;
}

static int format(void)
{
	struct policy_errors errors = {0};
	_cleanup_free_ char *text = NULL;
	int ret = policy_format_text("p.json", files[1].text, &errors, &text);

	ck_assert((ret == 0) == (text != NULL));
	policy_errors_release(&errors);
	return ret;
}

static int pack(void)
{
	_cleanup_buf_ struct buf bytes = {0};
	struct policy *policy = NULL;
	int ret = net_pack_policy(loaded, &bytes);

	if (ret == 0)
		ret = net_unpack_policy(bytes.data, bytes.len, &policy);
	policy_free(policy);
	return ret;
}

static int (*const scenes[])(void) = {load, load_bad, peek, show, compare, format, pack};

/* The first allocations one by one, later ones in growing steps: they repeat what earlier ones did. */
START_TEST(test_each_allocation)
{
	struct rig rig = {.files = files};
	static const char *const base[] = {"base", NULL};
	bool failed = true;

	json_set_alloc_funcs(allocate, free);
	ck_assert_msg(rig_load_names(&rig, top, &cli, &loaded) == 0, "%s",
		      rig.errors.count ? rig.errors.item[0].text : "");
	ck_assert_int_eq(rig_load_names(&rig, base, NULL, &other), 0);
	for (long n = 0; failed; n += 1 + n / 400) {
		int ret;

		left = n;
		ret = scenes[_i]();
		failed = left < 0;
		left = -1;
		ck_assert_msg(ret == 0 || ret == -ENOMEM, "%d: allocation %ld: %s", _i, n, strerror(-ret));
		if (!failed)
			ck_assert_int_eq(ret, 0);
	}
	policy_free(loaded);
	policy_free(other);
	rig_done(&rig);
}
END_TEST

/* The way out when memory is gone is a longjmp(3), which leaves a few texts on the heap: policy/parse/load.c. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

int main(void)
{
	Suite *suite = suite_create("policy memory");
	TCase *tcase = tcase_create("memory");

	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, test_each_allocation, 0, (int)(sizeof(scenes) / sizeof(scenes[0])));
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
