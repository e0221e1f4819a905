/* Two channels in one process, a server's and a client's, over a pair of sockets with a hand in between. */
#ifndef CALLGATE_TESTS_TLS_RIG_H
#define CALLGATE_TESTS_TLS_RIG_H

#include <stdbool.h>
#include <stddef.h>

#include "egress/conn/channel.h"
#include "egress/conn/loop.h"
#include "egress/tls/ca.h"

struct tls_rig {
	struct loop *loop;
	struct channel client, server;
	int near, far; /* the middle's ends: what the client wrote comes out of near */
	size_t step;   /* bytes the middle passes on at a time */
	unsigned long passed;
};

/* step 0: the sockets are joined directly. */
void tls_rig_init(struct tls_rig *rig, size_t step);
void tls_rig_done(struct tls_rig *rig);
/* Moves a step each way. False: nothing was there. */
bool tls_rig_pass(struct tls_rig *rig);
/* Both handshakes, to their ends: 0 or what channel_step_tls_handshake said, of each. */
void tls_rig_handshake(struct tls_rig *rig, int *ret_client, int *ret_server);
/* Writes all of it on one, reads it on the other and compares. */
void tls_rig_exchange(struct tls_rig *rig, struct channel *from, struct channel *to, size_t len);

/* A certificate for a host, self-signed or by an issuer, valid from and to so many seconds from now; with its key. */
X509 *tls_rig_certificate(const char *host, X509 *issuer, EVP_PKEY *issuer_key, long from, long to, EVP_PKEY **ret_key);
/* As PEM text, to be freed. */
char *tls_rig_pem(X509 *certificate);

#endif
