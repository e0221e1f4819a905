#include "cli/inspect/elf/read.h"

#include <assert.h>
#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define ELF_SEGMENTS_MAX 4096u
#define ELF_DYNAMIC_MAX 65536   /* entries of the dynamic section */
#define ELF_SYMBOLS_MAX 1000000 /* symbols that are looked at */
#define ELF_TEXT_BYTES_MAX 300u /* of a name in the file; longer ones are cut */
#define ELF_OF_A_KIND_MAX 300u  /* findings of a kind that are printed; so that many do not hide a bad one */
#define ELF_KINDS_MAX 16

/* The file that is looked at. */
struct elf_image {
	const char *bytes;
	size_t len;
	Elf *elf;
	GElf_Ehdr header;
	FILE *out;
	struct {
		const char *name;
		uint32_t count;
	} kinds[ELF_KINDS_MAX]; /* of what was found */
	bool has_loader, has_dynamic, has_stack, is_broken;
	GElf_Phdr dynamic;
	GElf_Off strings; /* file offset of the dynamic section's texts; 0: none */
	GElf_Xword strings_size;
};

/* Functions of note, by what they are for. The names are those of dynamic symbols. */
static const struct {
	const char *kind;
	const char *const names[12];
} functions[] = {
	{"network", {"socket", "connect", "getaddrinfo", "gethostbyname", "SSL_connect", "curl_easy_perform"}},
	{"process", {"system", "popen", "execve", "execvp", "execl", "posix_spawn", "posix_spawnp", "fork", "ptrace"}},
	{"native", {"dlopen", "dlmopen", "memfd_create", "fexecve", "process_vm_writev", "init_module"}},
};

/* ---- printing ---- */

/* Counts a finding. False: it is left out. */
static bool elf_count(struct elf_image *image, const char *kind)
{
	size_t i = 0;

	while (image->kinds[i].name && strcmp(image->kinds[i].name, kind) != 0)
		i++;
	assert(i + 1 < ELF_KINDS_MAX);
	image->kinds[i].name = kind;
	return image->kinds[i].count++ < ELF_OF_A_KIND_MAX;
}

/* Prints how many findings were left out, and how many lines there are. */
static void elf_print_end(const struct elf_image *image)
{
	uint32_t lines = 0;

	for (size_t i = 0; image->kinds[i].name; i++) {
		const uint32_t count = image->kinds[i].count;

		lines += count < ELF_OF_A_KIND_MAX ? count : ELF_OF_A_KIND_MAX;
		if (count <= ELF_OF_A_KIND_MAX)
			continue;
		(void)fprintf(image->out, "%u unlisted %s\n", count - ELF_OF_A_KIND_MAX, image->kinds[i].name);
		lines++;
	}
	(void)fprintf(image->out, "end %u\n", lines);
}

/* Prints a finding. Bytes that are no printable ASCII become "?". */
static void elf_print_bytes(struct elf_image *image, const char *kind, const char *text, size_t len)
{
	const size_t shown = len < ELF_TEXT_BYTES_MAX ? len : ELF_TEXT_BYTES_MAX;

	if (!elf_count(image, kind))
		return;
	(void)fprintf(image->out, "0 %s ", kind);
	for (size_t i = 0; i < shown; i++)
		(void)fputc(text[i] >= 0x20 && text[i] < 0x7f ? text[i] : '?', image->out);
	(void)fputs(len > 0 ? "\n" : "-\n", image->out);
}

static void elf_print(struct elf_image *image, const char *kind, const char *text)
{
	elf_print_bytes(image, kind, text, strlen(text));
}

/* A part of the file that begins at `offset`, up to a NUL byte. NULL: it is not in the file. */
static const char *elf_get_text(const struct elf_image *image, uint64_t offset, size_t *ret_len)
{
	if (offset >= image->len)
		return NULL;
	*ret_len = strnlen(image->bytes + offset, image->len - offset);
	return image->bytes + offset;
}

/* ---- segments ---- */

static void elf_look_at_loader(struct elf_image *image, const GElf_Phdr *segment)
{
	size_t len = 0;
	const char *text = elf_get_text(image, segment->p_offset, &len);

	image->has_loader = true;
	if (text && len > 0 && len < segment->p_filesz)
		elf_print_bytes(image, "loader", text, len);
	else
		image->is_broken = true;
}

static void elf_look_at_segment(struct elf_image *image, const GElf_Phdr *segment)
{
	const unsigned both = PF_W | PF_X;

	switch (segment->p_type) {
	case PT_INTERP:
		elf_look_at_loader(image, segment);
		break;
	case PT_DYNAMIC:
		image->dynamic = *segment;
		image->has_dynamic = true;
		break;
	case PT_GNU_STACK:
		image->has_stack = true;
		if (segment->p_flags & PF_X)
			elf_print(image, "executable-stack", "the stack is executable (PT_GNU_STACK)");
		break;
	case PT_LOAD:
		if ((segment->p_flags & both) == both)
			elf_print(image, "writable-code", "a segment can be written and executed");
		if (segment->p_filesz > segment->p_memsz || segment->p_offset > image->len ||
		    segment->p_filesz > image->len - segment->p_offset)
			image->is_broken = true;
		break;
	default:
		break;
	}
}

static void elf_look_at_segments(struct elf_image *image)
{
	size_t count = 0;
	GElf_Phdr segment;

	if (elf_getphdrnum(image->elf, &count) != 0 || count > ELF_SEGMENTS_MAX) {
		image->is_broken = true;
		return;
	}
	for (size_t i = 0; i < count; i++) {
		if (!gelf_getphdr(image->elf, (int)i, &segment)) {
			image->is_broken = true;
			return;
		}
		elf_look_at_segment(image, &segment);
	}
	/* Without PT_GNU_STACK the kernel makes the stack executable, on x86 (fs/binfmt_elf.c, EXSTACK_DEFAULT). */
	if (!image->has_stack && count > 0 && image->header.e_type != ET_REL &&
	    (image->header.e_machine == EM_X86_64 || image->header.e_machine == EM_386))
		elf_print(image, "executable-stack", "the stack is executable (no PT_GNU_STACK)");
	if (!image->has_dynamic && image->header.e_type == ET_EXEC)
		elf_print(image, "static", "statically linked");
}

/* ---- the dynamic section, as the loader finds it ---- */

/* Turns an address of the program's memory into an offset in the file. False: no segment has it. */
static bool elf_find_offset(const struct elf_image *image, GElf_Addr address, GElf_Off *ret_offset)
{
	size_t count = 0;
	GElf_Phdr segment;

	(void)elf_getphdrnum(image->elf, &count); /* on failure, count stays 0 */
	for (size_t i = 0; i < count && i < ELF_SEGMENTS_MAX; i++)
		if (gelf_getphdr(image->elf, (int)i, &segment) && segment.p_type == PT_LOAD &&
		    address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
			return !__builtin_add_overflow(segment.p_offset, address - segment.p_vaddr, ret_offset);
	return false;
}

/* Prints a finding with the text that an entry of the dynamic section refers to. */
static void elf_print_entry(struct elf_image *image, const char *kind, const GElf_Dyn *entry)
{
	uint64_t offset;
	const char *text;
	size_t len = 0;

	if (entry->d_un.d_val >= image->strings_size ||
	    __builtin_add_overflow(image->strings, entry->d_un.d_val, &offset)) {
		image->is_broken = true;
		return;
	}
	text = elf_get_text(image, offset, &len);
	if (text)
		elf_print_bytes(image, kind, text, len);
	else
		image->is_broken = true;
}

static void elf_look_at_entry(struct elf_image *image, const GElf_Dyn *entry)
{
	switch (entry->d_tag) {
	case DT_NEEDED:
		elf_print_entry(image, "needs", entry);
		break;
	case DT_RPATH:
	case DT_RUNPATH:
		elf_print_entry(image, "rpath", entry);
		break;
	case DT_AUDIT:
	case DT_DEPAUDIT:
		elf_print_entry(image, "native", entry);
		break;
	case DT_TEXTREL:
		elf_print(image, "writable-code", "code is relocated, so it is made writable (DT_TEXTREL)");
		break;
	case DT_FLAGS_1:
		if ((entry->d_un.d_val & DF_1_PIE) && !image->has_loader)
			elf_print(image, "static", "statically linked, position independent");
		break;
	default:
		break;
	}
}

static void elf_find_strings(struct elf_image *image, const GElf_Dyn *entry)
{
	if (entry->d_tag == DT_STRTAB && !elf_find_offset(image, entry->d_un.d_ptr, &image->strings))
		image->is_broken = true;
	if (entry->d_tag == DT_STRSZ)
		image->strings_size = entry->d_un.d_val;
}

static void elf_visit_dynamic(struct elf_image *image, void (*visit)(struct elf_image *image, const GElf_Dyn *entry))
{
	Elf_Data *data = image->dynamic.p_offset > image->len || image->dynamic.p_filesz > image->len
				 ? NULL
				 : elf_getdata_rawchunk(image->elf, (int64_t)image->dynamic.p_offset,
							image->dynamic.p_filesz, ELF_T_DYN);
	GElf_Dyn entry;

	if (!data)
		image->is_broken = true;
	for (int i = 0; data && i < ELF_DYNAMIC_MAX && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++)
		visit(image, &entry);
}

/* ---- symbols ---- */

static void elf_look_at_symbol(struct elf_image *image, const char *name)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		for (const char *const *known = functions[i].names; *known; known++)
			if (strcmp(*known, name) == 0)
				elf_print(image, functions[i].kind, name);
}

/* Looks at the functions that the file takes from libraries. A file need not have the sections; then there are none. */
static void elf_look_at_symbols(struct elf_image *image)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(image->elf, section))) {
		GElf_Shdr header;
		Elf_Data *data;
		GElf_Sym symbol;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNSYM)
			continue;
		data = elf_getdata(section, NULL);
		for (int i = 0; data && i < ELF_SYMBOLS_MAX && gelf_getsym(data, i, &symbol); i++) {
			const char *name = symbol.st_shndx == SHN_UNDEF
						   ? elf_strptr(image->elf, header.sh_link, symbol.st_name)
						   : NULL;

			if (name)
				elf_look_at_symbol(image, name);
		}
	}
}

int elf_print_findings(char *bytes, size_t len, FILE *out)
{
	struct elf_image image = {.bytes = bytes, .len = len, .out = out};
	int r = elf_version(EV_CURRENT) == EV_NONE ? -EIO : 0;

	if (r == 0)
		image.elf = elf_memory(bytes, len);
	if (r == 0 && (!image.elf || elf_kind(image.elf) != ELF_K_ELF || !gelf_getehdr(image.elf, &image.header)))
		r = -ENOEXEC;
	if (r == 0) {
		elf_look_at_segments(&image);
		if (image.has_dynamic) {
			elf_visit_dynamic(&image, elf_find_strings);
			elf_visit_dynamic(&image, elf_look_at_entry);
		}
		elf_look_at_symbols(&image);
		if (image.is_broken)
			elf_print(&image, "unparsable", "headers contradict each other, or lead out of the file");
		elf_print_end(&image);
	}
	(void)elf_end(image.elf);
	return r < 0 ? r : ferror(out) ? -EIO : 0;
}
