/* The Model Context Protocol on stdin and stdout: `callgate mcp`. */
#ifndef CALLGATE_AGENTS_MCP_MCP_H
#define CALLGATE_AGENTS_MCP_MCP_H

#include <stdbool.h>
#include <stdint.h>

#include "agents/loop.h"

#define MCP_SESSION_ARGUMENTS_MAX 16

/* What the server of `callgate mcp` is created with. */
struct mcp_options {
	const char *callgate_path; /* path of the executable callgate */
	/* policy options, for `callgate session create` and `callgate why`; NULL-ended */
	const char *const *policy_arguments;
	/* further options, for `callgate session create` alone; NULL-ended */
	const char *session_arguments[MCP_SESSION_ARGUMENTS_MAX + 1];
	bool inspects;       /* --inspect: code is looked at, also if the policy does not say so */
	bool uses_workspace; /* --cow: sandboxes have workspaces, and there are the tools for them */
	bool allows_apply;   /* --allow-apply: the client may apply what its sandboxes have written */
	bool asks_client;                    /* --approve client: the client is asked about denied calls */
	const char *audit_dir;               /* where each sandbox writes its log; NULL: no logs */
	unsigned sandboxes_max;              /* the most sandboxes at a time */
	uint64_t idle_timeout_ms; /* a sandbox without calls ends after this time */
};

/* Serves one client until that closes input_fd, then ends all calls and sandboxes. 0 or -errno. */
int mcp_serve(struct loop *loop, int input_fd, int output_fd, const struct mcp_options *options);

/* callgate mcp: parses the options, and serves the client at stdin and stdout. Returns the exit status. */
int mcp_main(int argc, char **argv, const char *callgate);

#endif
