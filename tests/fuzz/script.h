/* An input that is a script: segments "%" OP WHICH DATA, each on lines of its own. */
#ifndef CALLGATE_TESTS_FUZZ_SCRIPT_H
#define CALLGATE_TESTS_FUZZ_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct script_segment {
	char op;
	unsigned which;
	const char *data;
	size_t len;
};

/* False: there are no more segments. */
static inline bool script_next_segment(const char **at, const char *end, struct script_segment *ret_segment)
{
	const char *begin = *at, *stop;

	if (end - begin < 3 || begin[0] != '%')
		return false;
	stop = memmem(begin + 3, (size_t)(end - begin - 3), "\n%", 2);
	*ret_segment = (struct script_segment){.op = begin[1],
					       .which = (unsigned)(unsigned char)begin[2] - '0',
					       .data = begin + 3,
					       .len = (size_t)((stop ? stop : end) - begin - 3)};
	*at = stop ? stop + 1 : end;
	return true;
}

#endif
