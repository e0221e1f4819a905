/* What others use of egress that needs OpenSSL: the module has it (base/module.h), and programs that link it. */
#ifndef CALLGATE_EGRESS_PARTS_H
#define CALLGATE_EGRESS_PARTS_H

#include "egress/egress.h"
#include "egress/tls/ca.h"

/* Each the function of that name. */
struct egress_parts {
	int (*egress_main)(const struct egress_options *options);
	int (*ca_create)(const char *run_id, struct ca **ret_ca);
	void (*ca_free)(struct ca *ca);
	const char *(*ca_pem)(const struct ca *ca);
	void (*ca_forget)(struct ca *ca);
	int (*truststore_jks)(const char *pem, char **ret_bytes, size_t *ret_len);
};

extern const struct egress_parts egress_linked;

/* NULL: they cannot be had; *ret_why (static) says why, to follow a name. */
const struct egress_parts *egress_parts(const char **ret_why);

#endif
