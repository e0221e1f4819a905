/* Lists of owned strings. */
#include <errno.h>
#include <stdlib.h>

#include "cli/options.h"

int cli_list_add_owned(struct cli_list *list, char *text)
{
	char **grown = text ? realloc(list->item, (list->count + 2) * sizeof(*grown)) : NULL;

	if (!grown) {
		free(text);
		return -ENOMEM;
	}
	grown[list->count++] = text;
	grown[list->count] = NULL;
	list->item = grown;
	return 0;
}

void cli_list_release(struct cli_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->item[i]);
	free(list->item);
	*list = (struct cli_list){0};
}
