#!/bin/bash
# Pauses of sandboxes of callgate serve: nothing of a paused sandbox runs, all of it goes on afterwards, and its end is
# that of a running one.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/server.sh"
need_server
export CALLGATE SERVE_LOG=$T/log

start_server --api-key "$SERVE_KEY" --audit-dir "$T"
timeout -k 5 "$LIVE_TIMEOUT" "$PYTHON" "$SRC/tests/cases/e2b-pause.py" || fail "pauses"
[ "$(jq -s 'map(select(.event == "sandbox_pause")) | length' "$T/log")" -ge 4 ] || fail "the server's log"

# ---- a sandbox is paused still: it ends with the server, and its log is complete ----
paused=$(jq -rs 'map(select(.event == "sandbox_pause"))[-1].sandbox' "$T/log")
stop_server KILL
await_sessions "SIGKILL"
"$CALLGATE" audit verify "$T/$paused.jsonl" >/dev/null || fail "the log of the sandbox that was paused"
