#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "supervisor/trace/private.h"

#define ARGV_POINTERS_MAX 131072u /* a megabyte of pointers: more than an exec's argument space can hold */
#define ARGV_POINTERS_PER_READ 64u /* argv pointers copied from target memory at once */
/* most bytes of all blobs together; a thread that leaves its execs by longjmp keeps eight blobs */
#define BLOBS_TOTAL_BYTES_MAX (64u << 20)

/* Reads the program's argv, without the final NULL. addr 0: argv is empty. */
static int blob_read_argv(const struct call *call, uint64_t addr, struct buf *argv)
{
	uint64_t step[ARGV_POINTERS_PER_READ];

	while (addr && argv->len / sizeof(*step) < ARGV_POINTERS_MAX) {
		ssize_t got = call->sandbox->target_memory->read(call->tid, addr + argv->len, step, sizeof(step));
		size_t have = got < 0 ? 0 : (size_t)got / sizeof(*step), used = 0;

		if (have == 0)
			return got < 0 && got != -EFAULT ? (int)got : -EFAULT;
		while (used < have && step[used])
			used++;
		buf_add(argv, step, used * sizeof(*step));
		if (argv->failed)
			return -ENOMEM;
		if (used < have)
			return 0;
	}
	return addr ? -E2BIG : 0;
}

/*
 * Adds the argument array: first the offsets of the texts in `head`, which begin at offset `at` of the blob; then the
 * program's own pointers without argv[0]; then NULL.
 */
static void blob_put_argv(struct buf *bytes, char *const *head, const struct buf *argv, uint64_t at)
{
	const uint64_t end = 0;

	for (; *head; at += strlen(*head++) + 1)
		buf_add(bytes, &at, sizeof(at));
	if (argv->len > 0)
		buf_add(bytes, argv->data + sizeof(at), argv->len - sizeof(at));
	buf_add(bytes, &end, sizeof(end));
}

/* Pads the host path with leading slashes, so that AT_EXECFN has room for the name that the program gave. */
static int blob_pad_host_path(const struct exec_plan *plan, char out[PATH_MAX])
{
	size_t len = strlen(plan->host_path), room = strlen(plan->execfn);
	size_t pad = room > len ? room - len : 0;

	if (len + pad >= PATH_MAX)
		return -ENAMETOOLONG;
	memset(out, '/', pad);
	memcpy(out + pad, plan->host_path, len + 1);
	return 0;
}

int blob_build_for_exec(const struct call *call, const struct exec_plan *plan, size_t *budget,
			struct trace_blob *ret_blob)
{
	bool at = call->row->arg[0].kind == ARG_DIRFD; /* execveat */
	struct trace_blob blob = {.total_blob_bytes = budget, .has_argv = plan->argv_head != NULL};
	_cleanup_buf_ struct buf argv = {0}, bytes = {0};
	char host[PATH_MAX];
	int r = blob_pad_host_path(plan, host);

	if (r == 0 && blob.has_argv)
		r = blob_read_argv(call, call->arg[at ? 2 : 1], &argv);
	if (r < 0)
		return r;
	while (blob.has_argv && plan->argv_head[blob.pointer_count])
		blob.pointer_count++;
	if (blob.has_argv) { /* argv[0] is replaced, and NULL is added */
		blob.host_path_offset =
			(blob.pointer_count + 1) * sizeof(uint64_t) + argv.len - (argv.len ? sizeof(uint64_t) : 0);
		blob_put_argv(&bytes, plan->argv_head, &argv, blob.host_path_offset + strlen(host) + 1);
	}
	buf_add(&bytes, host, strlen(host) + 1);
	for (size_t i = 0; i < blob.pointer_count; i++)
		buf_add(&bytes, plan->argv_head[i], strlen(plan->argv_head[i]) + 1);
	blob.len = bytes.len;
	if (blob.len > BLOBS_TOTAL_BYTES_MAX || *budget > BLOBS_TOTAL_BYTES_MAX - blob.len)
		return -E2BIG;
	blob.bytes = bytes.failed ? NULL : malloc(blob.len); /* a copy, because the buffer has spare room */
	if (!blob.bytes)
		return -ENOMEM;
	memcpy(blob.bytes, bytes.data, blob.len);
	*budget += blob.len;
	*ret_blob = blob;
	return 0;
}

void blob_relocate_argv_pointers(struct trace_blob *blob, uint64_t addr)
{
	uint64_t *pointer = (void *)blob->bytes; /* aligned, because malloc(3) made it */

	for (size_t i = 0; i < blob->pointer_count; i++)
		pointer[i] += addr;
}

void blob_release(struct trace_blob *blob)
{
	if (blob->total_blob_bytes)
		*blob->total_blob_bytes -= blob->len;
	free(blob->bytes);
	memset(blob, 0, sizeof(*blob));
}
