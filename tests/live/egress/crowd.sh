#!/bin/bash
# A thousand connections at once with a request on each. The audit log matches what the server saw, has one open and one
# close for each connection, loses nothing, and all is done in time. With a network namespace and without.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need jq
COUNT=1000 SECONDS_MAX=100
[ "$(ulimit -Hn)" -ge 4200 ] || skip "a thousand connections need more descriptors than $(ulimit -Hn)"
ulimit -n "$(ulimit -Hn)"
net_servers http
http=$(net_port http)
NET_MORE='{"limits": {"open_files": 2000}}'
net_policy "{
	\"allow\": [{\"host\": \"crowd.test\", \"port\": $http, \"proto\": \"http\", \"private\": true,
		\"http\": [\"GET /ok/*\", \"POST /echo/*\"]}],
	\"resolve\": {\"crowd.test\": \"127.0.0.1\"}}"
cp "$SRC/tests/cases/net-crowd.py" "$T/home"

for without in "" netns; do
	export LIVE_WITHOUT=$without
	where=${without:+without $without: }
	: >"$NET/access"
	start=$(now_ms)
	got=$(net_run -r "$T/home" -- "$PYTHON" "$T/home/net-crowd.py" crowd.test "$http" $COUNT 2>&1)
	took=$((($(now_ms) - start) / 1000))
	[ "$got" = "done $COUNT" ] || fail "${where}$(tail -n 5 <<<"$got")"
	[ $took -lt $SECONDS_MAX ] || fail "${where}it took $took s"
	echo "${where}$took s"

	# Requests as the server has them: a multiset of method, path, its answer's being sent.
	jq -r '[.method, (.path | sub("[?].*"; "?…")), .host] | join(" ")' "$NET/access" | sort >"$T/server"
	jq -r 'select(.event == "request" and .verdict == "allow" and .ret == 200)
		| [.method, .path, "\(.host):\(.port)"] | join(" ")' "$T/audit" | sort >"$T/recorded"
	[ "$(wc -l <"$T/server")" = $COUNT ] || fail "${where}the server saw $(wc -l <"$T/server") requests"
	cmp -s "$T/server" "$T/recorded" ||
		fail "${where}the server (<) saw others: $(diff "$T/server" "$T/recorded" | head -n 10)"

	# Each connection has exactly its open, its request, its close, in this order, and no number is missing.
	odd=$(jq -c 'select(.conn != null) | {conn, seq, event, verdict}' "$T/audit" | jq -sc 'group_by(.conn)[] |
		sort_by(.seq)
		| select(map(.event) != ["open", "request", "close"] or any(.verdict != "allow"))')
	[ -z "$odd" ] || fail "${where}records of a connection: $(head -n 5 <<<"$odd")"
	conns=$(jq -s 'map(select(.event == "close") | .conn) | [length, (unique | length), max]' -c "$T/audit")
	[ "$conns" = "[$COUNT,$COUNT,$COUNT]" ] || fail "${where}closes: $conns"
	audit_none '.verdict == "deny" and .event != null'
	# As many at once as that: the last was opened before the first was closed.
	[ "$(jq -sc 'map(select(.event)) | (map(select(.event == "open") | .seq) |
		max) < (map(select(.event == "close") | .seq) | min)' \
		"$T/audit")" = true ] || fail "${where}they were not open at once"
done
