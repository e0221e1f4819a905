/* The registers with which the filter allows calls of FILTER and JUDGE rows. terms-sockets.c has the socket calls. */
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
#include <unistd.h>

#include "base/proc/map.h"
#include "syscalls/table/terms.h"

const struct row_term allow_always[] = {TERM_OF_ONE(COMPARE_MASKED(0, 0, 0)), END};

/* ---- descriptors ---- */

#ifndef F_DUPFD_QUERY
#define F_DUPFD_QUERY 1027 /* Linux 6.10 */
#endif
#ifndef F_CREATED_QUERY
#define F_CREATED_QUERY 1028 /* Linux 6.12 */
#endif

#define COMMAND_IS(command) TERM_OF_ONE(IS(1, command)) /* a term for the command argument of fcntl(2) and ioctl(2) */

/*
 * Left out: F_SETLEASE and F_NOTIFY, which block or observe processes outside the run through a read-only descriptor,
 * and F_SET_*RW_HINT, which changes the inode. O_ASYNC and F_SETSIG only tell whether the description's owner is
 * signalled, and by which signal. Setting an owner is judged (owner.h). A terminal signals the process itself or its
 * foreground group (__tty_fasync() in drivers/tty/tty_io.c), which is the run's.
 */
const struct row_term allow_fcntl[] = {
	COMMAND_IS(F_GETFL),         COMMAND_IS(F_SETFD),         COMMAND_IS(F_SETFL),
	COMMAND_IS(F_SETSIG),        COMMAND_IS(F_GETFD),         COMMAND_IS(F_DUPFD),
	COMMAND_IS(F_DUPFD_CLOEXEC), COMMAND_IS(F_GETLK),         COMMAND_IS(F_OFD_GETLK),
	COMMAND_IS(F_GETPIPE_SZ),    COMMAND_IS(F_ADD_SEALS),     COMMAND_IS(F_GET_SEALS),
	COMMAND_IS(F_GETOWN),        COMMAND_IS(F_GETOWN_EX),     COMMAND_IS(F_GETSIG),
	COMMAND_IS(F_GETLEASE),      COMMAND_IS(F_GET_RW_HINT),   COMMAND_IS(F_GET_FILE_RW_HINT),
	COMMAND_IS(F_DUPFD_QUERY),   COMMAND_IS(F_CREATED_QUERY), END,
};

/* Native unless memory is sampled, because no process's statistics contain a pipe's buffers. */
const struct row_term allow_fcntl_pipes[] = {COMMAND_IS(F_SETPIPE_SZ), END};

/* If memory is sampled, these are notified: the dispatcher counts and continues them (locks.h). */
const struct row_term allow_fcntl_locks[] = {
	COMMAND_IS(F_SETLK), COMMAND_IS(F_SETLKW), COMMAND_IS(F_OFD_SETLK), COMMAND_IS(F_OFD_SETLKW), END,
};
/* Commands that wait, so that a signal may end them. */
const struct row_term waits_fcntl[] = {COMMAND_IS(F_SETLKW), COMMAND_IS(F_OFD_SETLKW), END};

/* Defined here, because <asm/termbits.h> clashes with <termios.h>. */
#define TCGETS2_REQUEST 0x802c542a
#define TCSETS2_REQUEST 0x402c542b /* TCSETS2 of asm-generic/ioctls.h */

/*
 * Left out are above all TIOCSTI and TIOCLINUX, which type into the user's shell; FS_IOC_SETFLAGS and
 * FS_IOC_FSSETXATTR, which change metadata through a read-only descriptor; FIDEDUPERANGE, which shares extents through
 * such a descriptor; and PIDFD_GET_*, which open namespaces. FIOSETOWN and SIOCSPGRP are judged. BLK* and RNDGETENTCNT
 * tell no secret of a device that was granted, and fail with ENOTTY on other files.
 */
const struct row_term allow_ioctl[] = {
	COMMAND_IS(TCGETS),
	COMMAND_IS(TCGETS2_REQUEST), /* glibc 2.42's isatty(3) uses it */
	COMMAND_IS(TIOCGWINSZ),
	COMMAND_IS(TIOCGPGRP),
	COMMAND_IS(TIOCGSID),
	COMMAND_IS(FIONREAD),
	COMMAND_IS(FIONBIO),
	COMMAND_IS(FIOASYNC), /* has the effect of O_ASYNC */
	COMMAND_IS(FIOGETOWN),
	COMMAND_IS(SIOCGPGRP),
	COMMAND_IS(FIOCLEX),
	COMMAND_IS(FIONCLEX),
	COMMAND_IS(FIOQSIZE),
	COMMAND_IS(TIOCOUTQ),
	COMMAND_IS(FIGETBSZ),
	COMMAND_IS(FS_IOC_GETFLAGS),
	COMMAND_IS(FS_IOC_GETVERSION),
	COMMAND_IS(FS_IOC_FSGETXATTR),
	COMMAND_IS(FS_IOC_FIEMAP),
	/* Copies from a descriptor that is open for reading to a descriptor that is open for writing. */
	COMMAND_IS(FICLONE),
	COMMAND_IS(FICLONERANGE),
	COMMAND_IS(BLKGETSIZE),
	COMMAND_IS(BLKGETSIZE64),
	COMMAND_IS(BLKSSZGET),
	COMMAND_IS(BLKBSZGET),
	COMMAND_IS(BLKPBSZGET),
	COMMAND_IS(BLKROGET),
	COMMAND_IS(BLKIOMIN),
	COMMAND_IS(BLKIOOPT),
	COMMAND_IS(BLKALIGNOFF),
	COMMAND_IS(BLKROTATIONAL),
	COMMAND_IS(RNDGETENTCNT),
	COMMAND_IS(PROCMAP_QUERY_IOCTL), /* tells what reading the same descriptor of /proc/PID/maps tells */
	END,
};

#ifndef TIOCGPTLCK
#define TIOCGPKT _IOR('T', 0x38, int) /* Linux 3.8 */
#define TIOCGPTLCK _IOR('T', 0x39, int)
#define TIOCGEXCL _IOR('T', 0x40, int)
#endif

/*
 * Every terminal of a run is the run's own: pairs that the program made (view/terminals.c), and the terminal of --tty,
 * whose master is the keeper's. An attacker gains power over these terminals only: modes, size, packet mode, exclusive
 * use, tcflush(3), tcflow(3), tcdrain(3), tcsendbreak(3), the lock of a slave. The kernel sends a terminal's signals to
 * its session. A terminal becomes a session's only if the session has none, because taking a terminal away needs
 * CAP_SYS_ADMIN. A foreground group must be of the caller's session. So every session with a terminal of the run is the
 * run's. TIOCSTI (types into a terminal), TIOCLINUX, TIOCCONS (the console's output), TIOCSETD (line disciplines:
 * kernel modules) and TIOCVHANGUP are left out. TIOCGPTPEER is judged (sys_ioctl).
 */
const struct row_term allow_ioctl_terminal[] = {
	COMMAND_IS(TCSETS),
	COMMAND_IS(TCSETSW),
	COMMAND_IS(TCSETSF),
	COMMAND_IS(TCSETS2_REQUEST),
	COMMAND_IS(TCSETS2_REQUEST + 1), /* TCSETSW2 */
	COMMAND_IS(TCSETS2_REQUEST + 2), /* TCSETSF2 */
	COMMAND_IS(TIOCSWINSZ),
	COMMAND_IS(TIOCSPGRP),
	COMMAND_IS(TIOCSCTTY),
	COMMAND_IS(TIOCNOTTY),
	COMMAND_IS(TIOCSPTLCK),
	COMMAND_IS(TIOCGPTLCK),
	COMMAND_IS(TIOCGPTN),
	COMMAND_IS(TIOCPKT),
	COMMAND_IS(TIOCGPKT),
	COMMAND_IS(TIOCEXCL),
	COMMAND_IS(TIOCNXCL),
	COMMAND_IS(TIOCGEXCL),
	COMMAND_IS(TIOCSIG),
	COMMAND_IS(TIOCGETD),
	COMMAND_IS(TCGETA),
	COMMAND_IS(TCSETA),
	COMMAND_IS(TCSETAW),
	COMMAND_IS(TCSETAF),
	COMMAND_IS(TCFLSH),
	COMMAND_IS(TCXONC),
	COMMAND_IS(TCSBRK),
	COMMAND_IS(TCSBRKP),
	END,
};

/* Allows a NULL path with AT_EMPTY_PATH, because the call then has no path. */
const struct row_term allow_newfstatat[] = {TERM_OF_TWO(COMPARE_WHOLE_REGISTER(1, 0), HAS(3, AT_EMPTY_PATH)), END};
const struct row_term allow_statx[] = {TERM_OF_TWO(COMPARE_WHOLE_REGISTER(1, 0), HAS(2, AT_EMPTY_PATH)), END};

/*
 * fstat(3) of C libraries. The filter cannot tell whether the path is empty, so a program can use this call on any
 * path, unrecorded. For runs where the kernel's names are the view's. Other flags and AT_FDCWD are still judged.
 */
#define COMPARE_IS_NOT_NEGATIVE_INT(n) COMPARE_MASKED(n, 0x80000000, 0)
const struct row_term allow_newfstatat_fd[] = {TERM_OF_TWO(COMPARE_IS_NOT_NEGATIVE_INT(0), IS(3, AT_EMPTY_PATH)), END};
const struct row_term allow_statx_fd[] = {TERM_OF_TWO(COMPARE_IS_NOT_NEGATIVE_INT(0), IS(2, AT_EMPTY_PATH)), END};

/* ---- calls that only read, where the kernel decides about them: "judge": "changes" ---- */

/* Flags of open(2) of which none is set in an open that changes nothing. O_TMPFILE has a bit besides O_DIRECTORY. */
#define OPEN_FLAGS_THAT_CHANGE_FILES (O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))

const struct row_term allow_open_reads[] = {TERM_OF_ONE(NO_BIT_OF(1, OPEN_FLAGS_THAT_CHANGE_FILES | O_PATH)), END};
const struct row_term allow_open_opath[] = {TERM_OF_ONE(HAS(1, O_PATH)), END};
const struct row_term allow_openat_reads[] = {TERM_OF_ONE(NO_BIT_OF(2, OPEN_FLAGS_THAT_CHANGE_FILES | O_PATH)), END};
const struct row_term allow_openat_opath[] = {TERM_OF_ONE(HAS(2, O_PATH)), END};

const struct row_term allow_access_reads[] = {TERM_OF_ONE(NO_BIT_OF(1, W_OK | X_OK)), END};
const struct row_term allow_faccessat_reads[] = {TERM_OF_ONE(NO_BIT_OF(2, W_OK | X_OK)), END};

/* ---- processes ---- */

/* Without CLONE_NEWTIME (0x80), which is part of the exit signal for clone(2). The kernel uses the low 32 bits. */
#define CLONE_NAMESPACES \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

#define CLONE_NOT_ALLOWED (CLONE_PTRACE | CLONE_NAMESPACES) /* flags with which clone(2) is never native */

const struct row_term allow_clone[] = {TERM_OF_ONE(NO_BIT_OF(0, CLONE_NOT_ALLOWED)), END};

/*
 * Flags that are allowed if memory is sampled. CLONE_VFORK only with CLONE_VM: samples assume that a parent that waits
 * for a vforked child shares its memory (borrows_memory_by_vfork in limits/sample.c). CLONE_FILES only with
 * CLONE_THREAD: record locks belong to a descriptor table, and /proc/locks may not show those of a dead process
 * (account/limits/locks.c).
 */
const struct row_term allow_clone_sampled[] = {
	TERM_OF_ONE(NO_BIT_OF(0, CLONE_NOT_ALLOWED | CLONE_VFORK | CLONE_FILES)),
	TERM_OF_ONE(COMPARE_MASKED(0, (uint32_t)(CLONE_NOT_ALLOWED | CLONE_FILES | CLONE_VM), CLONE_VM)),
	TERM_OF_ONE(
		COMPARE_MASKED(0, (uint32_t)(CLONE_NOT_ALLOWED | CLONE_THREAD | CLONE_VM), CLONE_THREAD | CLONE_VM)),
	END,
};

/* Mappings that are allowed if memory is sampled: private ones, and those of files. flags is an unsigned long. */
const struct row_term allow_mmap_sampled[] = {
	TERM_OF_ONE(COMPARE_MASKED(3, MAP_TYPE | MAP_HUGETLB, MAP_PRIVATE)),
	TERM_OF_ONE(COMPARE_MASKED(3, MAP_ANONYMOUS | MAP_HUGETLB, 0)),
	END,
};

const struct row_term allow_unshare[] = {
	TERM_OF_ONE(COMPARE_MASKED(0, ~(uint64_t)(CLONE_FILES | CLONE_FS | CLONE_SYSVSEM), 0)), END};

#define PERSONALITY_QUERY 0xffffffff /* argument of personality(2) that only reads the value */

const struct row_term allow_personality[] = {
	TERM_OF_ONE(IS(0, PERSONALITY_QUERY)),
	TERM_OF_ONE(IS(0, PER_LINUX)),
	TERM_OF_ONE(IS(0, ADDR_NO_RANDOMIZE)), /* setarch -R uses it, for reproducible builds and sanitizers */
	END,
};

/* Flags of seccomp(2) that the program may use for filters of its own. */
#define SECCOMP_FLAGS \
	(SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_TSYNC_ESRCH | SECCOMP_FILTER_FLAG_LOG | \
	 SECCOMP_FILTER_FLAG_SPEC_ALLOW)

const struct row_term allow_seccomp[] = {
	TERM_OF_TWO(IS(0, SECCOMP_SET_MODE_FILTER), NO_BIT_OF(1, ~SECCOMP_FLAGS)),
	TERM_OF_ONE(IS(0, SECCOMP_SET_MODE_STRICT)),
	TERM_OF_ONE(IS(0, SECCOMP_GET_ACTION_AVAIL)),
	TERM_OF_ONE(IS(0, SECCOMP_GET_NOTIF_SIZES)),
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

#define OPTION_IS(option) TERM_OF_ONE(IS(0, option)) /* prctl(2): its first argument */

/*
 * Left out: PR_SET_DUMPABLE except to 1 (the supervisor could not read the process: sys_prctl), PR_SET_PTRACER
 * (judged), PR_SET_MM, PR_SCHED_CORE (takes another process's pid), PR_SET_SECUREBITS, PR_MCE_KILL, PR_SET_TSC,
 * PR_SET_SYSCALL_USER_DISPATCH, PR_SET_IO_FLUSHER, PR_SET_KEEPCAPS. PR_SET_CHILD_SUBREAPER keeps orphans within the
 * run. PR_SET_SECCOMP takes no flags, so it cannot create a listener.
 */
const struct row_term allow_prctl[] = {
	OPTION_IS(PR_SET_NAME),
	OPTION_IS(PR_GET_NAME),
	OPTION_IS(PR_SET_VMA),
	OPTION_IS(PR_SET_PDEATHSIG),
	OPTION_IS(PR_GET_PDEATHSIG),
	OPTION_IS(PR_GET_DUMPABLE),
	TERM_OF_TWO(IS(0, PR_SET_DUMPABLE), COMPARE_WHOLE_REGISTER(1, 1)),
	OPTION_IS(PR_SET_NO_NEW_PRIVS),
	OPTION_IS(PR_GET_NO_NEW_PRIVS),
	OPTION_IS(PR_SET_SECCOMP),
	OPTION_IS(PR_GET_SECCOMP),
	OPTION_IS(PR_SET_CHILD_SUBREAPER),
	OPTION_IS(PR_GET_CHILD_SUBREAPER),
	OPTION_IS(PR_SET_TIMERSLACK),
	OPTION_IS(PR_GET_TIMERSLACK),
	TERM_OF_THREE(IS(0, PR_SET_THP_DISABLE), COMPARE_WHOLE_REGISTER(1, 1), COMPARE_WHOLE_REGISTER(2, 0)),
	OPTION_IS(PR_GET_THP_DISABLE),
	OPTION_IS(PR_CAPBSET_READ),
	OPTION_IS(PR_CAPBSET_DROP),
	OPTION_IS(PR_CAP_AMBIENT),
	OPTION_IS(PR_GET_KEEPCAPS),
	OPTION_IS(PR_GET_SECUREBITS),
	OPTION_IS(PR_GET_TID_ADDRESS),
	OPTION_IS(PR_GET_SPECULATION_CTRL),
	OPTION_IS(PR_SET_SPECULATION_CTRL),
	OPTION_IS(PR_GET_IO_FLUSHER),
	OPTION_IS(PR_GET_TSC),
	OPTION_IS(PR_GET_TIMING),
	OPTION_IS(PR_GET_AUXV),
	OPTION_IS(PR_SET_MDWE),
	OPTION_IS(PR_GET_MDWE),
	OPTION_IS(PR_GET_MEMORY_MERGE),
	/* The thread's own registers on aarch64. */
	OPTION_IS(PR_SVE_SET_VL),
	OPTION_IS(PR_SVE_GET_VL),
	OPTION_IS(PR_PAC_RESET_KEYS),
	OPTION_IS(PR_SET_TAGGED_ADDR_CTRL),
	OPTION_IS(PR_GET_TAGGED_ADDR_CTRL),
	END,
};

/*
 * PR_SET_THP_DISABLE, which is not allowed if memory is sampled: launch.c then disables huge pages, because samples do
 * not count the unmapped part of a huge page, whose memory is not freed.
 */
const struct row_term allow_prctl_huge[] = {OPTION_IS(PR_SET_THP_DISABLE), END};

/* ---- calls on the calling process: pid 0 ---- */

#define IOPRIO_WHO_PROCESS 1 /* linux/ioprio.h has it as an enum */

const struct row_term allow_move_pages[] = {TERM_OF_ONE(IS(0, 0)), END};
const struct row_term allow_get_robust_list[] = {TERM_OF_ONE(IS(0, 0)), END};
/* All resources except RLIMIT_CORE (4) and RLIMIT_NOFILE (7): see sys_prlimit64. */
#define COMPARE_FROM_0_TO_3(n) COMPARE_MASKED(n, LOW_WORD_MASK & ~3ULL, 0)
/* the low word of register n is from 8 to 15 */
#define COMPARE_FROM_8_TO_15(n) COMPARE_MASKED(n, LOW_WORD_MASK & ~7ULL, 8)
const struct row_term allow_setrlimit[] = {TERM_OF_ONE(COMPARE_FROM_0_TO_3(0)), TERM_OF_ONE(IS(0, 5)),
					   TERM_OF_ONE(IS(0, 6)), TERM_OF_ONE(COMPARE_FROM_8_TO_15(0)), END};
const struct row_term allow_prlimit64[] = {
	TERM_OF_TWO(IS(0, 0), COMPARE_WHOLE_REGISTER(2, 0)), /* new_limit is NULL: the call only reads the limit */
	TERM_OF_TWO(IS(0, 0), COMPARE_FROM_0_TO_3(1)),
	TERM_OF_TWO(IS(0, 0), IS(1, 5)),
	TERM_OF_TWO(IS(0, 0), IS(1, 6)),
	TERM_OF_TWO(IS(0, 0), COMPARE_FROM_8_TO_15(1)),
	END,
};
const struct row_term allow_setpriority[] = {TERM_OF_TWO(IS(0, PRIO_PROCESS), IS(1, 0)), END};
const struct row_term allow_ioprio_set[] = {TERM_OF_TWO(IS(0, IOPRIO_WHO_PROCESS), IS(1, 0)), END};
const struct row_term allow_rt_sigreturn[] = {TERM_OF_ONE(COMPARE_MASKED(0, 0, 0)), END}; /* matches always */
const struct row_term allow_sched_setaffinity[] = {TERM_OF_ONE(IS(0, 0)), END};
const struct row_term allow_sched_setattr[] = {TERM_OF_ONE(IS(0, 0)), END};
const struct row_term allow_sched_setparam[] = {TERM_OF_ONE(IS(0, 0)), END};
const struct row_term allow_sched_setscheduler[] = {TERM_OF_ONE(IS(0, 0)), END};

/* ---- ptrace: requests that act only on a task which the calling thread traces already ---- */

#define REQUEST_IS(request) TERM_OF_ONE(COMPARE_WHOLE_REGISTER(0, request)) /* PTRACE_* requests are longs */

/*
 * Numbers, because <sys/ptrace.h> and <linux/ptrace.h> clash and each lacks some requests. Left out: PTRACE_TRACEME
 * (0), ATTACH (16), SEIZE (0x4206), SECCOMP_GET_FILTER and SECCOMP_GET_METADATA (0x420c, 0x420d),
 * *_SYSCALL_USER_DISPATCH_* (0x4210, 0x4211) and PTRACE_O_SUSPEND_SECCOMP.
 */
#define TRACE_SUSPEND_SECCOMP (1 << 21)

const struct row_term allow_ptrace[] = {
	REQUEST_IS(1),
	REQUEST_IS(2),
	REQUEST_IS(3), /* PEEKTEXT, PEEKDATA, PEEKUSER */
	REQUEST_IS(4),
	REQUEST_IS(5),
	REQUEST_IS(6), /* POKETEXT, POKEDATA, POKEUSER */
	REQUEST_IS(7),
	REQUEST_IS(8),
	REQUEST_IS(9),                                       /* CONT, KILL, SINGLESTEP */
	TERM_OF_ONE(COMPARE_MASKED(0, ~UINT64_C(3), 12)), /* 12 to 15: GETREGS, SETREGS, GETFPREGS, SETFPREGS */
	REQUEST_IS(17),
	REQUEST_IS(24), /* DETACH, SYSCALL */
	REQUEST_IS(25),
	REQUEST_IS(26), /* GET_THREAD_AREA, SET_THREAD_AREA */
	REQUEST_IS(30),
	REQUEST_IS(31), /* ARCH_PRCTL, SYSEMU */
	REQUEST_IS(32),
	REQUEST_IS(33), /* SYSEMU_SINGLESTEP, SINGLEBLOCK */
	TERM_OF_TWO(COMPARE_WHOLE_REGISTER(0, 0x4200), NO_BIT_OF(3, TRACE_SUSPEND_SECCOMP)), /* SETOPTIONS */
	REQUEST_IS(0x4201),
	REQUEST_IS(0x4202),
	REQUEST_IS(0x4203), /* GETEVENTMSG, GETSIGINFO, SETSIGINFO */
	REQUEST_IS(0x4204),
	REQUEST_IS(0x4205), /* GETREGSET, SETREGSET */
	REQUEST_IS(0x4207),
	REQUEST_IS(0x4208), /* INTERRUPT, LISTEN */
	REQUEST_IS(0x4209),
	REQUEST_IS(0x420a),
	REQUEST_IS(0x420b), /* PEEKSIGINFO, GETSIGMASK, SETSIGMASK */
	REQUEST_IS(0x420e),
	REQUEST_IS(0x420f),
	REQUEST_IS(0x4212), /* GET_SYSCALL_INFO, GET_RSEQ_*, SET_SYSCALL_INFO */
	END,
};

static bool table_term_matches(const struct row_term *term, const uint64_t *arg)
{
	for (unsigned i = 0; i < term->compare_count; i++)
		if ((arg[term->compare[i].arg] & term->compare[i].mask) != term->compare[i].value)
			return false;
	return true;
}

bool table_terms_match(const struct row_term *terms, const uint64_t *arg)
{
	for (const struct row_term *term = terms; term->compare_count; term++)
		if (table_term_matches(term, arg))
			return true;
	return false;
}

bool table_row_allows(const struct syscall_row *row, const uint64_t *arg)
{
	return row->class == ROW_FILTER && table_terms_match(row->allowed_if, arg);
}
