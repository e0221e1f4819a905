/* The process that copies ACLs for a supervisor in a user namespace: view/copy/acls.h. */
#ifndef CALLGATE_KEEPER_ACLS_H
#define CALLGATE_KEEPER_ACLS_H

#include "keeper/private.h"

/*
 * Forks the process if the run may need it: with --cow, when its user namespace will lack numbers of users. Called by
 * the keeper before it forks the supervisor. The process ends when all ends of the socket are closed; the loop reaps it
 * (keeper->acls_pid). A socket owned by the caller; -1: there is none, and copying such ACLs fails.
 */
int keeper_fork_acls_process(struct keeper *keeper);

#endif
