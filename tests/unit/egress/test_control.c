/* Which message each end of the line between supervisor and egress may get, in which phase: every combination. */
#include <check.h>
#include <string.h>

#include "egress/control.h"
#include "tests/unit/unit.h"

#define IN(phase) (1u << CONTROL_##phase)

/* Written a second time, by what control.h says of each. */
static const struct expected {
	enum control_type type;
	enum control_side receiver;
	unsigned phases;
	size_t fds;
} expected[] = {
	{CONTROL_PROGRAM_SOCKETS, CONTROL_EGRESS, IN(STARTING), 3},
	{CONTROL_CONNECT, CONTROL_EGRESS, IN(RUNNING), 0},
	{CONTROL_UDP_ENDPOINT, CONTROL_EGRESS, IN(RUNNING), 1},
	{CONTROL_CANCEL, CONTROL_EGRESS, IN(RUNNING), 0},
	{CONTROL_RECORD_ACK, CONTROL_EGRESS, IN(RUNNING) | IN(ENDING), 0},
	{CONTROL_END, CONTROL_EGRESS, IN(STARTING) | IN(RUNNING), 0},
	{CONTROL_READY, CONTROL_SUPERVISOR, IN(STARTING), 0},
	{CONTROL_NAME_APPROVED, CONTROL_SUPERVISOR, IN(RUNNING), 0},
	{CONTROL_CONNECTED, CONTROL_SUPERVISOR, IN(RUNNING), 0},
	{CONTROL_RECORD, CONTROL_SUPERVISOR, IN(RUNNING), 0},
	{CONTROL_QUESTION, CONTROL_SUPERVISOR, IN(RUNNING), 0},
	{CONTROL_REQUEST_DONE, CONTROL_SUPERVISOR, IN(RUNNING), 0},
};
_Static_assert(sizeof(expected) / sizeof(expected[0]) == CONTROL_TYPE_MAX, "each message once");

static enum control_phase phase_after(enum control_type type, enum control_phase before)
{
	if (type == CONTROL_PROGRAM_SOCKETS || type == CONTROL_READY)
		return CONTROL_RUNNING;
	return type == CONTROL_END ? CONTROL_ENDING : before;
}

static void check_one(const struct expected *row, enum control_side receiver, enum control_phase before, size_t fds)
{
	static struct control_message message;
	enum control_phase phase = before;
	bool legal = receiver == row->receiver && fds == row->fds && row->phases & 1u << before;

	message.version = CONTROL_VERSION;
	message.type = row->type;
	ck_assert_int_eq(control_admits_message(receiver, &phase, &message, fds), legal);
	ck_assert_int_eq(phase, legal ? phase_after(row->type, before) : before);
}

START_TEST(test_every_combination)
{
	for (size_t i = 0; i < CONTROL_TYPE_MAX; i++)
		for (int receiver = CONTROL_SUPERVISOR; receiver <= CONTROL_EGRESS; receiver++)
			for (int phase = 0; phase < CONTROL_PHASE_MAX; phase++)
				for (size_t fds = 0; fds <= CONTROL_FDS_MAX; fds++)
					check_one(&expected[i], (enum control_side)receiver, (enum control_phase)phase,
						  fds);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("control");
	TCase *tcase = tcase_create("control");

	tcase_add_test(tcase, test_every_combination);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
