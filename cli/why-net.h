/* callgate why about connections and requests. */
#ifndef CALLGATE_CLI_WHY_NET_H
#define CALLGATE_CLI_WHY_NET_H

#include <stdbool.h>

#include "policy/policy.h"

/*
 * Answers "HOST:PORT" ("HOST:PORT/udp") or, with url, "METHOD URL". Prints and returns the exit status: CLI_OK allowed,
 * 1 refused, CLI_ERROR with a message when it is no such question.
 */
int why_net(const struct policy *policy, const char *text, bool url, bool json);

#endif
