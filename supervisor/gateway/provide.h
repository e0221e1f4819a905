/* What the program gets because of the network: files in its view and variables in its environment. */
#ifndef CALLGATE_SUPERVISOR_GATEWAY_PROVIDE_H
#define CALLGATE_SUPERVISOR_GATEWAY_PROVIDE_H

#include "egress/secrets/secret.h"
#include "supervisor/gateway/start.h"

struct egress_provide {
	const struct policy *policy;
	const struct secrets *secrets; /* NULL: none */
	const char *roots;             /* the system's certificates, PEM; NULL: none were found */
	const char *ca;                /* the run's authority, PEM; NULL: no TLS is intercepted */
	char *trusted;                 /* both, owned; NULL: neither */
};

/* The system's certificates in PEM, owned; NULL: none. */
char *egress_system_roots(size_t *ret_len);

/* Fills side->provide and side->variable. 0 or -ENOMEM. */
int egress_provide(struct egress_provide *provide, struct egress_side *side);

/* side.c: add one file or variable and copy the texts. 0 or -ENOMEM. */
int egress_side_add_file(struct egress_side *side, const char *virt, const char *text, size_t len);
int egress_side_add_variable(struct egress_side *side, const char *name, const char *value, bool wins);

/* provide-java.c: a cacerts file for each Java that the policy lets be executed. 0 or -ENOMEM. */
int egress_provide_java(const struct egress_provide *provide, struct egress_side *side);

#endif
