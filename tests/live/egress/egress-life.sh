#!/bin/bash
# Egress and resolver from start to end: their privileges; they end with the run whichever process dies; a run whose
# egress was killed has no network any more; the program can neither see nor reach them.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need curl jq setsid
net_ca open.test
net_servers https http
https=$(net_port https)
NET_MORE="{\"secrets\": {\"TOKEN\": {\"from\": \"env:REAL_TOKEN\", \"hosts\": [\"open.test\"]}}}"
net_policy "{
	\"allow\": [
		{\"host\": \"open.test\", \"port\": $https, \"proto\": \"https\", \"private\": true,
		\"http\": [\"GET /ok\"]},
		{\"host\": \"nowhere.test\", \"port\": 443, \"private\": true}],
	\"resolve\": {\"open.test\": \"127.0.0.1\"}, \"upstream_ca\": \"$NET/ca.pem\"}"
export REAL_TOKEN=real-token-7f3a91

mkdir "$T/w"
cat >"$T/w/program" <<END
# Says that it runs, waits, and asks again.
curl -sS --max-time 90 https://open.test:$https/ok >first 2>&1
printf '%s\n' "\$TOKEN" >token
touch ready
while [ ! -e go ]; do sleep 0.05; done
curl -sS --max-time 90 https://open.test:$https/ok >second 2>&1
END

alive()
{
	[ -d "/proc/$1" ] && ! grep -q '^State:.[ZX]' "/proc/$1/status" 2>/dev/null
}

dead()
{
	! alive "$1"
}

child_of()
{
	grep -ls "^PPid:	$1\$" /proc/[0-9]*/status | cut -d / -f 3
}

# start [OPTION…]: a run in the background that has made its first request. Sets keeper, egress, resolver, supervisor.
start()
{
	local options=()
	rm -f "$T"/w/{first,second,ready,go,token} "$T/audit" "$T/result"
	[ -z "${LIVE_WITHOUT:-}" ] || options+=(--without "$LIVE_WITHOUT")
	"$CALLGATE" run -p "$NET/policy.json" --audit "$T/audit" --json "${options[@]}" -w "$T/w" "$@" -- sh program \
		</dev/null >"$T/result" 2>"$T/err" &
	keeper=$!
	find_processes
}

# The keeper's children are egress and the supervisor, egress' is the resolver.
find_processes()
{
	local pid
	net_await "the program" test -e "$T/w/ready"
	egress='' supervisor=''
	for pid in $(child_of "$keeper"); do
		if tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q '/callgate-egress egress $'; then
			egress=$egress$pid
		else
			supervisor=$supervisor$pid
		fi
	done
	resolver=$(child_of "$egress")
	{ alive "$egress" && alive "$supervisor" && [ "$(cat "/proc/$resolver/comm")" = callgate-resolv ]; } ||
		die "${where}egress $egress, resolver $resolver, supervisor $supervisor"
	[ "$(cat "$T/w/first")" = ok ] || fail "${where}the first request: $(cat "$T/w/first"; cat "$T/err")"
}

# finish: lets the program go on, waits for callgate. Sets status.
finish()
{
	touch "$T/w/go"
	wait "$keeper"
	status=$?
	all_gone "the end"
}

all_gone()
{
	local pid
	for pid in "$egress" "$resolver" "$supervisor"; do
		net_await "${where}$1: process $pid of $egress $resolver $supervisor is gone" dead "$pid"
	done
}

# holds PID NAME: what can be seen from outside of how it is confined.
holds()
{
	local pid=$1 name=$2 line
	for line in "NoNewPrivs:	1" "CapEff:	0000000000000000" "CapPrm:	0000000000000000" \
		"CapBnd:	0000000000000000"; do
		[ "$(id -u)" != 0 ] && [[ $line = CapBnd* ]] && continue # only root may empty it
		grep -q "^$line" "/proc/$pid/status" ||
			fail "${where}$name: not $line: $(grep "^${line%%:*}" "/proc/$pid/status")"
	done
	if jq -e .enforcement.self_filter.active "$T/probe" >/dev/null; then
		grep -q '^Seccomp:	2' "/proc/$pid/status" || fail "${where}$name has no filter"
	fi
	# Whose files of /proc are root's is not dumpable.
	[ "$(stat -c %u "/proc/$pid/environ")" = 0 ] || fail "${where}$name is dumpable"
	grep -qE '^Max core file size +[01] ' "/proc/$pid/limits" 2>/dev/null || [ "$(id -u)" != 0 ] ||
		fail "${where}$name: core files"
	if [ "$(id -u)" = 0 ] && [ -z "$sanitized" ]; then
		# Of the secret's variable the name is left.
		! tr -d '\0' <"/proc/$pid/environ" | sed 's/^REAL_TOKEN=$//' | grep -q . ||
			fail "${where}$name: environment: $(tr -d '\0' <"/proc/$pid/environ")"
		line=$(find "/proc/$pid/fd" -type l -printf '%l\n' | grep -vE '^(/dev/null|socket:|anon_inode:|pipe:)')
		[ -z "$line" ] || fail "${where}$name: open files: $line"
		line=$(grep -E '^[^ ]+ [^ ]+s ' "/proc/$pid/maps")
		[ -z "$line" ] || fail "${where}$name: shared memory: $line"
	fi
}

# memory_has PID TEXT
memory_has()
{
	"$PYTHON" - "$1" "$2" <<'END'
import sys
pid, text = sys.argv[1], sys.argv[2].encode()
with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as mem:
    for line in maps:
        span, mode = line.split()[:2]
        if "r" not in mode or "[v" in line:
            continue
        low, high = (int(part, 16) for part in span.split("-"))
        if high - low > 1 << 30:  # a sanitizer's own
            continue
        try:
            mem.seek(low)
            if text in mem.read(high - low):
                sys.exit(0)
        except OSError:
            pass
sys.exit(1)
END
}

for without in ${EGRESS_LIFE:-"" netns namespaces}; do
	export LIVE_WITHOUT=$without
	where=${without:+without $without: }
	cg run --json -- true >"$T/probe"
	# A sanitizer has a copy of the environment, and writes to stderr what it finds.
	sanitized=$(jq -r '.enforcement.self_filter.why | select(contains("sanitizer"))' "$T/probe")

	start
	holds "$egress" egress
	holds "$resolver" resolver
	if [ "$(id -u)" = 0 ] && [ -z "$sanitized" ]; then
		memory_has "$egress" "$REAL_TOKEN" ||
			fail "${where}the secret is not where it must be: the search finds nothing"
		for pid in "$keeper" "$supervisor" "$resolver" "$(child_of "$supervisor" | head -n 1)"; do
			memory_has "$pid" "$REAL_TOKEN" &&
				fail "${where}the secret is in the memory of $pid ($keeper $supervisor $resolver)"
		done
	fi
	grep -q '^callgate-secret-TOKEN-' "$T/w/token" || fail "${where}the placeholder: $(cat "$T/w/token")"
	finish
	[ "$status $(cat "$T/w/second")" = "0 ok" ] || fail "${where}ended with $status, $(cat "$T/w/second" "$T/err")"
	[ "$(jq -s '[.[] | select(.event == "close")] | length' "$T/audit")" = 2 ] || fail "${where}not one close each"

	# Killed: no connection is made any more, and the result says why.
	start
	kill -KILL "$egress"
	finish
	[ $status != 0 ] || fail "${where}a program without egress ends well"
	[ "$(cat "$T/w/second")" != ok ] || fail "${where}a request got through without egress"
	[ "$(jq -r .error.code "$T/result")" = egress_failed ] || fail "${where}error: $(jq -c .error "$T/result")"
	jq -e '.network | map(select(.decision == "deny" and .reason == "egress_failed")) | length > 0' "$T/result" \
		>/dev/null ||
		fail "${where}network: $(jq -c .network "$T/result")"
	audit_has '.verdict == "deny" and .reason == "egress_failed"'

	# The resolver's death is a failure of names that need it alone.
	start
	kill -KILL "$resolver"
	finish
	[ "$status $(cat "$T/w/second")" = "0 ok" ] || fail "${where}without resolver: $status, $(cat "$T/w/second")"

	start
	kill -KILL "$keeper"
	wait "$keeper" 2>/dev/null
	all_gone "the keeper killed"

	start
	kill -KILL "$supervisor"
	finish
	[ "$(jq -r .error.code "$T/result")" = supervisor_died ] ||
		fail "${where}supervisor: $(jq -c .error "$T/result")"

	start
	kill -TERM "$keeper"
	finish
	[ $status = 143 ] || fail "${where}terminated: $status"

	start -t 4s
	wait "$keeper"
	[ $? = 124 ] || fail "${where}not ended by its time limit"
	all_gone "the time limit"
done
export LIVE_WITHOUT=

# --die-with-parent: the shell between us and callgate is killed.
where="die-with-parent: "
rm -f "$T"/w/{first,second,ready,go}
sh -c '"$@" & echo $! >"$0"; wait' "$T/keeper" "$CALLGATE" run --die-with-parent -p "$NET/policy.json" -w "$T/w" \
	-- sh program \
	</dev/null >"$T/out" 2>"$T/err" &
shell=$!
net_await "the keeper" test -s "$T/keeper"
keeper=$(cat "$T/keeper")
find_processes
kill -KILL $shell
wait $shell 2>/dev/null
all_gone "the parent killed"
net_await "the keeper is gone" dead "$keeper"

# A terminal's Ctrl-C goes to the whole foreground group: egress is in none.
where="signals to the group: "
rm -f "$T"/w/{first,second,ready,go}
setsid env --default-signal "$CALLGATE" run -p "$NET/policy.json" --json -w "$T/w" -- sh program \
	</dev/null >"$T/result" 2>"$T/err" &
keeper=$!
find_processes
kill -INT -- -"$keeper" 2>/dev/null || fail "no group"
wait "$keeper"
all_gone "Ctrl-C"
[ "$(jq -r '.error.code // "none"' "$T/result")" = none ] || fail "Ctrl-C: $(jq -c .error "$T/result")"

# A run that cannot begin, at each of its steps, leaves none of them.
where="no start: "
mkdir "$T/bin"
cp "$CALLGATE" "$(dirname "$(readlink -f "$CALLGATE")")/callgate-egress" "$T/bin/"
CALLGATE=$T/bin/callgate
REAL_TOKEN='' timeout -k 5 300 "$CALLGATE" run -p "$NET/policy.json" -- true </dev/null >"$T/out" 2>"$T/err"
[ $? = 125 ] || fail "an empty secret: $(cat "$T/err")"
grep -q TOKEN "$T/err" || fail "an empty secret: the message does not name it: $(cat "$T/err")"
timeout -k 5 300 "$CALLGATE" run -p "$NET/policy.json" -- /no/such/program </dev/null >"$T/out" 2>"$T/err"
[ $? = 127 ] || fail "no program: $(cat "$T/err")"
rm "$NET/ca.pem"
timeout -k 5 300 "$CALLGATE" run -p "$NET/policy.json" -- true </dev/null >"$T/out" 2>"$T/err"
[ $? = 125 ] || fail "no upstream_ca"
grep -q 'upstream_ca' "$T/err" || fail "no upstream_ca: $(cat "$T/err")"
! pgrep -f "^$T/bin/callgate" >/dev/null || fail "left behind: $(pgrep -a -f "^$T/bin/callgate")"
