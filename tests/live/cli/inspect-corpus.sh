#!/bin/bash
# callgate inspect on programs of the distribution: nearly none has an alarm, and none of those that do by right what
# hostile ones do (tests/cases/inspect-benign.txt). On hostile snippets of the usual kinds (inspect-hostile.txt): what
# is obvious is named, and what is not does nothing in a run, either.
. "$(dirname "$0")/../lib.sh"
LIVE_TIMEOUT=900
need jq python3 node
benign_max=100

# alarms FILE: the files of a JSON output with findings that make a default run of inspect fail.
alarms()
{
	jq -r '.files[] | select(any(.findings[]; .level == "alarm")) |
		"\(.file): \([.findings[] | select(.level == "alarm") | "\(.line) \(.kind) \(.what)"] |
			join("; "))"' "$1"
}

# divide NAME: makes the files of a list.
divide()
{
	mkdir "$T/$1"
	awk -v dir="$T/$1" '/^==== / {
		file = sprintf("%s/%03d-%s.%s", dir, ++count, $2, $3)
		printf "" >file
		next
	} { print >file }' "$SRC/tests/cases/inspect-$1.txt"
}
divide hostile
divide benign
snippets=("$T"/hostile/*)
[ ${#snippets[@]} -ge 160 ] || fail "only ${#snippets[@]} snippets"
cg inspect --json "$T"/benign/* >"$T/rightful.json" || fail "alarms: $(alarms "$T/rightful.json")"
cg inspect --json "${snippets[@]}" >"$T/hostile.json" &
other=$!

# Those that are most like what people run: commands, and modules that are large enough to be one.
{
	grep -lIm 1 '^#!.*\(python\|node\|bin/sh\|bash\)' /usr/bin/* /etc/init.d/* /usr/lib/git-core/* 2>/dev/null |
		shuf -n 50 --random-source=/dev/zero
	find /usr/lib/python3/dist-packages /usr/lib/python3.*/ /usr/share/nodejs /usr/lib/node_modules/npm/lib \
		/usr/share/doc/*/examples \( -name '*.py' -o -name '*.js' \) -size +2k -size -60k -not -path '*/test*' \
		2>/dev/null | sort | shuf -n 200 --random-source=/dev/zero
} | head -n $benign_max >"$T/list"
mapfile -t benign <"$T/list"
cg inspect --json "${benign[@]}" >"$T/benign.json"
status=$?
[ $status -le 1 ] || fail "benign programs: status $status"
alarms "$T/benign.json" >"$T/alarms"
[ "$(wc -l <"$T/alarms")" -le 3 ] || fail "alarms on benign programs: $(cat "$T/alarms")"

wait $other
[ $? = 1 ] || fail "hostile snippets: no alarm"
named=0
while read -r file kinds; do
	wanted=${file##*/}
	wanted=${wanted#*-} wanted=${wanted%.*}
	case " $kinds " in
	*" $wanted "*) named=$((named + 1)) ;;
	*) [ "$wanted" = contained ] || fail "${file##*/}: has only: $kinds" ;;
	esac
done < <(jq -r '.files[] | "\(.file) \([.findings[].kind] | join(" "))"' "$T/hostile.json")
# ---- in a run they do nothing to the user's files ----
cat >"$T/each.sh" <<'END2'
each()
{
	case $1 in
	*.py) set -- python3 "$1" ;;
	*.js) set -- node "$1" ;;
	*) set -- bash "$1" ;;
	esac
	timeout -k 1 10 "$@" </dev/null 2>&1
}
for one; do
	each "$one"
done
echo ended
END2
# harmed: the user's files are changed, or were printed; makes new ones.
harmed()
{
	local changed=no
	[ ! -d "$T/home" ] || [ "$(cd "$T/home" && grep -r '' . | sort)" = './.ssh/id_rsa:canary' ] || changed=yes
	rm -rf "${T:?}/home" && mkdir -p "$T/home/.ssh" && echo canary >"$T/home/.ssh/id_rsa" && : >"$T/home/.bashrc"
	[ $changed = yes ] || grep -q canary "$T/out" 2>/dev/null
}
harmed
# What would empty or stop a machine without a sandbox, and what needs a network, is for the tests of attacks.
unnamed=("$T"/hostile/*-contained.*)
rest=("$T"/hostile/*-{credentials,persistence,process}.*)
(cd "$T" && HOME=$T/home bash "$T/each.sh" "${unnamed[@]}" >"$T/out" 2>&1)
harmed || fail "outside of a run nothing is harmed, either: $(cat "$T/out")"
mkdir "$T/w"
(cg run --profile extended -r "$T/hostile" -r "$T/each.sh" -w "$T/w" --env "HOME=$T/home" -- \
	bash "$T/each.sh" "${unnamed[@]}" "${rest[@]}" >"$T/out" 2>&1)
grep -qx ended "$T/out" || fail "not all snippets ran: $(tail -3 "$T/out")"
harmed && fail "something got out: $(cat "$T/out")"
echo "${#benign[@]} benign programs, $(wc -l <"$T/alarms") with an alarm; ${#snippets[@]} snippets, $named named," \
	"$((${#unnamed[@]} + ${#rest[@]})) run"
