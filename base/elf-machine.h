/* ELF constants of this architecture: e_machine, and the paths of the dynamic loaders of glibc and musl. */
#ifndef CALLGATE_BASE_ELF_MACHINE_H
#define CALLGATE_BASE_ELF_MACHINE_H

#include <elf.h>

#if defined(__x86_64__)
#define ELF_MACHINE EM_X86_64
#define ELF_LOADERS {"/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1"}
#elif defined(__aarch64__)
#define ELF_MACHINE EM_AARCH64
#define ELF_LOADERS {"/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-aarch64.so.1"}
#else
#error "no ELF machine known for this architecture"
#endif

#endif
