/* System call numbers that the headers or the architecture may lack. DIFF_ABSENT: the case is skipped. */
#ifndef CALLGATE_TESTS_CASES_DIFF_NR_H
#define CALLGATE_TESTS_CASES_DIFF_NR_H

#include <sys/syscall.h>

#define DIFF_ABSENT (-1L)

#ifndef SYS_open
#define SYS_open DIFF_ABSENT
#endif
#ifndef SYS_creat
#define SYS_creat DIFF_ABSENT
#endif
#ifndef SYS_stat
#define SYS_stat DIFF_ABSENT
#endif
#ifndef SYS_lstat
#define SYS_lstat DIFF_ABSENT
#endif
#ifndef SYS_access
#define SYS_access DIFF_ABSENT
#endif
#ifndef SYS_readlink
#define SYS_readlink DIFF_ABSENT
#endif
#ifndef SYS_chmod
#define SYS_chmod DIFF_ABSENT
#endif
#ifndef SYS_chown
#define SYS_chown DIFF_ABSENT
#endif
#ifndef SYS_lchown
#define SYS_lchown DIFF_ABSENT
#endif
#ifndef SYS_rename
#define SYS_rename DIFF_ABSENT
#endif
#ifndef SYS_mkdir
#define SYS_mkdir DIFF_ABSENT
#endif
#ifndef SYS_rmdir
#define SYS_rmdir DIFF_ABSENT
#endif
#ifndef SYS_link
#define SYS_link DIFF_ABSENT
#endif
#ifndef SYS_unlink
#define SYS_unlink DIFF_ABSENT
#endif
#ifndef SYS_symlink
#define SYS_symlink DIFF_ABSENT
#endif
#ifndef SYS_mknod
#define SYS_mknod DIFF_ABSENT
#endif
#ifndef SYS_utime
#define SYS_utime DIFF_ABSENT
#endif
#ifndef SYS_utimes
#define SYS_utimes DIFF_ABSENT
#endif
#ifndef SYS_futimesat
#define SYS_futimesat DIFF_ABSENT
#endif
#ifndef SYS_renameat
#define SYS_renameat DIFF_ABSENT
#endif
#ifndef SYS_inotify_init
#define SYS_inotify_init DIFF_ABSENT
#endif
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_setxattrat
#define SYS_setxattrat 463
#endif
#ifndef SYS_getxattrat
#define SYS_getxattrat 464
#endif
#ifndef SYS_listxattrat
#define SYS_listxattrat 465
#endif
#ifndef SYS_removexattrat
#define SYS_removexattrat 466
#endif
#ifndef SYS_file_getattr
#define SYS_file_getattr 468
#endif
#ifndef SYS_file_setattr
#define SYS_file_setattr 469
#endif

#endif
