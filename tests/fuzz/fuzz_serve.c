/*
 * callgate serve: a script of what clients send, byte by byte, and of what hostile programs say in return (stage.h).
 *     c n      client n sends lines, which end with CR LF; the first time it connects. See client_add_text()
 *     b/B n    it sends data as a chunk of a body, or as it is; V n: the end of a chunked body
 *     v n      it sends a chunk with an envelope of the Connect protocol and data in it
 *     w/W n    it stops to read, reads again; h/k n: it closes its sending end, or all
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "agents/e2b/private.h"
#include "base/cleanup.h"
#include "tests/fuzz/stage.h"

#define KEY "0123456789abcdef"
#define CLIENTS 8
#define SANDBOXES 6 /* more have to wait */
#define SEGMENTS_MAX 200

struct client {
	int fd; /* -1: it is not connected */
	bool is_slow;
};

static struct {
	struct sockaddr_un address;
	socklen_t address_len;
	struct client client[CLIENTS];
} served;

/* ---- clients ---- */

static void client_send(const struct client *client, const char *bytes, size_t len)
{
	ssize_t done = 0;

	for (size_t at = 0; at < len && done >= 0; at += (size_t)done) {
		done = send(client->fd, bytes + at, len - at, MSG_DONTWAIT | MSG_NOSIGNAL);
		stage_turn();
	}
}

static void client_connect(struct client *client)
{
	if (client->fd >= 0)
		return;
	client->is_slow = false;
	client->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	promise(client->fd >= 0);
	if (connect(client->fd, (struct sockaddr *)&served.address, served.address_len) < 0)
		close_fd(&client->fd);
}

/*
 * "@K": the header with the key; "@0"…: the headers for sandbox 0…; "@i0"…: its id; "@L": the length of what comes
 * after the head.
 */
static void client_add_text(struct buf *out, const struct script_segment *segment)
{
	const char *head_end = memmem(segment->data, segment->len, "\n\n", 2);
	const char *end = segment->data + segment->len;

	for (const char *at = segment->data; at < end; at++) {
		const struct e2b_sandbox *box;

		if (*at == '\n' && (!head_end || at < head_end + 2)) {
			buf_puts(out, "\r\n");
		} else if (*at != '@' || at + 1 == end) {
			buf_add(out, at, 1);
		} else if (*++at == 'K') {
			buf_puts(out, "X-API-Key: " KEY);
		} else if (*at == 'L') {
			buf_printf(out, "Content-Length: %zu", head_end ? (size_t)(end - head_end - 2) : 0);
		} else if (*at == 'i' && at + 1 < end) {
			box = stage_get_sandbox_data((unsigned)(unsigned char)*++at - '0');
			buf_puts(out, box ? box->id : "");
		} else {
			box = stage_get_sandbox_data((unsigned)(unsigned char)*at - '0');
			if (box)
				buf_printf(out, "E2b-Sandbox-Id: %s\r\nX-Access-Token: %s", box->id,
					   box->envd_token);
		}
	}
}

static void client_add_chunk(struct buf *out, const struct script_segment *segment)
{
	const size_t len = segment->len;

	if (segment->op == 'V') {
		buf_puts(out, "0\r\n\r\n");
		return;
	}
	buf_printf(out, "%zx\r\n", len + (segment->op == 'v' ? CONNECT_ENVELOPE_BYTES : 0));
	if (segment->op == 'v')
		buf_add(out,
			(const char[]){0, (char)(unsigned char)(len >> 24), (char)(unsigned char)(len >> 16),
				       (char)(unsigned char)(len >> 8), (char)(unsigned char)len},
			CONNECT_ENVELOPE_BYTES);
	buf_add(out, segment->data, len);
	buf_puts(out, "\r\n");
}

static void client_play(const struct script_segment *segment)
{
	struct client *client = &served.client[segment->which % CLIENTS];
	struct buf out = {0};

	if (segment->op == 'c')
		client_connect(client);
	if (client->fd < 0)
		return;
	if (segment->op == 'c')
		client_add_text(&out, segment);
	else if (segment->op == 'B')
		buf_add(&out, segment->data, segment->len);
	else if (strchr("bvV", segment->op))
		client_add_chunk(&out, segment);
	else if (segment->op == 'h')
		(void)shutdown(client->fd, SHUT_WR);
	else if (segment->op == 'k')
		close_fd(&client->fd);
	else
		client->is_slow = segment->op == 'w';
	if (out.len > 0)
		client_send(client, out.data, out.len);
	buf_release(&out);
}

static void clients_read(void)
{
	static char bytes[65536];

	for (size_t i = 0; i < CLIENTS; i++)
		while (served.client[i].fd >= 0 && !served.client[i].is_slow &&
		       recv(served.client[i].fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
			stage_turn();
}

/* ---- the server ---- */

static const char *get_source(void)
{
	const char *top = getenv("top_srcdir");

	return top ? top : ".";
}

static struct e2b *server_create(struct loop *loop)
{
	static char templates[4096], runners[4096];
	json_t *limits = json_pack("{s:i, s:[{s:s, s:b}]}", "sandboxes", SANDBOXES, "keys", "key", KEY, "operator", 1);
	struct e2b_options options = {.listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
				      .callgate_path = "/nonexistent/callgate",
				      .builtin_templates_dir = templates,
				      .limits = limits};
	struct e2b *e2b = NULL;
	char *why = NULL;

	(void)snprintf(templates, sizeof(templates), "%s/agents/templates", get_source());
	(void)snprintf(runners, sizeof(runners), "%s/agents/runner", get_source());
	(void)setenv("CALLGATE_RUNNERS", runners, 1);
	served.address = (struct sockaddr_un){.sun_family = AF_UNIX};
	served.address_len = sizeof(sa_family_t); /* the kernel chooses an abstract name */
	promise(bind(options.listen_fd, (struct sockaddr *)&served.address, served.address_len) == 0);
	served.address_len = sizeof(served.address);
	promise(getsockname(options.listen_fd, (struct sockaddr *)&served.address, &served.address_len) == 0);
	promise(listen(options.listen_fd, CLIENTS) == 0);
	promise(e2b_create(loop, &options, &e2b, &why) == 0);
	json_decref(limits);
	return e2b;
}

static void server_run(struct e2b *e2b, const char *at, const char *end)
{
	struct script_segment segment;

	for (int i = 0; i < SEGMENTS_MAX && script_next_segment(&at, end, &segment); i++) {
		if (!stage_play(&segment) && strchr("cbBvVwWhk", segment.op))
			client_play(&segment);
		stage_turn();
		clients_read();
	}
	e2b_free(e2b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *nothing;
	FILE *const errors = stderr;
	struct loop *loop = NULL;

	if (!nothing)
		nothing = fopen("/dev/null", "we");
	promise(nothing && loop_create(&loop) == 0);
	for (size_t i = 0; i < CLIENTS; i++)
		served.client[i] = (struct client){.fd = -1};
	stage_begin(loop);
	stderr = nothing; /* the server's log */
	server_run(server_create(loop), (const char *)data, (const char *)data + size);
	stderr = errors;
	stage_end();
	for (size_t i = 0; i < CLIENTS; i++)
		cleanup_close(&served.client[i].fd);
	loop_free(loop);
	return 0;
}
