/*
 * Macros for tables of struct row_term. For an int or unsigned argument only the low word is compared, which is what
 * the kernel uses: a high bit would circumvent a 64-bit comparison (CVE-2019-7303, CVE-2019-10063). A pointer or long
 * is compared whole.
 */
#ifndef CALLGATE_SYSCALLS_TABLE_TERMS_H
#define CALLGATE_SYSCALLS_TABLE_TERMS_H

#include "syscalls/table/table.h"

#define LOW_WORD_MASK 0xffffffffULL /* the bits of a register that an int argument has */

/* A table that matches any registers. */
extern const struct row_term allow_always[];

/*
 * The tables that syscalls.def names: allow_NAME of FILTER and JUDGE rows; tables of the columns TERMS_IN_RUNS,
 * MAY_END_WITH_EINTR_IF and SELF_TERMS.
 */
#define FILTER(name, ...) extern const struct row_term allow_##name[];
/* declares the terms with which the call is native */
#define JUDGE(name, ...) extern const struct row_term allow_##name[];
#include "syscalls/table/syscalls.def"
extern const struct row_term allow_access_reads[];
extern const struct row_term allow_clone_sampled[];
extern const struct row_term allow_faccessat_reads[];
extern const struct row_term allow_fcntl_locks[];
extern const struct row_term allow_fcntl_pipes[];
extern const struct row_term allow_getsockopt_inet[];
extern const struct row_term allow_getsockopt_netlink[];
extern const struct row_term allow_ioctl_interfaces[];
extern const struct row_term allow_ioctl_terminal[];
extern const struct row_term allow_mmap_sampled[];
extern const struct row_term allow_newfstatat_fd[];
extern const struct row_term allow_open_opath[];
extern const struct row_term allow_open_reads[];
extern const struct row_term allow_openat_opath[];
extern const struct row_term allow_openat_reads[];
extern const struct row_term allow_prctl_huge[];
extern const struct row_term allow_sendto_other[];
extern const struct row_term allow_setsockopt_alone[];
extern const struct row_term allow_setsockopt_buffers[];
extern const struct row_term allow_setsockopt_credentials[];
extern const struct row_term allow_setsockopt_inet[];
extern const struct row_term allow_setsockopt_netlink[];
extern const struct row_term allow_setsockopt_own[];
extern const struct row_term allow_socket_datagram[];
extern const struct row_term allow_socket_netlink[];
extern const struct row_term allow_socket_tcp[];
extern const struct row_term allow_socket_udp[];
extern const struct row_term allow_statx_fd[];
extern const struct row_term waits_fcntl[];
extern const struct self_terms self_clone[];
extern const struct self_terms self_ioctl[];
extern const struct self_terms self_mmap[];
extern const struct self_terms self_mprotect[];
extern const struct self_terms self_ptrace[];
extern const struct self_terms self_socket[];
extern const struct self_terms self_socketpair[];
extern const struct self_terms self_unshare[];

/* The low word of register n equals v. */
#define IS(n, v)                                  \
	{                                         \
		(n), LOW_WORD_MASK, (uint32_t)(v) \
	}
/* The whole register n equals v. */
#define COMPARE_WHOLE_REGISTER(n, v) {(n), UINT64_MAX, (uint64_t)(v)}
/* None of the bits is set in the low word of register n. */
#define NO_BIT_OF(n, bits) {(n), (uint32_t)(bits), 0}
/* All of the bits are set in the low word of register n. */
#define HAS(n, bits) {(n), (uint32_t)(bits), (uint32_t)(bits)}
/* Register n, with only the bits of mask, equals v. */
#define COMPARE_MASKED(n, mask, v) {(n), (mask), (v)}

/* A term that matches if the comparison is true. */
#define TERM_OF_ONE(a)    \
	{                 \
		1,        \
		{         \
			a \
		}         \
	}
/* A term that matches if both comparisons are true. */
#define TERM_OF_TWO(a, b) {2, {a, b}}
/* A term that matches if all three comparisons are true. */
#define TERM_OF_THREE(a, b, c) {3, {a, b, c}}
#define END {0, {{0, 0, 0}}}

#endif
