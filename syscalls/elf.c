#include "syscalls/elf.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>
#include <unistd.h>

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

/* The text at PT_INTERP as the kernel takes it: 2..PATH_MAX bytes, the last one NUL. */
static int read_interp(int fd, const GElf_Phdr *phdr, char text[PATH_MAX])
{
	char copy[PATH_MAX];
	size_t want = (size_t)phdr->p_filesz;

	if (phdr->p_filesz < 2 || phdr->p_filesz > PATH_MAX || phdr->p_offset > INT64_MAX - PATH_MAX)
		return -ENOEXEC;
	/* A short read means that the file ends before its interpreter's name does. */
	if (pread(fd, copy, want, (off_t)phdr->p_offset) != (ssize_t)want || copy[want - 1] != '\0')
		return -ENOEXEC;
	memcpy(text, copy, want);
	return 0;
}

static int inspect_header(Elf *elf, size_t *ret_phdrs)
{
	GElf_Ehdr ehdr;
	const char *ident = elf_getident(elf, NULL);

	if (!ident || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &ehdr))
		return -ENOEXEC;
	if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB || ehdr.e_machine != ELF_MACHINE)
		return -ENOTSUP;
	if (ehdr.e_type != ET_EXEC && ehdr.e_type != ET_DYN)
		return -ENOEXEC;
	if (ehdr.e_phentsize != sizeof(Elf64_Phdr) || ehdr.e_phnum == 0 ||
	    ehdr.e_phnum > PHDR_BYTES_MAX / sizeof(Elf64_Phdr))
		return -ENOEXEC;
	*ret_phdrs = ehdr.e_phnum;
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
	_cleanup_elf_ Elf *elf = NULL;
	struct elf_facts facts = {0};
	char ident[EI_NIDENT];
	size_t phdrs;
	ssize_t got;
	int r;

	/* libelf would take an ar(1) archive or a bare text as well, and cannot tell an unreadable file from a foreign one. */
	got = pread(fd, ident, sizeof(ident), 0);
	if (got < 0)
		return -errno;
	if ((size_t)got < sizeof(ident) || memcmp(ident, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	if (elf_version(EV_CURRENT) == EV_NONE)
		return -ENOSYS;
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf)
		return -ENOEXEC;
	r = inspect_header(elf, &phdrs);
	if (r == 0)
		r = inspect_phdrs(elf, fd, phdrs, &facts);
	if (r == 0)
		*ret_facts = facts;
	return r;
}
