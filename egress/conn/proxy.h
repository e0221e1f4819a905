/* What both proxies need. */
#ifndef CALLGATE_EGRESS_CONN_PROXY_H
#define CALLGATE_EGRESS_CONN_PROXY_H

#include "egress/conn/conn.h"

/*
 * A proxied program may ask for an address that it has by DNS: then that becomes the name it was given for. An address
 * that was never given for a name stays, and is one by itself.
 */
void proxy_name(const struct conn *conn, char host[NET_HOST_MAX]);

#endif
