/* open(2), creat(2), openat(2), openat2(2): what the kernel makes of flags and modes before it looks at the path. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>

#include "syscalls/call/decode.h"
#include "syscalls/file/open.h"
#include "syscalls/table/handlers.h"

#include "base/banned.h"

#define TMPFILE_BIT ((unsigned)O_TMPFILE & ~(unsigned)O_DIRECTORY)
/*
 * The kernel's O_LARGEFILE, 0 in glibc: the first on x86_64, the second on aarch64; the other one is O_NOFOLLOW
 * there.
 */
#define LARGEFILE_BIT (0100000u | 0400000u)
#define OPEN_HOW_MIN 24 /* OPEN_HOW_SIZE_VER0 */
#define OPEN_FLAGS                                                                                                 \
	((unsigned)(O_ACCMODE | O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_APPEND | O_NONBLOCK | O_SYNC | O_DSYNC | \
		    O_ASYNC | O_DIRECT | O_DIRECTORY | O_NOFOLLOW | O_NOATIME | O_CLOEXEC | O_PATH | O_TMPFILE) |  \
	 LARGEFILE_BIT)
#define PATH_FLAGS ((unsigned)(O_DIRECTORY | O_NOFOLLOW | O_PATH | O_CLOEXEC))
#define OPEN_MODE 07777u
#define RESOLVE_KNOWN                                                                                        \
	(RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH | RESOLVE_IN_ROOT | \
	 RESOLVE_CACHED)

/* The rules both families share, from build_open_flags() in fs/open.c (O_CREAT|O_DIRECTORY since Linux 6.3). */
static int check_flags(const struct open_request *request)
{
	unsigned flags = request->flags;

	if ((flags & (O_DIRECTORY | O_CREAT)) == (O_DIRECTORY | O_CREAT))
		return -EINVAL;
	if (flags & TMPFILE_BIT && (!(flags & O_DIRECTORY) || ((flags & O_ACCMODE) == O_RDONLY && !(flags & O_TRUNC))))
		return -EINVAL;
	return 0;
}

/* The old calls ignore what they do not know: build_open_how() in fs/open.c. */
static void open_old(struct call *call, unsigned flags, unsigned mode)
{
	struct open_request request = {.flags = flags & OPEN_FLAGS};
	int r;

	if (flags & O_PATH)
		request.flags &= PATH_FLAGS;
	if (request.flags & (O_CREAT | TMPFILE_BIT))
		request.mode = mode & OPEN_MODE;
	r = check_flags(&request);
	if (r < 0)
		call_fail(call, r);
	else
		file_open(call, &request);
}

void sys_open(struct call *call)
{
	open_old(call, call_uint(call, 1), call_uint(call, 2));
}

void sys_creat(struct call *call)
{
	open_old(call, O_CREAT | O_WRONLY | O_TRUNC, call_uint(call, 1));
}

void sys_openat(struct call *call)
{
	open_old(call, call_uint(call, 2), call_uint(call, 3));
}

/* openat2 refuses what it does not know. */
static int check_how(const struct open_how *how)
{
	bool creates = how->flags & (O_CREAT | TMPFILE_BIT);

	if (how->flags & ~(uint64_t)OPEN_FLAGS || how->resolve & ~(uint64_t)RESOLVE_KNOWN)
		return -EINVAL;
	if (how->resolve & RESOLVE_BENEATH && how->resolve & RESOLVE_IN_ROOT)
		return -EINVAL;
	if (creates ? how->mode & ~(uint64_t)OPEN_MODE : how->mode)
		return -EINVAL;
	if (how->flags & O_PATH && how->flags & ~(uint64_t)PATH_FLAGS)
		return -EINVAL;
	return 0;
}

void sys_openat2(struct call *call)
{
	struct open_request request;
	struct open_how how;
	int r = decode_extensible(call, 2, &how, sizeof(how), call->arg[3], OPEN_HOW_MIN);

	if (r == 0)
		r = check_how(&how);
	if (r == 0) {
		request = (struct open_request){
			.flags = (unsigned)how.flags, .mode = (mode_t)how.mode, .resolve = how.resolve};
		r = check_flags(&request);
	}
	/* "Not in the cache" is always a truthful answer, and the caller asks again without the flag: openat2(2). */
	if (r == 0 && how.resolve & RESOLVE_CACHED)
		r = -EAGAIN;
	if (r < 0)
		call_fail(call, r);
	else
		file_open(call, &request);
}
