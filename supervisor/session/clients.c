/* The connections of a session's clients. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdpass.h"
#include "supervisor/session/private.h"

int clients_add(struct session *session, int fd)
{
	struct client *client = session->client_count < SESSION_CLIENTS_MAX ? calloc(1, sizeof(*client)) : NULL;
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};
	int r = client ? 0 : -ENOMEM;

	if (client && epoll_ctl(session->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
		r = -errno;
	if (r < 0) {
		free(client);
		(void)close(fd);
		return r;
	}
	*client = (struct client){.fd = fd, .epoll_fd = session->epoll_fd, .next = session->client};
	session->client = client;
	session->client_count++;
	return 0;
}

void clients_accept(struct session *session)
{
	struct sockaddr_un peer;
	socklen_t len = sizeof(peer);
	int fd;

	while ((fd = accept4(session->options->listen_fd, (struct sockaddr *)&peer, &len,
			     SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
		(void)clients_add(session, fd); /* a failure is an end of the connection */
}

void clients_drop(struct client *client)
{
	/*
	 * removed from epoll, because close(2) does not remove a socket of which the keeper may have another descriptor
	 */
	if (client->fd >= 0)
		(void)epoll_ctl(client->epoll_fd, EPOLL_CTL_DEL, client->fd, NULL);
	close_fd(&client->fd);
}

void clients_send_fds(struct client *client, json_t *message, const int *fds, size_t count)
{
	_cleanup_free_ char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;

	json_decref(message);
	if (client->fd < 0)
		return;
	if (!text || fdpass_send(client->fd, text, strlen(text), fds, count, MSG_DONTWAIT) < 0)
		clients_drop(client);
}

void clients_send_fd(struct client *client, json_t *message, int fd)
{
	clients_send_fds(client, message, &fd, fd >= 0);
}

void clients_send(struct client *client, json_t *message)
{
	clients_send_fds(client, message, NULL, 0);
}

void clients_send_error(struct client *client, const char *code, const char *message)
{
	clients_send(client, json_pack("{s:{s:s, s:s}}", "error", "code", code, "message", message));
	clients_drop(client);
}
