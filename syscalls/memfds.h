/*
 * The memfds of a run where no control group bounds its memory: their pages need not be in any process, and their
 * descriptors may be on their way from one to another. So the supervisor makes them, and keeps a descriptor of its own of
 * each that says how large it is and whether anybody else still has it open.
 */
#ifndef CALLGATE_SYSCALLS_MEMFDS_H
#define CALLGATE_SYSCALLS_MEMFDS_H

#include <stdint.h>

#define MEMFDS_MAX 512 /* in use at a time; past it memfd_create is ENFILE */

struct memfds;

/* 0 or -ENOMEM. */
int memfds_create(struct memfds **ret_memfds);
void memfds_free(struct memfds *memfds);

/* The memory they take at this moment; also those the program has closed since the last sweep. */
uint64_t memfds_bytes(const struct memfds *memfds);

/* Gives back those that nobody has any more. Done by memfd_create itself now and then; to be called before it matters. */
void memfds_sweep(struct memfds *memfds);

#endif
