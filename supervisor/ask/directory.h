/*
 * The directory of --ask: question files, which callgate writes, and answer files, which the user writes. Names are
 * relative to its descriptor: NUMBER.json and NUMBER.answer. Only the run's user can write there; the program cannot.
 */
#ifndef CALLGATE_SUPERVISOR_ASK_DIRECTORY_H
#define CALLGATE_SUPERVISOR_ASK_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The answer to a question, or why there is none. */
enum ask_result {
	ASK_NO_ANSWER_YET, /* there is no answer: the question stays open */
	/* there is an answer file that callgate's user may not read: it has no effect until it can be read */
	ASK_ANSWER_NOT_READABLE_YET,
	ASK_ANSWER_ALLOW,            /* allow this one call */
	ASK_ANSWER_ALLOW_ALWAYS,     /* allow this call, and the same one again in this run */
	ASK_ANSWER_DENY,             /* the call fails, as without --ask */
	ASK_ANSWER_DENY_AND_KILL,    /* deny, and end the process */
	ASK_ANSWER_MALFORMED,        /* the answer file begins with a word that is no answer */
	ASK_ANSWER_UNREADABLE,       /* the answer file cannot be read, or is no regular file */
	ASK_ANSWER_TIMEOUT,          /* no answer came in time */
	ASK_DIRECTORY_GONE,          /* the directory was removed */
	ASK_TOO_MANY_OPEN_QUESTIONS, /* not asked: ASK_OPEN_QUESTIONS_MAX questions are open */
	ASK_QUESTION_UNWRITABLE,     /* not asked: the question could not be written */
	ASK_QUESTION_WITHDRAWN,      /* the thread died, a signal ended its call, or the run has ended */
	ASK_ANSWER_ONCE,             /* of the approver: allow this call */
	ASK_ANSWER_RUN,              /* likewise, and what has the same scope in this run */
	ASK_ANSWER_REMEMBER,         /* likewise, and in later runs */
	ASK_ANSWER_NO,               /* deny */
	ASK_ANSWER_STOP,             /* deny, and end the run */
	ASK_ANSWER_UNANSWERED,       /* of the approver: the question was put aside, or could not be put just now */
	ASK_APPROVER_GONE,           /* the approver has ended, or what it asks: socket, command or terminal */
	ASK_RESULT_MAX,
};

/* Whether the call is allowed. */
static inline bool ask_result_allows(enum ask_result result)
{
	return result == ASK_ANSWER_ALLOW || result == ASK_ANSWER_ALLOW_ALWAYS || result == ASK_ANSWER_ONCE ||
	       result == ASK_ANSWER_RUN || result == ASK_ANSWER_REMEMBER;
}

/* Whether that holds for later calls of the run, too. */
static inline bool ask_result_holds_for_run(enum ask_result result)
{
	return result == ASK_ANSWER_ALLOW_ALWAYS || result == ASK_ANSWER_RUN || result == ASK_ANSWER_REMEMBER;
}

/* The word of a result as records have it. Static. */
const char *ask_result_get_name(enum ask_result word);

/* Reads the first word of a text: ASK_NO_ANSWER_YET for an empty text, else a value up to ASK_ANSWER_MALFORMED. */
enum ask_result ask_result_parse_answer(const char *text, size_t len);

/*
 * Looks for the answer to a question. *ret_uid: the owner of the file, set with the values from ASK_ANSWER_ALLOW
 * to ASK_ANSWER_MALFORMED.
 */
enum ask_result ask_directory_read_answer(int dir_fd, uint64_t number, uid_t *ret_uid);

/* Writes a question. It appears by rename, after an older answer of that number was removed. 0 or -errno. */
int ask_directory_write_question(int dir_fd, uint64_t number, const char *text, size_t len);

/* Removes a question and its answer. */
void ask_directory_remove_question(int dir_fd, uint64_t number);

/* True when the directory itself was removed. */
bool ask_directory_is_gone(int dir_fd);

/* 1: it has question or answer files, which a run whose supervisor was killed leaves. 0: it has none. Or -errno. */
int ask_directory_find_files(int dir_fd);

#endif
