/*
 * Finds the rules of a policy that match a question, each by itself: which one decides depends on the others. For the
 * coverage that `callgate policy test` reports. No I/O.
 */
#ifndef CALLGATE_POLICY_MATCH_H
#define CALLGATE_POLICY_MATCH_H

#include <limits.h>

#include "policy/network/net.h"
#include "policy/policy.h"

enum policy_question_kind {
	POLICY_QUESTION_PATH,    /* may a path be accessed? */
	POLICY_QUESTION_CONNECT, /* may a host be connected to? */
	POLICY_QUESTION_REQUEST, /* may an HTTP request be made? */
	POLICY_QUESTION_LISTEN,  /* may a port be listened on? */
};

/* What rules are matched with: an access to a path, or a use of the network. */
struct policy_question {
	enum policy_question_kind kind;
	unsigned wanted_rights;            /* for PATH: POLICY_READ, WRITE or EXEC */
	unsigned port;            /* for CONNECT, REQUEST, LISTEN */
	bool udp;                 /* for CONNECT */
	bool asks_for_websocket;  /* for REQUEST */
	char host[NET_HOST_SIZE]; /* for CONNECT, REQUEST: canonical host */
	char method[NET_METHOD_SIZE]; /* for REQUEST */
	char path[PATH_MAX];      /* for PATH: canonical virtual path; for REQUEST: normalised path */
};

/* A rule of the file system, of exec.deny, or of network.allow, deny and listen. */
struct policy_rule_label {
	const char *label; /* label as in decisions; borrowed. @interpreter makes several rules with one label */
	bool rule_matches; /* the rule matches the question */
};

/* Iterates over the rules that have a part in decisions. *at starts with 0. False at the end. */
bool policy_match_next_rule(const struct policy *policy, const struct policy_question *question, size_t *at,
			    struct policy_rule_label *ret_rule);

#endif
