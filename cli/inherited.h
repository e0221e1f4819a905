/* The descriptors callgate was started with, beyond 0-2: nobody's business once the command line has been acted on. */
#ifndef CALLGATE_CLI_INHERITED_H
#define CALLGATE_CLI_INHERITED_H

#include <stdbool.h>
#include <stddef.h>

struct cli_inherited {
	int *fd; /* owned */
	size_t count;
};

/*
 * Lists what is open now. To be called before anything of ours is opened. 0, -ENOMEM; without /proc: nothing is found.
 */
int cli_inherited_list(struct cli_inherited *ret_inherited);

/* Closes them, but those that keep wants. */
void cli_inherited_close(const struct cli_inherited *inherited, bool (*keep)(const void *ctx, int fd), const void *ctx);

void cli_inherited_done(struct cli_inherited *inherited);

#endif
