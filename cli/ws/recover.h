/* callgate ws recover: ends a callgate ws apply that was interrupted. */
#ifndef CALLGATE_CLI_WS_RECOVER_H
#define CALLGATE_CLI_WS_RECOVER_H

int cli_main_ws_recover(int argc, char **argv);

#endif
