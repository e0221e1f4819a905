/*
 * What two policies judge differently, as witnesses: questions that callgate why answers differently. For the verb
 * `callgate policy diff`. Pure.
 *
 * Sound: every witness was judged by both policies. Complete as far as the questions that are tried: walk.h says which
 * for files and request paths; endpoints.c which hosts, ports and methods.
 */
#ifndef CALLGATE_POLICY_DIFF_DIFF_H
#define CALLGATE_POLICY_DIFF_DIFF_H

#include "policy/arena.h"
#include "policy/policy.h"

/* How much an answer gives the program. */
enum diff_level {
	DIFF_DENIED,
	DIFF_OTHER,  /* allowed, on another object than the host's of that name: redirected, provided */
	DIFF_PUBLIC, /* allowed as far as everybody on the host may */
	DIFF_ALLOWED,
};

/* The level of a decision, by the verdict and the reason that callgate why prints. */
enum diff_level diff_get_level(enum verdict verdict, const char *reason);

struct diff_answer {
	enum diff_level level;
	enum verdict verdict;
	const char *rule;   /* as in struct policy_decision */
	const char *reason; /* static */
};

struct diff_witness {
	const char *option; /* of callgate why, without dashes: "open", "exec", "connect", "url", "listen" */
	const char *text;   /* its argument */
	const char *op;     /* "read", "write", "exec", "connect", "request", "listen" */
	struct diff_answer answer[2]; /* by the first and the second policy */
};

/* A setting that differs. Accesses do not count as settings. */
enum diff_direction {
	DIFF_NEUTRAL,  /* no access depends on it */
	DIFF_NARROWER, /* the second policy grants less */
	DIFF_WIDER,    /* ... more */
	DIFF_UNKNOWN,  /* it means something else; which is more cannot be told */
};
const char *diff_direction_get_name(enum diff_direction direction);

struct diff_setting {
	const char *key;     /* "limits.wall", "env.pass[LANG]", "network.allow[api.test:443/https].private" */
	const char *text[2]; /* the value as JSON; NULL: not set */
	enum diff_direction direction;
};

struct policy_diff {
	struct diff_witness *witness; /* at most DIFF_WITNESSES_MAX for an operation and two rules */
	size_t witnesses;
	struct diff_setting *setting; /* sorted by key */
	size_t settings;
	bool cut; /* the search ended early: there may be further differences */
	struct arena arena;
};
#define DIFF_WITNESSES_MAX 8

/*
 * Compares. 0 with what policy_diff_release releases, or -ENOMEM with an empty *ret_diff. Borrows texts from the
 * policies.
 */
int policy_diff(const struct policy *first, const struct policy *second, struct policy_diff *ret_diff);
void policy_diff_release(struct policy_diff *diff);

/* True when both say the same of the same rules. */
bool diff_witnesses_agree(const struct diff_witness *a, const struct diff_witness *b);

/* ---- within policy/diff/ ---- */

struct diff_search {
	const struct policy *policy[2];
	struct policy_diff *diff;
};

/* Adds a witness if the answers differ. Copies option's text; `answer` as in struct diff_witness. */
void diff_add_witness(struct diff_search *search, const struct diff_witness *witness);
void diff_compare_paths(struct diff_search *search);
void diff_compare_network(struct diff_search *search);
void diff_compare_settings(struct diff_search *search);

#endif
