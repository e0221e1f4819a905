#include "keeper/statusline.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/io.h"

#include "base/banned.h"

#define CLEAR_LINE "\r\033[K"

void statusline_init(struct statusline *line, int fd)
{
	*line = (struct statusline){.fd = fd, .start_ns = io_now_ns()};
	line->next_ns = line->start_ns + STATUSLINE_FIRST_NS;
}

void statusline_tick(struct statusline *line, const struct run_counters *counters, bool at_line_start)
{
	uint64_t now = io_now_ns();
	char text[128];
	int len;

	if (line->fd < 0 || now < line->next_ns)
		return;
	line->next_ns = now + STATUSLINE_EVERY_NS;
	if (!at_line_start)
		return;
	/* Short, so that it does not wrap and can be cleared. */
	len = snprintf(text, sizeof(text),
		       CLEAR_LINE "callgate: %" PRIu64 " s, %" PRIu64 " calls judged, %" PRIu64 " denied",
		       (now - line->start_ns) / 1000000000, counters->judged, counters->denied);
	line->shown = write(line->fd, text, (size_t)len) > 0;
}

void statusline_clear(struct statusline *line)
{
	if (line->shown)
		(void)!write(line->fd, CLEAR_LINE, sizeof(CLEAR_LINE) - 1); /* EIO: hung up */
	line->shown = false;
}
