/* The supervisor's end of the channel to the approver (approval/), which puts the questions. */
#ifndef CALLGATE_SUPERVISOR_ASK_APPROVER_H
#define CALLGATE_SUPERVISOR_ASK_APPROVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "approval/message.h"
#include "supervisor/ask/directory.h"

/* When the last questions were asked, so that there are at most APPROVAL_QUESTIONS_PER_SECOND_MAX a second. */
struct approver_rate {
	uint64_t asked_ns[APPROVAL_QUESTIONS_PER_SECOND_MAX]; /* times of the last questions, a ring */
	unsigned next;                                        /* index of the oldest time in asked_ns[] */
};

/* Whether one more question may be asked now; if so, it is counted. */
bool approver_rate_permits(struct approver_rate *rate, uint64_t now_ns);

/* Sends a question. ASK_NO_ANSWER_YET, or why it was not sent. */
enum ask_result approver_send_question(int fd, const struct approval_question *question, const char *text, size_t len);

/* Withdrawals that the channel could not take yet. The approver has not read, so it may have these questions still. */
struct approver_withdrawals {
	struct approval_question question[APPROVAL_OPEN_QUESTIONS_MAX];
	size_t count;
};

/*
 * Tells the approver that a question is closed, at once or by approver_send_withdrawals(). The caller has no more than
 * APPROVAL_OPEN_QUESTIONS_MAX questions at a time, with those in the list.
 */
void approver_withdraw(struct approver_withdrawals *withdrawals, int fd, const struct approval_question *question);

/* Sends as many as the channel takes, the first ones first. */
void approver_send_withdrawals(struct approver_withdrawals *withdrawals, int fd);

/* Receives one answer. 1; 0: there is none; -EPIPE: the approver has ended. */
int approver_receive_answer(int fd, struct approval_answer *ret_answer);

/*
 * What an answer says; ASK_ANSWER_MALFORMED for a word or way that is none. *ret_how: static, NULL when no
 * approver has answered.
 */
enum ask_result approver_read_answer(const struct approval_answer *answer, const char **ret_how);

#endif
