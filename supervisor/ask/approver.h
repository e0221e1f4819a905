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

/* Tells the approver that a question is closed. */
void approver_send_withdrawal(int fd, const struct approval_question *question);

/* Receives one answer. 1; 0: there is none; -EPIPE: the approver has ended. */
int approver_receive_answer(int fd, struct approval_answer *ret_answer);

/*
 * What an answer says; ASK_ANSWER_MALFORMED for a word or way that is none. *ret_how: static, NULL when no
 * approver has answered.
 */
enum ask_result approver_read_answer(const struct approval_answer *answer, const char **ret_how);

#endif
