#include "workspace/executed/git-config.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

/* Copies a name in lower case: letters, digits and "-". */
static void git_config_read_name(const char **text, char *name, size_t size)
{
	size_t len = 0;

	for (; isalnum((unsigned char)**text) || **text == '-'; (*text)++)
		if (len + 1 < size)
			name[len++] = (char)tolower((unsigned char)**text);
	name[len] = '\0';
}

/* Reads what follows "[", up to the end of the header. A subsection in quotes may have any character. */
static void git_config_read_header(const char **text, struct git_config_variable *variable)
{
	bool is_quoted = false;

	git_config_read_name(text, variable->section, sizeof(variable->section));
	for (; **text && **text != '\n' && (is_quoted || **text != ']'); (*text)++) {
		if (**text == '"')
			is_quoted = !is_quoted;
		else if (**text == '\\' && (*text)[1])
			(*text)++;
	}
	if (**text == ']')
		(*text)++;
}

/* What an escape in a value stands for. */
static char git_config_unescape(char c)
{
	return (char)(c == 'n' ? '\n' : c == 't' ? '\t' : c == 'b' ? '\b' : c);
}

/* Reads what follows "=", up to the end of the line, as parse_value() of git's config.c. */
static void git_config_read_value(const char **text, char value[PATH_MAX])
{
	size_t len = 0, end = 0; /* end: without the blanks at the end */
	bool is_quoted = false;
	char c;

	*text += strspn(*text, " \t");
	while ((c = **text) != '\0' && c != '\n' && (is_quoted || (c != '#' && c != ';'))) {
		(*text)++;
		if (c == '"') {
			is_quoted = !is_quoted;
			continue;
		}
		if (c == '\\') {
			*text += **text == '\r' && (*text)[1] == '\n';
			c = **text;
			*text += c != '\0';
			if (c == '\n' || c == '\0')
				continue; /* the value goes on in the next line */
			c = git_config_unescape(c);
			end = len + 1;
		}
		if (len + 1 < PATH_MAX)
			value[len++] = c;
		if (is_quoted || !isspace((unsigned char)c))
			end = len;
	}
	value[end < len ? end : len] = '\0';
}

bool git_config_read(const char **text, struct git_config_variable *variable)
{
	if (strncmp(*text, "\xef\xbb\xbf", 3) == 0)
		*text += 3;
	while (**text) {
		const char c = **text;

		if (isspace((unsigned char)c)) {
			(*text)++;
		} else if (c == '[') {
			(*text)++;
			git_config_read_header(text, variable);
		} else if (isalpha((unsigned char)c)) {
			git_config_read_name(text, variable->key, sizeof(variable->key));
			*text += strspn(*text, " \t");
			if (**text == '=') {
				(*text)++;
				git_config_read_value(text, variable->value);
				return true;
			}
		} else {
			*text += strcspn(*text, "\n");
		}
	}
	return false;
}
