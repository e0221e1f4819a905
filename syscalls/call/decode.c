#include <errno.h>
#include <fcntl.h>

#include "syscalls/call/decode.h"

/*
 * Copies a string of at most PATH_MAX bytes with the NUL, as the kernel does (getname(9)). If the copy fails because of
 * the target's argument (EFAULT, ENAMETOOLONG), its errno is stored in *ret_error, and the handler decides what to do
 * with it. Returns 0; -EPERM or -ESRCH ends the call.
 */
static int decode_string(struct call *call, unsigned arg, char text[PATH_MAX], size_t *ret_len, int *ret_error)
{
	ssize_t len = memory_copy_string(call->sandbox->target_memory, call->tid, call->arg[arg], text, PATH_MAX,
					 -ENAMETOOLONG);

	if (len < 0)
		text[0] = '\0';
	*ret_len = len < 0 ? 0 : (size_t)len;
	if (len == -EPERM || len == -ESRCH)
		return (int)len;
	*ret_error = len < 0 ? (int)len : 0;
	return 0;
}

static int decode_path(struct call *call, unsigned arg, int dirfd)
{
	struct call_path *path = &call->path[call->path_count++];

	path->dirfd = dirfd;
	path->len = 0;
	path->error = 0;
	path->text[0] = '\0';
	path->is_null_pointer = call->arg[arg] == 0;
	if (path->is_null_pointer && call->row->arg[arg].kind == ARG_PATH_OR_NULL)
		return 0;
	return decode_string(call, arg, path->text, &path->len, &path->error);
}

int decode_call_args(struct call *call)
{
	int dirfd = AT_FDCWD;

	if (call->task)
		task_table_end_rlimit_nofile_change(call->task);
	call->path_count = 0;
	call->text_arg_len = 0;
	call->text_arg_error = 0;
	for (unsigned arg = 0; arg < 6; arg++) {
		enum arg_kind kind = call->row->arg[arg].kind;
		int r = 0;

		if (kind == ARG_DIRFD) {
			dirfd = call_get_int(call, arg);
		} else if (kind == ARG_PATH || kind == ARG_PATH_OR_NULL) {
			r = decode_path(call, arg, dirfd);
			dirfd = AT_FDCWD;
		} else if (kind == ARG_TEXT) {
			r = decode_string(call, arg, call->text_arg, &call->text_arg_len, &call->text_arg_error);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

/* Copies a struct whose size is an argument, like copy_struct_from_user() in include/linux/uaccess.h. */
int decode_extensible_struct(const struct call *call, unsigned arg, void *out, size_t ksize, size_t usize, size_t min)
{
	char tail[4096];
	size_t known = usize < ksize ? usize : ksize;
	int r;

	if (usize < min)
		return -EINVAL;
	if (usize > sizeof(tail))
		return -E2BIG;
	memset(out, 0, ksize);
	if (usize > ksize) {
		r = decode_memory_at(call, call->arg[arg] + ksize, tail, usize - ksize);
		if (r < 0)
			return r;
		for (size_t i = 0; i < usize - ksize; i++)
			if (tail[i])
				return -E2BIG;
	}
	return decode_memory_at(call, call->arg[arg], out, known);
}
