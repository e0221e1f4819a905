/*
 * cases-second-lock: what a program can get at once no call of it is judged any more. Static, so that it needs no file
 * to start. Prints "got WHAT" for what the second lock should have held, and "unheld WHAT" for what it is known not to.
 */
#ifndef CALLGATE_TESTS_CASES_SECOND_LOCK_H
#define CALLGATE_TESTS_CASES_SECOND_LOCK_H

#include <stdbool.h>

struct second_lock {
	const char *outside; /* directories with "victim", a file, and "sub", an empty directory */
	const char *work;
	const char *home;
	int tcp_port, udp_port; /* of the canary, on loopback */
	const char *abstract;   /* its abstract socket's name, without the NUL */
	const char *path;       /* and its named one */
	int pid;                /* the canary itself */
	int abi;                /* the kernel's Landlock ABI: the rights it can take away */
};

/* A system call's result: below 0 it was held. Returns true when it was not. */
bool got(long ret, const char *what, const char *where);
/* The same for what no Landlock holds. */
void unheld(long ret, const char *what);

void try_files(const struct second_lock *lock);
void try_exec(const struct second_lock *lock);
void try_net(const struct second_lock *lock);
void try_processes(const struct second_lock *lock);
void try_unheld(const struct second_lock *lock);

#endif
