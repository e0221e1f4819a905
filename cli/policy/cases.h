/* Reads the file of callgate policy test: questions about a policy, and the answers that are expected. */
#ifndef CALLGATE_CLI_POLICY_CASES_H
#define CALLGATE_CLI_POLICY_CASES_H

#include "cli/why/ask.h"

/* A test case of `callgate policy test`: a question and the expected answer. */
struct policy_case {
	const char *name; /* name of the case ("name" in the file); NULL: none */
	enum why_kind kind;
	const char *question; /* the question's argument, such as "/etc/passwd:r" */
	const char *verdict; /* expected verdict; "allow" accepts every verdict that allows */
	const char *rule;    /* words that the text of the deciding rule must contain; NULL: any rule */
	bool expects_no_rule;        /* the file has "rule": null: no rule may have decided */
	const char *reason;  /* expected code of the reason; NULL: any */
	unsigned line;       /* its line in the file of cases */
};

/* The test cases of a file. */
struct policy_cases {
	struct policy_case *cases;
	size_t count;
	void *json; /* the parsed file, which holds the texts */
};

/*
 * Reads a file of cases. 0, or -errno with each mistake printed as "file:line: key: …". On success
 * policy_cases_release() releases *ret_cases.
 */
int policy_cases_read(const char *verb, const char *path, struct policy_cases *ret_cases);
void policy_cases_release(struct policy_cases *cases);

/* True if the answer has the verdict, rule and reason that the case expects. */
bool policy_case_holds(const struct policy_case *expected, const struct why_answer *answer);

#endif
