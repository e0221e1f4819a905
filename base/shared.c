/* Of the program that is linked with shared libraries; base/static.c is the other one's. */
#include "base/shared.h"

#include <sys/prctl.h>

#include "base/banned.h"

/* Lists of processes call both the same, so that who looks for a callgate finds it. */
void shared_program_arguments(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	(void)prctl(PR_SET_NAME, "callgate"); /* cannot fail */
}

void shared_program_undo(void (*undo)(void *ctx), void *ctx)
{
	(void)undo;
	(void)ctx;
}

void shared_program_settled(void)
{
}

int shared_program(const char **ret_why)
{
	(void)ret_why;
	return 0;
}
