/* Makes a Java trust store. Called in the keeper. */
#ifndef CALLGATE_SUPERVISOR_GATEWAY_TRUSTSTORE_H
#define CALLGATE_SUPERVISOR_GATEWAY_TRUSTSTORE_H

#include <stddef.h>

/*
 * A keystore (JKS, password "changeit") that trusts each certificate of the PEM text; for
 * $JAVA_HOME/lib/security/cacerts. 0 with owned bytes; -ENOMEM; -EINVAL: the text has no certificate.
 */
int truststore_jks(const char *pem, char **ret_bytes, size_t *ret_len);

#endif
