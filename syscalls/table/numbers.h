/*
 * System call numbers: libseccomp's __SNR_NAME, negative where the architecture lacks the call. Only its header is
 * used, the library is not linked. Calls that libseccomp 2.5.4 does not know are defined below. They need no #if: since
 * Linux 5.1, a new call has the same number on every architecture (include/uapi/asm-generic/unistd.h). Newer versions
 * of libseccomp are overridden, because they take some numbers from the kernel headers, which may be older.
 */
#ifndef CALLGATE_SYSCALLS_TABLE_NUMBERS_H
#define CALLGATE_SYSCALLS_TABLE_NUMBERS_H

#include <seccomp.h>

#undef __SNR_cachestat
#define __SNR_cachestat 451
#undef __SNR_fchmodat2
#define __SNR_fchmodat2 452
#undef __SNR_map_shadow_stack
#define __SNR_map_shadow_stack 453
#undef __SNR_futex_wake
#define __SNR_futex_wake 454
#undef __SNR_futex_wait
#define __SNR_futex_wait 455
#undef __SNR_futex_requeue
#define __SNR_futex_requeue 456
#undef __SNR_statmount
#define __SNR_statmount 457
#undef __SNR_listmount
#define __SNR_listmount 458
#undef __SNR_lsm_get_self_attr
#define __SNR_lsm_get_self_attr 459
#undef __SNR_lsm_set_self_attr
#define __SNR_lsm_set_self_attr 460
#undef __SNR_lsm_list_modules
#define __SNR_lsm_list_modules 461
#undef __SNR_mseal
#define __SNR_mseal 462
#undef __SNR_setxattrat
#define __SNR_setxattrat 463
#undef __SNR_getxattrat
#define __SNR_getxattrat 464
#undef __SNR_listxattrat
#define __SNR_listxattrat 465
#undef __SNR_removexattrat
#define __SNR_removexattrat 466
#undef __SNR_open_tree_attr
#define __SNR_open_tree_attr 467
#undef __SNR_file_getattr
#define __SNR_file_getattr 468
#undef __SNR_file_setattr
#define __SNR_file_setattr 469

/* Numbers of x86 only; other architectures get a negative number. */
#if defined(__x86_64__)
#ifndef __SNR_uretprobe
#define __SNR_uretprobe 335
#endif
#ifndef __SNR_uprobe
#define __SNR_uprobe 336
#endif
#elif defined(__aarch64__)
#ifndef __SNR_uretprobe
#define __SNR_uretprobe (-20001)
#endif
#ifndef __SNR_uprobe
#define __SNR_uprobe (-20002)
#endif
#else
#error "callgate knows x86_64 and aarch64"
#endif

#endif
