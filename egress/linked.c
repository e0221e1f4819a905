#include "egress/parts.h"
#include "egress/tls/truststore.h"

#include "base/banned.h"

const struct egress_parts egress_linked = {
	.egress_main = egress_main,
	.ca_create = ca_create,
	.ca_free = ca_free,
	.ca_pem = ca_pem,
	.ca_forget = ca_forget,
	.truststore_jks = truststore_jks,
};
