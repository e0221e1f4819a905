#include "syscalls/exec/elf.h"

#include <errno.h>
#include <unistd.h>

#include "base/elf-machine.h"

/* load_elf_phdrs() in fs/binfmt_elf.c refuses more than 64 KiB of program headers, so PN_XNUM never applies. */
#define ELF_PHDR_TABLE_BYTES_MAX 65536u
#define PHDRS_PER_READ 16u
#define ELF_PAGE_BYTES 4096u

/* An open file, and its first bytes, which mostly hold everything that is read. */
struct elf_source {
	int fd;
	size_t len;
	unsigned char head[1024];
};

/* Reads `len` bytes at an offset. 0; -ENOEXEC if the file is shorter; or -errno. */
static int elf_read(const struct elf_source *source, void *out, size_t len, uint64_t offset)
{
	ssize_t got;

	if (offset <= source->len && len <= source->len - offset) {
		memcpy(out, source->head + offset, len);
		return 0;
	}
	if (offset > INT64_MAX - len)
		return -ENOEXEC;
	got = pread(source->fd, out, len, (off_t)offset);
	if (got < 0)
		return -errno;
	return (size_t)got == len ? 0 : -ENOEXEC;
}

static int elf_read_header(struct elf_source *source, Elf64_Ehdr *ehdr)
{
	ssize_t got = pread(source->fd, source->head, sizeof(source->head), 0);
	int r;

	if (got < 0)
		return -errno;
	source->len = (size_t)got;
	if (source->len < EI_NIDENT)
		return -ENOEXEC;
	memcpy(ehdr->e_ident, source->head, EI_NIDENT);
	if (memcmp(ehdr->e_ident, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	if (ehdr->e_ident[EI_CLASS] != ELFCLASS64 || ehdr->e_ident[EI_DATA] != ELFDATA2LSB)
		return -ENOTSUP;
	if (ehdr->e_ident[EI_VERSION] != EV_CURRENT)
		return -ENOEXEC; /* the kernel does not check EI_VERSION, but no tool makes files of another version */
	r = elf_read(source, ehdr, sizeof(*ehdr), 0);
	if (r < 0)
		return r;
	if (ehdr->e_machine != ELF_MACHINE)
		return -ENOTSUP;
	if ((ehdr->e_type != ET_EXEC && ehdr->e_type != ET_DYN) || ehdr->e_phentsize != sizeof(Elf64_Phdr) ||
	    ehdr->e_phnum == 0 || ehdr->e_phnum > ELF_PHDR_TABLE_BYTES_MAX / sizeof(Elf64_Phdr))
		return -ENOEXEC;
	return 0;
}

/* Reads PT_INTERP, with the kernel's checks: 2 to PATH_MAX bytes, the last one NUL. -EIO if the file ends before. */
static int elf_read_interp(const struct elf_source *source, const Elf64_Phdr *phdr, char text[PATH_MAX])
{
	size_t want = (size_t)phdr->p_filesz;
	int r;

	if (phdr->p_filesz < 2 || phdr->p_filesz > PATH_MAX)
		return -ENOEXEC;
	r = elf_read(source, text, want, phdr->p_offset);
	if (r < 0)
		return r == -ENOEXEC ? -EIO : r;
	return text[want - 1] == '\0' ? 0 : -ENOEXEC;
}

/* Takes over what a program header says. *loads: a PT_LOAD was seen. */
static int elf_inspect_phdr(const struct elf_source *source, const Elf64_Ehdr *ehdr, const Elf64_Phdr *phdr,
			    struct elf_facts *facts, bool *loads)
{
	int r;

	if (phdr->p_type == PT_LOAD && ehdr->e_phoff - phdr->p_offset < phdr->p_filesz)
		facts->layout.entry_minus_phdr = ehdr->e_entry - (ehdr->e_phoff - phdr->p_offset + phdr->p_vaddr);
	if (phdr->p_type == PT_LOAD && !*loads) {
		facts->first_vaddr = phdr->p_vaddr & ~(uint64_t)(ELF_PAGE_BYTES - 1);
		*loads = true;
	}
	if (phdr->p_type != PT_INTERP || facts->is_dynamic)
		return 0; /* the kernel uses the first PT_INTERP */
	r = elf_read_interp(source, phdr, facts->interp);
	if (r == 0)
		facts->is_dynamic = true;
	return r;
}

static int elf_inspect_phdrs(const struct elf_source *source, const Elf64_Ehdr *ehdr, struct elf_facts *facts)
{
	Elf64_Phdr phdr[PHDRS_PER_READ];
	size_t count = ehdr->e_phnum, batch;
	bool loads = false;

	facts->entry = ehdr->e_entry;
	facts->layout.phdr_count = ehdr->e_phnum;
	if (ehdr->e_phoff > INT64_MAX - ELF_PHDR_TABLE_BYTES_MAX)
		return -ENOEXEC;
	for (size_t i = 0; i < count; i += batch) {
		int r;

		batch = count - i < PHDRS_PER_READ ? count - i : PHDRS_PER_READ;
		r = elf_read(source, phdr, batch * sizeof(*phdr), ehdr->e_phoff + i * sizeof(*phdr));
		for (size_t at = 0; r == 0 && at < batch; at++)
			r = elf_inspect_phdr(source, ehdr, &phdr[at], facts, &loads);
		if (r < 0)
			return r;
	}
	return loads ? 0 : -ENOEXEC;
}

int elf_inspect_file(int fd, struct elf_facts *ret_facts)
{
	struct elf_source source = {.fd = fd};
	struct elf_facts facts = {.is_dynamic = false};
	Elf64_Ehdr ehdr = {.e_phnum = 0};
	int r = elf_read_header(&source, &ehdr);

	if (r == 0)
		r = elf_inspect_phdrs(&source, &ehdr, &facts);
	if (r == 0)
		*ret_facts = facts;
	return r;
}
