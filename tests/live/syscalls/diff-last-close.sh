#!/bin/bash
# The effects of closing the last descriptor of a file (on locks, a FIFO, a connection, a terminal, IN_CLOSE, ETXTBSY)
# have happened inside, too, when close(2) returns: the supervisor keeps no descriptor of a finished call. With idle
# CPUs and busy ones, with all sandbox layers and fewer, and where pidfd_getfd(2) is refused.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need jq
case=$CASES/cases-last-close
[ -x "$case" ] || skip "cases-last-close is not built"
net_policy '{"allow": [], "listen": ["*"]}'
printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$CASES/cases-without" "$CALLGATE" >"$T/callgate"
chmod +x "$T/callgate"

fresh()
{
	rm -rf "${T:?}/w"
	mkdir "$T/w"
	cp "$case" "$T/w/program"
}

# held NAME WITHOUT CALLGATE TRIES BUSY [watch] [backlog]
held()
{
	local name=$1 without=$2 program=$3
	shift 3
	fresh
	(cd "$T/w" && timeout "$LIVE_TIMEOUT" "$case" "$@") >"$T/native.out" 2>&1 ||
		fail "$name: natively: $(tail -n 3 "$T/native.out")"
	! grep -q '[1-9]$\|flock [1-9]' "$T/native.out" || fail "$name: natively: $(cat "$T/native.out")"
	fresh
	(cd "$T/w" && LIVE_WITHOUT=$without CALLGATE=$program net_run -w "$T/w" -x "$T/w" -x "$case" -- "$case" "$@") \
		>"$T/inside.out" 2>&1 ||
		fail "$name: inside: $(tail -n 3 "$T/inside.out")"
	compare "$name" out
}

# There is no inotify without pidfd_getfd(2).
watch=(watch)
[ -z "${OUTER_FILTER:-}" ] || watch=()
held "all layers" "${LIVE_WITHOUT:-}" "$CALLGATE" 200 0 "${watch[@]}"
held "all layers, busy" "${LIVE_WITHOUT:-}" "$CALLGATE" 40 4 "${watch[@]}"
held "without namespaces" namespaces,cgroups "$CALLGATE" 100 0 "${watch[@]}" backlog
held "no pidfd_getfd" "${LIVE_WITHOUT:-}" "$T/callgate" 100 0
held "without namespaces, no pidfd_getfd" namespaces,cgroups "$T/callgate" 100 0 backlog
