/* The registers with which the filter allows calls of FILTER and JUDGE rows. For sockets see terms-sockets.c. */
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/prctl.h>
#include <linux/random.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>

#include "base/procmap.h"
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
 * Left out: F_SETLEASE and F_NOTIFY (block or observe processes outside the run through a read-only descriptor) and
 * F_SET_*RW_HINT (changes the inode). O_ASYNC and F_SETSIG only say whether and which signal the owner of the
 * description gets: one set by F_SETOWN, which is judged (owner.h), or, of a terminal, the process itself or the
 * foreground group (__tty_fasync() in drivers/tty/tty_io.c), whose terminal is the run's.
 */
const struct row_term allow_fcntl[] = {
	ONE(IS(1, F_GETFL)),
	ONE(IS(1, F_SETFD)),
	ONE(IS(1, F_SETFL)),
	ONE(IS(1, F_SETSIG)),
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

/* Not where memory is sampled: no process's statistics contain a pipe's buffers. */
const struct row_term allow_fcntl_pipes[] = {ONE(IS(1, F_SETPIPE_SZ)), END};

/* Where memory is sampled, these are notified: the dispatcher counts and continues them (locks.h). */
const struct row_term allow_fcntl_locks[] = {
	ONE(IS(1, F_SETLK)), ONE(IS(1, F_SETLKW)), ONE(IS(1, F_OFD_SETLK)), ONE(IS(1, F_OFD_SETLKW)), END,
};
/* Those that wait, and that a signal may end. */
const struct row_term waits_fcntl[] = {ONE(IS(1, F_SETLKW)), ONE(IS(1, F_OFD_SETLKW)), END};

/* <asm/termbits.h> clashes with <termios.h>. */
#define TCGETS2_COMMON 0x802c542a
#define TCSETS2_COMMON 0x402c542b

/*
 * Left out are above all TIOCSTI and TIOCLINUX (type into the user's shell), FS_IOC_SETFLAGS and FS_IOC_FSSETXATTR
 * (change metadata through a read-only descriptor), FIDEDUPERANGE (shares extents through one) and PIDFD_GET_*
 * (namespaces). FIOSETOWN and SIOCSPGRP are judged. What BLK* and RNDGETENTCNT ask is no secret of a device that was
 * granted, and ENOTTY of everything else.
 */
const struct row_term allow_ioctl[] = {
	ONE(IS(1, TCGETS)),
	ONE(IS(1, TCGETS2_COMMON)), /* glibc 2.42's isatty */
	ONE(IS(1, TIOCGWINSZ)),
	ONE(IS(1, TIOCGPGRP)),
	ONE(IS(1, TIOCGSID)),
	ONE(IS(1, FIONREAD)),
	ONE(IS(1, FIONBIO)),
	ONE(IS(1, FIOASYNC)), /* as O_ASYNC */
	ONE(IS(1, FIOGETOWN)),
	ONE(IS(1, SIOCGPGRP)),
	ONE(IS(1, FIOCLEX)),
	ONE(IS(1, FIONCLEX)),
	ONE(IS(1, FIOQSIZE)),
	ONE(IS(1, TIOCOUTQ)),
	ONE(IS(1, FIGETBSZ)),
	ONE(IS(1, FS_IOC_GETFLAGS)),
	ONE(IS(1, FS_IOC_GETVERSION)),
	ONE(IS(1, FS_IOC_FSGETXATTR)),
	ONE(IS(1, FS_IOC_FIEMAP)),
	/* Copy from a descriptor that is open for reading to one that is open for writing. */
	ONE(IS(1, FICLONE)),
	ONE(IS(1, FICLONERANGE)),
	ONE(IS(1, BLKGETSIZE)),
	ONE(IS(1, BLKGETSIZE64)),
	ONE(IS(1, BLKSSZGET)),
	ONE(IS(1, BLKBSZGET)),
	ONE(IS(1, BLKPBSZGET)),
	ONE(IS(1, BLKROGET)),
	ONE(IS(1, BLKIOMIN)),
	ONE(IS(1, BLKIOOPT)),
	ONE(IS(1, BLKALIGNOFF)),
	ONE(IS(1, BLKROTATIONAL)),
	ONE(IS(1, RNDGETENTCNT)),
	ONE(IS(1, PROCMAP_QUERY_CALL)), /* what reading that descriptor of /proc/PID/maps tells */
	END,
};

#ifndef TIOCGPTLCK
#define TIOCGPKT _IOR('T', 0x38, int) /* Linux 3.8 */
#define TIOCGPTLCK _IOR('T', 0x39, int)
#define TIOCGEXCL _IOR('T', 0x40, int)
#endif

/*
 * All terminals that a program can have are the run's own: pairs that it has made (view/terminals.c), and that of
 * --tty, whose master is the keeper's. An attacker gains power over these alone: modes, size, packet mode, exclusive
 * use, tcflush(3), tcflow(3), tcdrain(3), tcsendbreak(3), the lock of a slave. The kernel sends the signals of a
 * terminal to its session, and a terminal becomes that of a session only when it has none (taking one away needs
 * CAP_SYS_ADMIN); a foreground group must be of the caller's session. Every session with a terminal of the run is the
 * run's.
 *
 * Still left out: TIOCSTI (types into a terminal), TIOCLINUX, TIOCCONS (the console's output), TIOCSETD (line
 * disciplines: modules of the kernel), TIOCVHANGUP. TIOCGPTPEER is judged (sys_ioctl).
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
	ONE(IS(1, TIOCSCTTY)),
	ONE(IS(1, TIOCNOTTY)),
	ONE(IS(1, TIOCSPTLCK)),
	ONE(IS(1, TIOCGPTLCK)),
	ONE(IS(1, TIOCGPTN)),
	ONE(IS(1, TIOCPKT)),
	ONE(IS(1, TIOCGPKT)),
	ONE(IS(1, TIOCEXCL)),
	ONE(IS(1, TIOCNXCL)),
	ONE(IS(1, TIOCGEXCL)),
	ONE(IS(1, TIOCSIG)),
	ONE(IS(1, TIOCGETD)),
	ONE(IS(1, TCGETA)),
	ONE(IS(1, TCSETA)),
	ONE(IS(1, TCSETAW)),
	ONE(IS(1, TCSETAF)),
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
 * fstat(3) of C libraries. The filter cannot tell whether the path is empty, so a program can look at any path with it,
 * unrecorded. Only for runs where the kernel's names are the view's. Other flags, and AT_FDCWD, stay judged.
 */
#define DESCRIPTOR(n) MASKED(n, 0x80000000, 0)
const struct row_term allow_newfstatat_fd[] = {BOTH(DESCRIPTOR(0), IS(3, AT_EMPTY_PATH)), END};
const struct row_term allow_statx_fd[] = {BOTH(DESCRIPTOR(0), IS(2, AT_EMPTY_PATH)), END};

/* ---- processes ---- */

/* CLONE_NEWTIME (0x80) is missing: for clone(2) it is part of the exit signal. The kernel uses the low 32 bits. */
#define CLONE_NAMESPACES \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

const struct row_term allow_clone[] = {
	ONE(NONE(0, CLONE_UNTRACED | CLONE_PTRACE | CLONE_NAMESPACES)),
	END,
};

/*
 * Where memory is sampled. CLONE_VFORK only with CLONE_VM: samples assume that a parent that waits for a vforked child
 * shares its memory (limits/sample.c: borrows). CLONE_FILES only with CLONE_THREAD: record locks belong to a descriptor
 * table, and /proc/locks may not show those of a dead process (account/locks.c).
 */
#define CLONE_HELD (CLONE_UNTRACED | CLONE_PTRACE | CLONE_NAMESPACES)
const struct row_term allow_clone_sampled[] = {
	ONE(NONE(0, CLONE_HELD | CLONE_VFORK | CLONE_FILES)),
	ONE(MASKED(0, (uint32_t)(CLONE_HELD | CLONE_FILES | CLONE_VM), CLONE_VM)),
	ONE(MASKED(0, (uint32_t)(CLONE_HELD | CLONE_THREAD | CLONE_VM), CLONE_THREAD | CLONE_VM)),
	END,
};

/* Where memory is sampled: private mappings, and mappings of files. flags is an unsigned long. */
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
 * Left out: PR_SET_DUMPABLE except to 1 (the supervisor could not read the process: sys_prctl), PR_SET_PTRACER,
 * PR_SET_MM, PR_SCHED_CORE (takes another process's pid), PR_SET_SECUREBITS, PR_MCE_KILL, PR_SET_TSC,
 * PR_SET_SYSCALL_USER_DISPATCH, PR_SET_IO_FLUSHER, PR_SET_KEEPCAPS. PR_SET_CHILD_SUBREAPER keeps orphans within the
 * run. PR_SET_SECCOMP takes no flags, so it cannot create a listener.
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
	/* The thread's own registers on aarch64. */
	ONE(IS(0, PR_SVE_SET_VL)),
	ONE(IS(0, PR_SVE_GET_VL)),
	ONE(IS(0, PR_PAC_RESET_KEYS)),
	ONE(IS(0, PR_SET_TAGGED_ADDR_CTRL)),
	ONE(IS(0, PR_GET_TAGGED_ADDR_CTRL)),
	END,
};

/*
 * Not where memory is sampled. launch.c then disables huge pages, because samples do not count the unmapped part of a
 * huge page, which is not freed.
 */
const struct row_term allow_prctl_huge[] = {ONE(IS(0, PR_SET_THP_DISABLE)), END};

/* ---- on the calling process: pid 0 ---- */

#define IOPRIO_WHO_PROCESS 1 /* linux/ioprio.h has it as an enum */

const struct row_term allow_move_pages[] = {ONE(IS(0, 0)), END};
const struct row_term allow_get_robust_list[] = {ONE(IS(0, 0)), END};
/* All resources except RLIMIT_CORE (4) and RLIMIT_NOFILE (7): see sys_prlimit64. */
#define UP_TO_3(n) MASKED(n, LOW & ~3ULL, 0)
#define UP_TO_15(n) MASKED(n, LOW & ~7ULL, 8)
const struct row_term allow_setrlimit[] = {ONE(UP_TO_3(0)), ONE(IS(0, 5)), ONE(IS(0, 6)),
					   ONE(UP_TO_15(0)), END};
const struct row_term allow_prlimit64[] = {
	BOTH(IS(0, 0), WHOLE(2, 0)), /* only read the limit */
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

/* ---- matching ---- */

static bool table_term_holds(const struct row_term *term, const uint64_t *arg)
{
	for (unsigned i = 0; i < term->count; i++)
		if ((arg[term->compare[i].arg] & term->compare[i].mask) != term->compare[i].value)
			return false;
	return true;
}

bool table_match(const struct row_term *terms, const uint64_t *arg)
{
	for (const struct row_term *term = terms; term->count; term++)
		if (table_term_holds(term, arg))
			return true;
	return false;
}

bool table_allows(const struct syscall_row *row, const uint64_t *arg)
{
	return row->class == ROW_FILTER && table_match(row->allow, arg);
}
