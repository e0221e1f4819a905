/*
 * Which rules of a policy match a question, each taken alone: whether they decide depends on the others. For the
 * coverage that callgate policy test reports. Pure.
 */
#ifndef CALLGATE_POLICY_MATCH_H
#define CALLGATE_POLICY_MATCH_H

#include <limits.h>

#include "policy/network/net.h"
#include "policy/policy.h"

enum policy_question_kind {
	POLICY_QUESTION_PATH,
	POLICY_QUESTION_CONNECT,
	POLICY_QUESTION_REQUEST,
	POLICY_QUESTION_LISTEN,
};

struct policy_question {
	enum policy_question_kind kind;
	unsigned want;            /* PATH: POLICY_READ, WRITE or EXEC */
	unsigned port;            /* CONNECT, REQUEST, LISTEN */
	bool udp;                 /* CONNECT */
	bool upgrade;             /* REQUEST */
	char host[NET_HOST_MAX];  /* CONNECT, REQUEST: canonical */
	char method[NET_METHOD_MAX];
	char path[PATH_MAX];      /* PATH: canonical, in the view; REQUEST: normalised */
};

/* A rule of the file system, of exec.deny, or of network.allow, deny and listen. */
struct policy_rule_label {
	const char *label; /* as in decisions. @interpreter makes several rules of one label. Borrowed */
	bool matches;      /* the question */
};

/* Iterates over the rules that are in force. *at starts with 0. False at the end. */
bool policy_match_next_rule(const struct policy *policy, const struct policy_question *question, size_t *at,
			    struct policy_rule_label *ret_rule);

#endif
