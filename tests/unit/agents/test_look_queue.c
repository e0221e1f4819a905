/* The queue of looks: turns of owners and sandboxes, maxima, and that nothing is left of those that end. */
#include <check.h>
#include <errno.h>

#include "agents/sandbox/look-queue.h"
#include "tests/unit/unit.h"

#define TURNS 3000

static struct look_queue queue;
static struct look_turn turns[TURNS];
static size_t turn_count;
static const char owner[8], box[32];

static int add(int of_owner, int of_box, bool is_again)
{
	ck_assert_uint_lt(turn_count, TURNS);
	return look_queue_add(&queue, &owner[of_owner], &box[of_box], is_again, &turns[turn_count++]);
}

static unsigned add_as_many_as_possible(int of_owner, int of_box, bool is_again)
{
	unsigned added = 0;
	int r;

	while ((r = add(of_owner, of_box, is_again)) == 0)
		added++;
	ck_assert_int_eq(r, -EUSERS);
	return added;
}

static void end(void)
{
	for (size_t i = 0; i < turn_count; i++)
		look_queue_remove(&queue, &turns[i]);
	ck_assert_ptr_null(queue.owners);
	ck_assert_uint_eq(queue.running_count, 0);
	memset(turns, 0, sizeof(turns));
	turn_count = 0;
}

START_TEST(looks_of_a_sandbox_run_in_their_order)
{
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(add(0, 0, false), 0);
	for (int i = 0; i < 4; i++)
		ck_assert_ptr_eq(look_queue_take(&queue), &turns[i]);
	ck_assert_ptr_null(look_queue_take(&queue));
	ck_assert_uint_eq(queue.running_count, 4);
}
END_TEST

START_TEST(who_asks_for_many_leaves_room_for_others)
{
	unsigned taken = 0;

	ck_assert_uint_eq(add_as_many_as_possible(0, 0, false), LOOK_QUEUE_OF_SANDBOX_MAX);
	while (look_queue_take(&queue))
		taken++;
	ck_assert_uint_eq(taken, LOOK_QUEUE_RUNNING_OF_SANDBOX_MAX);
	/* another sandbox of the owner */
	ck_assert_int_eq(add(0, 1, false), 0);
	ck_assert_ptr_eq(look_queue_take(&queue), &turns[turn_count - 1]);
	/* the owner, with all its sandboxes */
	for (int i = 2; i < 5; i++)
		(void)add_as_many_as_possible(0, i, false);
	ck_assert_uint_eq(add_as_many_as_possible(0, 5, false), 0); /* the owner's maximum */
	taken++;
	while (look_queue_take(&queue))
		taken++;
	ck_assert_uint_eq(taken, LOOK_QUEUE_RUNNING_OF_OWNER_MAX);
	/* another owner */
	ck_assert_int_eq(add(1, 6, false), 0);
	ck_assert_ptr_eq(look_queue_take(&queue), &turns[turn_count - 1]);
	/* at the end of a program, there is more room */
	ck_assert_uint_gt(add_as_many_as_possible(0, 0, true), LOOK_QUEUE_OF_SANDBOX_MAX);
}
END_TEST

START_TEST(the_next_is_of_the_owner_with_the_fewest)
{
	struct look_turn *first;

	for (int of_owner = 0; of_owner < 2; of_owner++)
		(void)add_as_many_as_possible(of_owner, of_owner, false);
	first = look_queue_take(&queue);
	while (look_queue_take(&queue))
		;
	ck_assert_uint_eq(queue.running_count, LOOK_QUEUE_RUNNING_MAX);
	ck_assert_int_eq(add(2, 2, false), 0);
	ck_assert_ptr_null(look_queue_take(&queue));
	look_queue_remove(&queue, first); /* who came last is next: it has none */
	ck_assert_ptr_eq(look_queue_take(&queue), &turns[turn_count - 1]);
}
END_TEST

START_TEST(who_waits_can_leave)
{
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(add(0, 0, false), 0);
	look_queue_remove(&queue, &turns[1]);
	look_queue_remove(&queue, &turns[1]); /* not in the queue any more */
	ck_assert_ptr_eq(look_queue_take(&queue), &turns[0]);
	ck_assert_ptr_eq(look_queue_take(&queue), &turns[2]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("look_queue");
	TCase *all = tcase_create("all");

	tcase_add_checked_fixture(all, NULL, end);
	tcase_add_test(all, looks_of_a_sandbox_run_in_their_order);
	tcase_add_test(all, who_asks_for_many_leaves_room_for_others);
	tcase_add_test(all, the_next_is_of_the_owner_with_the_fewest);
	tcase_add_test(all, who_waits_can_leave);
	suite_add_tcase(suite, all);
	return unit_run(suite);
}
