#include "cli/libraries/metadata.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define METADATA_MARKER_BYTES_MAX 512u
#define METADATA_PARENTHESES_MAX 16u /* in each other, around a part of a marker */

/* A part of a text. */
struct metadata_word {
	const char *at;
	size_t len;
};

static struct metadata_word metadata_trim(const char *at, size_t len)
{
	while (len > 0 && isspace((unsigned char)*at)) {
		at++;
		len--;
	}
	while (len > 0 && isspace((unsigned char)at[len - 1]))
		len--;
	return (struct metadata_word){at, len};
}

/* Takes the next line off a text. False: there is none. */
static bool metadata_take_line(const char **text, struct metadata_word *ret_line)
{
	const size_t len = strcspn(*text, "\n");

	if (!**text)
		return false;
	*ret_line = (struct metadata_word){*text, len && (*text)[len - 1] == '\r' ? len - 1 : len};
	*text += len + ((*text)[len] == '\n');
	return true;
}

char *metadata_normalise_name(struct arena *arena, const char *name, size_t len)
{
	char *key = arena_dupn(arena, name, len);
	size_t out = 0;

	for (size_t i = 0; i < len; i++) {
		const bool dash = strchr("-_.", name[i]);

		if (!dash || out == 0 || key[out - 1] != '-')
			key[out++] = dash ? '-' : (char)tolower((unsigned char)name[i]);
	}
	key[out] = '\0';
	return key;
}

/* ---- markers ---- */

/* Compares versions by their first two numbers: below 0, 0, above 0. */
static int metadata_compare_versions(const char *a, const char *b)
{
	char *next_a, *next_b;
	const unsigned long major_a = strtoul(a, &next_a, 10), major_b = strtoul(b, &next_b, 10);
	unsigned long minor_a, minor_b;

	if (major_a != major_b)
		return major_a < major_b ? -1 : 1;
	minor_a = *next_a == '.' ? strtoul(next_a + 1, NULL, 10) : 0;
	minor_b = *next_b == '.' ? strtoul(next_b + 1, NULL, 10) : 0;
	return (minor_a > minor_b) - (minor_a < minor_b);
}

/* Whether a comparison such as `python_version < "3.8"`, as its three parts, is plainly false. */
static bool metadata_comparison_is_false(const char *variable, const char *operator, const char * value,
					 const char *python)
{
	static const char *const system[][2] = {
		{"sys_platform", "linux"}, {"platform_system", "Linux"}, {"os_name", "posix"}};
	int order;

	if (strcmp(variable, "extra") == 0)
		return true;
	for (size_t i = 0; i < sizeof(system) / sizeof(system[0]); i++)
		if (strcmp(variable, system[i][0]) == 0)
			return strcmp(operator, "==") == 0   ? strcmp(value, system[i][1]) != 0
			       : strcmp(operator, "!=") == 0 ? strcmp(value, system[i][1]) == 0
							     : false;
	if (strcmp(variable, "python_version") != 0 || !python)
		return false;
	order = metadata_compare_versions(python, value);
	return strcmp(operator, "<") == 0    ? order >= 0
	       : strcmp(operator, "<=") == 0 ? order > 0
	       : strcmp(operator, ">") == 0  ? order <= 0
	       : strcmp(operator, ">=") == 0 ? order < 0
					     : false;
}

/* Whether one comparison is plainly false. What cannot be read as one is not. */
static bool metadata_clause_is_false(struct metadata_word clause, const char *python)
{
	char text[256], variable[32], operator[3], value[64];

	if (clause.len >= sizeof(text))
		return false;
	(void)snprintf(text, sizeof(text), "%.*s", (int)clause.len, clause.at);
	return sscanf(text, " %31[a-z_] %2[=!<>] %*1[\"']%63[^\"']", variable, operator, value) == 3 &&
	       metadata_comparison_is_false(variable, operator, value, python);
}

/* The length of the text up to the first of these words outside of parentheses and quotes, or of all of it. */
static size_t metadata_find_word(struct metadata_word text, const char *word)
{
	const size_t len = strlen(word);
	unsigned open = 0;
	char quote = '\0';

	for (size_t i = 0; i < text.len; i++) {
		const char c = text.at[i];

		if (quote)
			quote = c == quote ? '\0' : quote;
		else if (c == '"' || c == '\'')
			quote = c;
		else if (c == '(')
			open++;
		else if (c == ')' && open > 0)
			open--;
		else if (open == 0 && text.len - i >= len && memcmp(text.at + i, word, len) == 0)
			return i;
	}
	return text.len;
}

/* Whether a marker is false: of "or" all, of "and" one of its parts. depth: parentheses around it. */
static bool metadata_word_is_false(struct metadata_word text, const char *python, unsigned depth)
{
	static const char *const words[] = {" or ", " and "};

	text = metadata_trim(text.at, text.len);
	for (size_t i = 0; i < 2; i++) {
		const size_t len = metadata_find_word(text, words[i]), next = len + strlen(words[i]);

		if (len == text.len)
			continue;
		if (metadata_word_is_false((struct metadata_word){text.at, len}, python, depth) != (i == 0))
			return i == 1;
		return metadata_word_is_false((struct metadata_word){text.at + next, text.len - next}, python, depth);
	}
	if (text.len > 1 && text.at[0] == '(' && text.at[text.len - 1] == ')' && depth < METADATA_PARENTHESES_MAX)
		return metadata_word_is_false((struct metadata_word){text.at + 1, text.len - 2}, python, depth + 1);
	return metadata_clause_is_false(text, python);
}

bool metadata_marker_is_false(const char *marker, size_t len, const char *python)
{
	return len < METADATA_MARKER_BYTES_MAX &&
	       metadata_word_is_false((struct metadata_word){marker, len}, python, 0);
}

/* ---- what a package needs ---- */

/* Adds a requirement such as `urllib3[socks] (>=1.21) ; python_version < "3.8"`, unless its marker is false. */
static void metadata_add_requirement(struct packages *packages, struct package *package, struct metadata_word text,
				     const char *python)
{
	const char *semicolon = memchr(text.at, ';', text.len);
	size_t len = 0;

	while (len < text.len && (isalnum((unsigned char)text.at[len]) || strchr("-_.", text.at[len])))
		len++;
	if (len == 0 || (semicolon &&
			 metadata_marker_is_false(semicolon + 1, (size_t)(text.at + text.len - semicolon) - 1, python)))
		return;
	package_add_need(packages, package, metadata_normalise_name(packages->arena, text.at, len));
}

void metadata_read_headers(struct packages *packages, struct package *package, const char *text, const char *python)
{
	struct metadata_word line;

	while (metadata_take_line(&text, &line) && line.len > 0) { /* the description follows after an empty line */
		const char *colon = memchr(line.at, ':', line.len);
		const size_t name = colon ? (size_t)(colon - line.at) : 0;
		struct metadata_word value;

		if (!colon)
			continue;
		value = metadata_trim(colon + 1, line.len - name - 1);
		if (name == 4 && strncasecmp(line.at, "Name", name) == 0 && !package->name)
			package->name = arena_dupn(packages->arena, value.at, value.len);
		else if (name == 7 && strncasecmp(line.at, "Version", name) == 0 && !package->version)
			package->version = arena_dupn(packages->arena, value.at, value.len);
		else if (name == 13 && strncasecmp(line.at, "Requires-Dist", name) == 0)
			metadata_add_requirement(packages, package, value, python);
	}
}

/* Whether what follows a line such as "[:python_version < "3"]" in requires.txt is needed. */
static bool metadata_section_counts(struct metadata_word line, const char *python)
{
	const char *colon = memchr(line.at, ':', line.len);

	/* "[test]" and "[test:marker]" are extras */
	return colon == line.at + 1 && !metadata_marker_is_false(colon + 1, line.len - 3, python);
}

void metadata_read_requires(struct packages *packages, struct package *package, const char *text, const char *python)
{
	struct metadata_word line;
	bool counts = true;

	while (metadata_take_line(&text, &line)) {
		line = metadata_trim(line.at, line.len);
		if (line.len > 2 && line.at[0] == '[')
			counts = metadata_section_counts(line, python);
		else if (counts)
			metadata_add_requirement(packages, package, line, python);
	}
}

/* ---- the files of a package ---- */

/* Unquotes a field of CSV, in place. Its length. */
static size_t metadata_unquote(char *text, size_t len)
{
	size_t out = 0;

	for (size_t i = 1; i < len; i++) {
		if (text[i] == '"' && (i + 1 == len || text[i + 1] != '"'))
			break;
		i += text[i] == '"';
		text[out++] = text[i];
	}
	return out;
}

void metadata_read_record(struct packages *packages, struct package *package, const char *text)
{
	struct metadata_word line;
	char path[4096];

	while (metadata_take_line(&text, &line)) {
		const char *comma = line.len > 0 && *line.at != '"' ? memchr(line.at, ',', line.len) : NULL;
		size_t len = comma ? (size_t)(comma - line.at) : line.len;

		if (len == 0 || len >= sizeof(path))
			continue;
		memcpy(path, line.at, len);
		if (*path == '"')
			len = metadata_unquote(path, len);
		package_add_file(packages, package, path, len);
	}
}

void metadata_read_installed_files(struct packages *packages, struct package *package, const char *text)
{
	struct metadata_word line;

	while (metadata_take_line(&text, &line))
		if (line.len > 3 && memcmp(line.at, "../", 3) == 0)
			package_add_file(packages, package, line.at + 3, line.len - 3);
}

void metadata_read_top_level(struct packages *packages, struct package *package, const char *text)
{
	struct metadata_word line;

	while (metadata_take_line(&text, &line)) {
		line = metadata_trim(line.at, line.len);
		package_add_file(packages, package, line.at, line.len);
	}
}
