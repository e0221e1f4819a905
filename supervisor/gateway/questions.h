/*
 * Questions of egress: whether an HTTP request that the policy denies may be forwarded. Egress is not trusted: what it
 * asks about is checked and judged anew, by the policy that the supervisor has. Who asks the approver is set by
 * supervise.c. In the supervisor thread.
 */
#ifndef CALLGATE_SUPERVISOR_GATEWAY_QUESTIONS_H
#define CALLGATE_SUPERVISOR_GATEWAY_QUESTIONS_H

#include <stdbool.h>
#include <sys/types.h>

#include "egress/control.h"
#include "syscalls/call/call.h"

struct connection;
struct egress_client;

/* A question about a request, until the request is recorded. */
struct egress_question {
	struct egress_question *next; /* in the list of its connection */
	struct egress_client *client;
	struct control_question asked;
	pid_t pid, ppid, host_pid;      /* of the process that has connected */
	int pidfd;                      /* of that process; borrowed from the connection, as is `exe` */
	const char *exe;                /* its program */
	struct net_verdict denial;      /* what the policy says */
	struct net_verdict permission;  /* and what an answer permits; its rule has protocol and credential */
	bool is_open;                   /* there is no answer yet */
	bool is_permitted;              /* by the answer */
	struct call_answer answer;      /* for the record; answer_word NULL: it was not asked about */
};

/* Who asks. `question` is borrowed, and is there until it is answered or withdrawn. */
struct egress_asker {
	void *context;
	/* Asks: egress_question_answer() is called now or later, or withdraw() before. */
	void (*ask)(void *context, struct egress_question *question);
	/* The request ends before an answer. Sets question->answer. */
	void (*withdraw)(void *context, struct egress_question *question);
};
void egress_client_set_asker(struct egress_client *client, const struct egress_asker *asker);

/* Answers a question, whose `answer` is set: tells egress whether the request may be forwarded. */
void egress_question_answer(struct egress_question *question, bool permits);

/* Whether the process is still there that has connected, so that its pid is its own. */
bool egress_question_process_is_there(const struct egress_question *question);

/* ---- for client.c and records.c ---- */

/* Opens a question of egress about a connection, which permits it. 0; -EBADMSG: egress lies; -ENOMEM. */
int questions_open(struct egress_client *client, struct connection *conn, const struct control_question *asked);
/*
 * The question that a record of a request is about, no longer open: the record's coming withdraws it. NULL with
 * *ret_error: 0, the record is about none; -EBADMSG, there is no such question, or it is about another request, or its
 * answer does not permit what the record tells.
 */
struct egress_question *questions_find_of_record(struct connection *conn, const struct control_record *record,
						 int *ret_error);
struct audit_record;
/* The answer to the question that a record is about, or NULL. Static; NULL: the approver was not asked. */
const char *question_get_answer_word(const struct control_record *record, const struct egress_question *question);
/* Adds the answer, and what was denied if it permits the request, to a line of the log. question may be NULL. */
void question_add_answer(struct audit_record *line, const struct control_record *record,
			 const struct egress_question *question);
/* The record of a request that was asked about and has none, because its connection ends. */
struct control_record question_make_cancelled_record(const struct connection *conn,
						     const struct egress_question *question);
/* Removes and frees a question of a connection, which is not open. */
void questions_remove(struct connection *conn, struct egress_question *question);

#endif
