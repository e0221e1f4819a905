/*
 * Finds what two policies judge differently, as witnesses: questions that `callgate why` answers differently. For the
 * verb `callgate policy diff`. No I/O.
 *
 * It is sound: both policies have judged every witness. It is complete as far as questions are tried: walk.h says which
 * paths of files and requests, endpoints.c which hosts, ports and methods.
 */
#ifndef CALLGATE_POLICY_DIFF_DIFF_H
#define CALLGATE_POLICY_DIFF_DIFF_H

#include "policy/arena.h"
#include "policy/policy.h"

/* How much access a decision gives the program. */
enum diff_access {
	DIFF_ACCESS_NONE,            /* denied */
	DIFF_ACCESS_TO_OTHER_OBJECT, /* allowed, but not on the host's object of that name: redirected, provided */
	DIFF_ACCESS_IF_PUBLIC,       /* allowed as far as everybody on the host may read it */
	DIFF_ACCESS_FULL,            /* allowed; of a path: on the object that the host has there */
};

/* Returns how much access a decision gives, from its verdict and the reason that `callgate why` prints. */
enum diff_access diff_get_access(enum verdict verdict, const char *reason);

/* The answer of one policy to a question that is asked of two. */
struct diff_answer {
	enum diff_access access;
	enum verdict verdict;
	const char *rule;   /* label of the rule that decided; NULL: none */
	const char *reason; /* static */
};

/* A question that two policies answer differently. */
struct diff_witness {
	/* option of `callgate why`, without dashes: "open", "exec", "connect", "url", "listen" */
	const char *callgate_why_option;
	const char *callgate_why_argument;   /* argument of the option */
	const char *op;     /* operation: "read", "write", "exec", "connect", "request", "listen" */
	struct diff_answer answer[2]; /* answers of the first and of the second policy */
};

/* How a setting differs. What a policy grants is not a setting. */
enum diff_direction {
	DIFF_NEUTRAL,  /* nothing that is granted depends on it */
	DIFF_NARROWER, /* the second policy grants less */
	DIFF_WIDER,    /* the second policy grants more */
	DIFF_UNORDERED,  /* the meaning differs, and neither can be called more */
};
const char *diff_direction_get_name(enum diff_direction direction);

/* A setting that differs between two policies. */
struct diff_setting {
	/* key of the setting: "limits.wall", "env.pass[LANG]", "network.allow[api.test:443/https].private" */
	const char *key;
	const char *json_value[2]; /* the value as JSON; NULL: not set */
	enum diff_direction direction;
};

/* The differences of two policies. */
struct policy_diff {
	struct diff_witness *witness; /* at most DIFF_WITNESSES_PER_RULE_PAIR_MAX for one operation and pair of rules */
	size_t witness_count;
	struct diff_setting *setting; /* sorted by key */
	size_t setting_count;
	bool cut; /* the search ended early: there may be further differences */
	struct arena arena;
};
#define DIFF_WITNESSES_PER_RULE_PAIR_MAX 8 /* most witnesses of one operation and pair of rules */

/*
 * Compares two policies. 0 with a result for policy_diff_release, or -ENOMEM with an empty *ret_diff. The result
 * borrows texts from the policies.
 */
int policy_diff(const struct policy *first, const struct policy *second, struct policy_diff *ret_diff);
void policy_diff_release(struct policy_diff *diff);

/* True when two witnesses have the same answers by the same rules. */
bool diff_witnesses_agree(const struct diff_witness *a, const struct diff_witness *b);

/* ---- within policy/diff/ ---- */

/* The two policies that are compared, and where differences are added. */
struct diff_search {
	const struct policy *policy[2];
	struct policy_diff *diff; /* the differences that were found so far; borrowed */
};

/* Adds a witness if its answers differ. Copies witness->callgate_why_argument. */
void diff_add_witness(struct diff_search *search, const struct diff_witness *witness);
void diff_compare_paths(struct diff_search *search);
void diff_compare_network(struct diff_search *search);
void diff_compare_settings(struct diff_search *search);

#endif
