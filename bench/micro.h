/* The operations that bench-micro times. */
#ifndef CALLGATE_BENCH_MICRO_H
#define CALLGATE_BENCH_MICRO_H

struct micro_operation {
	const char *name;
	int (*begin)(const char *path); /* what once needs and what is not timed; NULL: nothing */
	int (*once)(const char *path);  /* < 0: failed, errno says why */
	void (*end)(const char *path);  /* removes what begin and once left; NULL: nothing */
};

/* NULL: there is no such operation. */
const struct micro_operation *micro_find(const char *name);

/* Their names, a line each, on standard error. */
void micro_list(void);

#endif
