#include "cli/inspect/command-add.h"

#include <string.h>

bool inspect_command_load(struct inspect_command *command, const char *file, enum inspect_type type)
{
	if (!file || !*file)
		return true;
	if (strpbrk(file, " :$`") || command->loaded_count == COMMAND_LOADED_MAX)
		return false;
	command->loaded_type[command->loaded_count] = type;
	command->loaded[command->loaded_count++] = file;
	return true;
}

void inspect_command_add_code(struct inspect_command *command, const char *code)
{
	if (code && command->code_count == COMMAND_CODES_MAX)
		command->unseen = command->program;
	else if (code)
		command->code[command->code_count++] = code;
}

char *const *inspect_command_get_next_inner(const struct inspect_command *command, char *const *inner)
{
	for (; command->between && *inner; inner++)
		for (const char *const *word = command->between; *word; word++)
			if (strcmp(*inner, *word) == 0)
				return inner + 1;
	return NULL;
}
