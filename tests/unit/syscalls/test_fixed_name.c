/* Which names the run cannot lead elsewhere, on real directories and links. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "syscalls/exec/fixed-name.h"
#include "tests/unit/policy/policy-rig.h"
#include "tests/unit/unit.h"

static struct policy *policy;
static char dir[] = "/tmp/fixed-XXXXXX";

static const char *at(const char *name)
{
	static char path[4][256];
	static unsigned next;
	char *out = path[next++ % 4];

	(void)snprintf(out, sizeof(path[0]), "%s/%s", dir, name);
	return out;
}

static void make_file(const char *name)
{
	_cleanup_close_ int fd = open(at(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0755);

	ck_assert_int_ge(fd, 0);
}

static void load(const char *written)
{
	char text[1024];

	(void)snprintf(text, sizeof(text),
		       "{\"version\": 1, \"name\": \"t\", \"filesystem\": {\"read\": [\"%s\"], \"write\": [\"%s\"]}}",
		       dir, written);
	policy = rig_load_good(text);
}

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(mkdir(at("ro"), 0755) | mkdir(at("rw"), 0755), 0);
	make_file("ro/file");
	make_file("rw/file");
	ck_assert_int_eq(symlink("file", at("ro/link")) | symlink("link", at("ro/chain")) |
				 symlink(at("ro/file"), at("ro/absolute")) | symlink("../ro", at("ro/up")) |
				 symlink("ro/./file", at("link")) | symlink("loop", at("ro/loop")) |
				 symlink(at("rw/back"), at("ro/away")) | symlink(at("ro/file"), at("rw/back")) |
				 symlink("/proc/self/exe", at("ro/self")),
			 0);
	load(at("rw"));
}

static void teardown(void)
{
	policy_free(policy);
	ck_assert_int_eq(io_remove_tree(AT_FDCWD, dir), 0);
}

static bool leads(const char *name, const char *end)
{
	return exec_path_is_immutable(policy, at(name), at(end));
}

/* Twice, because the second answer comes from memory. */
START_TEST(names_that_cannot_be_written)
{
	for (int i = 0; i < 2; i++) {
		ck_assert(leads("ro/file", "ro/file"));
		ck_assert(leads("ro/link", "ro/file"));
		ck_assert(leads("ro/chain", "ro/file"));
		ck_assert(leads("ro/absolute", "ro/file"));
		ck_assert(leads("ro//.//file", "ro/file"));
		ck_assert(leads("link", "ro/file"));
		ck_assert(!leads("ro/link", "ro/other")); /* another file was judged */
	}
}
END_TEST

START_TEST(names_that_may_be_written_on_the_way)
{
	for (int i = 0; i < 2; i++) {
		ck_assert(!leads("rw/file", "rw/file"));
		ck_assert(!leads("rw/back", "ro/file"));
		ck_assert(!leads("ro/away", "ro/file"));
	}
}
END_TEST

START_TEST(names_that_are_not_looked_up)
{
	char whole[300];

	ck_assert(!exec_path_is_immutable(policy, "ro/file", at("ro/file")));
	ck_assert(!exec_path_is_immutable(policy, "", at("ro/file")));
	ck_assert(!leads("ro/absent", "ro/absent"));
	ck_assert(!leads("ro/loop", "ro/loop"));
	ck_assert(!leads("ro/../ro/file", "ro/file"));
	ck_assert(!leads("ro/up/file", "ro/file"));
	ck_assert(!leads("ro/self", "ro/self"));
	ck_assert(!exec_path_is_immutable(policy, "/proc/self/exe", "/proc/self/exe"));
	(void)snprintf(whole, sizeof(whole), "%s/ro/%0*d", dir, 200, 0);
	ck_assert(!exec_path_is_immutable(policy, whole, whole));
}
END_TEST

/* Who may write a directory can put another one in its place. */
START_TEST(below_what_may_be_written)
{
	policy_free(policy);
	load(dir);
	ck_assert(!leads("ro/file", "ro/file"));
	policy_free(policy);
	load("/");
	ck_assert(!leads("ro/chain", "ro/file"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("immutable_path");
	TCase *tcase = tcase_create("immutable_path");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, names_that_cannot_be_written);
	tcase_add_test(tcase, names_that_may_be_written_on_the_way);
	tcase_add_test(tcase, names_that_are_not_looked_up);
	tcase_add_test(tcase, below_what_may_be_written);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
