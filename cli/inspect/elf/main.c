/*
 * callgate-elf: looks at the ELF file on standard input by libelf, and prints lines as the parsers of callgate inspect
 * do (cli/inspect/protocol.h). A program of its own, because the file may be hostile: callgate inspect starts it in a
 * sandbox.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "cli/inspect/elf/read.h"
#include "cli/inspect/subject.h"

int main(void)
{
	_cleanup_free_ char *image = NULL;
	size_t len = 0;
	int r = io_read_fd(0, INSPECT_ELF_BYTES_MAX, &image, &len);

	(void)setvbuf(stdout, NULL, _IOLBF, 0); /* what is found before a crash is told, too */
	if (r == 0)
		r = elf_print_findings(image, len, stdout);
	if (r == 0 && fflush(stdout) != 0)
		r = -errno;
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
