/* What the cases on unix sockets share. */
#ifndef CALLGATE_TESTS_CASES_DIFF_SOCK_H
#define CALLGATE_TESTS_CASES_DIFF_SOCK_H

#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#define HEAD offsetof(struct sockaddr_un, sun_path)

/* A socket of a type; the test ends where there is none. */
int diff_sock(int type);
/* By path: the value or -errno. */
long diff_bind_to(int fd, const char *path);
long diff_connect_to(int fd, const char *path);
/* Adds what getsockname or getpeername (nr) tells to the line. */
void diff_say_name(long nr, int fd);
/* A socket that is bound and listens; both results are added to the line. */
int diff_listener(int type, const char *path, int backlog);

/* diff-sock-use.c: what is done with sockets of a type; and what needs doing once. */
void diff_sock_use(int type);
void diff_sock_use_once(void);

#endif
