/* callgate ws keep: marks workspaces that callgate ws discard is not to remove. */
#ifndef CALLGATE_CLI_WS_KEEP_H
#define CALLGATE_CLI_WS_KEEP_H

int cli_main_ws_keep(int argc, char **argv);

#endif
