/* Reads an ELF file by libelf. In the process callgate-elf, and in tests. */
#ifndef CALLGATE_CLI_INSPECT_ELF_READ_H
#define CALLGATE_CLI_INSPECT_ELF_READ_H

#include <stddef.h>
#include <stdio.h>

/*
 * Prints what is of note in an ELF file: loader, libraries, search paths, executable stack, segments that can be
 * written and executed, static linkage, functions from libraries. The form is that of cli/inspect/protocol.h. Headers
 * that contradict each other are a finding "unparsable". image: the whole file; libelf may change it. 0; -ENOEXEC: no
 * ELF file; or -EIO.
 */
int elf_print_findings(char *image, size_t len, FILE *out);

#endif
