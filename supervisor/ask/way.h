/*
 * The ways in which questions are asked: by files in a directory (--ask), or by the approver (--approve). A run has
 * one. ask.c has what they have in common.
 */
#ifndef CALLGATE_SUPERVISOR_ASK_WAY_H
#define CALLGATE_SUPERVISOR_ASK_WAY_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sha256.h"
#include "base/times.h"
#include "supervisor/ask/again.h"
#include "supervisor/ask/approver.h"
#include "supervisor/ask/ask.h"
#include "supervisor/ask/directory.h"
#include "supervisor/ask/question.h"

#define ASK_REFUSED_CONNECTION_HOLDS_MS 1000u /* how long "no" holds for the same endpoint, in the same process */

/* A denied call, or HTTP request, that waits for an answer. */
struct question {
	struct question *next;
	uint64_t number;                   /* its files are NUMBER.json and NUMBER.answer */
	uint64_t asked_ns;                 /* time of the question, by io_read_clock_ns() */
	struct seccomp_notif notification; /* of the call, which has no response yet */
	struct rejudge_keys keys;          /* identify the call, and calls that one answer holds for */
	char equality[SHA256_HEX_SIZE];    /* with an approver: equal questions have one number, and are asked once */
	struct approval_question sent;     /* with an approver: the head of the message that asked */
	uint64_t deadline_ns;              /* when the question ends without an answer */
	enum ask_result received;          /* with an approver: the answer */
	uint64_t expires_s;                /* with an approver: when ASK_ANSWER_REMEMBER ends, by CLOCK_REALTIME */
	struct call *denied_call;          /* the call as the policy denies it; owned; its task is `task`. NULL: */
	struct egress_question *request;   /* the question is about a request; borrowed, with `sandbox` */
	const struct sandbox *sandbox;
	struct task task;                  /* a copy, because the thread may die; exe is owned */
	struct call_answer answer;
};

/* Asks about denied calls, and performs the calls that the answers allow: --ask, --approve. */
struct asker {
	struct asker_options options;
	const struct ask_way *way;
	struct question *questions; /* in the order in which they were asked */
	/* questions whose calls are handled like new ones: it is another call, or "once" was for an equal exec */
	struct question *questions_of_changed_calls;
	struct question *questions_of_copying_calls; /* approved; the calls wait for a copy (OUTCOME_COPY_FIRST) */
	unsigned open_question_count;  /* entries of `questions` */
	uint64_t last_question_number; /* number of the newest question: its files are NUMBER.json and NUMBER.answer */
	uint64_t next_poll_ns;         /* when ask_poll_open_questions is due */
	struct call_answer answer_without_question; /* what the record says as the answer when no question was opened */
	/*
	 * answers that hold for the run, or until they expire: "allow-always" for the key of a call; an approver's for
	 * a scope
	 */
	struct {
		char key[SHA256_HEX_SIZE];
		enum ask_result word;
		const char *how;
		int64_t uid;
		uint64_t expires_s; /* by CLOCK_REALTIME; UINT64_MAX: at the end of the run */
	} always[ASK_OPEN_QUESTIONS_MAX];
	size_t always_answer_count; /* used entries of always[] */
	struct approver_rate rate;  /* with an approver */
	struct approver_withdrawals withdrawals; /* with an approver */
	/*
	 * with an approver: the last connection that "no" refused. Programs try each address of a name, one after the
	 * other, and that is one question
	 */
	struct {
		char scope[SHA256_HEX_SIZE];
		pid_t pid;
		uint64_t until_ns;
		struct call_answer answer;
	} refused_connection;
	bool approver_is_gone;      /* the process that answers has closed its socket */
};

static inline struct question_origin question_get_origin(const struct asker *asker, const struct question *question)
{
	return (struct question_origin){asker->options.run_id, question->number, asker->options.timeout_ns / NS_PER_MS};
}

struct ask_way {
	enum policy_on_deny mode; /* whose denials are asked about in this way */
	/*
	 * Asks. May give the question the number of an equal one, which is asked already. denied, asked: as
	 * question_make_object(); NULL for a request. ASK_NO_ANSWER_YET, or why it was not asked.
	 */
	enum ask_result (*ask)(struct asker *asker, struct question *question, const struct call *denied,
			       const struct call *asked);
	/* Receives what has come. True: there may be an answer. False: the questions can wait until they are due. */
	bool (*receive)(struct asker *asker);
	/* The answer to a question, with who gave it in question->answer; or ASK_NO_ANSWER_YET. */
	enum ask_result (*find_answer)(const struct dispatch *dispatch, struct question *question);
	/* Takes a question back from where it was asked. It is not in the list of questions any more. */
	void (*close)(struct asker *asker, const struct question *question);
	/* What an answer for the run is kept by, one of the keys. "": it cannot be kept. */
	const char *(*get_lasting_key)(const struct rejudge_keys *keys);
};

extern const struct ask_way ask_by_directory, ask_by_approver;

#endif
