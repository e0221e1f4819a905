/* PROCMAP_QUERY, Linux 6.11: an ioctl on /proc/PID/maps about one mapping. Older system headers lack it. */
#ifndef CALLGATE_BASE_PROC_MAP_H
#define CALLGATE_BASE_PROC_MAP_H

#include <stdint.h>
#include <sys/ioctl.h>

/* The kernel's struct procmap_query, <linux/fs.h>. */
struct procmap {
	uint64_t size;  /* in: size of this struct */
	uint64_t flags; /* in: 0 asks for the mapping that covers addr (else ENOENT); PROCMAP_* change that */
	uint64_t addr;  /* in: the address that is asked about */
	uint64_t start, end;
	uint64_t vma_flags, page_size, offset;
	uint64_t ino; /* inode of the mapped file; 0: an anonymous mapping */
	uint32_t major, minor;
	uint32_t name_size, build_id_size;
	uint64_t name_addr, build_id_addr;
};

#define PROCMAP_COVERING_OR_NEXT_VMA 0x10u /* without a mapping that covers addr, describe the next one above it */
#define PROCMAP_FILE_BACKED_VMA 0x20u      /* consider only mappings of files */
#define PROCMAP_QUERY_IOCTL _IOWR('f', 17, struct procmap)

#endif
