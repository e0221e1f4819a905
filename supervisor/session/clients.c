/* The connections of a session's clients. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "supervisor/session/private.h"

void clients_accept(struct session *session)
{
	struct epoll_event event = {.events = EPOLLIN};
	struct client *client;
	struct sockaddr_un peer;
	socklen_t len = sizeof(peer);
	int fd;

	while ((fd = accept4(session->options->listen_fd, (struct sockaddr *)&peer, &len,
			     SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		client = session->client_count < SESSION_CLIENTS_MAX ? calloc(1, sizeof(*client)) : NULL;
		event.data.ptr = client;
		if (!client || epoll_ctl(session->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0) {
			free(client);
			(void)close(fd);
			continue;
		}
		*client = (struct client){.fd = fd, .next = session->client};
		session->client = client;
		session->client_count++;
	}
}

void clients_drop(struct client *client)
{
	close_fd(&client->fd); /* epoll forgets it, because there is no other descriptor of it */
}

void clients_send(struct client *client, json_t *message)
{
	_cleanup_free_ char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;

	json_decref(message);
	if (client->fd < 0)
		return;
	if (!text || write(client->fd, text, strlen(text)) < 0) /* O_NONBLOCK; SIGPIPE is ignored */
		clients_drop(client);
}

void clients_send_error(struct client *client, const char *code, const char *message)
{
	clients_send(client, json_pack("{s:{s:s, s:s}}", "error", "code", code, "message", message));
	clients_drop(client);
}
