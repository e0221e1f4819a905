/* The file of callgate policy test: questions about a policy and the answers that are expected. */
#ifndef CALLGATE_CLI_POLICY_CASES_H
#define CALLGATE_CLI_POLICY_CASES_H

#include "cli/why/ask.h"

struct policy_case {
	const char *name; /* "name" in the file; NULL: none */
	enum why_kind kind;
	const char *text;    /* the question */
	const char *verdict; /* "allow" is any that allows */
	const char *rule;    /* words of the rule's text; NULL: any */
	bool no_rule;        /* "rule": null: none may have decided */
	const char *reason;  /* NULL: any */
	unsigned line;
};

struct policy_cases {
	struct policy_case *item;
	size_t count;
	void *json; /* keeps the texts */
};

/* Reads a file. 0 with cases to be released, or -errno with each mistake printed as "file:line: key: …". */
int policy_cases_read(const char *verb, const char *path, struct policy_cases *ret_cases);
void policy_cases_release(struct policy_cases *cases);

/* True when the answer is the expected one. */
bool policy_case_holds(const struct policy_case *expected, const struct why_answer *answer);

#endif
