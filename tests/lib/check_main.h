/*
 * check_main.h: the main function of a libcheck program. CHECK_MAIN(pool_suite) runs the Suite that pool_suite()
 * gives, in this process (no fork: sanitizers and threads see everything) and exits 1 when a test failed.
 */
#ifndef ZARRFS_CHECK_MAIN_H
#define ZARRFS_CHECK_MAIN_H

#include <check.h>
#include <stdlib.h>

#define CHECK_MAIN(suite_function)                                                                                     \
	int main(void)                                                                                                     \
	{                                                                                                                  \
		SRunner *runner = srunner_create(suite_function());                                                            \
		srunner_set_fork_status(runner, CK_NOFORK);                                                                    \
		srunner_run_all(runner, CK_NORMAL);                                                                            \
		int failed = srunner_ntests_failed(runner);                                                                    \
		srunner_free(runner);                                                                                          \
		return failed ? EXIT_FAILURE : EXIT_SUCCESS;                                                                   \
	}

#endif
