/* Answers `callgate why --connect`, `--url` and `--listen`. */
#ifndef CALLGATE_CLI_WHY_NET_H
#define CALLGATE_CLI_WHY_NET_H

#include <stdbool.h>

#include "cli/why/ask.h"

/*
 * Decides about "HOST:PORT" ("HOST:PORT/udp") or, with `url`, about "METHOD URL", and prints the answer. Returns the
 * exit status: CLI_EXIT_OK allowed, 1 refused, CLI_EXIT_ERROR with a message for a malformed question.
 */
int why_answer_net(const struct policy *policy, const char *text, bool url, bool json);
/* Decides a question of kind WHY_CONNECT, WHY_LISTEN or WHY_URL. 0, or -EINVAL with why it is malformed (static). */
int why_decide_net(const struct policy *policy, enum why_kind kind, const char *text, struct net_verdict *ret_verdict,
		   struct policy_question *ret_question, const char **ret_wrong);
/*
 * Decides about listening at a port, 0 to 65535, of the run's own loopback, and prints the answer. Returns the exit
 * status: CLI_EXIT_OK allowed, 1 refused, CLI_EXIT_ERROR with a message for a malformed question.
 */
int why_answer_listen(const struct policy *policy, const char *text, bool json);

#endif
