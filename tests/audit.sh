#!/bin/sh
# callgate audit with the logs of the fuzz corpus: filters, escape sequences, damaged logs. The example lines of the
# manual are real ones.
set -u

logs="${top_srcdir:-$(dirname "$0")/..}/tests/fuzz/corpus/audit"
manual="${top_srcdir:-$(dirname "$0")/..}/doc/callgate-audit.5"
callgate="${CALLGATE:-callgate}"
failed=0
ran=0

# expect STATUS LINES ARGUMENT...: `callgate audit ARGUMENT...` ends so and prints that many lines.
expect()
{
	status=$1 lines=$2
	shift 2
	ran=$((ran + 1))
	out=$("$callgate" audit "$@" 2>&1 </dev/null)
	got=$?
	count=$(printf '%s' "$out" | grep -c '')
	if [ "$got" -ne "$status" ] || [ "$count" -ne "$lines" ]; then
		echo "audit $*: status $got for $status, $count lines for $lines: $out" >&2
		failed=$((failed + 1))
	fi
}

# expect_text WANTED: the last output holds this text.
expect_text()
{
	ran=$((ran + 1))
	case $out in
	*"$1"*) ;;
	*)
		echo "missing \"$1\" in: $out" >&2
		failed=$((failed + 1))
		;;
	esac
}

[ -x "$callgate" ] || { echo "no program to test: $callgate" >&2; exit 77; }

expect 0 7 show "$logs/run"
expect_text '/work/\u001b[2Jout\n\\xff.csv'
expect 0 7 show --json "$logs/run"
ran=$((ran + 1))
[ "$out" = "$(cat "$logs/run")" ] || { echo "show --json changes lines" >&2; failed=$((failed + 1)); }
expect 0 2 show --denied "$logs/run"
expect 0 1 show --denied --syscall kill "$logs/run"
expect 0 1 show --path shadow "$logs/run"
expect 0 2 show --path '/work/**' "$logs/run"
expect 0 1 show --path '*.csv' --syscall openat "$logs/run"
expect 0 1 show --pid 4713 "$logs/run"
expect 0 5 show --pid 4711 "$logs/run"
expect 0 0 show --syscall mkdir "$logs/run"
expect 0 3 show --verdict allow,redirect "$logs/run"
expect 0 2 show --call renameat,kill "$logs/run"
expect 0 1 show --errno EPERM,EACCES "$logs/run"
expect 0 5 show --program python3.11 "$logs/run"
expect 0 0 show --program bash "$logs/run"
expect 0 2 show --rule '-w /work' "$logs/run"
expect 0 4 show --since 2026-11-21T02:28:18.30808 "$logs/run"
expect 0 1 show --until '2026-11-21 02:28:18.308057236Z' "$logs/run"
expect 0 1 show --since +52us --until +53us "$logs/run"
expect 0 0 show --since 2027 "$logs/run"
expect 0 2 show --slower-than 4us "$logs/run"
expect 0 1 show --slower-than 4us --call openat --verdict allow "$logs/run"
expect 0 1 show --tree "$logs/run"
expect_text '4711  /usr/bin/python3.11  5 calls, 2 denied'
expect 0 19 show "$logs/run" "$logs/net"
expect_text '7f3a9c21       2 02:28:18.308088    4713 deny     openat /etc/shadow'
expect 0 19 show --json "$logs/run" "$logs/net"
expect 125 20 show "$logs/run" "$logs/net" "$logs/nothing-there"
expect 0 0 diff "$logs/run" "$logs/run"
expect 0 7 show "$logs/torn"
expect_text 'no whole line'
expect 0 3 show "$logs/zero-tail"
expect 125 8 show "$logs/edited"
expect_text ':4: not a line of an audit log'
expect 0 5 show "$logs/compact"
expect 0 1 show --json --denied --pid 4711 "$logs/compact"
expect_text '"run":"7f3a9c21","ppid":1,"host_pid":4711,"exe":"/usr/bin/cat","effect":"refused"}'
expect 0 1 show --json --syscall execve "$logs/compact"
expect_text '"effect":"continued"'
expect 0 1 stats --json "$logs/compact"
expect_text '"by_exe":{"/usr/bin/dash":1,"/usr/bin/cat":2}'
expect 0 1 stats --json "$logs/run"
expect_text '"denied":2,"unfinished":1'
expect 0 1 stats --json --denied "$logs/run"
expect_text '"records":2,'
expect 0 12 show "$logs/net"
expect_text 'request api.test:8080 GET /ok proto=http conn=1 = 200'
expect_text 'connect api.test:81'
expect_text '\u001b[2Jx\\xff... '
expect 0 8 show --event any "$logs/net"
expect 0 3 show --event request "$logs/net"
expect 0 0 show --event after_read "$logs/net"
expect 0 0 show --answer any "$logs/net"
expect 0 1 show --event request --denied "$logs/net"
expect 0 9 show --host api.test "$logs/net"
expect 0 10 show --host '*.test' "$logs/net"
expect 0 1 show --path '**/ok' --event request "$logs/net"
expect 0 0 show --host '*.test' "$logs/run"
expect 0 1 stats --json "$logs/net"
expect_text '"api.test":{"connections":2,"requests":3,"denied":2,"bytes_up":82,"bytes_down":202}'
expect 125 1 show "$manual"
expect_text 'not an audit log'
expect 125 1 show /dev/null
expect 125 1 show "$logs/nothing-there"
expect 125 1 show
expect 125 2 list "$logs/run"
expect 125 1 show --since yesterday "$logs/run"
expect 125 1 show --slower-than fast "$logs/run"
expect 125 1 show --call 'a b' "$logs/run"
expect 125 1 show --tree -f "$logs/run"
expect 125 1 diff "$logs/run"
expect 125 1 export "$logs/run"
expect 125 1 export --format xml "$logs/run"
expect 125 1 export --format sqlite "$logs/run"
expect 125 1 export --format sqlite -o /dev/null "$logs/run"
expect 125 1 export --format csv -o / "$logs/run"
expect 125 1 show --path 'a**b' "$logs/run"
expect 125 1 show --pid none "$logs/run"

# shellcheck disable=SC1003 # sed's backslash, mdoc's \e
sed -n '/^{"seq"/{s/\\e/\\/g;s/\\-/-/g;p;}' "$manual" | {
	while IFS= read -r line; do
		grep -qxF -- "$line" "$logs/run" "$logs/net" ||
			{ echo "the manual's example is no real line: $line" >&2; exit 1; }
	done
} || failed=$((failed + 1))
ran=$((ran + 1))

echo "$((ran - failed)) passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
