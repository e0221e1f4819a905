/* What the program gets because of the network: files in its view and variables in its environment. */
#ifndef CALLGATE_SUPERVISOR_GATEWAY_PROVIDE_H
#define CALLGATE_SUPERVISOR_GATEWAY_PROVIDE_H

#include "egress/secrets/secret.h"
#include "supervisor/gateway/start.h"

struct egress_provide {
	const struct policy *policy;
	const struct secrets *secrets; /* NULL: none */
	const char *roots;             /* the system's certificates, PEM; NULL: none were found */
	const char *ca;                /* the run's, PEM; NULL: no connection is opened */
	char *trusted;                 /* both, owned; NULL: neither */
};

/* The system's certificates: owned text, or NULL. */
char *egress_system_roots(size_t *ret_len);

/* Fills side->provide and side->variable. 0 or -ENOMEM. */
int egress_provide(struct egress_provide *provide, struct egress_side *side);

/* One file, one variable; text and virt are copied. 0 or -ENOMEM. For the parts of this. */
int egress_add_file(struct egress_side *side, const char *virt, const char *text, size_t len);
int egress_add_variable(struct egress_side *side, const char *name, const char *value, bool wins);

/* Trust for each Java that the policy lets be executed: its cacerts. 0 or -ENOMEM. */
int egress_provide_java(const struct egress_provide *provide, struct egress_side *side);

#endif
