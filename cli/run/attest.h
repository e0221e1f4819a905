/* What `callgate run --attest` and `callgate attest` have in common. */
#ifndef CALLGATE_CLI_RUN_ATTEST_H
#define CALLGATE_CLI_RUN_ATTEST_H

#define ATTEST_PREDICATE_TYPE_URI "https://callgate.dev/run/v1" /* a name only: there is no page at this address */

#endif
