/* How every unit test ends. */
#ifndef CALLGATE_TESTS_UNIT_UNIT_H
#define CALLGATE_TESTS_UNIT_UNIT_H

#include <check.h>
#include <stdlib.h>

/* Runs the suite, which it takes; CK_VERBOSITY says how much is told. The exit status of the test. */
static inline int unit_run(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
