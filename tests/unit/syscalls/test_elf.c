/* The ELF checks on made-up files: valid, cut at every length, hostile. */
#include <check.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/elf-machine.h"
#include "syscalls/exec/elf.h"
#include "tests/unit/sanitized.h"
#include "tests/unit/unit.h"

#define LOADER "/lib64/ld-test.so.1"

/* The smallest dynamic program: header, PT_LOAD, PT_INTERP, the loader's name. */
struct image {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr[2];
	char interp[sizeof(LOADER)];
};

static struct image image;

static int inspect(const void *bytes, size_t len, struct elf_facts *ret_facts)
{
	_cleanup_close_ int fd = memfd_create("elf", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pwrite(fd, bytes, len, 0), (ssize_t)len);
	return elf_inspect_file(fd, ret_facts);
}

static int inspect_image(void)
{
	struct elf_facts facts;

	return inspect(&image, sizeof(image), &facts);
}

static void setup(void)
{
	image = (struct image){
		.ehdr = {.e_type = ET_DYN, .e_machine = ELF_MACHINE, .e_version = EV_CURRENT,
			 .e_phoff = offsetof(struct image, phdr), .e_ehsize = sizeof(Elf64_Ehdr),
			 .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2},
		.phdr = {{.p_type = PT_LOAD, .p_vaddr = 0x12345, .p_filesz = 16, .p_memsz = 16},
			 {.p_type = PT_INTERP, .p_offset = offsetof(struct image, interp), .p_filesz = sizeof(LOADER)}},
		.interp = LOADER,
	};
	memcpy(image.ehdr.e_ident, ELFMAG, SELFMAG);
	image.ehdr.e_ident[EI_CLASS] = ELFCLASS64;
	image.ehdr.e_ident[EI_DATA] = ELFDATA2LSB;
	image.ehdr.e_ident[EI_VERSION] = EV_CURRENT;
}

START_TEST(finds_the_loader)
{
	struct elf_facts facts;

	ck_assert_int_eq(inspect(&image, sizeof(image), &facts), 0);
	ck_assert(facts.is_dynamic);
	ck_assert_str_eq(facts.interp, LOADER);
	ck_assert_uint_eq(facts.first_vaddr, 0x12000);
}
END_TEST

START_TEST(static_has_none)
{
	struct elf_facts facts;

	image.phdr[1].p_type = PT_NULL;
	ck_assert_int_eq(inspect(&image, sizeof(image), &facts), 0);
	ck_assert(!facts.is_dynamic);
}
END_TEST

START_TEST(reads_itself)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_facts facts;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(elf_inspect_file(fd, &facts), 0);
	ck_assert_int_eq(access(facts.interp, X_OK), 0);
	ck_assert_uint_eq(facts.layout.phdr_count, getauxval(AT_PHNUM));
	ck_assert_uint_eq(facts.layout.entry_minus_phdr, getauxval(AT_ENTRY) - getauxval(AT_PHDR));
}
END_TEST

START_TEST(refuses_every_cut)
{
	struct elf_facts facts = {.first_vaddr = 77};

	for (size_t len = 0; len < sizeof(image); len++) {
		int r = inspect(&image, len, &facts);

		/* The padding behind the name may be missing. */
		if (len < offsetof(struct image, interp) + sizeof(LOADER))
			ck_assert_int_eq(r, len < offsetof(struct image, interp) ? -ENOEXEC : -EIO);
	}
	ck_assert_uint_ne(facts.first_vaddr, 0);
}
END_TEST

START_TEST(refuses_foreign)
{
	image.ehdr.e_machine = EM_386;
	ck_assert_int_eq(inspect_image(), -ENOTSUP);
	setup();
	image.ehdr.e_ident[EI_DATA] = ELFDATA2MSB;
	ck_assert_int_eq(inspect_image(), -ENOTSUP);
	setup();
	image.ehdr.e_ident[EI_CLASS] = ELFCLASS32; /* x32 */
	ck_assert_int_eq(inspect_image(), -ENOTSUP);
}
END_TEST

START_TEST(refuses_what_the_kernel_refuses)
{
	image.ehdr.e_type = ET_REL;
	ck_assert_int_eq(inspect_image(), -ENOEXEC);
	setup();
	image.ehdr.e_phnum = 0;
	ck_assert_int_eq(inspect_image(), -ENOEXEC);
	setup();
	image.ehdr.e_phnum = PN_XNUM;
	ck_assert_int_eq(inspect_image(), -ENOEXEC);
	setup();
	image.ehdr.e_phentsize = 32;
	ck_assert_int_eq(inspect_image(), -ENOEXEC);
	setup();
	image.ehdr.e_phoff = UINT64_MAX - 8;
	ck_assert_int_eq(inspect_image(), -ENOEXEC);
	setup();
	image.phdr[0].p_type = PT_NULL;
	ck_assert_int_eq(inspect_image(), -ENOEXEC);
}
END_TEST

/* What lies beyond the first bytes that are read: many program headers, far away, and the name behind them. */
START_TEST(reads_far_away)
{
	_cleanup_close_ int fd = memfd_create("elf", MFD_CLOEXEC);
	Elf64_Phdr phdr[200] = {[150] = image.phdr[0], [199] = image.phdr[1]};
	struct elf_facts facts;

	image.ehdr.e_phnum = 200;
	image.ehdr.e_phoff = 1000; /* across the end of those */
	phdr[199].p_offset = 100000;
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pwrite(fd, &image.ehdr, sizeof(image.ehdr), 0), (ssize_t)sizeof(image.ehdr));
	ck_assert_int_eq(pwrite(fd, phdr, sizeof(phdr), 1000), (ssize_t)sizeof(phdr));
	ck_assert_int_eq(elf_inspect_file(fd, &facts), -EIO);
	ck_assert_int_eq(pwrite(fd, LOADER, sizeof(LOADER), 100000), (ssize_t)sizeof(LOADER));
	ck_assert_int_eq(elf_inspect_file(fd, &facts), 0);
	ck_assert_str_eq(facts.interp, LOADER);
	ck_assert_uint_eq(facts.first_vaddr, 0x12000);
	ck_assert_int_eq(ftruncate(fd, 1000 + (off_t)sizeof(phdr) - 1), 0);
	ck_assert_int_eq(elf_inspect_file(fd, &facts), -ENOEXEC);
}
END_TEST

START_TEST(refuses_bad_loader_names)
{
	static const struct {
		uint64_t offset, size;
		int error;
	} spans[] = {
		{offsetof(struct image, interp), 0, -ENOEXEC},
		{offsetof(struct image, interp), 1, -ENOEXEC},
		{offsetof(struct image, interp), sizeof(LOADER) - 1, -ENOEXEC}, /* no NUL */
		{offsetof(struct image, interp), sizeof(LOADER) + 64, -EIO},
		{offsetof(struct image, interp), PATH_MAX + 1, -ENOEXEC},
		{offsetof(struct image, interp), UINT64_MAX, -ENOEXEC},
		{UINT64_MAX, 2, -EIO},
		{INT64_MAX, 2, -EIO},
		{1u << 30, 2, -EIO},
	};

	for (size_t i = 0; i < sizeof(spans) / sizeof(*spans); i++) {
		image.phdr[1].p_offset = spans[i].offset;
		image.phdr[1].p_filesz = spans[i].size;
		ck_assert_int_eq(inspect_image(), spans[i].error);
	}
}
END_TEST

/* A reader that makes a table of them needs gigabytes for a sparse file. */
START_TEST(ignores_sections)
{
	_cleanup_close_ int fd = memfd_create("elf", MFD_CLOEXEC);
	Elf64_Shdr first = {.sh_size = 10000000};
	struct elf_facts facts;

	image.ehdr.e_shoff = sizeof(image) + 64;
	image.ehdr.e_shentsize = sizeof(first);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pwrite(fd, &image, sizeof(image), 0), (ssize_t)sizeof(image));
	ck_assert_int_eq(pwrite(fd, &first, sizeof(first), sizeof(image) + 64), (ssize_t)sizeof(first));
	ck_assert_int_eq(ftruncate(fd, (off_t)1 << 36), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &(struct rlimit){256u << 20, 256u << 20}), 0);
	ck_assert_int_eq(elf_inspect_file(fd, &facts), 0);
}
END_TEST

START_TEST(no_elf_at_all)
{
	struct elf_facts facts;
	static const char archive[] = "!<arch>\nsome/           0           0     0     644     0         `\n";

	ck_assert_int_eq(inspect(archive, sizeof(archive), &facts), -ENOEXEC);
	ck_assert_int_eq(inspect("", 0, &facts), -ENOEXEC);
	ck_assert_int_eq(elf_inspect_file(-1, &facts), -EBADF);
}
END_TEST

/* Reproducible noise in a valid file: any answer is right that is an answer. */
START_TEST(survives_noise)
{
	unsigned seed = 1;

	for (int round = 0; round < 20000; round++) {
		struct image noisy = image;
		struct elf_facts facts;

		for (int flips = 0; flips < 4; flips++)
			((unsigned char *)&noisy)[(unsigned)rand_r(&seed) % sizeof(noisy)] =
				(unsigned char)rand_r(&seed);
		if (inspect(&noisy, sizeof(noisy), &facts) == 0 && facts.is_dynamic)
			ck_assert_uint_lt(strnlen(facts.interp, PATH_MAX), PATH_MAX);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("elf");
	TCase *tcase = tcase_create("elf");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, finds_the_loader);
	tcase_add_test(tcase, static_has_none);
	tcase_add_test(tcase, reads_itself);
	tcase_add_test(tcase, refuses_every_cut);
	tcase_add_test(tcase, refuses_foreign);
	tcase_add_test(tcase, refuses_what_the_kernel_refuses);
	tcase_add_test(tcase, reads_far_away);
	tcase_add_test(tcase, refuses_bad_loader_names);
	if (!SANITIZED) /* its shadow memory does not fit the limit */
		tcase_add_test(tcase, ignores_sections);
	tcase_add_test(tcase, no_elf_at_all);
	tcase_add_test(tcase, survives_noise);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
