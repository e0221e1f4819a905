/* The program's side: the one listener at the run's loopback, which serves announced source ports and nobody else. */
#ifndef CALLGATE_EGRESS_CONN_GUEST_H
#define CALLGATE_EGRESS_CONN_GUEST_H

struct egress;

/* Takes fd, a listening TCP socket. 0 or -errno, and then fd is the caller's. */
int guest_listen(struct egress *egress, int fd);
void guest_end(struct egress *egress);

#endif
