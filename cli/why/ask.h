/*
 * Questions about a policy in the words of callgate why's options, without printing: for callgate policy. The answers
 * are those of callgate why, because the same functions give them.
 */
#ifndef CALLGATE_CLI_WHY_ASK_H
#define CALLGATE_CLI_WHY_ASK_H

#include "policy/match.h"

enum why_kind { WHY_OPEN, WHY_EXEC, WHY_CONNECT, WHY_LISTEN, WHY_URL, WHY_KIND_MAX };

/* Returns the option of a kind, without its dashes: "open". Static. */
const char *why_kind_get_name(enum why_kind kind);

/* A policy's answer to a question of `callgate why` or of a test. */
struct why_answer {
	enum verdict verdict;
	const char *rule;   /* label of the rule that decided; NULL: none */
	const char *reason; /* code of the reason; static */
};

/*
 * Answers a question. *ret_question (may be NULL) gets the object of the question, after links were followed. 0, or
 * -errno with a static text that says what is wrong with the question, for the end of a message.
 */
int why_ask(const struct policy *policy, enum why_kind kind, const char *text, struct why_answer *ret_answer,
	    struct policy_question *ret_question, const char **ret_wrong);

#endif
