callgate_agents_SOURCES += agents/main.c
libcallgate_agents_a_SOURCES += \
	agents/loop.c \
	agents/loop.h \
	agents/mcp/calls.c \
	agents/mcp/main.c \
	agents/mcp/mcp.h \
	agents/mcp/private.h \
	agents/mcp/respond.c \
	agents/mcp/rpc.c \
	agents/mcp/rpc.h \
	agents/mcp/sandboxes.c \
	agents/mcp/server.c \
	agents/mcp/tools-policy.c \
	agents/mcp/tools-run.c \
	agents/mcp/tools.c \
	agents/sandbox/connect.c \
	agents/sandbox/create.c \
	agents/sandbox/launcher.c \
	agents/sandbox/private.h \
	agents/sandbox/program.c \
	agents/sandbox/sandbox.h
EXTRA_DIST += agents/README.md
# The interpreters' side of contexts, which runs in sandboxes.
dist_runners_DATA += \
	agents/runner/bash.sh \
	agents/runner/node-boot.js \
	agents/runner/node.js \
	agents/runner/python-boot.py \
	agents/runner/python.py \
	agents/runner/python_charts.py \
	agents/runner/python_display.py \
	agents/runner/python_magics.py
EXTRA_DIST += agents/runner/README.md
