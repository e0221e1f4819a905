/*
 * Messages between the supervisor, which asks, and the approver, which answers: one datagram each on a pair of unix
 * sockets (SOCK_SEQPACKET). Both ends belong to callgate, so the structures are sent as they are in memory.
 */
#ifndef CALLGATE_APPROVAL_MESSAGE_H
#define CALLGATE_APPROVAL_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sha256.h"

#define APPROVAL_OPEN_QUESTIONS_MAX 5u        /* a further denial is refused without a question */
#define APPROVAL_QUESTIONS_PER_SECOND_MAX 10u /* likewise */
#define APPROVAL_TEXT_BYTES_MAX 61440u        /* most bytes of a question's text; a longer one is not asked */

enum approval_answer_word {
	APPROVAL_ONCE,     /* perform this call */
	APPROVAL_RUN,      /* and what is the same scope, until the run ends */
	APPROVAL_REMEMBER, /* and in later runs with the same policy, until it expires */
	APPROVAL_NO,
	APPROVAL_STOP,       /* refuse the call, and end the run */
	APPROVAL_UNANSWERED, /* refuse the call: the question was put aside, or cannot be put just now */
	APPROVAL_MALFORMED,  /* there was an answer, but none of these, or one that was not offered */
	APPROVAL_GONE,       /* the socket, command or terminal is gone, or cannot be asked */
	APPROVAL_WORD_MAX,
};

/* By which way an answer came. */
enum approval_way {
	APPROVAL_BY_SOCKET,
	APPROVAL_BY_COMMAND,
	APPROVAL_BY_TERMINAL,
	APPROVAL_BY_CLIENT,   /* by the process that has started callgate, such as an MCP server: for its client */
	APPROVAL_FROM_MEMORY, /* an answer of an earlier run, from the file of --approvals */
	APPROVAL_WAY_MAX,
};

enum approval_kind {
	APPROVAL_QUESTION = 1, /* the text follows: a JSON object in one line */
	APPROVAL_WITHDRAWAL,   /* the question is closed; an answer has no effect any more */
};

/* From the supervisor. */
struct approval_question {
	uint32_t kind;
	bool can_hold_for_run; /* the answers "run" and "remember" are offered */
	bool cannot_be_once;   /* the answer "once" is not offered */
	uint64_t deadline_ns;  /* io_read_clock_ns() when the question ends, also if its withdrawal is late */
	/* identifies the question: a digest of policy, call, text and a random number, so that no other can be meant */
	char id[SHA256_HEX_SIZE];
	char scope[SHA256_HEX_SIZE]; /* what "run" and "remember" hold for: policy, object, name and right */
	char policy_sha256[SHA256_HEX_SIZE];
};

/* From the approver. */
struct approval_answer {
	char id[SHA256_HEX_SIZE];
	uint32_t word; /* enum approval_answer_word */
	uint32_t way;  /* enum approval_way */
	int64_t uid;   /* user id of the process that answered; -1: there was no answer */
	uint64_t expires_s; /* of APPROVAL_REMEMBER: when it ends, in seconds of CLOCK_REALTIME */
};

#endif
