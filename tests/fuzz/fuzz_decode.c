/*
 * decode over a hostile memory. Input: six bytes that choose the kinds of the arguments, six two-byte addresses, three
 * sizes of two bytes, and then the memory, which is mapped at MEMORY and ends in the middle of nowhere.
 */
#include <errno.h>
#include <string.h>

#include "syscalls/call/decode.h"
#include "tests/fuzz/fuzz.h"

#define MEMORY 0x10000u
#define HEAD 24u

static const uint8_t *memory;
static size_t memory_size;

/* As the kernel: whole pages up to the first unreadable one; here the "page" that ends is the input's end. */
static ssize_t fake_read(pid_t tid, uint64_t addr, void *out, size_t len)
{
	size_t at;

	(void)tid;
	if (addr < MEMORY || addr - MEMORY >= memory_size)
		return -EFAULT;
	at = (size_t)(addr - MEMORY);
	if (len > memory_size - at)
		len = memory_size - at;
	memcpy(out, memory + at, len);
	return (ssize_t)len;
}

static ssize_t fake_write(pid_t tid, uint64_t addr, const void *from, size_t len)
{
	(void)tid;
	(void)from;
	if (addr < MEMORY || addr - MEMORY >= memory_size)
		return -EFAULT;
	return (ssize_t)(len > memory_size - (size_t)(addr - MEMORY) ? memory_size - (size_t)(addr - MEMORY) : len);
}

static const struct memory_ops ops = {.read = fake_read, .write = fake_write};

static unsigned word(const uint8_t *data, size_t at)
{
	return (unsigned)data[at] | (unsigned)data[at + 1] << 8;
}

/* A row as the table may have it: two paths and one text at most. */
static void make_row(struct syscall_row *row, const uint8_t *kinds)
{
	unsigned paths = 0, texts = 0;

	for (unsigned i = 0; i < 6; i++) {
		enum arg_kind kind = (enum arg_kind)(kinds[i] % ARG_KIND_MAX);

		if ((kind == ARG_PATH || kind == ARG_PATH_OR_NULL) && ++paths > 2)
			kind = ARG_INT;
		if (kind == ARG_TEXT && ++texts > 1)
			kind = ARG_INT;
		row->arg[i].kind = kind;
		row->arg[i].name = "arg";
	}
}

static void check_texts(const struct call *call)
{
	promise(call->path_count <= 2);
	for (unsigned i = 0; i < call->path_count; i++) {
		promise(call->path[i].len < sizeof(call->path[i].text));
		promise(strlen(call->path[i].text) == call->path[i].len);
	}
	promise(call->text_arg_len < sizeof(call->text_arg));
	promise(call->text_arg_len == 0 || strlen(call->text_arg) == call->text_arg_len);
}

static void check_structs(const struct call *call, size_t usize, size_t ksize, size_t min)
{
	char *out = malloc(ksize + 1); /* of exactly this size, for ASan */

	promise(out != NULL);
	out[ksize] = 'x';
	(void)decode_extensible_struct(call, 1, out, ksize, usize, min);
	promise(out[ksize] == 'x');
	(void)decode_struct(call, 2, out, ksize);
	promise(out[ksize] == 'x');
	(void)memory_copy_string(call->sandbox->target_memory, call->tid, call->arg[3], out, ksize, -ENAMETOOLONG);
	promise(out[ksize] == 'x');
	(void)decode_write_output(call, call->arg[4], out, ksize);
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct call call; /* too large for a stack that ASan surrounds with red zones */
	struct sandbox sandbox = {.target_memory = &ops};
	struct syscall_row row = {.nr = 0, .name = "fuzz"};

	if (size < HEAD)
		return 0;
	memory = data + HEAD;
	memory_size = size - HEAD;
	memset(&call, 0, sizeof(call));
	make_row(&row, data);
	call.sandbox = &sandbox;
	call.row = &row;
	for (unsigned i = 0; i < 6; i++) {
		call.arg[i] = word(data, 6 + 2 * i);
		if (call.arg[i])
			call.arg[i] += MEMORY - 0x100;
	}
	if (decode_call_args(&call) == 0)
		check_texts(&call);
	check_structs(&call, word(data, 18), word(data, 20) % 8192 + 1, word(data, 22) % 64);
	return 0;
}
