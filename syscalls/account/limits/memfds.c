#include "syscalls/account/limits/memfds.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "syscalls/account/result/denials.h"
#include "syscalls/file/resolve.h"
#include "syscalls/process/target.h"
#include "syscalls/table/handlers.h"

#define MEMFDS_FIRST_SWEEP_COUNT 32                  /* number of memfds at which unused ones are first closed */
#define MEMFDS_FIRST_SWEEP_BYTES (UINT64_C(4) << 20) /* size of memfds at which unused ones are first closed */

/* The memfds that replace anonymous shared memory of the run, so that it can be measured. */
struct memfds {
	int fd[MEMFDS_MAX]; /* read-only descriptors */
	size_t count;       /* used entries of fd[] */
	/*
	 * The number and bytes of memfds at which those that no process has any more are searched for and closed. Until
	 * then the supervisor's descriptors keep them alive.
	 */
	size_t sweep_at_count;
	uint64_t sweep_at_bytes;
	bool has_kernel_queues; /* the run has a unix listener or an inotify watch */
};

int memfds_create(struct memfds **ret_memfds)
{
	struct memfds *memfds = calloc(1, sizeof(*memfds));

	if (!memfds)
		return -ENOMEM;
	memfds->sweep_at_count = MEMFDS_FIRST_SWEEP_COUNT;
	memfds->sweep_at_bytes = MEMFDS_FIRST_SWEEP_BYTES;
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

void memfds_note_kernel_queues(struct memfds *memfds)
{
	if (memfds)
		memfds->has_kernel_queues = true;
}

/* Whether the run may hold kernel memory in the queues of a unix listener or an inotify watch. */
bool memfds_run_has_kernel_queues(const struct memfds *memfds)
{
	return memfds->has_kernel_queues;
}

uint64_t memfds_measure_bytes(const struct memfds *memfds)
{
	uint64_t sum = 0;
	struct stat st;

	for (size_t i = 0; i < memfds->count; i++)
		if (fstat(memfds->fd[i], &st) == 0)
			sum += (uint64_t)st.st_blocks * 512;
	return sum;
}

/* Opens the memfd of a descriptor again with other flags. Returns a descriptor or -errno. */
static int memfds_reopen_descriptor(int fd, int flags)
{
	int again = open(io_proc_fd_path(fd).path, flags | O_CLOEXEC);

	return again < 0 ? -errno : again;
}

/*
 * Whether no other process has the memfd. The kernel grants a write lease only if no other descriptor, mapping or
 * message refers to the file (fcntl(2)). O_PATH descriptors do not count there, and could open it again. So the memfd
 * is truncated, or kept if seals forbid that.
 */
static bool memfds_is_unused(int fd)
{
	_cleanup_close_ int write_fd = -1;
	struct stat st;

	if (fcntl(fd, F_SETLEASE, F_WRLCK) < 0)
		return false;
	(void)fcntl(fd, F_SETLEASE, F_UNLCK);
	if (fstat(fd, &st) == 0 && st.st_blocks == 0 && st.st_size == 0)
		return true;
	write_fd = memfds_reopen_descriptor(fd, O_RDWR);
	return write_fd >= 0 && ftruncate(write_fd, 0) == 0;
}

void memfds_free_unused(struct memfds *memfds)
{
	size_t kept = 0;

	for (size_t i = 0; i < memfds->count; i++) {
		if (memfds_is_unused(memfds->fd[i]))
			(void)close(memfds->fd[i]);
		else
			memfds->fd[kept++] = memfds->fd[i];
	}
	memfds->count = kept;
	memfds->sweep_at_count = kept < MEMFDS_FIRST_SWEEP_COUNT / 2 ? MEMFDS_FIRST_SWEEP_COUNT : kept * 2;
	if (memfds->sweep_at_count > MEMFDS_MAX)
		memfds->sweep_at_count = MEMFDS_MAX;
	memfds->sweep_at_bytes = memfds_measure_bytes(memfds) * 2;
	if (memfds->sweep_at_bytes < MEMFDS_FIRST_SWEEP_BYTES)
		memfds->sweep_at_bytes = MEMFDS_FIRST_SWEEP_BYTES;
}

/*
 * Makes a memfd; there must be room for it. Returns the target's descriptor, or -errno. The supervisor's descriptor and
 * the target's are opened by open(2): leases count writers by open(2), but not the writer by memfd_create.
 */
static int memfds_make(struct memfds *memfds, const char *name, unsigned flags)
{
	_cleanup_close_ int fd = memfd_create(name, flags | MFD_CLOEXEC);
	_cleanup_close_ int ours = -1;
	int theirs;

	if (fd < 0)
		return -errno;
	ours = memfds_reopen_descriptor(fd, O_RDONLY);
	if (ours < 0)
		return ours;
	theirs = memfds_reopen_descriptor(fd, O_RDWR | O_LARGEFILE);
	if (theirs >= 0)
		memfds->fd[memfds->count++] = steal_fd(&ours);
	return theirs;
}

/* Whether there is room for one more memfd. Sweeps first if a threshold is reached. */
static bool memfds_have_room(struct memfds *memfds)
{
	if (memfds->count >= memfds->sweep_at_count || memfds_measure_bytes(memfds) >= memfds->sweep_at_bytes)
		memfds_free_unused(memfds);
	return memfds->count < MEMFDS_MAX;
}

/* memfd_create(2) is notified only if memory is sampled (RUN_SAMPLES_MEMORY). */
void sys_memfd_create(struct call *call)
{
	struct memfds *memfds = call->sandbox->memfds;
	unsigned flags = call_get_uint(call, 1);
	int fd = call->text_arg_error;

	if (!memfds) {
		call_refuse(call, -EPERM, NULL, "refused_syscall");
	} else if (!memfds_have_room(memfds)) {
		call_refuse(call, -ENFILE, NULL, "memfds_limit");
	} else {
		target_allow_without_rule(call);
		if (call_commit_record(call) < 0)
			return;
		if (fd == 0)
			fd = memfds_make(memfds, call->text_arg, flags);
		call_return_fd(call, fd == -ENAMETOOLONG ? -EINVAL : fd, flags & MFD_CLOEXEC);
	}
}

/* Makes a memfd of `len` bytes, rounded up to pages. Returns the target's descriptor, or the -errno of mmap(2). */
static int memfds_make_shared_memory(struct memfds *memfds, uint64_t len)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	_cleanup_close_ int fd = -1;

	if (len == 0)
		return -EINVAL;
	if (len > INT64_MAX - page)
		return -ENOMEM;
	fd = memfds_make(memfds, "shared", 0);
	if (fd >= 0 && ftruncate(fd, (off_t)((len + page - 1) / page * page)) < 0)
		/* the supervisor's descriptor of the new memfd is closed when unused memfds are searched for */
		return -ENOMEM;
	return steal_fd(&fd);
}

/* Lets mmap(2) of anonymous shared memory map a memfd, so that it can be measured. */
static void memfds_map_shared_memory(struct call *call)
{
	struct memfds *memfds = call->sandbox->memfds;
	int fd;

	if (!memfds_have_room(memfds)) {
		call_refuse(call, -ENOMEM, NULL, "memfds_limit");
		return;
	}
	target_allow_without_rule(call);
	if (call_commit_record(call) < 0)
		return;
	/* mmap(2) checks the offset first, even for anonymous memory. */
	if (call->arg[5] % (uint64_t)sysconf(_SC_PAGESIZE) != 0)
		fd = -EINVAL;
	else
		fd = memfds_make_shared_memory(memfds, call->arg[1]);
	call_return_fd(call, fd, false);
	if (fd >= 0)
		call->outcome.kind = OUTCOME_MAP_MEMFD;
}

/*
 * mmap(2) is notified only in runs without control groups, whose memory is sampled from /proc: for shared anonymous
 * memory, huge pages, and types that allow_mmap_sampled does not know. MAP_HUGETLB with a file is either EINVAL or a
 * memfd's mapping.
 */
void sys_mmap(struct call *call)
{
	uint64_t flags = call->arg[3];

	if (!call->sandbox->memfds) {
		call_refuse(call, -EPERM, NULL, "refused_syscall");
	} else if (flags & MAP_ANONYMOUS && flags & MAP_HUGETLB) {
		/* samples do not count huge pages; fails as if the machine had none */
		call_refuse(call, -ENOMEM, NULL, "huge_pages");
	} else if (flags & MAP_ANONYMOUS && (flags & MAP_TYPE) == MAP_SHARED) {
		memfds_map_shared_memory(call);
	} else {
		target_allow_continue(call);
	}
}

bool memfds_opens_zero_device(const struct call *call, const struct stat *status, int flags)
{
	return call->sandbox->memfds && S_ISCHR(status->st_mode) && status->st_rdev == makedev(1, 5) &&
	       (flags & O_ACCMODE) == O_RDWR;
}

void memfds_refuse_splice(struct call *call)
{
	call_refuse(call, -EINVAL, NULL, DENIAL_REASON_PROBE);
}

HANDLER(sys_splice, memfds_refuse_splice(call))
HANDLER(sys_vmsplice, memfds_refuse_splice(call))
