#include <errno.h>
#include <sys/uio.h>

#include "syscalls/call/memory.h"

#define TARGET_PAGE_BYTES 4096u /* memory is copied page by page: the smallest page size */

/* One iovec a page: process_vm_readv(2) copies no part of an iovec, and a string may end before an unmapped page. */
static size_t memory_split_at_pages(uint64_t addr, size_t len, struct iovec remote[3])
{
	size_t count = 0;

	while (len && count < 3) {
		size_t room = TARGET_PAGE_BYTES - (size_t)(addr & (TARGET_PAGE_BYTES - 1));
		size_t part = count == 2 || len < room ? len : room;

		remote[count].iov_base = (void *)(uintptr_t)addr;
		remote[count++].iov_len = part;
		addr += part;
		len -= part;
	}
	return count;
}

static ssize_t memory_read_process(pid_t tid, uint64_t addr, void *out, size_t len)
{
	struct iovec local = {.iov_base = out, .iov_len = len};
	struct iovec remote[3];
	ssize_t got = process_vm_readv(tid, &local, 1, remote, memory_split_at_pages(addr, len, remote), 0);

	return got < 0 ? -errno : got;
}

static ssize_t memory_write_process(pid_t tid, uint64_t addr, const void *from, size_t len)
{
	union {
		const void *in;
		void *out;
	} cast = {.in = from}; /* only read by process_vm_writev(), whose prototype lacks const */
	struct iovec local = {.iov_base = cast.out, .iov_len = len};
	struct iovec remote[3];
	ssize_t put = process_vm_writev(tid, &local, 1, remote, memory_split_at_pages(addr, len, remote), 0);

	return put < 0 ? -errno : put;
}

const struct memory_ops memory_of_process = {.read = memory_read_process, .write = memory_write_process};

int memory_copy_in(const struct memory_ops *ops, pid_t tid, uint64_t addr, void *out, size_t len)
{
	ssize_t got = len ? ops->read(tid, addr, out, len) : 0;

	if (got < 0)
		return (int)got;
	return (size_t)got == len ? 0 : -EFAULT;
}

/* Writes all len bytes to target memory. 0 or -errno. */
int memory_copy_out(const struct memory_ops *ops, pid_t tid, uint64_t addr, const void *from, size_t len)
{
	ssize_t put = len ? ops->write(tid, addr, from, len) : 0;

	if (put < 0)
		return (int)put;
	return (size_t)put == len ? 0 : -EFAULT;
}

ssize_t memory_copy_string(const struct memory_ops *ops, pid_t tid, uint64_t addr, char *out, size_t cap, int too_long)
{
	size_t have = 0;

	/* The first read has at most 256 bytes, because most paths are short. */
	while (have < cap) {
		size_t page_left = TARGET_PAGE_BYTES - (size_t)((addr + have) & (TARGET_PAGE_BYTES - 1));
		size_t want = have ? page_left : (page_left < 256 ? page_left : 256);
		ssize_t got;
		char *end;

		if (want > cap - have)
			want = cap - have;
		got = ops->read(tid, addr + have, out + have, want);
		if (got <= 0)
			return got == 0 ? -EFAULT : got;
		end = memchr(out + have, '\0', (size_t)got);
		if (end)
			return end - out;
		if ((size_t)got < want)
			return -EFAULT;
		have += (size_t)got;
	}
	return too_long;
}
