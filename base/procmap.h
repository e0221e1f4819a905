/* PROCMAP_QUERY, Linux 6.11: an ioctl on /proc/PID/maps about one mapping. The system's headers may be older. */
#ifndef CALLGATE_BASE_PROCMAP_H
#define CALLGATE_BASE_PROCMAP_H

#include <stdint.h>
#include <sys/ioctl.h>

/* struct procmap_query of <linux/fs.h>. */
struct procmap {
	uint64_t size;
	uint64_t flags; /* 0: the mapping that covers addr, or ENOENT; PROCMAP_* */
	uint64_t addr;
	uint64_t start, end;
	uint64_t vma_flags, page_size, offset;
	uint64_t ino; /* 0: anonymous */
	uint32_t major, minor;
	uint32_t name_size, build_id_size;
	uint64_t name_addr, build_id_addr;
};

#define PROCMAP_OR_NEXT 0x10u /* or the first one above it */
#define PROCMAP_OF_FILE 0x20u /* only file mappings */
#define PROCMAP_QUERY_CALL _IOWR('f', 17, struct procmap)

#endif
