/* Parses the options of a verb by its tables, and prints --help from the same tables. */
#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/options.h"

#define PARSED_OPTIONS_MAX 64      /* most options of one verb, of all its tables */
#define LONG_OPTION_CODE_FIRST 256 /* what getopt_long(3) returns for the long option of row 0; more than any letter */
#define HELP_TEXT_COLUMN 28    /* column where the explanations of --help begin */
#define OPTION_TABLES_PER_VERB_MAX \
	(sizeof(((struct cli_syntax *)NULL)->table) / sizeof(((struct cli_syntax *)NULL)->table[0]))

static const struct cli_option common_options[] = {
	{"help", 0, NULL, "print this", NULL, 0, 0},
	{"version", 0, NULL, "print the version", NULL, 0, 0},
	{0},
};

/* The option tables of a verb in the form that getopt_long(3) takes. */
struct option_parser {
	const struct cli_option *row[PARSED_OPTIONS_MAX];
	char *target_of_option[PARSED_OPTIONS_MAX]; /* the structure that the row's table fills */
	struct option longs[PARSED_OPTIONS_MAX + 1];
	char shorts[2 * PARSED_OPTIONS_MAX + 2];
	size_t option_count;
};

/*
 * True if an earlier table has an option of this name, which then hides this row. Example: in `callgate why`, --listen
 * asks about a port, and the --listen that grants a port is hidden.
 */
static bool parse_option_is_hidden(const struct cli_syntax *syntax, size_t table, const struct cli_option *row)
{
	for (size_t i = 0; i < table; i++)
		for (const struct cli_option *other = syntax->table[i].options; other && other->name; other++)
			if (strcmp(other->name, row->name) == 0)
				return true;
	return false;
}

/* Adds one table of options to what getopt_long(3) gets. fills: the struct that its setters fill. */
static void parse_add_option_table(struct option_parser *parser, const struct cli_syntax *syntax, size_t table,
			    const struct cli_option *row, void *fills)
{
	for (; row && row->name; row++) {
		size_t i = parser->option_count, len = strlen(parser->shorts);

		if (parse_option_is_hidden(syntax, table, row))
			continue;
		parser->option_count++;
		assert(i < PARSED_OPTIONS_MAX);
		parser->row[i] = row;
		parser->target_of_option[i] = fills;
		parser->longs[i] = (struct option){row->name,
						   !row->argument          ? no_argument
						   : *row->argument == '[' ? optional_argument
									   : required_argument,
						   NULL, LONG_OPTION_CODE_FIRST + (int)i};
		if (row->letter)
			(void)snprintf(parser->shorts + len, sizeof(parser->shorts) - len, "%c%s", row->letter,
				       row->argument ? ":" : "");
	}
}

/* The index of the row for an option that getopt_long(3) returned; parser->option_count: no row has the option. */
static size_t parse_find_row(const struct option_parser *parser, int option)
{
	size_t i = 0;

	if (option >= LONG_OPTION_CODE_FIRST)
		return (size_t)(option - LONG_OPTION_CODE_FIRST);
	while (i < parser->option_count && parser->row[i]->letter != option)
		i++;
	return i;
}

/* Reports the option that getopt_long(3) refused. Returns the exit status. */
static int parse_refuse_option(const struct option_parser *parser, const char *verb, const char *word)
{
	if (optopt == 0)
		cli_print_error(verb, "unrecognized option '%s'", word);
	else if (optopt >= LONG_OPTION_CODE_FIRST)
		cli_print_error(verb, "option '%s' %s", word,
			  strchr(word, '=') ? "doesn't allow an argument" : "requires an argument");
	else
		cli_print_error(verb, "%s -- '%c'",
				parse_find_row(parser, optopt) < parser->option_count ? "option requires an argument"
										      : "invalid option",
				optopt);
	return cli_fail_usage(verb);
}

/* Writes the lines of --help for a table of options. */
static void parse_write_help(const struct cli_syntax *syntax, size_t table, const struct cli_option *row,
			     struct buf *text)
{
	size_t start = text->len, column;

	for (; row && row->name; row++, start = text->len) {
		if (parse_option_is_hidden(syntax, table, row))
			continue;
		if (row->letter)
			buf_printf(text, "  -%c, --%s", row->letter, row->name);
		else
			buf_printf(text, "      --%s", row->name);
		if (row->argument)
			buf_printf(text, "%s%s", *row->argument == '[' ? "" : " ", row->argument);
		column = text->len - start;
		if (column >= HELP_TEXT_COLUMN) {
			buf_puts(text, "\n");
			column = 0;
		}
		for (const char *line = row->help; *line; column = 0) {
			size_t len = strcspn(line, "\n");

			buf_printf(text, "%*s%.*s\n", (int)(HELP_TEXT_COLUMN - column), "", (int)len, line);
			line += len + (line[len] == '\n');
		}
	}
}

static int parse_print_help(const struct cli_syntax *syntax)
{
	_cleanup_buf_ struct buf text = {0};

	buf_puts(&text, syntax->usage);
	for (size_t i = 0; i < OPTION_TABLES_PER_VERB_MAX; i++) {
		buf_puts(&text, syntax->table[i].title ? syntax->table[i].title : "");
		parse_write_help(syntax, i, syntax->table[i].options, &text);
	}
	parse_write_help(syntax, 0, common_options, &text);
	buf_puts(&text, syntax->epilogue ? syntax->epilogue : "");
	return cli_print_buf(syntax->verb, &text);
}

/* Sets one option. CLI_OPTIONS_PARSED, or the exit status after a message. */
static int parse_set_option(const struct option_parser *parser, const char *verb, size_t i)
{
	const struct cli_option *row = parser->row[i];
	const char letter[] = {'-', row->letter, '\0'};
	char name[32];
	const struct cli_given_option given = {verb, row->letter ? letter : name, optarg, row->setter_param};
	int error;

	(void)snprintf(name, sizeof(name), "--%s", row->name);
	error = row->set(&given, parser->target_of_option[i] + row->field_offset);
	if (error == -ENOMEM)
		return cli_fail_no_memory(verb);
	return error < 0 ? CLI_EXIT_ERROR : CLI_OPTIONS_PARSED;
}

int cli_parse_options(int argc, char **argv, const struct cli_syntax *syntax)
{
	struct option_parser parser = {.shorts = ""};
	int opt, status = CLI_OPTIONS_PARSED;

	(void)snprintf(parser.shorts, sizeof(parser.shorts), "%s", syntax->allows_mixed_order ? "" : "+");
	parse_add_option_table(&parser, syntax, 0, common_options, NULL);
	for (size_t i = 0; i < OPTION_TABLES_PER_VERB_MAX; i++)
		parse_add_option_table(&parser, syntax, i, syntax->table[i].options, syntax->table[i].fills);
	opterr = 0;
	while (status == CLI_OPTIONS_PARSED &&
	       (opt = getopt_long(argc, argv, parser.shorts, parser.longs, NULL)) != -1) {
		size_t i = parse_find_row(&parser, opt);

		if (i == parser.option_count) /* getopt_long(3) returned '?' */
			return parse_refuse_option(&parser, syntax->verb, argv[optind - 1]);
		if (parser.row[i] == &common_options[0])
			return parse_print_help(syntax);
		if (parser.row[i] == &common_options[1])
			return cli_print_version();
		status = parse_set_option(&parser, syntax->verb, i);
	}
	return status;
}

int cli_set_flag(const struct cli_given_option *given, void *field)
{
	(void)given;
	*(bool *)field = true;
	return 0;
}

/* Setter that stores the borrowed value in a `const char *` field. */
int cli_set_text(const struct cli_given_option *given, void *field)
{
	*(const char **)field = given->value;
	return 0;
}

/* Setter of an option that may be repeated: adds a copy of its value to a struct cli_list. */
int cli_add_text(const struct cli_given_option *given, void *field)
{
	return cli_list_add_owned(field, strdup(given->value));
}

int cli_set_directory(const struct cli_given_option *given, void *field)
{
	struct stat st;

	if (stat(given->value, &st) < 0)
		return cli_refuse_value(given, "%s; name a directory that exists", strerror(errno));
	return S_ISDIR(st.st_mode) ? cli_set_text(given, field)
				   : cli_refuse_value(given, "%s; name a directory", strerror(ENOTDIR));
}

/* Checked before anything is run: afterwards the message would be that of one of several runs. */
static int cli_check_input_file(const struct cli_given_option *given)
{
	return access(given->value, R_OK) == 0
		       ? 0
		       : cli_refuse_value(given, "%s; name a file that can be read", strerror(errno));
}

int cli_set_input_file(const struct cli_given_option *given, void *field)
{
	int r = cli_check_input_file(given);

	return r < 0 ? r : cli_set_text(given, field);
}

int cli_add_input_file(const struct cli_given_option *given, void *field)
{
	int r = cli_check_input_file(given);

	return r < 0 ? r : cli_add_text(given, field);
}
