#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "supervisor/trace/private.h"

#include "base/banned.h"

#define ARGV_MAX 131072u /* a megabyte of pointers: more than an exec's argument space can hold */
#define ARGV_STEP 64u
#define KEPT_MAX (64u << 20) /* bytes of all blobs: a thread that leaves execs by longjmp keeps eight */

struct pointers {
	uint64_t *item; /* owned */
	size_t count;
};

/* Reads the program's argv without argv[0] and the final NULL. */
static int blob_read_argv(const struct call *call, uint64_t addr, struct pointers *ret_rest)
{
	_cleanup_free_ uint64_t *item = NULL;
	uint64_t step[ARGV_STEP];
	size_t count = 0, room = 0;

	while (addr && count < ARGV_MAX) {
		ssize_t got = call->sandbox->guest->read(call->tid, addr + count * sizeof(*item), step, sizeof(step));
		size_t have = got < 0 ? 0 : (size_t)got / sizeof(*step);
		uint64_t *grown;

		if (have == 0)
			return got < 0 && got != -EFAULT ? (int)got : -EFAULT;
		if (count + have > room) {
			room = 2 * room + ARGV_STEP;
			grown = realloc(item, room * sizeof(*item));
			if (!grown)
				return -ENOMEM;
			item = grown;
		}
		for (size_t i = 0; i < have; i++) {
			if (!step[i])
				addr = 0;
			if (!addr)
				break;
			item[count++] = step[i];
		}
	}
	if (addr)
		return -E2BIG;
	if (count > 0)
		memmove(item, item + 1, --count * sizeof(*item));
	ret_rest->item = steal_pointer(&item);
	ret_rest->count = count;
	return 0;
}

/* Adds a text at *at and advances it. */
static void blob_put_text(struct trace_blob *blob, size_t *at, const char *text)
{
	size_t size = strlen(text) + 1;

	memcpy(blob->bytes + *at, text, size);
	*at += size;
}

/* Writes the array: offsets of our texts, the program's own pointers, NULL. */
static void blob_put_argv(struct trace_blob *blob, char *const *head, const struct pointers *rest, size_t *at)
{
	uint64_t word;

	for (size_t i = 0; i < blob->pointers; i++) {
		word = *at;
		memcpy(blob->bytes + i * sizeof(word), &word, sizeof(word));
		blob_put_text(blob, at, head[i]);
	}
	for (size_t i = 0; i <= rest->count; i++) {
		word = i < rest->count ? rest->item[i] : 0;
		memcpy(blob->bytes + (blob->pointers + i) * sizeof(word), &word, sizeof(word));
	}
}

/* Pads the host path with leading slashes, so that AT_EXECFN has room for the name that the program gave. */
static int blob_pad_host(const struct exec_plan *plan, char out[PATH_MAX])
{
	size_t len = strlen(plan->host), room = strlen(plan->execfn);
	size_t pad = room > len ? room - len : 0;

	if (len + pad >= PATH_MAX)
		return -ENAMETOOLONG;
	memset(out, '/', pad);
	memcpy(out + pad, plan->host, len + 1);
	return 0;
}

/* Allocates blob->len bytes within the budget. 0, -E2BIG or -ENOMEM. */
static int blob_allocate(struct trace_blob *blob, size_t *budget)
{
	if (blob->len > KEPT_MAX || *budget > KEPT_MAX - blob->len)
		return -E2BIG;
	blob->bytes = malloc(blob->len);
	if (!blob->bytes)
		return -ENOMEM;
	blob->budget = budget;
	*budget += blob->len;
	return 0;
}

int blob_for_exec(const struct call *call, const struct exec_plan *plan, size_t *budget, struct trace_blob *ret_blob)
{
	bool at = call->row->arg[0].kind == ARG_DIRFD; /* execveat */
	struct trace_blob blob = {0};
	struct pointers rest = {0};
	char host[PATH_MAX];
	size_t end, head;
	int r = blob_pad_host(plan, host);

	if (r == 0 && plan->argv_head)
		r = blob_read_argv(call, call->arg[at ? 2 : 1], &rest);
	if (r < 0)
		return r;
	blob.has_argv = plan->argv_head != NULL;
	while (plan->argv_head && plan->argv_head[blob.pointers])
		blob.pointers++;
	head = blob.has_argv ? (blob.pointers + rest.count + 1) * sizeof(uint64_t) : 0;
	blob.host_at = head;
	blob.len = head + strlen(host) + 1;
	for (size_t i = 0; i < blob.pointers; i++)
		blob.len += strlen(plan->argv_head[i]) + 1;
	r = blob_allocate(&blob, budget);
	if (r < 0) {
		free(rest.item);
		return r;
	}
	end = head;
	blob_put_text(&blob, &end, host);
	if (blob.has_argv)
		blob_put_argv(&blob, plan->argv_head, &rest, &end);
	free(rest.item);
	*ret_blob = blob;
	return 0;
}

void blob_relocate(struct trace_blob *blob, uint64_t addr)
{
	for (size_t i = 0; i < blob->pointers; i++) {
		uint64_t word;

		memcpy(&word, blob->bytes + i * sizeof(word), sizeof(word));
		word += addr;
		memcpy(blob->bytes + i * sizeof(word), &word, sizeof(word));
	}
}

void blob_done(struct trace_blob *blob)
{
	if (blob->budget)
		*blob->budget -= blob->len;
	free(blob->bytes);
	memset(blob, 0, sizeof(*blob));
}
