/*
 * System call numbers: libseccomp's __SNR_NAME (negative where the architecture lacks the call), and the one place that
 * numbers calls newer than libseccomp 2.5.4 or the kernel headers. Since Linux 5.1 a new call has the same number on
 * every architecture (include/uapi/asm-generic/unistd.h), so these need no #if by architecture. libseccomp names some
 * of them by a __NR_NAME which older kernel headers lack: hence both.
 */
#ifndef CALLGATE_SYSCALLS_TABLE_NUMBERS_H
#define CALLGATE_SYSCALLS_TABLE_NUMBERS_H

#include <asm/unistd.h>

/* Before <seccomp.h>, which calls a number missing that it cannot see. */
#ifndef __NR_cachestat
#define __NR_cachestat 451
#endif
#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452
#endif
#ifndef __NR_map_shadow_stack
#define __NR_map_shadow_stack 453
#endif
#ifndef __NR_futex_wake
#define __NR_futex_wake 454
#endif
#ifndef __NR_futex_wait
#define __NR_futex_wait 455
#endif
#ifndef __NR_futex_requeue
#define __NR_futex_requeue 456
#endif
#ifndef __NR_statmount
#define __NR_statmount 457
#endif
#ifndef __NR_listmount
#define __NR_listmount 458
#endif
#ifndef __NR_lsm_get_self_attr
#define __NR_lsm_get_self_attr 459
#endif
#ifndef __NR_lsm_set_self_attr
#define __NR_lsm_set_self_attr 460
#endif
#ifndef __NR_lsm_list_modules
#define __NR_lsm_list_modules 461
#endif
#ifndef __NR_mseal
#define __NR_mseal 462
#endif
#ifndef __NR_setxattrat
#define __NR_setxattrat 463
#endif
#ifndef __NR_getxattrat
#define __NR_getxattrat 464
#endif
#ifndef __NR_listxattrat
#define __NR_listxattrat 465
#endif
#ifndef __NR_removexattrat
#define __NR_removexattrat 466
#endif
#ifndef __NR_open_tree_attr
#define __NR_open_tree_attr 467
#endif
#ifndef __NR_file_getattr
#define __NR_file_getattr 468
#endif
#ifndef __NR_file_setattr
#define __NR_file_setattr 469
#endif

#include <seccomp.h>

#ifndef __SNR_cachestat
#define __SNR_cachestat __NR_cachestat
#endif
#ifndef __SNR_fchmodat2
#define __SNR_fchmodat2 __NR_fchmodat2
#endif
#ifndef __SNR_map_shadow_stack
#define __SNR_map_shadow_stack __NR_map_shadow_stack
#endif
#ifndef __SNR_futex_wake
#define __SNR_futex_wake __NR_futex_wake
#endif
#ifndef __SNR_futex_wait
#define __SNR_futex_wait __NR_futex_wait
#endif
#ifndef __SNR_futex_requeue
#define __SNR_futex_requeue __NR_futex_requeue
#endif
#ifndef __SNR_statmount
#define __SNR_statmount __NR_statmount
#endif
#ifndef __SNR_listmount
#define __SNR_listmount __NR_listmount
#endif
#ifndef __SNR_lsm_get_self_attr
#define __SNR_lsm_get_self_attr __NR_lsm_get_self_attr
#endif
#ifndef __SNR_lsm_set_self_attr
#define __SNR_lsm_set_self_attr __NR_lsm_set_self_attr
#endif
#ifndef __SNR_lsm_list_modules
#define __SNR_lsm_list_modules __NR_lsm_list_modules
#endif
#ifndef __SNR_mseal
#define __SNR_mseal __NR_mseal
#endif
#ifndef __SNR_setxattrat
#define __SNR_setxattrat __NR_setxattrat
#endif
#ifndef __SNR_getxattrat
#define __SNR_getxattrat __NR_getxattrat
#endif
#ifndef __SNR_listxattrat
#define __SNR_listxattrat __NR_listxattrat
#endif
#ifndef __SNR_removexattrat
#define __SNR_removexattrat __NR_removexattrat
#endif
#ifndef __SNR_open_tree_attr
#define __SNR_open_tree_attr __NR_open_tree_attr
#endif
#ifndef __SNR_file_getattr
#define __SNR_file_getattr __NR_file_getattr
#endif
#ifndef __SNR_file_setattr
#define __SNR_file_setattr __NR_file_setattr
#endif

/* x86 only. */
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
