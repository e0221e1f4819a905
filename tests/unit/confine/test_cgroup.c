/*
 * Finding control groups, and what is written to those of version 2, with made-up texts and an ordinary directory:
 * version 2 may have no controllers on this machine. The kernel's EBUSY cannot be simulated.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "confine/cgroup-private.h"
#include "tests/unit/unit.h"

static struct cgroup_own_dirs places;

START_TEST(finds_hybrid)
{
	cgroup_find_own_dirs("8:pids:/\n4:memory:/jobs/a\n2:cpuacct,cpu:/x\n1:name=systemd:/y\n0::/\n",
			   "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
			   "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:3 - cgroup cgroup rw,memory\n"
			   "39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n"
			   "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw,nsdelegate\n"
			   "42 31 0:39 / /elsewhere rw - tmpfs memory rw,memory\n",
			   &places);
	ck_assert_str_eq(places.v1[CGROUP_MEMORY], "/sys/fs/cgroup/memory/jobs/a");
	ck_assert_str_eq(places.v1[CGROUP_PIDS], "/sys/fs/cgroup/pids");
	ck_assert_str_eq(places.v1[CGROUP_CPU], "/sys/fs/cgroup/cpu,cpuacct/x");
	ck_assert_str_eq(places.v2, "/sys/fs/cgroup/unified");
}
END_TEST

START_TEST(finds_slice)
{
	cgroup_find_own_dirs("0::/user.slice/user-1000.slice/user@1000.service/app.slice/term.scope\n",
			   "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n", &places);
	ck_assert_str_eq(places.v2,
			 "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/term.scope");
	ck_assert_str_eq(places.v2_mount_point, "/sys/fs/cgroup");
	ck_assert_str_eq(places.v1[CGROUP_MEMORY], "");
}
END_TEST

/* A container: the mount shows a part of the hierarchy, or the own group is outside the namespace. */
START_TEST(finds_in_container)
{
	cgroup_find_own_dirs("4:memory:/docker/abc/job\n0::/docker/abc\n",
			   "7 6 0:1 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
			   "8 6 0:2 /docker/abc /sys/fs/my\\040group rw - cgroup2 cgroup rw\n",
			   &places);
	ck_assert_str_eq(places.v1[CGROUP_MEMORY], "/sys/fs/cgroup/memory/job");
	ck_assert_str_eq(places.v2, "/sys/fs/my group");
	cgroup_find_own_dirs("4:memory:/docker/abcd\n0::/../x\n",
			   "7 6 0:1 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
			   "8 6 0:2 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n",
			   &places);
	ck_assert_str_eq(places.v1[CGROUP_MEMORY], "");
	ck_assert_str_eq(places.v2, "");
}
END_TEST

/* mount(2) takes an empty source, which mountinfo shows as two blanks. */
START_TEST(finds_mount_without_source)
{
	cgroup_find_own_dirs("4:memory:/job\n",
			   "7 6 0:1 / /sys/fs/cgroup/memory rw shared:3 - cgroup  rw,memory\n", &places);
	ck_assert_str_eq(places.v1[CGROUP_MEMORY], "/sys/fs/cgroup/memory/job");
}
END_TEST

START_TEST(survives_nonsense)
{
	cgroup_find_own_dirs("", "", &places);
	ck_assert_str_eq(places.v2, "");
	cgroup_find_own_dirs("::\n0:\n:\n4:memory\n", " - \n1 2 3 - cgroup\n1 2 3 4 5 6 - cgroup2\n\n- - -\n", &places);
	ck_assert_str_eq(places.v2, "");
	ck_assert_str_eq(places.v1[CGROUP_MEMORY], "");
}
END_TEST

START_TEST(reads_numbers)
{
	ck_assert_uint_eq(cgroup_parse_number("123\n", NULL), 123);
	ck_assert_uint_eq(cgroup_parse_number("max\n", NULL), 0);
	ck_assert_uint_eq(cgroup_parse_number("low 1\noom 7\noom_kill 3\noom_group_kill 1\n", "oom_kill"), 3);
	ck_assert_uint_eq(cgroup_parse_number("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n", "oom_kill"), 2);
	ck_assert_uint_eq(cgroup_parse_number("usage_usec 4000000000\n", "usage_usec"), 4000000000);
	ck_assert_uint_eq(cgroup_parse_number("", "max"), 0);
}
END_TEST

/* ---- a simulated hierarchy: TOP/own ---- */

static char top[64];
static int top_fd = -1, own_fd = -1;

static void put(int dirfd, const char *name, const char *text)
{
	_cleanup_close_ int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(io_write_all(fd, text, strlen(text)), 0);
}

static void expect(int dirfd, const char *name, const char *text)
{
	char is[128];

	ck_assert_int_ge(io_read_once(dirfd, name, is, sizeof(is)), 0);
	ck_assert_str_eq(is, text);
}

static void enter(void)
{
	(void)snprintf(top, sizeof(top), "/tmp/callgate-test-cgroup-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(top));
	top_fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(mkdirat(top_fd, "own", 0755), 0);
	own_fd = openat(top_fd, "own", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	memset(&places, 0, sizeof(places));
	(void)snprintf(places.v2_mount_point, sizeof(places.v2_mount_point), "%s", top);
	(void)snprintf(places.v2, sizeof(places.v2), "%s/own", top);
	put(own_fd, "cgroup.controllers", "cpuset cpu io memory hugetlb pids\n");
	put(own_fd, "cgroup.subtree_control", "");
	put(own_fd, "pids.max", "max\n");
}

static void leave(void)
{
	(void)close(own_fd);
	(void)close(top_fd);
	ck_assert_int_eq(io_remove_tree(AT_FDCWD, top), 0);
}

#define ALL (1u << CGROUP_MEMORY | 1u << CGROUP_PIDS | 1u << CGROUP_CPU)

START_TEST(enables_what_is_missing)
{
	struct cgroup_parent parent;
	char why[100] = "";

	put(own_fd, "cgroup.subtree_control", "memory");
	ck_assert_int_eq(cgroup_v2_find_parent(&places, &parent, why, sizeof(why)), 0);
	ck_assert_str_eq(parent.dir, places.v2);
	ck_assert_uint_eq(parent.controllers, ALL);
	expect(own_fd, "cgroup.subtree_control", "+pidsy"); /* one write of "+pids"; an ordinary file keeps the rest */
	put(own_fd, "cgroup.subtree_control", "cpu memory pids");
	ck_assert_int_eq(cgroup_v2_enable_controllers(own_fd, ALL), 0);
	expect(own_fd, "cgroup.subtree_control", "cpu memory pids");
}
END_TEST

/* Only the controllers that the group has; on a hybrid system perhaps none. */
START_TEST(takes_what_there_is)
{
	struct cgroup_parent parent;
	char why[100] = "";

	put(own_fd, "cgroup.controllers", "hugetlb\n");
	ck_assert_int_eq(cgroup_v2_find_parent(&places, &parent, why, sizeof(why)), 0);
	ck_assert_uint_eq(parent.controllers, 1u << CGROUP_CPU);
	expect(own_fd, "cgroup.subtree_control", "");
}
END_TEST

/* If the own group cannot enable controllers, its parent is used, unless the own group has limits. */
START_TEST(takes_the_parent)
{
	struct cgroup_parent parent;
	char why[100] = "";

	ck_assert_int_eq(unlinkat(own_fd, "cgroup.subtree_control", 0), 0);
	put(top_fd, "cgroup.subtree_control", "memory pids");
	put(own_fd, "memory.max", "max\n");
	put(own_fd, "pids.max", "77\n");
	ck_assert_int_eq(cgroup_v2_find_parent(&places, &parent, why, sizeof(why)), 0);
	ck_assert_str_eq(parent.dir, top);
	ck_assert_uint_eq(parent.pids_max, 77);
	put(own_fd, "memory.max", "1000000\n");
	ck_assert_int_lt(cgroup_v2_find_parent(&places, &parent, why, sizeof(why)), 0);
	ck_assert_uint_eq(parent.controllers, 0);
	ck_assert_str_ne(why, "");
	/* Not above the mount point. */
	put(own_fd, "memory.max", "max\n");
	(void)snprintf(places.v2_mount_point, sizeof(places.v2_mount_point), "%s/own", top);
	ck_assert_int_lt(cgroup_v2_find_parent(&places, &parent, why, sizeof(why)), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cgroup");
	TCase *texts = tcase_create("texts"), *made = tcase_create("made");

	suite_add_tcase(suite, texts);
	tcase_add_test(texts, finds_hybrid);
	tcase_add_test(texts, finds_slice);
	tcase_add_test(texts, finds_in_container);
	tcase_add_test(texts, finds_mount_without_source);
	tcase_add_test(texts, survives_nonsense);
	tcase_add_test(texts, reads_numbers);
	suite_add_tcase(suite, made);
	tcase_add_checked_fixture(made, enter, leave);
	tcase_add_test(made, enables_what_is_missing);
	tcase_add_test(made, takes_what_there_is);
	tcase_add_test(made, takes_the_parent);
	return unit_run(suite);
}
