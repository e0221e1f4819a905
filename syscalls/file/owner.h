/* The owner of a file description, which the kernel signals if it is ready (O_ASYNC) or has urgent data. fcntl(2). */
#ifndef CALLGATE_SYSCALLS_FILE_OWNER_H
#define CALLGATE_SYSCALLS_FILE_OWNER_H

#include "syscalls/call/call.h"

/* Handles F_SETOWN. who: the pid of a process, the negated id of a process group, or 0 to remove the owner. */
void owner_set_by_setown(struct call *call, pid_t who);
/* F_SETOWN_EX, whose struct is in target memory. */
void owner_set_by_setown_ex(struct call *call);
/* FIOSETOWN and SIOCSPGRP of sockets: like F_SETOWN, with the number in target memory. */
void owner_set_owner_of_socket(struct call *call);

#endif
