/*
 * "libraries": what is read of packages that are installed, and what is hidden. The metadata is hostile: it names paths
 * outside, needs itself, is a link or a pipe, or is very long.
 */
#include <check.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "cli/libraries/choose.h"
#include "cli/libraries/dpkg.h"
#include "cli/libraries/hide.h"
#include "cli/libraries/metadata.h"
#include "cli/libraries/node.h"
#include "cli/libraries/python.h"
#include "cli/libraries/sets.h"
#include "tests/unit/unit.h"

static struct arena arena;
static jmp_buf no_memory;
static struct packages packages;
static struct package package;
static char root[] = "/tmp/test_libraries.XXXXXX";
static char site[200];

static void setup(void)
{
	ck_assert_int_eq(setjmp(no_memory), 0);
	arena = (struct arena){.no_memory = &no_memory};
	packages = (struct packages){.arena = &arena};
	package = (struct package){0};
	memset(root + sizeof(root) - 7, 'X', 6);
	ck_assert_ptr_nonnull(mkdtemp(root));
	(void)snprintf(site, sizeof(site), "%s/v/lib/python3.11/site-packages", root);
}

static void release(void)
{
	arena_release(&arena);
	ck_assert_int_eq(io_remove_tree(AT_FDCWD, root), 0);
}

/* Makes a file below root with its directories. */
static void put(const char *path, const char *text)
{
	char full[PATH_MAX];
	_cleanup_close_ int fd = -1;

	(void)snprintf(full, sizeof(full), "%s/%s", root, path);
	for (char *slash = strchr(full + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(full, 0777);
		*slash = '/';
	}
	fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(io_write_all(fd, text, strlen(text)), 0);
}

#define SITE "v/lib/python3.11/site-packages/"
#define put_dist(name, needs, record)                                                                              \
	(put(SITE name "-1.0.dist-info/METADATA", "Name: " name "\nVersion: 1.0\n" needs "\nRequires-Dist: no\n"), \
	 put(SITE name "-1.0.dist-info/RECORD", record))

static int compare_paths(const void *a, const void *b)
{
	return strcmp(((const struct policy_hidden_path_of_library *)a)->path,
		      ((const struct policy_hidden_path_of_library *)b)->path);
}

static const char sets_text[] = "{\"python\": {\"two\": {\"packages\": [\"a\", 3, \"absent\", \"b\"]}, \"bad\": 3}}";
static const char *const *unknown_sets; /* of the last choice */

/* Chooses packages. The names that were not found and are no members of a set, NULL-ended. */
static const char **choose(enum policy_language language, const char *const *names)
{
	struct library_choices choices;
	const char **missing = NULL;
	size_t count = 0;

	sets_expand(&arena, sets_text, language, names, &choices, &unknown_sets);
	choose_packages(&packages, language, &choices);
	for (size_t i = 0; i < choices.count; i++)
		if (choices.choice[i].is_missing && !choices.choice[i].set)
			ARENA_APPEND(&arena, missing, count, choices.choice[i].name);
	ARENA_APPEND(&arena, missing, count, NULL);
	return missing;
}

/* What is hidden when these names are chosen: paths below the site in order, and "(library)", in one line. */
static const char *hide(const char *const *names, const char **ret_missing)
{
	struct hidden_paths hidden = {0};
	static char text[8192];
	const char **missing;
	char dpkg[PATH_MAX];
	size_t len = 0;

	packages = (struct packages){.arena = &arena};
	(void)snprintf(dpkg, sizeof(dpkg), "%s/dpkg", root);
	packages_add_site(&packages, site, "3.11");
	python_read_packages(&packages, dpkg);
	missing = choose(POLICY_PYTHON, names);
	hide_packages_of_site(&packages, 0, missing, &hidden);
	if (ret_missing)
		*ret_missing = missing[0];
	text[0] = '\0';
	if (hidden.count)
		qsort(hidden.path, hidden.count, sizeof(*hidden.path), compare_paths);
	for (size_t i = 0; i < hidden.count; i++) {
		const char *below = path_get_rest_below(hidden.path[i].path, site);

		ck_assert_ptr_nonnull(below);
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s(%s)", i ? " " : "", below,
					hidden.path[i].library ? hidden.path[i].library : "");
		ck_assert_uint_lt(len, sizeof(text));
	}
	return text;
}

#define HIDE(...) hide((const char *const[]){__VA_ARGS__, NULL}, NULL)

START_TEST(test_headers)
{
	metadata_read_headers(
		&packages, &package,
		"Metadata-Version: 2.1\r\nName: Foo_Bar\r\nVersion: 1.2\r\nname: other\r\n"
		"Requires-Dist: A.b_-c[x,y] (>=1.0); python_version >= '3.8'\nRequires-Dist: old; "
		"python_version < \"3\"\nRequires-Dist: test ; extra == 'test'\n"
		"Requires-Dist: win; sys_platform == 'win32'\nRequires-Dist: maybe; a == 'b' or c == 'd'\n"
		"Requires-Dist: x>2\nRequires-Dist: x<9\nRequires-Dist:\n\nRequires-Dist: description\n",
		"3.11");
	ck_assert_str_eq(package.name, "Foo_Bar");
	ck_assert_str_eq(package.version, "1.2");
	ck_assert_uint_eq(package.need_count, 3);
	ck_assert_str_eq(package.need[0], "a-b-c");
	ck_assert_str_eq(package.need[1], "maybe");
	ck_assert_str_eq(package.need[2], "x");
	ck_assert_str_eq(metadata_normalise_name(&arena, "Zope.-_Interface", 16), "zope-interface");
}
END_TEST

static const struct {
	const char *marker;
	bool is_false;
} markers[] = {
	{"extra == 'x'", true},
	{" python_version<'3.9' ", true},
	{"python_version < '3.12'", false},
	{"python_version <= \"3.11\"", false},
	{"python_version > '3.11'", true},
	{"python_version >= '3.10'", false},
	{"python_version == '3.8'", false},
	{"platform_system != 'Linux'", true},
	{"os_name == 'nt'", true},
	{"sys_platform == 'linux'", false},
	{"python_version >= '3.8' and extra == 'y'", true},
	{"extra == 'a' or extra == 'b'", true},
	{"python_version < '3' or os_name == 'nt'", true},
	{"python_version < '3' or os_name == 'posix'", false},
	{"(python_version < '3')", true},
	{"((python_version < '3')", false},
	{"(platform_python_implementation == 'CPython') and extra == 'tests'", true},
	{"(python_version > '3' or extra == 'a') and (extra == 'b' or os_name == 'posix')", false},
	{"(python_version > '3' or extra == 'a') and (extra == 'b' or os_name == 'nt')", true},
	{"python_version < '3' or python_version > '3' and extra == 'x'", true},
	{"sys_platform == ' and ' or extra == ' or '", true},
	{"((((((((((((((((((((extra == 'a'))))))))))))))))))))", false},
	{"() or () and (", false},
	{" or ", false},
	{"", false},
	{"and and and", false},
	{"extra", false},
	{"'x' in extra", false},
	{"platform_machine == 's390x'", false},
};

START_TEST(test_markers)
{
	for (size_t i = 0; i < sizeof(markers) / sizeof(markers[0]); i++)
		ck_assert_msg(metadata_marker_is_false(markers[i].marker, strlen(markers[i].marker), "3.11") ==
				      markers[i].is_false,
			      "%s", markers[i].marker);
	ck_assert(!metadata_marker_is_false("python_version < '3'", 20, NULL));
}
END_TEST

START_TEST(test_requires)
{
	metadata_read_requires(&packages, &package,
			       "one>=1\n\n[:python_version < \"3\"]\nold\n\n[:sys_platform == 'linux']\ntwo\n\n[test]\n"
			       "pytest\n[gui:python_version > '3']\nqt\n",
			       "3.11");
	ck_assert_uint_eq(package.need_count, 2);
	ck_assert_str_eq(package.need[1], "two");
}
END_TEST

/* Names that leave the site, or are none, are no files of a package. */
START_TEST(test_hostile_record)
{
	metadata_read_record(
		&packages, &package,
		"../../../../etc/passwd,,\n/etc/passwd,,\na/../../x,,\n.,,\n..,,\n,,\na//b,,\na/,,\n./a,,\n"
		"good.py,sha256=x,3\r\n\"with \"\"quotes\"\", and comma.py\",,\n\"open,,\n...,,\n");
	ck_assert_uint_eq(package.file_count, 4);
	ck_assert_str_eq(package.file[0], "good.py");
	ck_assert_str_eq(package.file[1], "with \"quotes\", and comma.py");
	ck_assert_str_eq(package.file[2], "open,,");
	ck_assert_str_eq(package.file[3], "...");
}
END_TEST

START_TEST(test_chosen_and_needed)
{
	put_dist("a", "Requires-Dist: B", "a/__init__.py,,\na-1.0.dist-info/RECORD,,\n../../../bin/a,,\n");
	put_dist("b", "Requires-Dist: a\nRequires-Dist: b", "b.py,,\n__pycache__/b.cpython-311.pyc,,\n");
	put_dist("c", "", "c.cpython-311-x86_64-linux-gnu.so,,\nc.libs/x.so,,\n");
	put_dist("d", "", "d.py,,\n");
	put(SITE "a/__init__.py", "");
	put(SITE "b.py", "");
	put(SITE "c.cpython-311-x86_64-linux-gnu.so", "");
	put(SITE "c.libs/x.so", "");
	put(SITE "d.py", "");
	put(SITE "__pycache__/b.cpython-311.pyc", "");
	put(SITE "__pycache__/d.cpython-311.pyc", "");
	put(SITE "alone.py", "");
	put(SITE "x.pth", "");
	ck_assert_str_eq(HIDE("a", "c"),
			 "__pycache__/d.cpython-311.pyc(d) alone.py(alone) d-1.0.dist-info(d) d.py(d) x.pth(x)");
	ck_assert_str_eq(HIDE("D", "alone", "b", "c", "x"), "");
	ck_assert_ptr_nonnull(strstr(HIDE("a"), "c.libs(c)"));
}
END_TEST

/* Two packages share a directory, and one file in it. */
START_TEST(test_namespace_packages)
{
	const char *missing = "";

	put_dist("n-one", "", "n/one/__init__.py,,\nn/shared.py,,\n");
	put_dist("n-two", "", "n/two/__init__.py,,\nn/shared.py,,\n");
	put(SITE "n/one/__init__.py", "");
	put(SITE "n/two/__init__.py", "");
	put(SITE "n/shared.py", "");
	ck_assert_str_eq(HIDE("n_one"), "n-two-1.0.dist-info(n-two) n/two(n-two)");
	ck_assert_str_eq(HIDE("n"), ""); /* the module of both */
	ck_assert_str_eq(hide((const char *const[]){"n-one", "none", NULL}, &missing),
			 "n-two-1.0.dist-info(n-two) n/two(n-two)");
	ck_assert_str_eq(missing, "none");
}
END_TEST

/* A set stands for those of its members that are installed. What is called like one and is none is told. */
START_TEST(test_sets)
{
	const char *missing = "";

	put_dist("a", "Requires-Dist: c", "a.py,,\n");
	put_dist("b", "", "b.py,,\n");
	put_dist("c", "Requires-Dist: b\nRequires-Dist: gone", "c.py,,\n");
	put_dist("d", "", "d.py,,\n");
	put(SITE "d.py", "");
	ck_assert_str_eq(hide((const char *const[]){"@two", "d", NULL}, &missing), "");
	ck_assert_ptr_null(missing);
	ck_assert_ptr_null(unknown_sets[0]);
	ck_assert_str_eq(packages.package[0].key, packages.package[0].name);
	for (size_t i = 0; i < packages.package_count; i++) {
		const struct package *found = &packages.package[i];

		ck_assert_str_eq(found->chosen_by && found->chosen_by->set ? found->chosen_by->set
				 : found->chosen_by                        ? found->chosen_by->name
									   : found->needed_by->name,
				 strcmp(found->key, "c") == 0   ? "a"
				 : strcmp(found->key, "d") == 0 ? "d"
								: "@two");
	}
	ck_assert_ptr_null(choose_find_needed(&packages, "gone"));
	ck_assert_str_eq(HIDE("@two"), "d-1.0.dist-info(d) d.py(d)");
	HIDE("@three", "@", "@bad", "@two", "@scope/name");
	ck_assert_str_eq(unknown_sets[0], "@three");
	ck_assert_str_eq(unknown_sets[1], "@");
	ck_assert_str_eq(unknown_sets[2], "@bad");
	ck_assert_ptr_null(unknown_sets[3]);
	choose(POLICY_NODE, (const char *const[]){"@two", NULL});
	ck_assert_str_eq(unknown_sets[0], "@two");
}
END_TEST

/* Links, pipes and long lines where metadata is expected; a link to a directory above. */
START_TEST(test_hostile_site)
{
	_cleanup_free_ char *line = malloc(100001);
	char path[300];

	memset(line, 'x', 100000);
	line[100000] = '\0';
	put_dist("good", "", "good.py,,\n");
	put(SITE "good.py", "");
	put(SITE "evil-1.0.dist-info/METADATA", line);
	put(SITE "evil-1.0.dist-info/RECORD", line);
	(void)snprintf(path, sizeof(path), "%s/pipe-1.0.dist-info", site);
	ck_assert_int_eq(mkdir(path, 0777), 0);
	(void)snprintf(path, sizeof(path), "%s/pipe-1.0.dist-info/METADATA", site);
	ck_assert_int_eq(mkfifo(path, 0666), 0);
	(void)snprintf(path, sizeof(path), "%s/pipe-1.0.dist-info/RECORD", site);
	ck_assert_int_eq(symlink("/dev/zero", path), 0);
	(void)snprintf(path, sizeof(path), "%s/link-1.0.dist-info", site);
	ck_assert_int_eq(symlink("/etc", path), 0);
	(void)snprintf(path, sizeof(path), "%s/up", site);
	ck_assert_int_eq(symlink("../..", path), 0);
	ck_assert_str_eq(HIDE("good"), "evil-1.0.dist-info(evil) pipe-1.0.dist-info(pipe)");
}
END_TEST

/* A package of Debian: neither files nor needs in its metadata. */
START_TEST(test_dpkg)
{
	char list[2000];

	put(SITE "big-1.egg-info/PKG-INFO", "Name: big\n");
	put(SITE "big-1.egg-info/top_level.txt", "wrong\n");
	put(SITE "big/__init__.py", "");
	put(SITE "small.egg-info", "Name: small\nVersion: 2\n");
	put(SITE "small.py", "");
	put(SITE "tiny-1.egg-info/top_level.txt", "tiny\n");
	put(SITE "tiny.abi3.so", "");
	(void)snprintf(list, sizeof(list), "/.\n%s\n%s/big\n%s/big/__init__.py\n%s/big-1.egg-info\n/etc/x\n", site,
		       site, site, site);
	put("dpkg/info/python3-big.list", list);
	(void)snprintf(list, sizeof(list), "%s/small.egg-info\n%s/small.py\n", site, site);
	put("dpkg/info/python3-small:amd64.list", list);
	put("dpkg/status", "Package: python3-big\nStatus: install ok installed\nDepends: libc6 (>= 2), "
			   "python3-none | python3-small (>= 2)\n\nPackage: python3-small\nDepends: python3-big");
	ck_assert_str_eq(HIDE("big"), "tiny-1.egg-info(tiny) tiny.abi3.so(tiny)");
	ck_assert_str_eq(HIDE("small"), "tiny-1.egg-info(tiny) tiny.abi3.so(tiny)");
	ck_assert_ptr_nonnull(strstr(HIDE("tiny"), "small.py(small)"));
}
END_TEST

/* A RECORD with as many names as one directory of a large package has, and again with one more of another package. */
START_TEST(test_many_files)
{
	const size_t count = 0xf000, len = strlen("big/f0000.py,,\n");
	_cleanup_free_ char *record = malloc(count * len + 1);

	for (size_t i = 0; i < count; i++)
		(void)snprintf(record + i * len, len + 1, "big/f%04zx.py,,\n", i);
	put(SITE "big-1.dist-info/RECORD", record);
	put_dist("other", "", "big/other.py,,\n");
	put(SITE "big/other.py", "");
	put(SITE "big/f0001.py", "");
	ck_assert_str_eq(HIDE("big"), "big/other.py(other) other-1.0.dist-info(other)");
}
END_TEST

/* node_modules with a scope, packages within packages, a loop of needs, and package.json that is none. */
START_TEST(test_node)
{
	struct hidden_paths hidden = {0};
	const char **missing;
	char workdir[200], link[PATH_MAX];

	(void)snprintf(workdir, sizeof(workdir), "%s/w", root);
	put("w/node_modules/a/package.json",
	    "{\"version\": \"1\", \"dependencies\": {\"@s/b\": \"1\", \"../x\": \"\"}}");
	put("w/node_modules/a/node_modules/n/package.json", "{\"peerDependencies\": {\"c\": 1}}");
	put("w/node_modules/@s/b/package.json", "{\"optionalDependencies\": {\"a\": null}}");
	put("w/node_modules/@s/d/package.json", "[1]");
	put("w/node_modules/c/package.json", "{");
	put("w/node_modules/e/package.json", "");
	put("w/node_modules/.bin/e", "");
	put("w/node_modules/.pnpm/f@1/node_modules/f/package.json", "");
	put("w/node_modules/.pnpm/c@2/node_modules/c/package.json", "{\"version\": \"2\"}");
	put("w/node_modules/.pnpm/@s+b@1/node_modules/@s/b/package.json", "");
	put("w/node_modules/.pnpm/lock.yaml", "");
	put("w/node_modules/.store/g-1/node_modules/g/package.json", "");
	(void)snprintf(link, sizeof(link), "%s/w/node_modules/.pnpm/f@1/node_modules/c", root);
	ck_assert_int_eq(symlink("../../c@2/node_modules/c", link), 0);
	node_add_sites(&packages, NULL, workdir);
	ck_assert_ptr_nonnull(strstr(packages.site[0].path, "/w/node_modules"));
	packages.site_count = 1;
	node_read_packages(&packages);
	missing = choose(POLICY_NODE, (const char *const[]){"a", "e/", NULL});
	ck_assert_str_eq(missing[0], "e/");
	ck_assert_ptr_null(missing[1]);
	hide_packages_of_site(&packages, 0, NULL, &hidden);
	ck_assert_uint_eq(hidden.count, 4);
	ck_assert_ptr_nonnull(strstr(hidden.path[0].path, "/w/node_modules/.pnpm/f@1"));
	ck_assert_str_eq(hidden.path[0].library, "f");
	ck_assert_ptr_nonnull(strstr(hidden.path[1].path, "/w/node_modules/.store"));
	ck_assert_str_eq(hidden.path[2].library, "@s/d");
	ck_assert_str_eq(hidden.path[3].library, "e");
	ck_assert(!hidden.path[0].is_listed && !hidden.path[3].is_listed);
}
END_TEST

/* 130,000 needs in 1 MB, which would be compared with each other: as many as there can be are taken. */
START_TEST(test_many_needs)
{
	static char text[1 << 20];
	size_t len = 0;

	for (unsigned i = 0; len < sizeof(text) - 16; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%x\n", i);
	packages_add_site(&packages, root, NULL);
	metadata_read_requires(&packages, &package, text, NULL);
	ck_assert_uint_eq(package.need_count, PACKAGE_NEEDS_MAX);
}
END_TEST

START_TEST(test_sites)
{
	char prefix[PATH_MAX], part[PATH_MAX];

	put(SITE "x.py", "");
	put("sys/lib/python3/dist-packages/x.py", "");
	(void)snprintf(prefix, sizeof(prefix), "%s/v", root);
	(void)snprintf(part, sizeof(part), "%s/sys/lib/python3", root);
	python_add_sites(&packages, (const char *const[]){prefix, part, "/nonexistent", NULL}, "/nonexistent");
	ck_assert_uint_ge(packages.site_count, 2);
	ck_assert_str_eq(packages.site[0].path, site);
	ck_assert_str_eq(packages.site[0].version, "3.11");
	ck_assert_ptr_nonnull(strstr(packages.site[1].path, "/sys/lib/python3/dist-packages"));
	ck_assert_ptr_null(packages.site[1].version);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("libraries");
	TCase *tests = tcase_create("libraries");

	tcase_add_checked_fixture(tests, setup, release);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, test_headers);
	tcase_add_test(tests, test_markers);
	tcase_add_test(tests, test_requires);
	tcase_add_test(tests, test_hostile_record);
	tcase_add_test(tests, test_chosen_and_needed);
	tcase_add_test(tests, test_namespace_packages);
	tcase_add_test(tests, test_sets);
	tcase_add_test(tests, test_hostile_site);
	tcase_add_test(tests, test_dpkg);
	tcase_add_test(tests, test_many_files);
	tcase_add_test(tests, test_node);
	tcase_add_test(tests, test_many_needs);
	tcase_add_test(tests, test_sites);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
