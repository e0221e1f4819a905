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

enum ask_word {
	ASK_NONE,      /* there is no answer yet */
	/* there is an answer file that callgate's user may not read: it has no effect until it can be read */
	ASK_FORBIDDEN,
	ASK_ALLOW,
	ASK_ALLOW_ALWAYS, /* allow this call, and the same one again in this run */
	ASK_DENY,
	ASK_KILL,           /* deny, and end the process */
	ASK_MALFORMED,      /* the file begins with another word */
	ASK_UNREADABLE,     /* the answer file cannot be read, or is no regular file */
	ASK_TIMEOUT,        /* no answer came in time */
	ASK_DIRECTORY_GONE, /* the directory was removed */
	ASK_TOO_MANY,       /* not asked: ASK_OPEN_QUESTIONS_MAX questions are open */
	ASK_UNWRITABLE,     /* not asked: the question could not be written */
	ASK_WITHDRAWN,      /* the thread died, a signal ended its call, or the run has ended */
	ASK_WORD_MAX,
};

/* The word of an answer as records have it. Static. */
const char *ask_word_get_name(enum ask_word word);

/* Reads the first word of a text: ASK_NONE for an empty text, else one of the words up to ASK_MALFORMED. */
enum ask_word ask_word_parse(const char *text, size_t len);

/*
 * Looks for the answer to a question. *ret_uid: the owner of the file, set with the words from ASK_ALLOW to
 * ASK_MALFORMED.
 */
enum ask_word ask_directory_read_answer(int dir_fd, uint64_t number, uid_t *ret_uid);

/* Writes a question. It appears by rename, after an older answer of that number was removed. 0 or -errno. */
int ask_directory_write_question(int dir_fd, uint64_t number, const char *text, size_t len);

/* Removes a question and its answer. */
void ask_directory_remove(int dir_fd, uint64_t number);

/* True when the directory itself was removed. */
bool ask_directory_is_gone(int dir_fd);

/* True when the directory has question or answer files. A run whose supervisor was killed leaves such files. */
bool ask_directory_has_files(int dir_fd);

#endif
