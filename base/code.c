#include "base/code.h"

#include <link.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/banned.h"

/* What is executable and was never writable is as in the file; relocated data is not. */
static int give_back(struct dl_phdr_info *object, size_t size, void *page_bytes)
{
	const uintptr_t page = *(const uintptr_t *)page_bytes;

	(void)size;
	for (size_t i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &object->dlpi_phdr[i];
		uintptr_t start = (object->dlpi_addr + part->p_vaddr) & ~(page - 1);
		uintptr_t end = (object->dlpi_addr + part->p_vaddr + part->p_filesz) & ~(page - 1);

		if (part->p_type == PT_LOAD && part->p_flags & PF_X && !(part->p_flags & PF_W) && end > start)
			(void)madvise((void *)start, end - start, MADV_DONTNEED); /* NOLINT(performance-no-int-to-ptr) */
	}
	return 0;
}

void code_give_back(void)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	(void)dl_iterate_phdr(give_back, &page);
}
