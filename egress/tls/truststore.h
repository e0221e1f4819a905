/* Certificates in the form that Java reads them in. */
#ifndef CALLGATE_EGRESS_TLS_TRUSTSTORE_H
#define CALLGATE_EGRESS_TLS_TRUSTSTORE_H

#include <stddef.h>

/*
 * A keystore (type JKS, password "changeit") that trusts each certificate of the PEM text; for
 * $JAVA_HOME/lib/security/cacerts, where any Java takes one. 0 with owned bytes, -ENOMEM, or -EINVAL: there is none in it.
 */
int truststore_jks(const char *pem, char **ret_bytes, size_t *ret_len);

#endif
