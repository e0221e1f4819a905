/* Which directories belong to one package: by lists as dpkg(1) has them, and by what an rpm(8) says. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/learn/packages.h"
#include "tests/unit/unit.h"

static char dir[] = "/tmp/test-packages-XXXXXX";

static char *write_file(const char *name, const char *text)
{
	char *path = text_format("%s/%s", dir, name);
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(text, file), 0);
	ck_assert_int_eq(fclose(file), 0);
	return path;
}

static struct packages *read_source(const struct packages_source *source)
{
	struct packages *packages = NULL;

	ck_assert_int_eq(packages_read_file_owners(source, &packages), 0);
	ck_assert_ptr_nonnull(packages);
	return packages;
}

static void assert_directory(const struct packages *packages, const char *path, const char *want, const char *owner)
{
	char found[PATH_MAX];
	const char *name = NULL;

	if (!packages_find_directory(packages, path, found, &name)) {
		ck_assert_msg(!want, "%s: none", path);
		return;
	}
	ck_assert_msg(want != NULL, "%s: %s", path, found);
	ck_assert_str_eq(found, want);
	ck_assert_str_eq(name, owner);
}

START_TEST(dpkg_lists)
{
	const struct packages_source source = {.dpkg_lists = dir};
	struct packages *packages;

	free(write_file("git.list", "/.\n/usr\n/usr/share\n/usr/share/git-core\n/usr/share/git-core/templates\n"
				    "/usr/share/doc\n/lib/git\n/lib/git/x\n"));
	free(write_file("vim:amd64.list", "/.\n/usr\n/usr/share\n/usr/share/doc\n/usr/share/vim\n/usr/share/vim/a\n"));
	free(write_file("texlive-base.list", "/usr\n/usr/share\n/usr/share/texlive\n/usr/share/texlive/one\n"));
	free(write_file("texlive-latex.list", "/usr\n/usr/share\n/usr/share/texlive\n/usr/share/texlive/two\n"));
	free(write_file("texas.list", "/usr/share/texlive/strange\n/usr/share/shared\n"));
	free(write_file("other.md5sums", "/usr/share/md5\n"));
	packages = read_source(&source);
	assert_directory(packages, "/usr/share/git-core/templates/hooks/x", "/usr/share/git-core", "git");
	assert_directory(packages, "/usr/lib/git/x", "/usr/lib/git", "git"); /* listed as /lib/git */
	assert_directory(packages, "/usr/share/vim/a/b", "/usr/share/vim", "vim");
	assert_directory(packages, "/usr/share/doc/x", NULL, NULL); /* of two packages */
	assert_directory(packages, "/usr/share/texlive/one/x", "/usr/share/texlive", "texlive");
	assert_directory(packages, "/usr/share/md5/x", NULL, NULL);
	assert_directory(packages, "/data/x", NULL, NULL);
	assert_directory(packages, "/usr/share/git-core", NULL, NULL); /* in a directory of both */
	assert_directory(packages, "/x", NULL, NULL);
	packages_free(packages);
}
END_TEST

START_TEST(broken_lists)
{
	const struct packages_source source = {.dpkg_lists = dir}, none = {.dpkg_lists = "/none/such"}, nothing = {0};
	_cleanup_free_ char *long_line = malloc(100001), *path = NULL;

	memset(long_line, '/', 100000);
	long_line[100000] = '\0';
	free(write_file("a.list", long_line)); /* no newline at its end */
	free(write_file("b.list", ""));
	free(write_file("c.list", "\n\n relative\n/\n/.\n/x\xff\xfe\n/y/z"));
	free(write_file(".list", "/noname/x\n"));
	path = text_format("%s/d.list", dir);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	packages_free(read_source(&source));
	packages_free(read_source(&none));
	packages_free(read_source(&nothing));
}
END_TEST

START_TEST(rpm_database)
{
	_cleanup_free_ char *rpm = write_file("rpm", "#!/bin/sh\n[ \"$1 $2 $3\" = \"--dbpath /db -qa\" ] || exit 1\n"
						    "printf 'bash /usr/share/bash\\nbash /usr/share/bash/a b\\n'\n"
						    "printf 'zsh /usr/share/zsh\\nnothing\\n\\nodd none\\n'\n"
						    "echo noise >&2\n");
	const struct packages_source source = {.rpm = rpm, .rpm_database = "/db"},
				     other = {.rpm = rpm, .rpm_database = "/"}, without = {.rpm = rpm},
				     missing = {.rpm = "/none/such", .rpm_database = "/db"};
	struct packages *packages;

	ck_assert_int_eq(chmod(rpm, 0755), 0);
	packages = read_source(&source);
	assert_directory(packages, "/usr/share/bash/a b/c", "/usr/share/bash", "bash");
	assert_directory(packages, "/usr/share/zsh/x", "/usr/share/zsh", "zsh");
	packages_free(packages);
	packages = read_source(&other); /* it prints nothing */
	assert_directory(packages, "/usr/share/bash/a", NULL, NULL);
	packages_free(packages);
	packages_free(read_source(&without));
	packages_free(read_source(&missing));
}
END_TEST

static void make_dir(void)
{
	memcpy(dir + sizeof(dir) - 7, "XXXXXX", 6);
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void remove_dir(void)
{
	ck_assert_int_eq(io_remove_tree(AT_FDCWD, dir), 0);
}

int main(void)
{
	Suite *suite = suite_create("learn packages");
	TCase *tcase = tcase_create("all");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, make_dir, remove_dir);
	tcase_add_test(tcase, dpkg_lists);
	tcase_add_test(tcase, broken_lists);
	tcase_add_test(tcase, rpm_database);
	return unit_run(suite);
}
