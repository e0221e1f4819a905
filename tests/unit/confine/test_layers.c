/* What is said of the release of the kernel. Live tests compare the states of layers with their effects. */
#include <check.h>
#include <string.h>

#include "confine/layers.h"
#include "tests/unit/unit.h"

static char sentence[128];

START_TEST(old_kernels_are_named)
{
	static const char *const old[] = {"5.13.0", "5.10.0-46-cloud-amd64", "4.4.0", "5.9"};

	for (size_t i = 0; i < sizeof(old) / sizeof(*old); i++)
		ck_assert_msg(layers_describe_old_kernel(old[i], sentence, sizeof(sentence)), "%s", old[i]);
	ck_assert_str_eq(sentence, "Linux 5.9 is older than 5.14, which callgate is made for: layers are missing");
}
END_TEST

START_TEST(other_releases_are_not)
{
	static const char *const others[] = {"5.14.0-427.el9", "5.15.0", "6.0.0", "10.2", "", "5", "linux"};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		ck_assert_msg(!layers_describe_old_kernel(others[i], sentence, sizeof(sentence)), "%s", others[i]);
		ck_assert_str_eq(sentence, "");
	}
}
END_TEST

START_TEST(a_short_buffer_is_filled)
{
	char text[8];

	ck_assert(layers_describe_old_kernel("5.10", text, sizeof(text)));
	ck_assert_str_eq(text, "Linux 5");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("layers");
	TCase *tcase = tcase_create("all");

	tcase_add_test(tcase, old_kernels_are_named);
	tcase_add_test(tcase, other_releases_are_not);
	tcase_add_test(tcase, a_short_buffer_is_filled);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
