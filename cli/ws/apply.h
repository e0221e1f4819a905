/* callgate ws apply and ws recover: put what a run with --cow has changed into its directory. */
#ifndef CALLGATE_CLI_WS_APPLY_H
#define CALLGATE_CLI_WS_APPLY_H

#define WS_EXIT_NOT_ALL \
	3 /* something that was asked for was not applied: a conflict, it runs later outside, no match */

int cli_main_ws_apply(int argc, char **argv);

#endif
