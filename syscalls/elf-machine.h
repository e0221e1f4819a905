/* e_machine of the programs this build may let run. */
#ifndef CALLGATE_SYSCALLS_ELF_MACHINE_H
#define CALLGATE_SYSCALLS_ELF_MACHINE_H

#include <elf.h>

#if defined(__x86_64__)
#define ELF_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define ELF_MACHINE EM_AARCH64
#else
#error "no ELF machine known for this architecture"
#endif

#endif
