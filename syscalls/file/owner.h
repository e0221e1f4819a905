/* The owner of a file description: what the kernel signals when it is ready (O_ASYNC) or has urgent data. fcntl(2). */
#ifndef CALLGATE_SYSCALLS_FILE_OWNER_H
#define CALLGATE_SYSCALLS_FILE_OWNER_H

#include "syscalls/call/call.h"

/* F_SETOWN; who: a process, minus a process group, 0 for none. */
void owner_set(struct call *call, pid_t who);
/* F_SETOWN_EX, with the struct in memory. */
void owner_set_extended(struct call *call);
/* FIOSETOWN and SIOCSPGRP of sockets: as F_SETOWN, with the number in memory. */
void owner_set_socket(struct call *call);

#endif
