/* Landlock rights by ABI: the table, and that this kernel knows exactly the rights of its ABI. */
#include <check.h>
#include <errno.h>
#include <linux/landlock.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "confine/landlock.h"
#include "tests/unit/unit.h"

START_TEST(test_each_abi)
{
	static const struct landlock_rights expected[] = {
		{0, 0, 0},           {0x1fff, 0, 0},  {0x3fff, 0, 0},  {0x7fff, 0, 0},  {0x7fff, 3, 0},  {0xffff, 3, 0},
		{0xffff, 3, 3},      {0xffff, 3, 3},  {0xffff, 3, 3},  {0x1ffff, 3, 3}, {0x1ffff, 15, 3},
		{0x1ffff, 15, 3}, /* a future ABI: the rights of the newest known */
	};

	for (int abi = 0; abi < (int)(sizeof(expected) / sizeof(expected[0])); abi++) {
		struct landlock_rights rights = landlock_get_rights_of_abi(abi);

		ck_assert_uint_eq(rights.fs, expected[abi].fs);
		ck_assert_uint_eq(rights.net, expected[abi].net);
		ck_assert_uint_eq(rights.scoped, expected[abi].scoped);
	}
}
END_TEST

static int create(struct landlock_rights rights)
{
	int fd = (int)syscall(SYS_landlock_create_ruleset, &rights, sizeof(rights), 0u);

	if (fd < 0)
		return -errno;
	(void)close(fd);
	return 0;
}

START_TEST(test_this_kernel)
{
	int abi = landlock_get_abi();
	struct landlock_rights rights = landlock_get_rights_of_abi(abi), more = rights;

	if (abi < 1 || abi > 10) /* no Landlock, or one that is newer than the table */
		return;
	for (int older = 1; older <= abi; older++)
		ck_assert_int_eq(create(landlock_get_rights_of_abi(older)), 0);
	more.fs = rights.fs << 1 | 1;
	ck_assert_int_eq(create(more), -EINVAL);
	more = rights;
	more.net = rights.net << 1 | 1;
	ck_assert_int_lt(create(more), 0); /* EINVAL; before ABI 4 E2BIG */
	more = rights;
	more.scoped = rights.scoped << 1 | 1;
	ck_assert_int_lt(create(more), 0);
}
END_TEST

START_TEST(test_enter_nothing)
{
	ck_assert_int_eq(landlock_enter_domain(-1) < 0, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("landlock");
	TCase *tests = tcase_create("rights");

	tcase_add_test(tests, test_each_abi);
	tcase_add_test(tests, test_this_kernel);
	tcase_add_test(tests, test_enter_nothing);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
