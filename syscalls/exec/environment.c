#include "syscalls/exec/environment.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/proc/stat.h"
#include "policy/variables.h"
#include "syscalls/call/call.h"
#include "syscalls/call/memory.h"

#define ENVIRONMENT_VARIABLES_MAX 4096u

/* Counts a string, and keeps it if it sets a deciding variable. 0, or -E2BIG: more than a question shows. */
static int environment_add_string(struct exec_environment *environment, const char *string, size_t len)
{
	environment->variable_count++;
	if (!variable_find(string))
		return 0;
	if (environment->deciding_count == EXEC_DECIDING_VARIABLES_MAX ||
	    len + 1 > sizeof(environment->deciding) - environment->deciding_len)
		return -E2BIG;
	memcpy(environment->deciding + environment->deciding_len, string, len + 1);
	environment->deciding_len += len + 1;
	environment->deciding_count++;
	return 0;
}

/* Copies the strings to `text`, each with its NUL. 0 or -errno. */
static int environment_copy_strings(const struct call *call, uint64_t envp, char *text,
				    struct exec_environment *environment)
{
	const struct memory_ops *memory = call->sandbox->target_memory;

	for (unsigned i = 0; i < ENVIRONMENT_VARIABLES_MAX; i++) {
		char *const string = text + environment->bytes;
		uint64_t pointer;
		ssize_t len;
		int r = memory_copy_in(memory, call->tid, envp + i * sizeof(pointer), &pointer, sizeof(pointer));

		if (r < 0 || !pointer)
			return r;
		len = memory_copy_string(memory, call->tid, pointer, string,
					 EXEC_ENVIRONMENT_BYTES_MAX - environment->bytes, -E2BIG);
		if (len < 0)
			return (int)len;
		environment->bytes += (size_t)len + 1;
		r = environment_add_string(environment, string, (size_t)len);
		if (r < 0)
			return r;
	}
	return -E2BIG;
}

int exec_environment_read(const struct call *call, uint64_t envp, struct exec_environment *ret_environment)
{
	_cleanup_free_ char *text = malloc(EXEC_ENVIRONMENT_BYTES_MAX);
	int r = 0;

	memset(ret_environment, 0, sizeof(*ret_environment));
	if (!text)
		return -ENOMEM;
	if (envp) /* as in the kernel, none is an empty one */
		r = environment_copy_strings(call, envp, text, ret_environment);
	if (r < 0)
		return r;
	sha256_hash_bytes(text, ret_environment->bytes, ret_environment->sha256);
	return 0;
}

bool exec_environment_is_of_process(const struct exec_environment *environment, pid_t pid)
{
	_cleanup_close_ int fd = procstat_open_file(pid, "environ");
	char sha256[SHA256_HEX_SIZE];
	uint64_t bytes;

	return fd >= 0 && sha256_hash_fd(fd, sha256, &bytes) == 0 && bytes == environment->bytes &&
	       strcmp(sha256, environment->sha256) == 0;
}
