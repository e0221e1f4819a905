/* elf_inspect_file and shebang_parse: the file a program is about to execute is the program's own making. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "syscalls/exec/elf.h"
#include "syscalls/exec/shebang.h"
#include "tests/fuzz/fuzz.h"

static void inspect_script(const uint8_t *data, size_t size)
{
	char head[SHEBANG_HEAD_BYTES] = {0};
	struct shebang shebang;

	memcpy(head, data, size < sizeof(head) ? size : sizeof(head));
	if (!shebang_has_mark(head) || shebang_parse(head, &shebang) < 0)
		return;
	promise(memchr(shebang.interp, '\0', sizeof(shebang.interp)) != NULL);
	if (shebang.has_arg)
		promise(memchr(shebang.arg, '\0', sizeof(shebang.arg)) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_close_ int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct elf_facts facts;

	promise(fd >= 0);
	promise(io_write_all(fd, data, size) == 0);
	if (elf_inspect_file(fd, &facts) == 0 && facts.is_dynamic) {
		promise(facts.interp[0] == '\0' || memchr(facts.interp, '\0', sizeof(facts.interp)) != NULL);
		promise(memmem(data, size, facts.interp, strlen(facts.interp) + 1) != NULL);
	}
	if (size > 0)
		inspect_script(data, size);
	return 0;
}
