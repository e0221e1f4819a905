#include "cli/inspect/elf/read.h"

#include <assert.h>
#include <errno.h>
#include <gelf.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
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
	GElf_Addr loaded_end; /* where the segments end that are loaded by what was read so far */
	GElf_Off strings;     /* file offset of the dynamic section's texts; 0: none */
	GElf_Xword strings_size;
	GElf_Off symbols; /* file offset of the dynamic section's symbols; 0: none */
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

/*
 * A part of the file that begins at `offset`, up to a NUL byte, or cut after PATH_MAX bytes: millions of entries may
 * refer to one long text. NULL: it is not in the file.
 */
static const char *elf_get_text(const struct elf_image *image, uint64_t offset, size_t *ret_len)
{
	if (offset >= image->len)
		return NULL;
	*ret_len = strnlen(image->bytes + offset, image->len - offset < PATH_MAX ? image->len - offset : PATH_MAX);
	return image->bytes + offset;
}

/* ---- segments ---- */

static void elf_look_at_loader(struct elf_image *image, const GElf_Phdr *segment)
{
	size_t len = 0;
	const char *text = elf_get_text(image, segment->p_offset, &len);

	image->has_loader = true;
	if (segment->p_filesz == 0) /* of a file with debugging information only: the kernel does not load it */
		return;
	if (text && len > 0 && len < segment->p_filesz && len < PATH_MAX)
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
		/* of overlapping segments the kernel maps the last one over the others; the format has them in order */
		if (segment->p_filesz > segment->p_memsz || segment->p_offset > image->len ||
		    segment->p_filesz > image->len - segment->p_offset || segment->p_vaddr < image->loaded_end ||
		    __builtin_add_overflow(segment->p_vaddr, segment->p_memsz, &image->loaded_end))
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

/* Finds the segment that has an address of the program's memory. False: none has it. */
static bool elf_find_segment(const struct elf_image *image, GElf_Addr address, GElf_Phdr *ret_segment)
{
	size_t count = 0;

	(void)elf_getphdrnum(image->elf, &count); /* on failure, count stays 0 */
	for (size_t i = 0; i < count && i < ELF_SEGMENTS_MAX; i++)
		if (gelf_getphdr(image->elf, (int)i, ret_segment) && ret_segment->p_type == PT_LOAD &&
		    address >= ret_segment->p_vaddr && address - ret_segment->p_vaddr < ret_segment->p_memsz)
			return true;
	return false;
}

/* Turns an address of the program's memory into an offset in the file. False: nothing of the file is there. */
static bool elf_find_offset(const struct elf_image *image, GElf_Addr address, GElf_Off *ret_offset)
{
	GElf_Phdr segment;

	return elf_find_segment(image, address, &segment) && address - segment.p_vaddr < segment.p_filesz &&
	       !__builtin_add_overflow(segment.p_offset, address - segment.p_vaddr, ret_offset);
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

static void elf_find_tables(struct elf_image *image, const GElf_Dyn *entry)
{
	if (entry->d_tag == DT_STRTAB && !elf_find_offset(image, entry->d_un.d_ptr, &image->strings))
		image->is_broken = true;
	if (entry->d_tag == DT_SYMTAB && !elf_find_offset(image, entry->d_un.d_ptr, &image->symbols))
		image->is_broken = true;
	if (entry->d_tag == DT_STRSZ)
		image->strings_size = entry->d_un.d_val;
}

/*
 * Finds the dynamic section where the loader does: by its address, up to DT_NULL. Offset and size in the header could
 * be those of another one. False: it is empty, because its memory is zeroed, as in files with debugging information
 * only.
 */
static bool elf_find_dynamic(struct elf_image *image)
{
	GElf_Phdr *dynamic = &image->dynamic, segment;
	GElf_Off offset = dynamic->p_offset;

	if (elf_find_offset(image, dynamic->p_vaddr, &offset))
		image->is_broken |= offset != dynamic->p_offset;
	else if (elf_find_segment(image, dynamic->p_vaddr, &segment))
		return false;
	else
		image->is_broken = true;
	dynamic->p_offset = offset;
	return true;
}

/* The entries of the dynamic section, and what the file has behind them. NULL: it has none. */
static Elf_Data *elf_get_dynamic(const struct elf_image *image)
{
	const size_t each = gelf_fsize(image->elf, ELF_T_DYN, 1, EV_CURRENT);
	const GElf_Off offset = image->dynamic.p_offset;
	size_t count = each && offset < image->len ? (image->len - offset) / each : 0;

	if (count > ELF_DYNAMIC_MAX)
		count = ELF_DYNAMIC_MAX;
	return count ? elf_getdata_rawchunk(image->elf, (int64_t)offset, count * each, ELF_T_DYN) : NULL;
}

static void elf_visit_dynamic(struct elf_image *image, void (*visit)(struct elf_image *image, const GElf_Dyn *entry))
{
	Elf_Data *data = elf_get_dynamic(image);
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

/*
 * How many symbols the dynamic section may have: nothing there says it but hash tables, which the loader does not need
 * for symbols that the file takes from libraries. They end where the texts begin, or with the file.
 */
static size_t elf_count_symbols(const struct elf_image *image, size_t each)
{
	const size_t end = image->strings > image->symbols ? image->strings : image->len;
	const size_t count = end > image->symbols ? (end - image->symbols) / each : 0;

	return count < ELF_SYMBOLS_MAX ? count : ELF_SYMBOLS_MAX;
}

/* Looks at the functions that the file takes from libraries, as the loader finds them: sections may be missing. */
static void elf_look_at_symbols(struct elf_image *image)
{
	const size_t each = gelf_fsize(image->elf, ELF_T_SYM, 1, EV_CURRENT);
	const size_t count = image->symbols && each ? elf_count_symbols(image, each) : 0;
	Elf_Data *data =
		count ? elf_getdata_rawchunk(image->elf, (int64_t)image->symbols, count * each, ELF_T_SYM) : NULL;
	GElf_Sym symbol;

	for (int i = 0; data && (size_t)i < count && gelf_getsym(data, i, &symbol); i++) {
		uint64_t offset;
		const char *name;
		size_t len = 0;

		if (symbol.st_name >= image->strings_size && image->strings < image->symbols)
			break; /* behind the last one */
		if (symbol.st_name >= image->strings_size || symbol.st_shndx != SHN_UNDEF ||
		    __builtin_add_overflow(image->strings, (uint64_t)symbol.st_name, &offset))
			continue;
		name = elf_get_text(image, offset, &len);
		if (name && len < ELF_TEXT_BYTES_MAX && offset + len < image->len)
			elf_look_at_symbol(image, name);
	}
}

/* ---- the header, as the kernel reads it ---- */

static uint16_t elf_read_half(const char *bytes)
{
	return (uint16_t)((unsigned char)bytes[0] | (unsigned char)bytes[1] << 8);
}

/* The class of a file that the kernel would load, by what it checks: machine and size of a segment's entry. */
static char elf_find_class(const char *bytes)
{
	const size_t wide = elf_read_half(bytes + offsetof(Elf64_Ehdr, e_phentsize));
	const size_t narrow = elf_read_half(bytes + offsetof(Elf32_Ehdr, e_phentsize));

	switch (elf_read_half(bytes + offsetof(Elf64_Ehdr, e_machine))) {
	case EM_X86_64: /* with the narrow size, of the x32 ABI */
	case EM_AARCH64:
	case EM_RISCV:
		return wide == sizeof(Elf64_Phdr)     ? ELFCLASS64
		       : narrow == sizeof(Elf32_Phdr) ? ELFCLASS32
						      : ELFCLASSNONE;
	case EM_386:
	case EM_ARM:
		return narrow == sizeof(Elf32_Phdr) ? ELFCLASS32 : ELFCLASSNONE;
	default:
		return ELFCLASSNONE;
	}
}

/*
 * Sets class, byte order and version as the machine has them: libelf goes by these bytes, the kernel loads the file
 * whatever they are (fs/binfmt_elf.c, load_elf_binary). Files of other machines, and those that the kernel would not
 * load, stay as they are.
 */
static void elf_correct_ident(struct elf_image *image, char *bytes)
{
	const char class = image->len >= sizeof(Elf64_Ehdr) ? elf_find_class(bytes) : ELFCLASSNONE;
	const char wanted[] = {class, ELFDATA2LSB, EV_CURRENT};

	if (class == ELFCLASSNONE || memcmp(bytes + EI_CLASS, wanted, sizeof(wanted)) == 0)
		return;
	memcpy(bytes + EI_CLASS, wanted, sizeof(wanted));
	image->is_broken = true;
}

int elf_print_findings(char *bytes, size_t len, FILE *out)
{
	struct elf_image image = {.bytes = bytes, .len = len, .out = out};
	int r = elf_version(EV_CURRENT) == EV_NONE ? -EIO : 0;

	if (r == 0) {
		elf_correct_ident(&image, bytes);
		image.elf = elf_memory(bytes, len);
	}
	if (r == 0 && (!image.elf || elf_kind(image.elf) != ELF_K_ELF || !gelf_getehdr(image.elf, &image.header)))
		r = -ENOEXEC;
	if (r == 0) {
		elf_look_at_segments(&image);
		if (image.has_dynamic && elf_find_dynamic(&image)) {
			elf_visit_dynamic(&image, elf_find_tables);
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
