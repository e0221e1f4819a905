/*
 * callgate inspect: what it takes from a parser and what it does not, types of files, modules, characters and secrets,
 * and ELF files whose headers are hostile.
 */
#include <check.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "cli/inspect/elf/read.h"
#include "cli/inspect/findings.h"
#include "cli/inspect/protocol.h"
#include "cli/inspect/subject.h"
#include "cli/inspect/text.h"
#include "tests/unit/unit.h"

#define LINES 10u
#define BROKEN_FILES 4000u

static struct inspect_findings findings;

static void release(void)
{
	inspect_findings_release(&findings);
}

static int take(const char *output)
{
	return inspect_take_output(output, strlen(output), LINES, NULL, &findings);
}

START_TEST(test_good_output)
{
	ck_assert_int_eq(take("end 0\n"), 0);
	ck_assert_uint_eq(findings.count, 0);
	ck_assert_int_eq(take("1 command {\"words\": [\"a\"]}\n2 command x\nend 2\n"), 0);
	ck_assert_uint_eq(findings.count, 0);
	ck_assert_uint_eq(findings.commands.count, 2);
	ck_assert_str_eq(findings.commands.item[1], "x");
	ck_assert_int_eq(take("1 local-import .a\n2 local-import ./b c\nend 2\n"), 0);
	ck_assert_uint_eq(findings.count, 0);
	ck_assert_uint_eq(findings.imports.count, 2);
	ck_assert_str_eq(findings.imports.item[1], "./b c");
	ck_assert_int_eq(take("3 dynamic eval(x)\n1 import \xc3\xa4\n0 standard os\nend 3\n"), 0);
	ck_assert_uint_eq(findings.count, 3);
	inspect_findings_sort(&findings);
	ck_assert_str_eq(findings.item[0].what, "os");
	ck_assert_int_eq(findings.item[0].kind, INSPECT_IMPORT);
	ck_assert_str_eq(findings.item[2].what, "eval(x)");
	ck_assert_uint_eq(findings.item[2].line, 3);
}
END_TEST

/* Findings that a parser has left out are counted, and are as bad as those of their kind that are listed. */
START_TEST(test_unlisted)
{
	enum inspect_level worst;

	ck_assert_int_eq(take("4294967295 unlisted import\n7 unlisted destructive\nend 2\n"), 0);
	ck_assert_uint_eq(findings.count, 0);
	ck_assert_uint_eq(inspect_findings_count_unlisted(&findings, INSPECT_BIT(INSPECT_DESTRUCTIVE)), 7);
	ck_assert_uint_eq(inspect_findings_count_unlisted(&findings, UINT32_MAX), UINT64_C(4294967302));
	ck_assert(inspect_findings_get_worst(&findings, &worst));
	ck_assert_int_eq(worst, INSPECT_ALARM);
}
END_TEST

/* What becomes of assignments is for the table of policy/variables.h, not for the parser. */
START_TEST(test_assignments)
{
	ck_assert_int_eq(take("2 assignment PS4=$(id)\n1 assignment PAGER=cat\n1 assignment A=1\n"
			      "3 assignment PATH+=:.\n3 assignment IFS=:\nend 5\n"),
			 0);
	ck_assert_uint_eq(findings.count, 3);
	inspect_findings_sort(&findings);
	ck_assert_int_eq(findings.item[0].kind, INSPECT_VARIABLE);
	ck_assert_int_eq(findings.item[1].kind, INSPECT_CODE_VARIABLE);
	ck_assert_str_eq(findings.item[1].what, "is a command: PS4=$(id)");
	ck_assert_str_eq(findings.item[2].what, "loads code: PATH+=:.");
}
END_TEST

/* Outputs that are not what a parser prints, and how many findings come before that. */
static const struct {
	const char *text;
	size_t count;
} bad_output[] = {
	{"", 0},
	{"end", 0},
	{"end 0", 0},
	{"end 0\n\n", 0},
	{"end 1\n", 0},
	{"end -1\n", 0},
	{"end 0 \n", 0},
	{"end 4294967296\n", 0},
	{"1 import os\n", 1},
	{"1 import os\n2 import s", 1},
	{"1 import os\n2 import sys\n", 2},
	{"1 import os\n\xff\n2 import sys\nend 2\n", 1},
	{"1 import os\nend 1\nend 1\n", 1},
	{"1 import os\nend 1\n1 import os\n", 1},
	{"11 import os\nend 1\n", 0},
	{"99999999999 import os\nend 1\n", 0},
	{"-1 import os\nend 1\n", 0},
	{"1import os\nend 1\n", 0},
	{"1 import\nend 1\n", 0},
	{"1 import \nend 1\n", 0},
	{" import os\nend 1\n", 0},
	{"1 imports os\nend 1\n", 0},
	{"1 commands os\nend 1\n", 0},
	{"1 unlisted imports\nend 1\n", 0},
	{"1 unlisted unlisted\nend 1\n", 0},
	{"4294967296 unlisted import\nend 1\n", 0},
	{"1 assignments A=1\nend 1\n", 0},
	{"11 assignment A=1\nend 1\n", 0},
	{"11 command os\nend 1\n", 0},
	{"1 impor os\nend 1\n", 0},
	{"1 import a\tb\nend 1\n", 0},
	{"1 import a\x1b[2J\nend 1\n", 0},
	{"1 import \xff\nend 1\n", 0},
	{"1 import \xed\xa0\x80\nend 1\n", 0},
};

START_TEST(test_bad_output)
{
	ck_assert_msg(take(bad_output[_i].text) == -EBADMSG, "taken: %s", bad_output[_i].text);
	ck_assert_uint_eq(findings.count, bad_output[_i].count);
}
END_TEST

START_TEST(test_much_output)
{
	char what[INSPECT_WHAT_BYTES_MAX * 2 + 2], *text = malloc(INSPECT_WHAT_BYTES_MAX * 4);

	ck_assert_ptr_nonnull(text);
	memset(what, 'x', sizeof(what));
	what[sizeof(what) - 1] = '\0';
	(void)snprintf(text, INSPECT_WHAT_BYTES_MAX * 4, "1 import %s\nend 1\n", what);
	ck_assert_int_eq(take(text), -EBADMSG);
	(void)snprintf(text, INSPECT_WHAT_BYTES_MAX * 4, "1 import %s\nend 1\n", what + 1);
	ck_assert_int_eq(take(text), 0);
	ck_assert_uint_eq(strlen(findings.item[0].what), INSPECT_WHAT_BYTES_MAX);
	free(text);
	ck_assert_int_eq(inspect_take_output("1 import \0\nend 1\n", 17, LINES, NULL, &findings), -EBADMSG);
	for (unsigned i = 0; i < INSPECT_OF_A_KIND_MAX + 5; i++)
		ck_assert_int_eq(inspect_findings_add(&findings, INSPECT_NETWORK, 1, "x"), 0);
	ck_assert_uint_eq(inspect_findings_count_unlisted(&findings, INSPECT_BIT(INSPECT_NETWORK)), 5);
	ck_assert_uint_eq(inspect_findings_count_unlisted(&findings, ~INSPECT_BIT(INSPECT_NETWORK)), 0);
	ck_assert_int_eq(inspect_findings_add(&findings, INSPECT_DESTRUCTIVE, 1, "y"), 0);
	ck_assert_str_eq(findings.item[findings.count - 1].what, "y");
}
END_TEST

START_TEST(test_modules)
{
	static char numpy[] = "numpy", scope[] = "@scope/a", standard[] = "@standard";
	char *names[] = {numpy, scope, NULL};
	struct cli_list allowed = {names, 2};
	enum inspect_level worst;

	ck_assert(inspect_module_is_allowed(&allowed, "numpy", false));
	ck_assert(inspect_module_is_allowed(&allowed, "numpy.linalg", false));
	ck_assert(inspect_module_is_allowed(&allowed, "@scope/a/b", false));
	ck_assert(inspect_module_is_allowed(&allowed, "./own", false));
	ck_assert(!inspect_module_is_allowed(&allowed, "numpyevil", false));
	ck_assert(!inspect_module_is_allowed(&allowed, "nump", false));
	ck_assert(!inspect_module_is_allowed(&allowed, "os", true));
	ck_assert_int_eq(inspect_take_output("1 standard os\nend 1\n", 20, LINES, &allowed, &findings), 0);
	ck_assert(inspect_findings_get_worst(&findings, &worst));
	ck_assert_int_eq(worst, INSPECT_ALARM);
	names[1] = standard;
	ck_assert(inspect_module_is_allowed(&allowed, "os", true));
	ck_assert(!inspect_module_is_allowed(&allowed, "os", false));
}
END_TEST

START_TEST(test_types)
{
	static const struct {
		const char *path, *start;
		enum inspect_type type;
	} files[] = {
		{"a.py", "x", INSPECT_TYPE_PYTHON},
		{"a.py", "#!/bin/sh\n", INSPECT_TYPE_SHELL},
		{"a", "#!/usr/bin/python3.11 -I\n", INSPECT_TYPE_PYTHON},
		{"a", "#!/usr/bin/env -S A=1 node --x\n", INSPECT_TYPE_JAVASCRIPT},
		{"a", "#! /bin/bash", INSPECT_TYPE_SHELL},
		{"a", "#!/usr/bin/shred\n", INSPECT_TYPE_TEXT},
		{"a", "#!/usr/bin/perl\n", INSPECT_TYPE_TEXT},
		{"a", "#!", INSPECT_TYPE_TEXT},
		{"a.js", "\177ELF", INSPECT_TYPE_ELF},
		{".py", "x", INSPECT_TYPE_TEXT},
		{"a/b.ipynb", "{", INSPECT_TYPE_NOTEBOOK},
		{"package.json", "{", INSPECT_TYPE_PACKAGE},
		{"a/package.json", "{", INSPECT_TYPE_PACKAGE},
		{"a/b-package.json", "{", INSPECT_TYPE_TEXT},
		{"a.mjs", "", INSPECT_TYPE_JAVASCRIPT},
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		ck_assert_msg(inspect_find_type(files[i].path, files[i].start, strlen(files[i].start)) == files[i].type,
			      "%s: %s", files[i].path, files[i].start);
	ck_assert_int_eq(inspect_find_type("a.dat", "a\0b", 3), INSPECT_TYPE_DATA);
	ck_assert_int_eq(inspect_find_type("a.py", "a\0b", 3), INSPECT_TYPE_PYTHON);
	ck_assert_int_eq(inspect_find_type("a", "#!/bin/sh\n\0b", 12), INSPECT_TYPE_SHELL);
}
END_TEST

START_TEST(test_bits)
{
	ck_assert_uint_eq(inspect_parse_bits("secret"), INSPECT_BIT(INSPECT_SECRET));
	ck_assert_uint_eq(inspect_parse_bits("alarms"), 0);
	ck_assert_uint_eq(inspect_parse_bits(""), 0);
	ck_assert_uint_eq(inspect_parse_bits("note"), INSPECT_BIT(INSPECT_KIND_MAX) - 1);
	ck_assert(inspect_parse_bits("alarm") & INSPECT_BIT(INSPECT_MODULE));
	ck_assert(!(inspect_parse_bits("alarm") & INSPECT_BIT(INSPECT_SECRET)));
}
END_TEST

/* The kinds that are found in a text, as letters: b, i, s. */
static const char *look(const char *text)
{
	static char kinds[64];
	size_t len = 0;

	release();
	ck_assert_int_eq(inspect_text_find_characters(text, strlen(text), &findings), 0);
	ck_assert_int_eq(inspect_text_find_secrets(text, strlen(text), &findings), 0);
	for (size_t i = 0; i < findings.count && len + 1 < sizeof(kinds); i++)
		kinds[len++] = inspect_kind_get_name(findings.item[i].kind)[0];
	kinds[len] = '\0';
	return kinds;
}

START_TEST(test_characters)
{
	/* which clang-tidy refuses in string literals */
	static const char overriding[] = {'a', '\xe2', '\x80', '\xae', '\0'};
	static const char isolating[] = {'a', '\xe2', '\x81', '\xa6', '\0'};

	ck_assert_str_eq(look("\xef\xbb\xbfplain \t text\r\n\xc3\xa4\n"), "");
	ck_assert_str_eq(look(overriding), "b");
	ck_assert_str_eq(look(isolating), "b");
	ck_assert_str_eq(look("a\xe2\x80\x8b\x1b"), "ii");
	ck_assert_str_eq(look("\xff\xfe \xf0\x9f\x98\x80\xef\xb8\x8f"), "");
}
END_TEST

#define RANDOM_30 "q8Zr3kP0vX2mLs7Td4Wnb5Yc1Gh9Jf"

START_TEST(test_secrets)
{
	ck_assert_str_eq(look("x = 'ghp_" RANDOM_30 "abcdef'"), "s");
	ck_assert_str_eq(look("ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx ghp_short aghp_" RANDOM_30 "abcdef"), "");
	ck_assert_str_eq(look("token: \"" RANDOM_30 "\""), "s");
	ck_assert_str_eq(look("\"password\" => '" RANDOM_30 "'"), "s");
	ck_assert_str_eq(look("API_KEY=" RANDOM_30 "\n"), "s");
	ck_assert_str_eq(look("API_KEY=$(cat x)\npassword = \"correct-horse-battery-1\"\ncolour = '" RANDOM_30 "'"),
			 "");
	ck_assert_str_eq(look("token = get(\"" RANDOM_30 "\")"), "");
	ck_assert_str_eq(look("=:=::=token=\"\npassword=\""), "");
	ck_assert_str_eq(look("-----BEGIN "
			      "EC PRIVATE KEY-----"),
			 "s");
	for (size_t i = 0; i < findings.count; i++)
		ck_assert_ptr_null(strstr(findings.item[i].what, "q8Zr"));
}
END_TEST

/* ---- ELF ---- */

/* Reads a changed ELF file; what comes out must be taken by the protocol. */
static int read_elf(const char *image, size_t len)
{
	_cleanup_free_ char *copy = malloc(len + 1), *text = NULL;
	size_t text_len = 0;
	FILE *out = open_memstream(&text, &text_len);
	int r;

	ck_assert(copy && out);
	memcpy(copy, image, len);
	r = elf_print_findings(copy, len, out);
	ck_assert_int_eq(fclose(out), 0);
	release();
	if (r == 0)
		ck_assert_msg(inspect_take_output(text, text_len, 0, NULL, &findings) == 0, "not taken: %s", text);
	return r;
}

static bool has_kind(enum inspect_kind kind)
{
	return findings.count_of_kind[kind] > 0;
}

/* Reads /bin/sh. Its bytes, owned by the caller; header and segments are in them. */
static char *read_shell(size_t *ret_len, Elf64_Ehdr **ret_header, Elf64_Phdr **ret_segment)
{
	char *image = NULL;

	ck_assert_int_eq(io_read_file(AT_FDCWD, "/bin/sh", INSPECT_ELF_BYTES_MAX, &image, ret_len), 0);
	*ret_header = (Elf64_Ehdr *)(void *)image;
	*ret_segment = (Elf64_Phdr *)(void *)(image + (*ret_header)->e_phoff);
	return image;
}

START_TEST(test_elf_headers)
{
	size_t len = 0;
	Elf64_Ehdr *header;
	Elf64_Phdr *segment;
	_cleanup_free_ char *image = read_shell(&len, &header, &segment);

	ck_assert_int_eq(read_elf(image, len), 0);
	ck_assert(has_kind(INSPECT_LOADER) && has_kind(INSPECT_NEEDS));
	ck_assert(!has_kind(INSPECT_EXECUTABLE_STACK) && !has_kind(INSPECT_UNPARSABLE));
	for (unsigned i = 0; i < header->e_phnum; i++) {
		if (segment[i].p_type == PT_GNU_STACK)
			segment[i].p_flags = PF_R | PF_W | PF_X;
		if (segment[i].p_type == PT_LOAD)
			segment[i].p_flags |= PF_W | PF_X;
	}
	ck_assert_int_eq(read_elf(image, len), 0);
	ck_assert(has_kind(INSPECT_EXECUTABLE_STACK) && has_kind(INSPECT_WRITABLE_CODE));
	for (unsigned i = 0; i < header->e_phnum; i++)
		if (segment[i].p_type == PT_DYNAMIC)
			segment[i].p_offset = segment[i].p_vaddr = UINT64_MAX - 8;
	ck_assert_int_eq(read_elf(image, len), 0);
	ck_assert(has_kind(INSPECT_UNPARSABLE) && !has_kind(INSPECT_NEEDS));
	ck_assert_int_eq(read_elf("\177ELF", 4), -ENOEXEC);
	ck_assert_int_eq(read_elf("", 0), -ENOEXEC);
}
END_TEST

/* What neither the kernel nor the loader goes by hides nothing. */
START_TEST(test_elf_unused_headers)
{
	size_t len = 0;
	Elf64_Ehdr *header;
	Elf64_Phdr *segment;
	_cleanup_free_ char *image = read_shell(&len, &header, &segment);

	ck_assert_int_eq(read_elf(image, len), 0);
	ck_assert(has_kind(INSPECT_PROCESS));
	header->e_shoff = UINT64_MAX; /* no sections, as sstrip(1) leaves a file */
	ck_assert_int_eq(read_elf(image, len), 0);
	ck_assert(has_kind(INSPECT_PROCESS) && has_kind(INSPECT_NEEDS) && !has_kind(INSPECT_UNPARSABLE));
	for (unsigned i = EI_CLASS; i <= EI_VERSION; i++) {
		const char before = image[i];

		image[i] = i == EI_CLASS ? ELFCLASS32 : 9;
		ck_assert_int_eq(read_elf(image, len), 0);
		ck_assert(has_kind(INSPECT_PROCESS) && has_kind(INSPECT_NEEDS) && has_kind(INSPECT_UNPARSABLE));
		image[i] = before;
	}
	for (unsigned i = 0; i < header->e_phnum; i++)
		if (segment[i].p_type == PT_DYNAMIC)
			segment[i].p_offset = segment[i].p_filesz = 0;
	ck_assert_int_eq(read_elf(image, len), 0);
	ck_assert(has_kind(INSPECT_PROCESS) && has_kind(INSPECT_NEEDS) && has_kind(INSPECT_UNPARSABLE));
}
END_TEST

/* Segments that overlap: the kernel maps the last one over the others. */
START_TEST(test_elf_overlap)
{
	size_t len = 0;
	Elf64_Ehdr *header;
	Elf64_Phdr *segment, *first = NULL;
	_cleanup_free_ char *image = read_shell(&len, &header, &segment);

	for (unsigned i = 0; i < header->e_phnum; i++) {
		if (segment[i].p_type == PT_LOAD && first)
			segment[i].p_vaddr = first->p_vaddr;
		else if (segment[i].p_type == PT_LOAD)
			first = &segment[i];
	}
	ck_assert_int_eq(read_elf(image, len), 0);
	ck_assert(has_kind(INSPECT_UNPARSABLE));
}
END_TEST

/* A file with debugging information only has no loader's name, and nothing of its segments. */
START_TEST(test_elf_debug)
{
	size_t len = 0;
	Elf64_Ehdr *header;
	Elf64_Phdr *segment;
	_cleanup_free_ char *image = read_shell(&len, &header, &segment);

	for (unsigned i = 0; i < header->e_phnum; i++)
		segment[i].p_filesz = 0;
	ck_assert_int_eq(read_elf(image, len), 0);
	ck_assert(!has_kind(INSPECT_UNPARSABLE) && !has_kind(INSPECT_LOADER) && !has_kind(INSPECT_NEEDS));
}
END_TEST

#define LONG_TEXT_BYTES ((size_t)16 << 20)
#define LONG_TEXT_SYMBOLS ((size_t)200000)

/* Many symbols that all have the same long name take no time for each of its bytes. */
START_TEST(test_elf_long_text)
{
	struct {
		Elf64_Ehdr header;
		Elf64_Phdr segment[2];
		Elf64_Dyn dynamic[4];
		Elf64_Sym symbol[LONG_TEXT_SYMBOLS];
		char text[LONG_TEXT_BYTES];
	} *file = calloc(1, sizeof(*file));
	const Elf64_Addr dynamic = sizeof(file->header) + sizeof(file->segment);
	const Elf64_Addr symbols = dynamic + sizeof(file->dynamic), text = symbols + sizeof(file->symbol);

	ck_assert_ptr_nonnull(file);
	file->header = (Elf64_Ehdr){.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
				    .e_type = ET_DYN,
				    .e_machine = EM_X86_64,
				    .e_version = EV_CURRENT,
				    .e_ehsize = sizeof(file->header),
				    .e_phoff = sizeof(file->header),
				    .e_phentsize = sizeof(file->segment[0]),
				    .e_phnum = 2};
	file->segment[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_filesz = sizeof(*file), .p_memsz = sizeof(*file)};
	file->segment[1] = (Elf64_Phdr){.p_type = PT_DYNAMIC, .p_offset = dynamic, .p_vaddr = dynamic};
	file->dynamic[0] = (Elf64_Dyn){DT_STRTAB, {text}};
	file->dynamic[1] = (Elf64_Dyn){DT_SYMTAB, {symbols}};
	file->dynamic[2] = (Elf64_Dyn){DT_STRSZ, {LONG_TEXT_BYTES}};
	memset(file->text, 'A', LONG_TEXT_BYTES);
	memcpy(file->text + LONG_TEXT_BYTES - sizeof("system"), "system", sizeof("system"));
	file->symbol[LONG_TEXT_SYMBOLS - 1].st_name = LONG_TEXT_BYTES - sizeof("system");
	file->symbol[1].st_name = UINT32_MAX; /* one that nothing uses hides none behind it */
	ck_assert_int_eq(read_elf((const char *)file, sizeof(*file)), 0);
	ck_assert(has_kind(INSPECT_PROCESS) && !has_kind(INSPECT_UNPARSABLE));
	free(file);
}
END_TEST

/* Changes bytes of the headers and of the dynamic section, and cuts the file, at places that depend on a seed. */
START_TEST(test_elf_broken)
{
	_cleanup_free_ char *image = NULL, *changed = NULL;
	uint64_t state = 88172645463325252u;
	size_t len = 0;

	ck_assert_int_eq(io_read_file(AT_FDCWD, "/bin/sh", INSPECT_ELF_BYTES_MAX, &image, &len), 0);
	changed = malloc(len);
	ck_assert_ptr_nonnull(changed);
	for (unsigned i = 0; i < BROKEN_FILES; i++) {
		size_t used = len;

		memcpy(changed, image, len);
		for (unsigned k = 0; k < 1 + i % 8; k++) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			changed[state % (i % 2 ? 1024 : len)] = (char)(state >> 32);
		}
		if (i % 5 == 0)
			used = state % len;
		(void)read_elf(changed, used);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("inspect");
	TCase *output = tcase_create("output"), *files = tcase_create("files");

	tcase_add_checked_fixture(output, NULL, release);
	tcase_add_test(output, test_good_output);
	tcase_add_test(output, test_unlisted);
	tcase_add_test(output, test_assignments);
	tcase_add_loop_test(output, test_bad_output, 0, (int)(sizeof(bad_output) / sizeof(bad_output[0])));
	tcase_add_test(output, test_much_output);
	tcase_add_test(output, test_modules);
	suite_add_tcase(suite, output);
	tcase_add_checked_fixture(files, NULL, release);
	tcase_add_test(files, test_types);
	tcase_add_test(files, test_bits);
	tcase_add_test(files, test_characters);
	tcase_add_test(files, test_secrets);
	tcase_add_test(files, test_elf_headers);
	tcase_add_test(files, test_elf_unused_headers);
	tcase_add_test(files, test_elf_overlap);
	tcase_add_test(files, test_elf_debug);
	tcase_add_test(files, test_elf_long_text);
	tcase_add_test(files, test_elf_broken);
	suite_add_tcase(suite, files);
	return unit_run(suite);
}
