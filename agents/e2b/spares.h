/* Spares: sandboxes that are made before a client asks for one. */
#ifndef CALLGATE_AGENTS_E2B_SPARES_H
#define CALLGATE_AGENTS_E2B_SPARES_H

#include "agents/e2b/private.h"

/* Makes the spares that the template lacks, one after the other. */
void spares_refill(struct e2b *e2b, struct e2b_template *template);
/* Gives the client a spare, or starts to make a sandbox. The request is answered when the sandbox is ready. */
void spares_give_or_make(struct e2b *e2b, struct e2b_key *key, struct e2b_template *template,
			 struct http_request *request, const struct e2b_create_options *create_options);

#endif
