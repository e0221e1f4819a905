/* The text of /proc/meminfo of a run whose memory is limited. Pure. */
#ifndef CALLGATE_VIEW_MEMINFO_H
#define CALLGATE_VIEW_MEMINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEMINFO_BYTES_MAX 16384 /* the kernel's file has 1.5 kB */

/* True when the limit is below the machine's memory, by this text of the kernel's file. */
bool meminfo_limit_is_below_total(const char *text, uint64_t limit_bytes);

/* Copies `text` to `out` with the numbers of memory and swap replaced. 0 or -EMSGSIZE. */
int meminfo_write_limited(const char *text, uint64_t limit_bytes, uint64_t used_bytes, char *out, size_t size);

#endif
