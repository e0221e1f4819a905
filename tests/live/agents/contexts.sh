#!/bin/bash
# Contexts in a sandbox: interpreters that keep their variables, driven as callgate-agents does.
. "$(dirname "$0")/../lib.sh"
need python3
program=$CASES/cases-contexts
[ -x "$program" ] || skip "$program is not built"
options=(--profile extended -w "$T/home")
[ -z "${LIVE_WITHOUT:-}" ] || options+=(--without "$LIVE_WITHOUT")
export CALLGATE_RUNNERS=$SRC/agents/runner HAS_NODE=0
node -e 'process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)' 2>/dev/null && HAS_NODE=1
timeout -k 5 900 "$PYTHON" "$SRC/tests/live/agents/contexts.py" "$program" "$CALLGATE" "${options[@]}" ||
	fail "the cases (status $?)"
await_sessions "the end"
