/*
 * The clients' side of a session's protocol (supervisor/session/session.h): finds its socket in the directory of all
 * runs, sends requests, receives answers. Called by `callgate session` and by callgate-agents.
 */
#ifndef CALLGATE_KEEPER_SESSION_CLIENT_H
#define CALLGATE_KEEPER_SESSION_CLIENT_H

#include <jansson.h>
#include <stddef.h>

#define SESSION_SOCKET_PREFIX "session-" /* name of the socket in the directory of all runs, before the session's id */
#define SESSION_ANSWER_BYTES_MAX (1u << 20) /* longest message of a session that a client reads */

/*
 * Connects to the socket `name` in the directory of all runs. flags: SOCK_NONBLOCK or 0. A descriptor (CLOEXEC) owned
 * by the caller, or -errno: -ECONNREFUSED when the session was killed, -EAGAIN when too many clients are waiting.
 */
int session_client_connect(int dir_fd, const char *name, int flags);

/* Sends one message, with `count` descriptors, borrowed. Takes the reference. 0 or -errno. */
int session_client_send(int socket_fd, json_t *message, const int *fds, size_t count);

/* What inspecting has led to; "op" of a message (supervisor/session/session.h). */
#define SESSION_INSPECT_REFUSED "refused"
#define SESSION_INSPECT_CHANGED "changed"
#define SESSION_INSPECT_CHANGES_UNKNOWN "changes_unknown"
#define SESSION_INSPECT_TEXT_BYTES_MAX 1000 /* of each text on record */
/*
 * Has the session put on record what inspecting a program (NULL: not known) has led to, and why or which files. Longer
 * texts are cut, with a mark, so that the message always fits; what is not UTF-8 is replaced. 0 or -errno.
 */
int session_client_record_inspection(int socket_fd, const char *op, const char *program, const char *why);

/* What became of a file that was looked at. */
enum session_change {
	SESSION_CHANGE_OTHER, /* another file, content or attributes */
	SESSION_CHANGE_ADDED,
	SESSION_CHANGE_REMOVED,
	SESSION_CHANGE_MAX,
};

/*
 * The key of the list with the names of such files in a report, such as `callgate session inspect --request` prints,
 * and a text of what became of them, which follows a name. Both static.
 */
const char *session_change_get_key(enum session_change change);
const char *session_change_get_text(enum session_change change);

/*
 * The names in these lists of what `callgate session inspect --request` prints, for such a record: each a line, in
 * which control characters are escaped. Owned by the caller; "": there are none; NULL: no memory.
 */
char *session_client_join_changes(const json_t *answer);

/*
 * Receives one message, owned by the caller, and the descriptor that came with it (CLOEXEC, owned by the caller; -1:
 * none), unless ret_fd is NULL. 0; -EAGAIN: none is there (O_NONBLOCK); -ECONNRESET: the session has hung
 * up; -EBADMSG: the message is no JSON object, or too long; or another -errno.
 */
int session_client_receive(int socket_fd, json_t **ret_message, int *ret_fd);

/* The same with up to `count` descriptors, at most FDPASS_FDS_MAX; those that did not come are -1. */
int session_client_receive_fds(int socket_fd, json_t **ret_message, int *ret_fds, size_t count);

#endif
