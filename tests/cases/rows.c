/*
 * The syscall table as the tests see it.
 *
 *   rows list      one line for each row that can reach the supervisor: class, number, name
 *   rows all       the same for every row of this architecture
 *   rows call NR…  makes each of these calls with arguments that name nothing. Run inside: every call must be on
 *                  record, and a refused one must fail with the errno of its row
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "syscalls/table/table.h"

/* No descriptor, no process, no mapped page, no known command, and every clone flag of a namespace is in it. */
#define NOTHING 0x7ffffff0L

static const char *class_name(enum row_class class)
{
	static const char *const names[] = {
		[ROW_NATIVE] = "native", [ROW_FILTER] = "filter", [ROW_NOTIFY] = "notify",
		[ROW_REFUSE] = "refuse", [ROW_REFUSE_UNRECORDED] = "quiet",
		[ROW_NATIVE_IN_OWN_IPC] = "private",
	};

	return names[class];
}

/* Natively, whatever its registers, but in runs that count what it makes: those have tests of their own. */
static bool always_native(const struct syscall_row *row)
{
	return row->class == ROW_FILTER && row->allowed_if[0].compare_count == 1 &&
	       row->allowed_if[0].compare[0].mask == 0;
}

/* uretprobe and uprobe pass every filter by design and kill a caller that is no probe (arch/x86/kernel/uprobes.c). */
static bool reachable(const struct syscall_row *row)
{
	bool probe = strcmp(row->name, "uretprobe") == 0 || strcmp(row->name, "uprobe") == 0;

	return row->nr >= 0 && !probe && row->class != ROW_NATIVE && row->class != ROW_REFUSE_UNRECORDED &&
	       !always_native(row);
}

static int list(bool all)
{
	size_t count;
	const struct syscall_row *row = table_get_rows(&count);

	for (size_t i = 0; i < count; i++)
		if (all ? row[i].nr >= 0 : reachable(&row[i]))
			printf("%s %d %s\n", class_name(row[i].class), row[i].nr, row[i].name);
	return 0;
}

static int call(int nr)
{
	const struct syscall_row *row = table_find_row(nr);
	long result = syscall(nr, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING);

	if (!row || row->class != ROW_REFUSE || (result == -1 && errno == row->error))
		return 0;
	fprintf(stderr, "%s (%d): %ld, errno %d instead of %d\n", row->name, nr, result, errno, row->error);
	return 1;
}

int main(int argc, char **argv)
{
	int failed = 0;

	if (argc == 2 && (strcmp(argv[1], "list") == 0 || strcmp(argv[1], "all") == 0))
		return list(strcmp(argv[1], "all") == 0);
	if (argc < 3 || strcmp(argv[1], "call") != 0) {
		fputs("usage: rows list | rows all | rows call NR...\n", stderr);
		return 2;
	}
	for (int i = 2; i < argc; i++)
		failed |= call((int)strtol(argv[i], NULL, 10));
	return failed;
}
