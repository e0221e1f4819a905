#include "supervisor/session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/times.h"
#include "supervisor/session/private.h"
#include "syscalls/account/result/denials.h"

#define SESSION_EPOLL_EVENTS_PER_TURN_MAX 32
#define SESSION_EPOLL_WAIT_MAX_MS 3600000 /* one hour: a later deadline is waited for again */

int session_create(const struct session_options *options, struct launch_options *launch, struct session **ret_session)
{
	struct session *session = calloc(1, sizeof(*session));
	void *page;

	if (!session)
		return -ENOMEM;
	*ret_session = session;
	session->options = options;
	session->epoll_fd = session->spawner_fd[0] = session->spawner_fd[1] = -1;
	page = mmap(NULL, sizeof(*session->spawner_page), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (page == MAP_FAILED)
		return -errno;
	session->spawner_page = page;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, session->spawner_fd) < 0)
		return -errno;
	session->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	/* Sets O_NONBLOCK on the supervisor's end only: each end of a socket pair has a file description of its own. */
	if (session->epoll_fd < 0 || fcntl(session->spawner_fd[0], F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	launch->spawner.page = session->spawner_page;
	launch->spawner.socket_fd = session->spawner_fd[1];
	return 0;
}

static void session_free_client(struct session *session, struct client **at)
{
	struct client *client = *at;

	*at = client->next;
	cleanup_close(&client->fd);
	json_decref(client->look);
	if (session->looking_client == client)
		session->looking_client = NULL;
	free(client);
	session->client_count--;
}

void session_free(struct session *session)
{
	if (!session)
		return;
	while (session->client)
		session_free_client(session, &session->client);
	for (unsigned i = 0; i < SPAWNER_PROGRAMS_MAX; i++)
		if (session->program[i])
			program_free(session, session->program[i]);
	cleanup_close(&session->spawner_fd[0]);
	cleanup_close(&session->spawner_fd[1]);
	cleanup_close(&session->epoll_fd);
	if (session->spawner_page)
		(void)munmap(session->spawner_page, sizeof(*session->spawner_page));
	free(session);
}

/* The denials of the program with this number, or NULL. */
static struct denials *session_find_denials(void *ctx, unsigned number)
{
	const struct program *program = programs_find(ctx, number);

	return program ? program->denials : NULL;
}

static int session_watch_fd(const struct session *session, int fd, void *mark)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = mark};

	return epoll_ctl(session->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int session_begin(struct session *session, struct sandbox *sandbox, struct pause *pause, struct copies *copies,
		  pid_t spawner)
{
	int r;

	close_fd(&session->spawner_fd[1]);
	session->sandbox = sandbox;
	session->pause = pause;
	session->copies = copies;
	session->idle_since_ns = io_read_clock_ns();
	denials_set_program_lookup(sandbox->denials, session_find_denials, session);
	r = programs_hide_process_from_run(session, spawner);
	if (r == 0)
		r = session_watch_fd(session, session->spawner_fd[0], &session->spawner_mark);
	if (r == 0 && session->options->holding_client_fd >= 0)
		r = clients_add(session, session->options->holding_client_fd);
	return r == 0 ? session_watch_fd(session, session->options->listen_fd, &session->listen_mark) : r;
}

int session_get_epoll_fd(const struct session *session)
{
	return session->epoll_fd;
}

void session_handle_ready_fds(struct session *session)
{
	struct epoll_event event[SESSION_EPOLL_EVENTS_PER_TURN_MAX];
	int count = epoll_wait(session->epoll_fd, event, SESSION_EPOLL_EVENTS_PER_TURN_MAX, 0);

	for (int i = 0; i < count; i++) {
		struct client *client = event[i].data.ptr;

		if (event[i].data.ptr == &session->spawner_mark)
			programs_read_spawner(session);
		else if (event[i].data.ptr == &session->listen_mark)
			clients_accept(session);
		else if (client->fd >= 0)
			requests_read_from_client(session, client);
	}
}

/* Frees the clients that were dropped, and ends their programs. */
static void session_free_dropped_clients(struct session *session)
{
	struct client **at = &session->client;

	while (*at) {
		struct program *program = (*at)->program;

		if ((*at)->fd >= 0) {
			at = &(*at)->next;
			continue;
		}
		pausing_forget_client(session, *at);
		if (program) {
			program->client = NULL;
			if (!program->is_detached)
				programs_end(program);
		}
		if ((*at)->holds_session) {
			session->holding_client_count--;
			programs_end_all(session);
		}
		session_free_client(session, at);
	}
}

/*
 * Ends the program if its deadline is over, and kills its descendants while it is ending. Returns the time when this is
 * to be repeated.
 */
static uint64_t session_handle_program_deadlines(const struct session *session, struct program *program,
						 uint64_t now_ns)
{
	/* A pause suspends the program's deadline, but not the end that was asked for (programs_end() sets it to 0). */
	const bool is_paused = pause_is_active(session->pause) && program->deadline_ns > 0;

	if (program->state == PROGRAM_RUNNING && now_ns >= program->deadline_ns && !is_paused) {
		program->has_timed_out = program->deadline_ns > 0 && program->client;
		programs_end(program);
	} else if (program->state == PROGRAM_ENDING && now_ns >= program->next_kill_ns) {
		programs_end(program);
	}
	return program->state == PROGRAM_ENDING    ? program->next_kill_ns
	       : program->state == PROGRAM_RUNNING && !is_paused ? program->deadline_ns
						   : UINT64_MAX;
}

int session_handle_deadlines(struct session *session, uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX, due_ns, wait_ms;

	session_free_dropped_clients(session);
	next_ns = pausing_try_to_stop_programs(session, now_ns);
	for (unsigned i = 0; session->running_program_count > 0 && i < SPAWNER_PROGRAMS_MAX; i++) {
		due_ns =
			session->program[i] ? session_handle_program_deadlines(session, session->program[i], now_ns)
					    : UINT64_MAX;
		next_ns = due_ns < next_ns ? due_ns : next_ns;
	}
	if (session->options->idle_limit_ns && session->idle_since_ns != UINT64_MAX &&
	    session->holding_client_count == 0) {
		due_ns = session->idle_since_ns + session->options->idle_limit_ns;
		session->is_ending = session->is_ending || now_ns >= due_ns;
		next_ns = due_ns < next_ns ? due_ns : next_ns;
	}
	/*
	 * The spawner exits when its socket is closed. Its exit ends the session, as a program's exit ends another run.
	 */
	if (session->is_ending && session->running_program_count == 0)
		close_fd(&session->spawner_fd[0]);
	if (session->spawner_fd[0] < 0 || next_ns == UINT64_MAX)
		return -1;
	wait_ms = next_ns <= now_ns ? 0 : (next_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS;
	return wait_ms < SESSION_EPOLL_WAIT_MAX_MS ? (int)wait_ms : SESSION_EPOLL_WAIT_MAX_MS;
}

void session_end_programs(struct session *session)
{
	session->is_ending = true;
	for (struct client *client = session->client; client; client = client->next)
		if (client->program)
			clients_send_error(client, "session_ended", "the session has ended, and with it the program");
}
