#!/bin/bash
# Sourced by tests of callgate serve: what they need, its start and end.
# shellcheck disable=SC2034 # live_kept is lib.sh's

# What the server's tests need, and the key SERVE_KEY, which clients find in their environment.
need_server()
{
	need jq
	[ -x "$PYTHON" ] || skip "no $PYTHON"
	[ -x "$BUILD/callgate-agents" ] || skip "callgate-agents is not built"
	SERVE_KEY=e2b_$(printf %040d 7)
	export SERVE_KEY
}

# start_server OPTION…: its pid is $server, what it writes goes to $T/log, and SERVE_ADDRESS is where it listens.
start_server()
{
	rm -f "$T/port"
	"$CALLGATE" serve --port-file "$T/port" "$@" 2>"$T/log" &
	server=$!
	live_kept=("$server")
	awaited test -s "$T/port" || die "no server: $(cat "$T/log")"
	SERVE_ADDRESS=$(cat "$T/port")
	[ "${SERVE_ADDRESS#/}" != "$SERVE_ADDRESS" ] || SERVE_ADDRESS=127.0.0.1:$SERVE_ADDRESS
	export SERVE_ADDRESS
}

# stop_server SIGNAL: returns its exit status.
stop_server()
{
	live_kept=()
	{ kill "-$1" "$server" && wait "$server"; } 2>/dev/null
}
