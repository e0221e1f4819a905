/* Certificates as a Java trust store. Called in the keeper before it forks egress. */
#ifndef CALLGATE_EGRESS_TLS_TRUSTSTORE_H
#define CALLGATE_EGRESS_TLS_TRUSTSTORE_H

#include <stddef.h>

/*
 * A keystore (JKS, password "changeit") that trusts each certificate of the PEM text; for
 * $JAVA_HOME/lib/security/cacerts. 0 with owned bytes, -ENOMEM, or -EINVAL: the text has no certificate.
 */
int truststore_jks(const char *pem, char **ret_bytes, size_t *ret_len);

#endif
