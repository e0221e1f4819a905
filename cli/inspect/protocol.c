#include "cli/inspect/protocol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

/* lines of one parser */
#define PROTOCOL_FINDINGS_MAX (INSPECT_OF_A_KIND_MAX * (INSPECT_KIND_MAX + 1) + INSPECT_IMPORTS_OF_FILE_MAX)

#define PROTOCOL_COMMAND_BYTES_MAX 32768u /* of a line with a command */

/* A line of a parser. */
struct protocol_line {
	bool is_end;
	bool is_command;  /* what a shell script runs */
	bool is_standard; /* an import of the language's own library */
	bool is_assignment; /* to an environment variable */
	bool is_local_import; /* of what may be a file of the program */
	bool is_unlisted;   /* findings of `kind` that were left out */
	uint32_t number;    /* of the line in the file; with is_end and is_unlisted: how many findings there were */
	enum inspect_kind kind;
	const char *what; /* not NUL-terminated */
	size_t what_len;
};

/* Reads decimal digits up to the end of the text or a blank. True: *ret_len is how many there are. */
static bool protocol_read_number(const char *text, size_t len, uint32_t *ret_number, size_t *ret_len)
{
	uint32_t number = 0;
	size_t at = 0;

	for (; at < len && text[at] >= '0' && text[at] <= '9'; at++)
		if (__builtin_mul_overflow(number, 10u, &number) ||
		    __builtin_add_overflow(number, (uint32_t)(text[at] - '0'), &number))
			return false;
	if (at == 0)
		return false;
	*ret_number = number;
	*ret_len = at;
	return true;
}

/* True for UTF-8 without control characters. Invisible characters are escaped when they are printed. */
static bool protocol_is_printable(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return false;
	return text_is_utf8(text, len);
}

static bool protocol_is_word(const char *word, const char *text, size_t len)
{
	return len == strlen(word) && memcmp(text, word, len) == 0;
}

/* Reads one line, without its newline. */
static bool protocol_read_line(const char *text, size_t len, struct protocol_line *ret_line)
{
	static const char end[] = "end ";
	const char *kind, *blank;
	size_t used, kind_len;

	*ret_line = (struct protocol_line){0};
	if (len > strlen(end) && memcmp(text, end, strlen(end)) == 0) {
		ret_line->is_end = true;
		return protocol_read_number(text + strlen(end), len - strlen(end), &ret_line->number, &used) &&
		       used == len - strlen(end);
	}
	if (!protocol_read_number(text, len, &ret_line->number, &used) || used >= len || text[used] != ' ')
		return false;
	kind = text + used + 1;
	blank = memchr(kind, ' ', len - used - 1);
	if (!blank)
		return false;
	kind_len = (size_t)(blank - kind);
	ret_line->what = blank + 1;
	ret_line->what_len = len - (size_t)(ret_line->what - text);
	ret_line->is_standard = protocol_is_word("standard", kind, kind_len);
	ret_line->is_command = protocol_is_word("command", kind, kind_len);
	ret_line->is_assignment = protocol_is_word("assignment", kind, kind_len);
	ret_line->is_local_import = protocol_is_word("local-import", kind, kind_len);
	ret_line->is_unlisted = protocol_is_word("unlisted", kind, kind_len);
	if (ret_line->is_unlisted)
		return inspect_kind_find(ret_line->what, ret_line->what_len, &ret_line->kind);
	return ret_line->what_len > 0 &&
	       ret_line->what_len <= (ret_line->is_command ? PROTOCOL_COMMAND_BYTES_MAX : INSPECT_WHAT_BYTES_MAX * 2) &&
	       protocol_is_printable(ret_line->what, ret_line->what_len) &&
	       (ret_line->is_standard || ret_line->is_command || ret_line->is_assignment || ret_line->is_local_import ||
		inspect_kind_find(kind, kind_len, &ret_line->kind));
}

static int protocol_take_line(const struct protocol_line *line, const struct cli_list *allowed,
			      struct inspect_findings *findings)
{
	enum inspect_kind kind = line->is_standard ? INSPECT_IMPORT : line->kind;
	_cleanup_free_ char *what = strndup(line->what, line->what_len);
	int r;

	if (line->is_unlisted) {
		inspect_findings_add_unlisted(findings, kind, line->number);
		return 0;
	}
	if (line->is_command)
		return cli_list_add_owned(&findings->commands, steal_pointer(&what));
	if (line->is_local_import)
		return cli_list_add_owned(&findings->imports, steal_pointer(&what));
	if (what && line->is_assignment)
		return inspect_findings_add_assignment(findings, line->number, what, true);
	r = what ? inspect_findings_add(findings, kind, line->number, what) : -ENOMEM;
	if (r == 0 && kind == INSPECT_IMPORT && allowed && !inspect_module_is_allowed(allowed, what, line->is_standard))
		r = inspect_findings_add(findings, INSPECT_MODULE, line->number, what);
	return r;
}

int inspect_take_output(const char *output, size_t len, uint32_t lines, const struct cli_list *allowed,
			struct inspect_findings *findings)
{
	uint32_t count = 0;
	size_t at = 0;

	while (at < len) {
		const char *end = memchr(output + at, '\n', len - at);
		struct protocol_line line;
		int r;

		if (!end || !protocol_read_line(output + at, (size_t)(end - output) - at, &line))
			return -EBADMSG;
		at = (size_t)(end - output) + 1;
		if (line.is_end)
			return line.number == count && at == len ? 0 : -EBADMSG;
		if ((line.number > lines && !line.is_unlisted) || ++count > PROTOCOL_FINDINGS_MAX)
			return -EBADMSG;
		r = protocol_take_line(&line, allowed, findings);
		if (r < 0)
			return r;
	}
	return -EBADMSG;
}
