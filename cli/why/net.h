/* callgate why --connect and --url. */
#ifndef CALLGATE_CLI_WHY_NET_H
#define CALLGATE_CLI_WHY_NET_H

#include <stdbool.h>

#include "policy/policy.h"

/*
 * Answers "HOST:PORT" ("HOST:PORT/udp") or, with url, "METHOD URL". Prints the answer and returns the exit status:
 * CLI_OK allowed, 1 refused, CLI_ERROR with a message for a malformed question.
 */
int why_answer_net(const struct policy *policy, const char *text, bool url, bool json);
/* The same for listening at a port of the run's own loopback: a number from 0 to 65535. */
int why_listen(const struct policy *policy, const char *text, bool json);

#endif
