/*
 * Questions about HTTP requests, which egress holds back until they are answered (supervisor/gateway/questions.h): what
 * a question tells, and what an answer holds for. For ask.c and by-approver.c.
 */
#ifndef CALLGATE_SUPERVISOR_ASK_REQUEST_H
#define CALLGATE_SUPERVISOR_ASK_REQUEST_H

#include <jansson.h>

#include "supervisor/ask/again.h"
#include "supervisor/ask/details.h"
#include "supervisor/ask/question.h"
#include "supervisor/gateway/questions.h"

/*
 * The keys of a request. That of the exact request: also query, length of the body and connection's process. The scope,
 * for which an answer for the run holds: endpoint, protocol, method and path. False: out of memory.
 */
bool ask_request_compute_keys(const struct egress_question *request, struct rejudge_keys *ret_keys);

/*
 * Whether equal requests may have one question: each of them is sent, so "once" must not permit any number of those
 * that change something, or whose content no question shows.
 */
bool ask_request_may_share_question(const struct egress_question *request);

/* As details_show_scope(). */
bool ask_request_shows_scope(const struct egress_question *request);

/* The process that made the connection of the request. */
struct asking_process ask_request_get_process(const struct sandbox *sandbox, const struct egress_question *request);

/* The object of the question to the approver, without its id. Owned by the caller; NULL: out of memory. */
json_t *ask_request_make_object(const struct question_origin *origin, const struct details_options *options,
				const struct sandbox *sandbox, const struct egress_question *request);

struct dispatch;
/* Answers a request. It is judged again by egress, which has its head in its own memory. */
void ask_answer_request(struct dispatch *dispatch, struct egress_question *request, const struct call_answer *answer,
			bool permits);

#endif
