/*
 * /proc/meminfo of a run whose memory is limited. Runtimes size their heaps by it. With the machine's size they would
 * exceed the limit and be killed. Used by the handlers of open.
 */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_LIMITS_MEMINFO_H
#define CALLGATE_SYSCALLS_ACCOUNT_LIMITS_MEMINFO_H

#include "syscalls/call/call.h"
#include "view/meminfo.h"

/*
 * Takes fd, which was opened for reading at place[0]. Returns fd. For /proc/meminfo, if the limit is below the
 * machine's memory, returns instead a memfd with the limit's numbers, or -errno.
 */
int meminfo_replace_with_limited_file(const struct call *call, int fd);

#endif
