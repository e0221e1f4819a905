/*
 * The seccomp filters of callgate's own processes (keeper, supervisor, custodian, egress, resolver), made from the SELF
 * columns of the syscall table. They limit what a vulnerability in such a process is worth. SELF(NEVER) calls kill the
 * process. Other calls that a role does not need return ENOSYS, so that a library which tries a newer call falls back.
 */
#ifndef CALLGATE_CONFINE_SELFFILTER_H
#define CALLGATE_CONFINE_SELFFILTER_H

#include <linux/filter.h>
#include <stdbool.h>

#include "syscalls/table/table.h"

/* Builds the filter for one or several roles (enum self_role). 0 with ret_program->filter owned, or -errno. */
int selffilter_build(unsigned roles, struct sock_fprog *ret_program);

/* Installs the filter on all threads of the process. Needs no_new_privs. 0; on -errno the process must exit. */
int selffilter_install(unsigned roles);

/* False in builds with sanitizers, which make calls of their own; *ret_why (static) says so. */
bool selffilter_works_in_this_build(const char **ret_why);

#endif
