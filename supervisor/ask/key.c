#include "supervisor/ask/key.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "syscalls/exec/execve.h"

/* Adds bytes with their length to those that identify a call. */
static void key_add_bytes(struct buf *bytes, const void *from, size_t len)
{
	buf_add(bytes, &len, sizeof(len));
	buf_add(bytes, from, len);
}

/* The descriptor of the object at path i, if the call has opened it; else -1. */
static int key_get_opened_fd(const struct call *call, unsigned i)
{
	enum outcome_kind kind = call->outcome.kind;

	return i == 0 && (kind == OUTCOME_FD || kind == OUTCOME_OPATH_FD || kind == OUTCOME_BLOCKING_OPEN)
		       ? call->outcome.fd
		       : -1;
}

/*
 * Adds device and inode number of the object at path i: they tell whether the name still leads to the same object. A
 * name without an object has zeros. When an object cannot be opened, as when no descriptor is left, there is no key.
 */
static void key_add_object(struct buf *bytes, const struct call *call, unsigned i)
{
	const struct place *place = &call->resolved_place[i];
	int opened = key_get_opened_fd(call, i);
	_cleanup_close_ int fd = opened >= 0 ? -EBADF : view_open_place(place, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
	struct stat st = {0};
	struct {
		uint64_t dev, ino, type;
	} object = {0};

	if (fd < 0 && opened < 0 && fd != -ENOENT)
		bytes->failed = true;
	if (fstat(opened >= 0 ? opened : fd, &st) == 0) {
		/* The call may have been approved before it had the file copied. */
		copying_get_first_number(&call->sandbox->copied_files, &st.st_dev, &st.st_ino);
		object.dev = st.st_dev;
		object.ino = st.st_ino;
		object.type = st.st_mode & S_IFMT;
	}
	key_add_bytes(bytes, &object, sizeof(object));
}

/* Adds a path argument to the bytes that identify a call. */
static void key_add_path(struct buf *bytes, const struct call *call, unsigned i)
{
	const struct call_path *path = &call->path[i];
	const unsigned char null = path->is_null_pointer;

	key_add_bytes(bytes, &null, sizeof(null));
	key_add_bytes(bytes, path->text, path->is_null_pointer || path->error ? 0 : path->len);
}

/* Adds what a path resolved to, to the bytes that identify a call. */
static void key_add_place(struct buf *bytes, const struct call *call, unsigned i)
{
	const struct place *place = &call->resolved_place[i];
	const unsigned char magic = place->is_magic_link;

	key_add_bytes(bytes, place->virt, place->virt_len);
	key_add_bytes(bytes, &magic, sizeof(magic));
	key_add_object(bytes, call, i);
}

/* An open that creates nothing ignores its mode, which is a register that the caller has not set. */
static bool key_call_ignores_mode(const struct call *call)
{
	for (unsigned i = 0; i < 6; i++)
		if (call->row->arg[i].kind == ARG_OPENFLAGS)
			return !(call_get_uint(call, i) & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY)));
	return false;
}

/*
 * Adds the hash of what was copied from the target besides paths and texts, such as the value of an attribute. It is
 * hashed in the order of copying, which is the same when the call is made again.
 */
static void key_add_hash_of_copied_memory(struct buf *bytes, const struct sha256_ctx *copied)
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx context = *copied;

	sha256_digest(&context, sizeof(digest), digest);
	key_add_bytes(bytes, digest, sizeof(digest));
}

/*
 * Adds the arguments that are numbers. Leaves out unused registers, and pointers: what they point to is added
 * separately.
 */
static void key_add_registers(struct buf *bytes, const struct call *call)
{
	const bool skips_mode = key_call_ignores_mode(call);
	uint64_t arg[6] = {0};

	for (unsigned i = 0; i < 6; i++) {
		enum arg_kind kind = call->row->arg[i].kind;

		if (kind != ARG_NONE && kind != ARG_PTR && kind != ARG_PATH && kind != ARG_PATH_OR_NULL &&
		    kind != ARG_TEXT && !(kind == ARG_MODE && skips_mode))
			arg[i] = call->arg[i];
	}
	key_add_bytes(bytes, arg, sizeof(arg));
}

/* What an exec would run, for the question; NULL: the call is none, or it is refused. */
static const struct exec_asked *key_get_executed(const struct call *call)
{
	const struct exec_plan *plan = call->outcome.kind == OUTCOME_EXEC ? call->outcome.exec_plan : NULL;

	return plan ? plan->asked : NULL;
}

/* Adds the state of the files that an exec runs: they must have the same contents, too. No program can set ctime. */
static void key_add_exec_files(struct buf *bytes, const struct exec_asked *executed)
{
	key_add_bytes(bytes, executed->stamp, sizeof(executed->stamp));
}

/*
 * Adds all arguments of an exec, its environment, and the directory in which it happens: what a program reads there can
 * decide what it does.
 */
static void key_add_exec_arguments(struct buf *bytes, const struct exec_asked *executed)
{
	key_add_bytes(bytes, executed->cwd, strlen(executed->cwd));
	key_add_bytes(bytes, &executed->cwd_dev, sizeof(executed->cwd_dev));
	key_add_bytes(bytes, &executed->cwd_ino, sizeof(executed->cwd_ino));
	key_add_bytes(bytes, executed->argv, executed->argv_len);
	key_add_bytes(bytes, executed->command, executed->command_len);
	key_add_bytes(bytes, executed->environment.sha256, SHA256_HEX_SIZE);
}

/* Adds the endpoint of a connection. */
static void key_add_endpoint(struct buf *bytes, const struct call *call)
{
	const struct call_net *net = &call->net;

	if (!net->host[0])
		return;
	key_add_bytes(bytes, net->host, strlen(net->host));
	key_add_bytes(bytes, &net->audit_net.port, sizeof(net->audit_net.port));
	key_add_bytes(bytes, net->audit_net.proto, strlen(net->audit_net.proto));
}

bool ask_key_compute(const struct call *call, const struct sha256_ctx *copied, char ret_key[SHA256_HEX_SIZE])
{
	const struct exec_asked *executed = key_get_executed(call);
	_cleanup_buf_ struct buf bytes = {0};

	key_add_bytes(&bytes, call->row->name, strlen(call->row->name));
	key_add_registers(&bytes, call);
	key_add_bytes(&bytes, &call->how, sizeof(call->how));
	key_add_bytes(&bytes, &call->decision.wanted_rights, sizeof(call->decision.wanted_rights));
	key_add_bytes(&bytes, call->text_arg, call->text_arg_len);
	key_add_hash_of_copied_memory(&bytes, copied);
	key_add_endpoint(&bytes, call);
	if (executed) {
		key_add_exec_arguments(&bytes, executed);
		key_add_exec_files(&bytes, executed);
	}
	for (unsigned i = 0; i < call->path_count; i++)
		key_add_path(&bytes, call, i);
	for (unsigned i = 0; i < sizeof(call->resolved_place) / sizeof(call->resolved_place[0]); i++)
		if (call->resolved_place[i].mount)
			key_add_place(&bytes, call, i);
	if (bytes.failed)
		return false;
	sha256_hash_bytes(bytes.data, bytes.len, ret_key);
	return true;
}

bool ask_key_compute_scope(const struct call *call, char ret_key[SHA256_HEX_SIZE])
{
	const bool is_exec = call->row->basis == BASIS_EXEC;
	const struct exec_asked *executed = key_get_executed(call);
	_cleanup_buf_ struct buf bytes = {0};

	ret_key[0] = '\0';
	/* of an exec the second one is the interpreter of a script */
	if (!call->net.host[0] && !call->resolved_place[0].mount)
		return true;
	if ((call->resolved_place[1].mount && !is_exec) || (is_exec && !(executed && executed->cwd[0])))
		return true;
	key_add_bytes(&bytes, &call->decision.wanted_rights, sizeof(call->decision.wanted_rights));
	key_add_endpoint(&bytes, call);
	for (unsigned i = 0; i < 2; i++)
		if (call->resolved_place[i].mount)
			key_add_place(&bytes, call, i);
	if (executed) {
		/* by its path: in a workspace it is another inode in each run, for which answers are remembered */
		key_add_bytes(&bytes, executed->cwd, strlen(executed->cwd));
		key_add_exec_files(&bytes, executed);
		key_add_bytes(&bytes, executed->environment.deciding, executed->environment.deciding_len);
	}
	if (bytes.failed)
		return false;
	sha256_hash_bytes(bytes.data, bytes.len, ret_key);
	return true;
}
