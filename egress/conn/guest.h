/*
 * The program's side of TCP: announced connections, and the one listener at the run's loopback address, which serves
 * announced source ports only. Called in the egress process by main.c. Owns the listener.
 */
#ifndef CALLGATE_EGRESS_CONN_GUEST_H
#define CALLGATE_EGRESS_CONN_GUEST_H

struct control_connect;
struct egress;

/* CONTROL_CONNECT: judges, dials, records, answers with CONNECTED. */
void conn_announce(struct egress *egress, const struct control_connect *connect);

/* Takes fd, a listening TCP socket, on success. 0 or -errno. */
int guest_listen(struct egress *egress, int fd);
void guest_end(struct egress *egress);

#endif
