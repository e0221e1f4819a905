/* The audit record of a judged call, with the argument names of the syscall table. Called by call_commit(). */
#ifndef CALLGATE_SYSCALLS_CALL_RECORD_H
#define CALLGATE_SYSCALLS_CALL_RECORD_H

#include "syscalls/call/call.h"

/* Fills the record with texts borrowed from the call. */
void call_record(const struct call *call, struct audit_record *ret_record);

#endif
