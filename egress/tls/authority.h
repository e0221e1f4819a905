/*
 * Makes the run's certificate authority: an EC key on P-256 and a certificate signed by it. Called in the process that
 * becomes egress (supervisor/gateway/starter.c), when the run starts and callgate-egress with OpenSSL does not run yet.
 */
#ifndef CALLGATE_EGRESS_TLS_AUTHORITY_H
#define CALLGATE_EGRESS_TLS_AUTHORITY_H

#include <stdint.h>
#include <string.h>

#define AUTHORITY_DER_KEY_BYTES 121
#define AUTHORITY_PEM_SIZE 2048

/* The certificate authority of a run: its private key and its certificate. */
struct authority {
	uint8_t key[AUTHORITY_DER_KEY_BYTES]; /* DER: an ECPrivateKey with its public key (RFC 5915) */
	char pem[AUTHORITY_PEM_SIZE];     /* the certificate */
};

/* Makes key and certificate. run_id becomes a part of the common name. 0, or -EIO when there are no random bytes. */
int authority_make(const char *run_id, struct authority *ret_authority);

/* Wipes the key. Defined in the header, because callgate-egress does not link authority.c. */
static inline void authority_wipe(struct authority *authority)
{
	explicit_bzero(authority, sizeof(*authority));
}

#endif
