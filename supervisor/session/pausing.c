/* Stops all programs of a session for a client, and lets them go on. */
#include <errno.h>

#include "base/io.h"
#include "base/procstat.h"
#include "supervisor/closing/pause.h"
#include "supervisor/session/private.h"

#define PAUSE_RETRY_INTERVAL_NS UINT64_C(10000000)     /* how often a pause is tried until all threads can be stopped */
#define PAUSE_STOP_ALL_TIMEOUT_NS UINT64_C(1000000000) /* after this time the client is told that the pause failed */

/* Tells a client whether the programs are stopped. why: NULL, or why not. */
static void pausing_send_result(const struct session *session, struct client *client, const char *why)
{
	clients_send(client, json_pack("{s:s, s:b, s:s*}", "session", session->options->run_id, "paused",
				       pause_is_active(session->pause), "why", why));
}

bool pausing_is_requested(const struct session *session)
{
	return session->pausing_client || pause_is_active(session->pause);
}

/*
 * A program that is being started is a further process in a moment, which nothing would stop. Until its exec, a process
 * is undumpable, so that it may be missing in /proc.
 */
static bool pausing_awaits_program_start(const struct session *session)
{
	struct procstat stat;

	for (unsigned i = 0; i < SPAWNER_PROGRAMS_MAX; i++) {
		const struct program *program = session->program[i];

		if (program && (program->state == PROGRAM_STARTING ||
				(program->state == PROGRAM_RUNNING && procstat_read(program->pid, &stat) < 0)))
			return true;
	}
	return false;
}

uint64_t pausing_try_to_stop_programs(struct session *session, uint64_t now_ns)
{
	struct client *client = session->pausing_client;
	int r;

	if (!client)
		return UINT64_MAX;
	r = pausing_awaits_program_start(session) ? -EAGAIN : pause_stop_threads(session->pause);
	/* Also after -EBUSY: until its exec, a new program is undumpable, and cannot be traced. */
	if (r < 0 && now_ns < session->pausing_deadline_ns)
		return now_ns + PAUSE_RETRY_INTERVAL_NS;
	session->pausing_client = NULL;
	session->paused_since_ns = io_read_clock_ns();
	pausing_send_result(session, client,
			    r == 0 ? NULL : "a program traces another one, or does not stop where the kernel runs it");
	return UINT64_MAX;
}

/* The time limits of the programs do not count the time of the pause. */
static void pausing_resume_programs(struct session *session)
{
	const uint64_t paused_ns = io_read_clock_ns() - session->paused_since_ns;

	if (!pause_is_active(session->pause))
		return;
	for (unsigned i = 0; i < SPAWNER_PROGRAMS_MAX; i++) {
		struct program *program = session->program[i];

		if (program && program->deadline_ns > 0 && program->deadline_ns < UINT64_MAX - paused_ns)
			program->deadline_ns += paused_ns;
	}
	pause_resume_threads(session->pause);
}

void pausing_request(struct session *session, struct client *client, bool wants_pause)
{
	if (session->pausing_client) {
		pausing_send_result(session, client, "another client has asked for it");
		return;
	}
	if (wants_pause) {
		session->pausing_client = client;
		session->pausing_deadline_ns = io_read_clock_ns() + PAUSE_STOP_ALL_TIMEOUT_NS;
		(void)pausing_try_to_stop_programs(session, io_read_clock_ns());
		return;
	}
	pausing_resume_programs(session);
	pausing_send_result(session, client, NULL);
}

void pausing_forget_client(struct session *session, const struct client *client)
{
	if (session->pausing_client == client)
		session->pausing_client = NULL;
}
