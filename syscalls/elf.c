#include "syscalls/elf.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/elf-machine.h"

#include "base/banned.h"

/* fs/binfmt_elf.c, load_elf_phdrs(): more than 64 KiB of program headers are refused, so PN_XNUM never applies. */
#define PHDR_BYTES_MAX 65536u
#define ELF_PAGE 4096u

static void cleanup_elf(Elf **elf)
{
	if (*elf)
		(void)elf_end(*elf); /* the count of users left says nothing here */
}

#define _cleanup_elf_ __attribute__((cleanup(cleanup_elf)))

/*
 * Header and program headers as an image of their own without sections. Given the file itself, libelf makes a table of as
 * many sections as the file claims to have: a sparse one costs gigabytes and seconds.
 */
struct bounded {
	Elf64_Ehdr ehdr;
	unsigned char phdrs[PHDR_BYTES_MAX];
};

/* 0, or -ENOEXEC when there is less in the file. */
static int read_exactly(int fd, void *out, size_t len, uint64_t offset)
{
	ssize_t got;

	if (offset > INT64_MAX - len)
		return -ENOEXEC;
	got = pread(fd, out, len, (off_t)offset);
	if (got < 0)
		return -errno;
	return (size_t)got == len ? 0 : -ENOEXEC;
}

static int read_bounded(int fd, struct bounded *image)
{
	Elf64_Ehdr *ehdr = &image->ehdr;
	uint64_t phdrs_at;
	int r = read_exactly(fd, ehdr, EI_NIDENT, 0);

	if (r < 0)
		return r;
	if (memcmp(ehdr->e_ident, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	if (ehdr->e_ident[EI_CLASS] != ELFCLASS64 || ehdr->e_ident[EI_DATA] != ELFDATA2LSB)
		return -ENOTSUP;
	r = read_exactly(fd, ehdr, sizeof(*ehdr), 0);
	if (r < 0)
		return r;
	if (ehdr->e_machine != ELF_MACHINE)
		return -ENOTSUP;
	if (ehdr->e_type != ET_EXEC && ehdr->e_type != ET_DYN)
		return -ENOEXEC;
	if (ehdr->e_phentsize != sizeof(Elf64_Phdr) || ehdr->e_phnum == 0 ||
	    ehdr->e_phnum > PHDR_BYTES_MAX / sizeof(Elf64_Phdr))
		return -ENOEXEC;
	phdrs_at = ehdr->e_phoff;
	ehdr->e_phoff = offsetof(struct bounded, phdrs);
	ehdr->e_shoff = 0;
	ehdr->e_shnum = ehdr->e_shstrndx = 0;
	return read_exactly(fd, image->phdrs, ehdr->e_phnum * sizeof(Elf64_Phdr), phdrs_at);
}

/* The text at PT_INTERP as the kernel takes it: 2..PATH_MAX bytes, the last one NUL. */
static int read_interp(int fd, const GElf_Phdr *phdr, char text[PATH_MAX])
{
	char copy[PATH_MAX];
	size_t want = (size_t)phdr->p_filesz;
	int r;

	if (phdr->p_filesz < 2 || phdr->p_filesz > PATH_MAX)
		return -ENOEXEC;
	r = read_exactly(fd, copy, want, phdr->p_offset);
	if (r < 0)
		return r;
	if (copy[want - 1] != '\0')
		return -ENOEXEC;
	memcpy(text, copy, want);
	return 0;
}

static int inspect_phdrs(Elf *elf, int fd, size_t phdrs, struct elf_facts *facts)
{
	bool loads = false;

	for (size_t i = 0; i < phdrs; i++) {
		GElf_Phdr phdr;
		int r;

		if (!gelf_getphdr(elf, (int)i, &phdr))
			return -ENOEXEC;
		if (phdr.p_type == PT_LOAD && !loads) {
			facts->first_vaddr = phdr.p_vaddr & ~(uint64_t)(ELF_PAGE - 1);
			loads = true;
		}
		if (phdr.p_type != PT_INTERP || facts->dynamic)
			continue; /* the kernel uses the first PT_INTERP */
		r = read_interp(fd, &phdr, facts->interp);
		if (r < 0)
			return r;
		facts->dynamic = true;
	}
	return loads ? 0 : -ENOEXEC;
}

int elf_inspect(int fd, struct elf_facts *ret_facts)
{
	_cleanup_free_ struct bounded *image = calloc(1, sizeof(*image));
	_cleanup_elf_ Elf *elf = NULL;
	struct elf_facts facts = {0};
	size_t phdrs;
	int r;

	if (!image)
		return -ENOMEM;
	r = read_bounded(fd, image);
	if (r < 0)
		return r;
	phdrs = image->ehdr.e_phnum;
	if (elf_version(EV_CURRENT) == EV_NONE)
		return -ENOSYS;
	elf = elf_memory((char *)image, offsetof(struct bounded, phdrs) + phdrs * sizeof(Elf64_Phdr));
	if (!elf || elf_kind(elf) != ELF_K_ELF)
		return -ENOEXEC;
	r = inspect_phdrs(elf, fd, phdrs, &facts);
	if (r == 0)
		*ret_facts = facts;
	return r;
}
