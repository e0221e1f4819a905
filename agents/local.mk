callgate_agents_SOURCES += agents/main.c
callgate_files_SOURCES += \
	agents/files/change.c \
	agents/files/connect.c \
	agents/files/content.c \
	agents/files/entry.c \
	agents/files/files.h \
	agents/files/list.c \
	agents/files/main.c \
	agents/files/usage.c \
	agents/files/watch.c \
	base/buf.c \
	base/io.c \
	base/path.c \
	base/proc/stat.c \
	base/text.c \
	keeper/utf8.c
EXTRA_DIST += agents/files/README.md
libcallgate_agents_a_SOURCES += \
	agents/base64.c \
	agents/base64.h \
	agents/e2b/admission.c \
	agents/e2b/answer.c \
	agents/e2b/call.c \
	agents/e2b/connect.c \
	agents/e2b/contexts.c \
	agents/e2b/contexts.h \
	agents/e2b/e2b.c \
	agents/e2b/e2b.h \
	agents/e2b/files.c \
	agents/e2b/filesystem.c \
	agents/e2b/interpreter.c \
	agents/e2b/keys.c \
	agents/e2b/log.c \
	agents/e2b/looking.c \
	agents/e2b/main.c \
	agents/e2b/management-list.c \
	agents/e2b/management.c \
	agents/e2b/management.h \
	agents/e2b/metrics.c \
	agents/e2b/pause.c \
	agents/e2b/port-answer.c \
	agents/e2b/port-answer.h \
	agents/e2b/port.c \
	agents/e2b/private.h \
	agents/e2b/process-events.c \
	agents/e2b/process-input.c \
	agents/e2b/process.c \
	agents/e2b/process.h \
	agents/e2b/quota.c \
	agents/e2b/rpc.c \
	agents/e2b/sandbox.c \
	agents/e2b/spares.c \
	agents/e2b/spares.h \
	agents/e2b/template.c \
	agents/e2b/upload.c \
	agents/e2b/usage.c \
	agents/http/answer.c \
	agents/http/body.c \
	agents/http/drive.c \
	agents/http/http.h \
	agents/http/private.h \
	agents/http/request.c \
	agents/http/server.c \
	agents/http/upgrade.c \
	agents/json-bounds.c \
	agents/json-bounds.h \
	agents/loop.c \
	agents/loop.h \
	agents/mcp/approvals.c \
	agents/mcp/calls.c \
	agents/mcp/host-command.c \
	agents/mcp/inspection.c \
	agents/mcp/main.c \
	agents/mcp/mcp.h \
	agents/mcp/private.h \
	agents/mcp/respond.c \
	agents/mcp/rpc.c \
	agents/mcp/rpc.h \
	agents/mcp/sandboxes.c \
	agents/mcp/server.c \
	agents/mcp/tools-files.c \
	agents/mcp/tools-policy.c \
	agents/mcp/tools-run.c \
	agents/mcp/tools-workspace.c \
	agents/mcp/tools.c \
	agents/role.c \
	agents/role.h \
	agents/sandbox/connect.c \
	agents/sandbox/create.c \
	agents/sandbox/fileop.c \
	agents/sandbox/fileop.h \
	agents/sandbox/host-command.c \
	agents/sandbox/host-command.h \
	agents/sandbox/input.c \
	agents/sandbox/input.h \
	agents/sandbox/launcher.c \
	agents/sandbox/look-queue.c \
	agents/sandbox/look-queue.h \
	agents/sandbox/look.c \
	agents/sandbox/look.h \
	agents/sandbox/open-files.c \
	agents/sandbox/private.h \
	agents/sandbox/program-streams.c \
	agents/sandbox/program.c \
	agents/sandbox/program.h \
	agents/sandbox/sandbox.h \
	agents/slist.h
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
EXTRA_DIST += agents/context/README.md agents/runner/README.md
libcallgate_agents_a_SOURCES += \
	agents/context/context.c \
	agents/context/context.h \
	agents/context/event.c \
	agents/context/frames.c \
	agents/context/frames.h \
	agents/context/interpreter.c \
	agents/context/private.h \
	agents/context/queue.c \
	agents/context/reports.c

templates_basedir = $(pkgdatadir)/templates/base
dist_templates_base_DATA = agents/templates/base/policy.json
templates_interpreterdir = $(pkgdatadir)/templates/code-interpreter-v1
dist_templates_interpreter_DATA = agents/templates/code-interpreter-v1/policy.json \
	agents/templates/code-interpreter-v1/template.json
