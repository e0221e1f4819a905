/*
 * What the filter lets pass of FILTER and JUDGE rows: allow_NAME, a list of alternatives. Those of sockets:
 * terms-sockets.c.
 */
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>

#include "syscalls/table/terms.h"

#include "base/banned.h"

const struct row_term allow_always[] = {ONE(MASKED(0, 0, 0)), END};

/* ---- descriptors ---- */

#ifndef F_DUPFD_QUERY
#define F_DUPFD_QUERY 1027 /* Linux 6.10 */
#endif
#ifndef F_CREATED_QUERY
#define F_CREATED_QUERY 1028 /* Linux 6.12 */
#endif

/*
 * Left out: F_SETOWN, F_SETOWN_EX, F_SETSIG (signals to anyone of the same uid), F_SETLEASE and F_NOTIFY (hold up or
 * observe outsiders through a read-only descriptor), F_SET_*RW_HINT (changes the inode). O_ASYNC on a terminal makes
 * its foreground process group the owner and signals it (tty_io.c: __tty_fasync).
 */
const struct row_term allow_fcntl[] = {
	ONE(IS(1, F_GETFL)),
	ONE(IS(1, F_SETFD)),
	BOTH(IS(1, F_SETFL), NONE(2, O_ASYNC)),
	ONE(IS(1, F_GETFD)),
	ONE(IS(1, F_DUPFD)),
	ONE(IS(1, F_DUPFD_CLOEXEC)),
	ONE(IS(1, F_GETLK)),
	ONE(IS(1, F_OFD_GETLK)),
	ONE(IS(1, F_GETPIPE_SZ)),
	ONE(IS(1, F_ADD_SEALS)),
	ONE(IS(1, F_GET_SEALS)),
	ONE(IS(1, F_GETOWN)),
	ONE(IS(1, F_GETOWN_EX)),
	ONE(IS(1, F_GETSIG)),
	ONE(IS(1, F_GETLEASE)),
	ONE(IS(1, F_GET_RW_HINT)),
	ONE(IS(1, F_GET_FILE_RW_HINT)),
	ONE(IS(1, F_DUPFD_QUERY)),
	ONE(IS(1, F_CREATED_QUERY)),
	END,
};

/* Not where memory is sampled: a pipe's buffers show in no process. */
const struct row_term allow_fcntl_pipes[] = {ONE(IS(1, F_SETPIPE_SZ)), END};

/* Where memory is sampled the dispatcher counts them, and lets them pass: locks.h. */
const struct row_term allow_fcntl_locks[] = {
	ONE(IS(1, F_SETLK)), ONE(IS(1, F_SETLKW)), ONE(IS(1, F_OFD_SETLK)), ONE(IS(1, F_OFD_SETLKW)), END,
};
/* What of these natively a signal may end. */
const struct row_term waits_fcntl[] = {ONE(IS(1, F_SETLKW)), ONE(IS(1, F_OFD_SETLKW)), END};

/* <asm/termbits.h> clashes with <termios.h>. */
#define TCGETS2_COMMON 0x802c542a
#define TCSETS2_COMMON 0x402c542b

/*
 * Left out above all: TIOCSTI and TIOCLINUX (type into the outer shell), TIOCSPGRP, TIOCSCTTY (take its terminal),
 * TCSETS* (change the modes of an inherited terminal), FIOSETOWN, SIOCSPGRP, FIOASYNC (signals), FS_IOC_SETFLAGS and
 * FS_IOC_FSSETXATTR (metadata through a read-only descriptor), FIDEDUPERANGE (writes through one), PIDFD_GET_*
 * (namespaces).
 */
const struct row_term allow_ioctl[] = {
	ONE(IS(1, TCGETS)),
	ONE(IS(1, TCGETS2_COMMON)), /* glibc 2.42's isatty */
	ONE(IS(1, TIOCGWINSZ)),
	ONE(IS(1, TIOCGPGRP)),
	ONE(IS(1, TIOCGSID)),
	ONE(IS(1, FIONREAD)),
	ONE(IS(1, FIONBIO)),
	ONE(IS(1, FIOCLEX)),
	ONE(IS(1, FIONCLEX)),
	ONE(IS(1, FIOQSIZE)),
	ONE(IS(1, TIOCOUTQ)),
	ONE(IS(1, FIGETBSZ)),
	ONE(IS(1, FS_IOC_GETFLAGS)),
	ONE(IS(1, FS_IOC_GETVERSION)),
	ONE(IS(1, FS_IOC_FSGETXATTR)),
	ONE(IS(1, FS_IOC_FIEMAP)),
	/* The target is the descriptor, open for writing; the source a descriptor of the program, open for reading. */
	ONE(IS(1, FICLONE)),
	ONE(IS(1, FICLONERANGE)),
	END,
};

/*
 * With a terminal of the run's own, which is all the terminal there is: modes, size, foreground group (job control),
 * and what tcflush, tcflow, tcdrain and tcsendbreak are made of. Still left out: TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD
 * (line disciplines), TIOCSCTTY and TIOCNOTTY (it has the terminal already).
 */
const struct row_term allow_ioctl_terminal[] = {
	ONE(IS(1, TCSETS)),
	ONE(IS(1, TCSETSW)),
	ONE(IS(1, TCSETSF)),
	ONE(IS(1, TCSETS2_COMMON)),
	ONE(IS(1, TCSETS2_COMMON + 1)), /* TCSETSW2 */
	ONE(IS(1, TCSETS2_COMMON + 2)), /* TCSETSF2 */
	ONE(IS(1, TIOCSWINSZ)),
	ONE(IS(1, TIOCSPGRP)),
	ONE(IS(1, TCFLSH)),
	ONE(IS(1, TCXONC)),
	ONE(IS(1, TCSBRK)),
	ONE(IS(1, TCSBRKP)),
	END,
};

/* Path NULL and AT_EMPTY_PATH: there is no path. */
const struct row_term allow_newfstatat[] = {BOTH(WHOLE(1, 0), HAS(3, AT_EMPTY_PATH)), END};
const struct row_term allow_statx[] = {BOTH(WHOLE(1, 0), HAS(2, AT_EMPTY_PATH)), END};

/*
 * C libraries' fstat, where the kernel shows the program no more than the view does. The path is in memory: a program
 * may pass one that is not empty, and then sees what the kernel sees, unrecorded. Only with a descriptor and no other
 * flag, which is all that fstat takes: relative to the cwd, and links themselves, stay judged.
 */
#define DESCRIPTOR(n) MASKED(n, 0x80000000, 0)
const struct row_term allow_newfstatat_fd[] = {BOTH(DESCRIPTOR(0), IS(3, AT_EMPTY_PATH)), END};
const struct row_term allow_statx_fd[] = {BOTH(DESCRIPTOR(0), IS(2, AT_EMPTY_PATH)), END};

/* ---- processes ---- */

/*
 * lower_32_bits(flags) is what the kernel uses. CLONE_NEWTIME (0x80) is part of the exit signal here and only known to
 * clone3 and unshare.
 */
#define CLONE_NAMESPACES \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

const struct row_term allow_clone[] = {
	ONE(NONE(0, CLONE_UNTRACED | CLONE_PTRACE | CLONE_NAMESPACES)),
	END,
};

/*
 * Where memory is sampled: who waits for a vforked child has its memory in common with it (limits/sample.c: borrows).
 * Only threads have descriptors in common: locks belong to these, and /proc/locks may hide one whose process is gone
 * (account/locks.c).
 */
#define CLONE_HELD (CLONE_UNTRACED | CLONE_PTRACE | CLONE_NAMESPACES)
const struct row_term allow_clone_sampled[] = {
	ONE(NONE(0, CLONE_HELD | CLONE_VFORK | CLONE_FILES)),
	ONE(MASKED(0, (uint32_t)(CLONE_HELD | CLONE_FILES | CLONE_VM), CLONE_VM)),
	ONE(MASKED(0, (uint32_t)(CLONE_HELD | CLONE_THREAD | CLONE_VM), CLONE_THREAD | CLONE_VM)),
	END,
};

/* Where memory is sampled: private memory, and files. The kernel looks at these bits of an unsigned long. */
const struct row_term allow_mmap_sampled[] = {
	ONE(MASKED(3, MAP_TYPE | MAP_HUGETLB, MAP_PRIVATE)),
	ONE(MASKED(3, MAP_ANONYMOUS | MAP_HUGETLB, 0)),
	END,
};

const struct row_term allow_unshare[] = {
	ONE(MASKED(0, ~(uint64_t)(CLONE_FILES | CLONE_FS | CLONE_SYSVSEM), 0)),
	END,
};

#define PERSONALITY_QUERY 0xffffffff

const struct row_term allow_personality[] = {
	ONE(IS(0, PERSONALITY_QUERY)),
	ONE(IS(0, PER_LINUX)),
	ONE(IS(0, ADDR_NO_RANDOMIZE)), /* setarch -R: reproducible builds, sanitizers */
	END,
};

#define SECCOMP_FLAGS \
	(SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_TSYNC_ESRCH | SECCOMP_FILTER_FLAG_LOG | \
	 SECCOMP_FILTER_FLAG_SPEC_ALLOW)

const struct row_term allow_seccomp[] = {
	BOTH(IS(0, SECCOMP_SET_MODE_FILTER), NONE(1, ~SECCOMP_FLAGS)),
	ONE(IS(0, SECCOMP_SET_MODE_STRICT)),
	ONE(IS(0, SECCOMP_GET_ACTION_AVAIL)),
	ONE(IS(0, SECCOMP_GET_NOTIF_SIZES)),
	END,
};

#ifndef PR_GET_AUXV
#define PR_GET_AUXV 0x41555856 /* Linux 6.4 */
#endif
#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65 /* Linux 6.3 */
#define PR_GET_MDWE 66
#endif
#ifndef PR_GET_MEMORY_MERGE
#define PR_GET_MEMORY_MERGE 68 /* Linux 6.4 */
#endif

/*
 * Left out: PR_SET_DUMPABLE but to 1 (unreadable for the exec check), PR_SET_PTRACER, PR_SET_MM, PR_SCHED_CORE (names
 * another process), PR_SET_SECUREBITS, PR_MCE_KILL, PR_SET_TSC, PR_SET_SYSCALL_USER_DISPATCH, PR_SET_IO_FLUSHER,
 * PR_SET_KEEPCAPS. A subreaper within the run is within the run. PR_SET_SECCOMP has no flags, so no listener.
 */
const struct row_term allow_prctl[] = {
	ONE(IS(0, PR_SET_NAME)),
	ONE(IS(0, PR_GET_NAME)),
	ONE(IS(0, PR_SET_VMA)),
	ONE(IS(0, PR_SET_PDEATHSIG)),
	ONE(IS(0, PR_GET_PDEATHSIG)),
	ONE(IS(0, PR_GET_DUMPABLE)),
	BOTH(IS(0, PR_SET_DUMPABLE), WHOLE(1, 1)),
	ONE(IS(0, PR_SET_NO_NEW_PRIVS)),
	ONE(IS(0, PR_GET_NO_NEW_PRIVS)),
	ONE(IS(0, PR_SET_SECCOMP)),
	ONE(IS(0, PR_GET_SECCOMP)),
	ONE(IS(0, PR_SET_CHILD_SUBREAPER)),
	ONE(IS(0, PR_GET_CHILD_SUBREAPER)),
	ONE(IS(0, PR_SET_TIMERSLACK)),
	ONE(IS(0, PR_GET_TIMERSLACK)),
	THREE(IS(0, PR_SET_THP_DISABLE), WHOLE(1, 1), WHOLE(2, 0)),
	ONE(IS(0, PR_GET_THP_DISABLE)),
	ONE(IS(0, PR_CAPBSET_READ)),
	ONE(IS(0, PR_CAPBSET_DROP)),
	ONE(IS(0, PR_CAP_AMBIENT)),
	ONE(IS(0, PR_GET_KEEPCAPS)),
	ONE(IS(0, PR_GET_SECUREBITS)),
	ONE(IS(0, PR_GET_TID_ADDRESS)),
	ONE(IS(0, PR_GET_SPECULATION_CTRL)),
	ONE(IS(0, PR_SET_SPECULATION_CTRL)),
	ONE(IS(0, PR_GET_IO_FLUSHER)),
	ONE(IS(0, PR_GET_TSC)),
	ONE(IS(0, PR_GET_TIMING)),
	ONE(IS(0, PR_GET_AUXV)),
	ONE(IS(0, PR_SET_MDWE)),
	ONE(IS(0, PR_GET_MDWE)),
	ONE(IS(0, PR_GET_MEMORY_MERGE)),
	/* Of the thread's own registers, aarch64. */
	ONE(IS(0, PR_SVE_SET_VL)),
	ONE(IS(0, PR_SVE_GET_VL)),
	ONE(IS(0, PR_PAC_RESET_KEYS)),
	ONE(IS(0, PR_SET_TAGGED_ADDR_CTRL)),
	ONE(IS(0, PR_GET_TAGGED_ADDR_CTRL)),
	END,
};

/*
 * Not where memory is sampled, and launch.c has set it: of a huge page of which one is still mapped, samples see that
 * one.
 */
const struct row_term allow_prctl_huge[] = {ONE(IS(0, PR_SET_THP_DISABLE)), END};

/* ---- on itself: pid 0 ---- */

#define IOPRIO_WHO_PROCESS 1 /* linux/ioprio.h has it as an enum */

const struct row_term allow_move_pages[] = {ONE(IS(0, 0)), END};
const struct row_term allow_get_robust_list[] = {ONE(IS(0, 0)), END};
/* Every resource but RLIMIT_CORE and RLIMIT_NOFILE, which are 4 and 7: see sys_prlimit64. */
#define UP_TO_3(n) MASKED(n, LOW & ~3ULL, 0)
#define UP_TO_15(n) MASKED(n, LOW & ~7ULL, 8)
const struct row_term allow_setrlimit[] = {ONE(UP_TO_3(0)), ONE(IS(0, 5)), ONE(IS(0, 6)),
					   ONE(UP_TO_15(0)), END};
const struct row_term allow_prlimit64[] = {
	BOTH(IS(0, 0), WHOLE(2, 0)), /* reads */
	BOTH(IS(0, 0), UP_TO_3(1)),
	BOTH(IS(0, 0), IS(1, 5)),
	BOTH(IS(0, 0), IS(1, 6)),
	BOTH(IS(0, 0), UP_TO_15(1)),
	END,
};
const struct row_term allow_setpriority[] = {BOTH(IS(0, PRIO_PROCESS), IS(1, 0)), END};
const struct row_term allow_ioprio_set[] = {BOTH(IS(0, IOPRIO_WHO_PROCESS), IS(1, 0)), END};
const struct row_term allow_rt_sigreturn[] = {ONE(MASKED(0, 0, 0)), END}; /* always */
const struct row_term allow_sched_setaffinity[] = {ONE(IS(0, 0)), END};
const struct row_term allow_sched_setattr[] = {ONE(IS(0, 0)), END};
const struct row_term allow_sched_setparam[] = {ONE(IS(0, 0)), END};
const struct row_term allow_sched_setscheduler[] = {ONE(IS(0, 0)), END};

/* ---- looking them up ---- */

static bool holds(const struct row_term *term, const uint64_t *arg)
{
	for (unsigned i = 0; i < term->count; i++)
		if ((arg[term->compare[i].arg] & term->compare[i].mask) != term->compare[i].value)
			return false;
	return true;
}

bool table_match(const struct row_term *terms, const uint64_t *arg)
{
	for (const struct row_term *term = terms; term->count; term++)
		if (holds(term, arg))
			return true;
	return false;
}

bool table_allows(const struct syscall_row *row, const uint64_t *arg)
{
	return row->class == ROW_FILTER && table_match(row->allow, arg);
}
