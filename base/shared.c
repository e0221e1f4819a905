/* Of the program that is linked with shared libraries; base/static.c is the other one's. */
#include "base/shared.h"

#include "base/banned.h"

void shared_program_arguments(int argc, char **argv)
{
	(void)argc;
	(void)argv;
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
