#include "syscalls/account/memfds.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/account/denials.h"
#include "syscalls/call/call.h"
#include "syscalls/process/target.h"
#include "syscalls/table/handlers.h"

#include "base/banned.h"

#define SWEEP_FIRST 32
#define SWEEP_BYTES (UINT64_C(4) << 20)

struct memfds {
	int fd[MEMFDS_MAX]; /* read-only descriptors */
	size_t count;
	/* From so many or so much on, those nobody has any more are looked for: they take memory only because of us. */
	size_t sweep_at;
	uint64_t sweep_bytes;
	bool queues; /* memfds_queues */
};

int memfds_create(struct memfds **ret_memfds)
{
	struct memfds *memfds = calloc(1, sizeof(*memfds));

	if (!memfds)
		return -ENOMEM;
	memfds->sweep_at = SWEEP_FIRST;
	memfds->sweep_bytes = SWEEP_BYTES;
	*ret_memfds = memfds;
	return 0;
}

void memfds_free(struct memfds *memfds)
{
	if (!memfds)
		return;
	for (size_t i = 0; i < memfds->count; i++)
		(void)close(memfds->fd[i]);
	free(memfds);
}

void memfds_set_queues(struct memfds *memfds)
{
	if (memfds)
		memfds->queues = true;
}

bool memfds_queues(const struct memfds *memfds)
{
	return memfds->queues;
}

uint64_t memfds_bytes(const struct memfds *memfds)
{
	uint64_t sum = 0;
	struct stat st;

	for (size_t i = 0; i < memfds->count; i++)
		if (fstat(memfds->fd[i], &st) == 0)
			sum += (uint64_t)st.st_blocks * 512;
	return sum;
}

/* What a descriptor of ours refers to, opened anew. */
static int reopen(int fd, int flags)
{
	char path[32];
	int again;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd); /* bounded by an int */
	again = open(path, flags | O_CLOEXEC);
	return again < 0 ? -errno : again;
}

/*
 * A write lease is given to the only one who has a file open (fcntl(2)), mappings and descriptors under way included.
 * An O_PATH descriptor does not count there, and could open it again: so it is emptied, or, sealed against that, kept.
 */
static bool is_orphan(int fd)
{
	_cleanup_close_ int write_fd = -1;
	struct stat st;

	if (fcntl(fd, F_SETLEASE, F_WRLCK) < 0)
		return false;
	(void)fcntl(fd, F_SETLEASE, F_UNLCK);
	if (fstat(fd, &st) == 0 && st.st_blocks == 0 && st.st_size == 0)
		return true;
	write_fd = reopen(fd, O_RDWR);
	return write_fd >= 0 && ftruncate(write_fd, 0) == 0;
}

void memfds_sweep(struct memfds *memfds)
{
	size_t kept = 0;

	for (size_t i = 0; i < memfds->count; i++) {
		if (is_orphan(memfds->fd[i]))
			(void)close(memfds->fd[i]);
		else
			memfds->fd[kept++] = memfds->fd[i];
	}
	memfds->count = kept;
	memfds->sweep_at = kept < SWEEP_FIRST / 2 ? SWEEP_FIRST : kept * 2;
	if (memfds->sweep_at > MEMFDS_MAX)
		memfds->sweep_at = MEMFDS_MAX;
	memfds->sweep_bytes = memfds_bytes(memfds) * 2;
	if (memfds->sweep_bytes < SWEEP_BYTES)
		memfds->sweep_bytes = SWEEP_BYTES;
}

/*
 * The program's descriptor is one of its own, not a duplicate of ours: only what is opened (open(2), not memfd_create)
 * is counted among the writers a lease asks about. 0 with both, or -errno.
 */
static int make(const char *name, unsigned flags, int *ret_ours, int *ret_theirs)
{
	_cleanup_close_ int fd = memfd_create(name, flags | MFD_CLOEXEC);
	_cleanup_close_ int ours = -1;
	int theirs;

	if (fd < 0)
		return -errno;
	ours = reopen(fd, O_RDONLY);
	if (ours < 0)
		return ours;
	theirs = reopen(fd, O_RDWR | O_LARGEFILE);
	if (theirs < 0)
		return theirs;
	*ret_theirs = theirs;
	*ret_ours = steal_fd(&ours);
	return 0;
}

/*
 * Whether there may be one more. Those that nobody has any more go first: they may be many, and what they take is the
 * next sample's.
 */
static bool has_room(struct memfds *memfds)
{
	if (memfds->count >= memfds->sweep_at || memfds_bytes(memfds) >= memfds->sweep_bytes)
		memfds_sweep(memfds);
	return memfds->count < MEMFDS_MAX;
}

/* Notified only where memory is sampled (RUN_MEMORY). */
void sys_memfd_create(struct call *call)
{
	struct memfds *memfds = call->sandbox->memfds;
	unsigned flags = call_uint(call, 1);
	int ours = -1, theirs = -1, error = call->text_error;

	if (!memfds) {
		call_refuse(call, -EPERM, NULL, "refused_syscall");
		return;
	}
	if (!has_room(memfds)) {
		call_refuse(call, -ENFILE, NULL, "memfds_limit");
		return;
	}
	target_allow(call);
	if (call_commit(call) < 0)
		return;
	if (error == 0)
		error = make(call->text, flags, &ours, &theirs);
	if (error < 0) {
		call_fail(call, error == -ENAMETOOLONG ? -EINVAL : error);
		return;
	}
	memfds->fd[memfds->count++] = ours;
	call_give_fd(call, theirs, flags & MFD_CLOEXEC);
}

/* ---- mmap ---- */

/* A file for shared memory of `len` bytes. Its descriptor for the program, or -errno as mmap(2) has it. */
static int make_shared(struct memfds *memfds, uint64_t len)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	int ours = -1, theirs = -1, error;

	if (len == 0)
		return -EINVAL;
	if (len > INT64_MAX - page)
		return -ENOMEM;
	error = make("shared", 0, &ours, &theirs);
	if (error < 0)
		return error;
	if (ftruncate(theirs, (off_t)((len + page - 1) / page * page)) < 0) {
		(void)close(ours);
		(void)close(theirs);
		return -ENOMEM;
	}
	memfds->fd[memfds->count++] = ours;
	return theirs;
}

/* Of shared anonymous memory: what mmap(2) would find wrong before it looks at the rest. */
static bool is_misaligned(const struct call *call)
{
	return call->arg[5] % (uint64_t)sysconf(_SC_PAGESIZE) != 0;
}

static void map_shared(struct call *call)
{
	struct memfds *memfds = call->sandbox->memfds;
	int fd;

	if (!has_room(memfds)) {
		call_refuse(call, -ENOMEM, NULL, "memfds_limit");
		return;
	}
	target_allow(call);
	if (call_commit(call) < 0)
		return;
	fd = is_misaligned(call) ? -EINVAL : make_shared(memfds, call->arg[1]);
	if (fd < 0) {
		call_fail(call, fd);
		return;
	}
	call->outcome.kind = OUTCOME_MAP;
	call->outcome.fd = fd;
}

/*
 * Notified only with judge_memory, and then only for shared anonymous memory, huge pages, and types the kernel may know
 * and filter-terms.c does not (MAP_DROPPABLE: private). A file's mapping with MAP_HUGETLB is either EINVAL or a
 * memfd's.
 */
void sys_mmap(struct call *call)
{
	uint64_t flags = call->arg[3];

	if (!call->sandbox->memfds) {
		call_refuse(call, -EPERM, NULL, "refused_syscall");
	} else if (flags & MAP_ANONYMOUS && flags & MAP_HUGETLB) {
		call_refuse(call, -ENOMEM, NULL, "huge_pages"); /* no sample sees them; as if the machine had none */
	} else if (flags & MAP_ANONYMOUS && (flags & MAP_TYPE) == MAP_SHARED) {
		map_shared(call);
	} else {
		target_allow(call);
		call_continue(call);
	}
}

/* ---- what else would hold memory where no process shows it ---- */

bool memfds_evades(const struct call *call, const struct stat *status, int flags)
{
	return call->sandbox->memfds && S_ISCHR(status->st_mode) && status->st_rdev == makedev(1, 5) &&
	       (flags & O_ACCMODE) == O_RDWR;
}

void memfds_refuse_pages(struct call *call)
{
	call_refuse(call, -EINVAL, NULL, DENIAL_EXPECTED);
}

void sys_splice(struct call *call)
{
	memfds_refuse_pages(call);
}

void sys_vmsplice(struct call *call)
{
	memfds_refuse_pages(call);
}
