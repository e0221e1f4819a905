/* The handlers, one a row: sys_NAME for every ROW and JUDGE of syscalls.def, and what a filter lets pass: allow_NAME. */
#ifndef CALLGATE_SYSCALLS_TABLE_HANDLERS_H
#define CALLGATE_SYSCALLS_TABLE_HANDLERS_H

#include "syscalls/table/table.h"

#define ARG(kind, name)
#define NATIVE(name)
#define FILTER(name, error, ...) extern const struct row_term allow_##name[];
#define JUDGE(name, basis, ...)                     \
	extern const struct row_term allow_##name[]; \
	syscall_fn sys_##name;
#define ROW(name, basis, ...) syscall_fn sys_##name;
#define JUDGE_WAITS JUDGE
#define ROW_OPENS ROW
#define ROW_WAITS ROW
#define REFUSE(name, error, ...)
#define PRIVATE(name, error, ...)
#define QUIET(name, error)

#include "syscalls/table/syscalls.def"

/* As well, when the policy has a network. */
extern const struct row_term allow_socket_tcp[];
extern const struct row_term allow_socket_udp[];
extern const struct row_term allow_getsockopt_inet[];
extern const struct row_term allow_setsockopt_inet[];

/* As well, where nobody else is on the loopback; else judged: inet-option.c. */
extern const struct row_term allow_setsockopt_alone[];

/* As well, where the kernel shows no more than the view: see view_is_kernels. */
extern const struct row_term allow_newfstatat_fd[];
extern const struct row_term allow_statx_fd[];

/* Of ioctl as well, when the run has a terminal of its own. */
extern const struct row_term allow_ioctl_terminal[];

/* In place of those without "_sampled", where memory is sampled. */
extern const struct row_term allow_mmap_sampled[];
extern const struct row_term allow_clone_sampled[];

/* As well, unless memory is sampled. */
extern const struct row_term allow_fcntl_pipes[];
extern const struct row_term allow_fcntl_locks[];
extern const struct row_term allow_prctl_huge[];

/* Of those, what natively a signal may end: the row is JUDGE_WAITS for them alone. */
extern const struct row_term waits_fcntl[];
extern const struct row_term allow_setsockopt_buffers[];

#undef ARG
#undef NATIVE
#undef FILTER
#undef JUDGE
#undef JUDGE_WAITS
#undef ROW
#undef ROW_OPENS
#undef ROW_WAITS
#undef REFUSE
#undef PRIVATE
#undef QUIET

#endif
