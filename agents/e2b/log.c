/* The log of callgate serve: one JSON object a line, on stderr. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "agents/e2b/private.h"
#include "base/cleanup.h"

int64_t e2b_get_real_time_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void e2b_format_time(int64_t time_ms, char text[E2B_TIME_TEXT_SIZE])
{
	time_t seconds = (time_t)(time_ms / 1000);
	struct tm parts;
	size_t len;

	len = gmtime_r(&seconds, &parts) ? strftime(text, E2B_TIME_TEXT_SIZE, "%Y-%m-%dT%H:%M:%S", &parts) : 0;
	(void)snprintf(text + len, E2B_TIME_TEXT_SIZE - len, ".%03dZ", (int)(time_ms % 1000));
}

void log_event(const char *event, json_t *fields)
{
	_cleanup_json_ json_t *line = json_object();
	_cleanup_free_ char *text = NULL;
	char now[E2B_TIME_TEXT_SIZE];

	e2b_format_time(e2b_get_real_time_ms(), now);
	(void)json_object_set_new(line, "time", json_string(now));
	(void)json_object_set_new(line, "event", json_string(event));
	if (fields)
		(void)json_object_update(line, fields);
	json_decref(fields);
	text = json_dumps(line, JSON_COMPACT | JSON_ENSURE_ASCII);
	if (text)
		(void)fprintf(stderr, "%s\n", text);
}
