/* The open questions of a run, and the answers that hold for it. For ask.c and requests.c, in the supervisor thread. */
#ifndef CALLGATE_SUPERVISOR_ASK_QUESTION_LIST_H
#define CALLGATE_SUPERVISOR_ASK_QUESTION_LIST_H

#include "supervisor/ask/way.h"

/*
 * Gives a question its number and times, asks it, and adds it to the list. denied, asked: as question_make_object();
 * NULL for a request. ASK_NO_ANSWER_YET, or the reason why it is not asked.
 */
enum ask_result question_list_ask(struct asker *asker, struct question *question, const struct call *denied,
				  const struct call *asked);

/* Closes a question that was taken out of the list: notes its answer, also for what it holds for. */
void question_list_close(struct asker *asker, struct question *question, enum ask_result word, uint64_t now_ns);

/* Frees a question with its denied call. NULL is fine. */
void question_free(struct question *question);

/* The place of the answer that holds for what has this key, and has not expired. asker->always_answer_count: none. */
size_t question_list_find_lasting_answer(const struct asker *asker, const char *key);

/* Whether a thread's call waits for an answer, or to be handled like a new one. */
bool question_list_serves_thread(const struct asker *asker, pid_t tid);

#endif
