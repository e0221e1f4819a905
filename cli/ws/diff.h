/* callgate ws diff: shows what a run with --cow has changed. */
#ifndef CALLGATE_CLI_WS_DIFF_H
#define CALLGATE_CLI_WS_DIFF_H

int cli_main_ws_diff(int argc, char **argv);

#endif
