#include "keeper/session-client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fdpass.h"
#include "base/text.h"
#include "keeper/utf8.h"

int session_client_connect(int dir_fd, const char *name, int flags)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (fd < 0)
		return -errno;
	/* Through the descriptor: the whole path may be longer than an address can be. */
	if (snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", dir_fd, name) >=
	    (int)sizeof(address.sun_path))
		return -ENAMETOOLONG;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	return steal_fd(&fd);
}

int session_client_send(int socket_fd, json_t *message, const int *fds, size_t count)
{
	_cleanup_free_ char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;

	json_decref(message);
	return text ? fdpass_send(socket_fd, text, strlen(text), fds, count, 0) : -ENOMEM;
}

/* A text as a record can have it. A new reference; NULL: there is none, or no memory. */
static json_t *inspection_make_text(const char *text)
{
	_cleanup_free_ char *shortened = text ? text_copy_shortened(text, SESSION_INSPECT_TEXT_BYTES_MAX) : NULL;
	_cleanup_free_ char *repaired = NULL;
	bool is_changed;
	size_t len;

	if (shortened)
		repaired = utf8_copy_repaired(shortened, strlen(shortened), &len, &is_changed);
	return repaired ? json_string(repaired) : NULL;
}

int session_client_record_inspection(int socket_fd, const char *op, const char *program, const char *why)
{
	return session_client_send(socket_fd,
				   json_pack("{s:s, s:o*, s:o}", "op", op, "path", inspection_make_text(program), "why",
					     inspection_make_text(why)),
				   NULL, 0);
}

static const struct {
	const char *key, *text;
} session_changes[SESSION_CHANGE_MAX] = {
	[SESSION_CHANGE_OTHER] = {"changed", "was changed after it was looked at"},
	[SESSION_CHANGE_ADDED] = {"added", "was made after it was looked for"},
	[SESSION_CHANGE_REMOVED] = {"removed", "was removed after it was looked at"},
};

const char *session_change_get_key(enum session_change change)
{
	return session_changes[change].key;
}

const char *session_change_get_text(enum session_change change)
{
	return session_changes[change].text;
}

char *session_client_join_changes(const json_t *answer)
{
	_cleanup_buf_ struct buf names = {0};

	for (enum session_change change = 0; change < SESSION_CHANGE_MAX; change++) {
		const json_t *name, *list = json_object_get(answer, session_change_get_key(change));
		size_t i;

		json_array_foreach(list, i, name)
		{
			buf_puts(&names, names.len > 0 ? "\n" : "");
			buf_put_escaped(&names, json_string_value(name)); /* which has no newline then */
		}
	}
	return buf_take_text(&names);
}

int session_client_receive_fds(int socket_fd, json_t **ret_message, int *ret_fds, size_t count)
{
	_cleanup_free_ char *text = malloc(SESSION_ANSWER_BYTES_MAX);
	int fds[FDPASS_FDS_MAX];
	ssize_t got = text ? fdpass_receive(socket_fd, text, SESSION_ANSWER_BYTES_MAX, fds, count, MSG_TRUNC) : -ENOMEM;
	json_t *message;

	if (got <= 0)
		return got == 0 ? -ECONNRESET : (int)got;
	message = (size_t)got <= SESSION_ANSWER_BYTES_MAX ? json_loadb(text, (size_t)got, 0, NULL) : NULL;
	if (!json_is_object(message)) {
		json_decref(message);
		for (size_t i = 0; i < count; i++)
			close_fd(&fds[i]);
		return -EBADMSG;
	}
	*ret_message = message;
	memcpy(ret_fds, fds, count * sizeof(*fds));
	return 0;
}

int session_client_receive(int socket_fd, json_t **ret_message, int *ret_fd)
{
	int fd = -1, r = session_client_receive_fds(socket_fd, ret_message, &fd, 1);

	if (r == 0 && ret_fd)
		*ret_fd = fd;
	else
		cleanup_close(&fd);
	return r;
}
