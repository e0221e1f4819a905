/* Between tls.c and tls-warm.c only. */
#ifndef CALLGATE_EGRESS_TLS_WARM_H
#define CALLGATE_EGRESS_TLS_WARM_H

#include "egress/tls/context.h"

/*
 * Everything that OpenSSL fetches, registers or seeds when it is first used, used once: handshakes of both versions with
 * the run's own certificate, in memory. 0 or -EIO.
 */
int tls_warm(struct tls *tls, struct ca *ca);

#endif
