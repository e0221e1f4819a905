#!/bin/bash
# fstat(2) is left to the kernel where its result reveals no more of a path than the view does. Then it is not on
# record, its values are right, and it reveals nothing when a path is passed instead. Everywhere else it is judged.
# shellcheck disable=SC2016 # what is not expanded is jq's
. "$(dirname "$0")/../lib.sh"
need jq stat
judged subject || skip "reading is not judged"
case=$CASES/cases-fstat
[ -x "$case" ] || skip "cases-fstat is not built"
mkdir -p "$T/w/hidden" "$T/other" "$T/tree/sub"
echo denied >"$T/w/hidden/key"
echo secret >"$T/w/.env"
echo open >"$T/w/open"
echo text >"$T/tree/file.txt"
echo data >"$T/tree/sub/file.bin"

# told OPTION… -- DIR PATH…: the lines of the case in $T/out, its log in $T/audit, sets how ("native" or "judged")
told()
{
	local options
	take_options "$@"
	shift $((${#options[@]} + 1))
	rm -f "$T/audit"
	cg run --json -w "$T/w" -x "$case" --audit "$T/audit" "${options[@]}" -- "$case" "$@" >"$T/result" 2>"$T/err" ||
		die "${options[*]}: $(cat "$T/err" "$T/result")"
	jq -r .stdout "$T/result" >"$T/out"
	how=judged
	jq -r .enforcement.mountns.why "$T/result" | grep -q 'fstat is left to it' && how=native
}

# recorded: how many looks at metadata by these two flags are on record
recorded()
{
	jq -s '[.[] | select(.args.flags == "0x1000")] | length' "$T/audit"
}

# line DIR PATH: what was said of it
line()
{
	awk -v name="$1 $2" 'substr($0, length($1 $2 $3) + 4) == name { print $1, $2, $3; exit }' "$T/out"
}

# says DIR PATH RESULT: what all three say
says()
{
	[ "$(line "$1" "$2")" = "$3 $3 $3" ] || fail "$how: $1 $2: $(line "$1" "$2"), not $3"
}

# no_wider: whatever the kernel tells, the view tells as well
no_wider()
{
	awk '$1 ~ /:/ && $3 !~ /:/ || $2 ~ /:/ && $3 !~ /:/' "$T/out" >"$T/wider"
	[ -s "$T/wider" ] && fail "the kernel tells more than the view: $(head -n 5 "$T/wider")"
	return 0
}

open_is=$(stat -c %i "$T/w/open"):100644
absent=("$T/tree" "$T/tree/file.txt" /etc/shadow /root/.ssh /proc/1 /proc/1/exe /proc/1/root/etc /proc/1/fd/0 \
	/proc/kcore
	/proc/driver /proc/fs /proc/sys/net/ipv4 /proc/self/root/etc/shadow /proc/swaps /boot /sys /dev/mem \
		/dev/.callgate)
pairs=("$T/w/open" "" "$T/w" open "$T/w" .env - "$T/w/open" "$T/w" ../other)
for path in "${absent[@]}" /etc/* /*; do
	pairs+=(- "$path")
done
# From each directory that the program can have a descriptor of.
for dir in / /proc /proc/self /proc/self/task /proc/sys /proc/sys/kernel /tmp /dev "$T/w"; do
	for up in .. ../.. ../../..; do
		for name in etc/shadow driver kcore 1/exe "${T#/}/tree/file.txt" .callgate-proc/proc \
			.callgate-proc/proc/kcore; do
			pairs+=("$dir" "$up/$name")
		done
	done
done

# ---- without anything that the kernel would have to hide ----
told -- "${pairs[@]}"
if [ $how = native ]; then
	[ "$(recorded)" = 0 ] || fail "$(recorded) records of what is not judged"
	if ! layer mountns || ! layer pidns || ! layer netns; then
		fail "native, without the namespaces"
	fi
else
	layer mountns && layer pidns && layer netns &&
		fail "judged, and nothing speaks against leaving it to the kernel"
	[ "$(recorded)" -ge 100 ] || fail "only $(recorded) records"
fi
echo "fstat is $how here"
says "$T/w/open" "" "$open_is"
says "$T/w" open "$open_is"
says - "$T/w/open" "$open_is"
for path in "${absent[@]}"; do
	[[ $(line - "$path") =~ ^(E[A-Z]+ ){2}E[A-Z]+$ ]] || fail "$how: $path: $(line - "$path")"
done
no_wider
here=$how

# What the kernel has no name for in the program's root is gone to all the same.
cg run --json -x /usr/bin -- sh -c 'for to in /proc/sys /proc/sys/kernel .. kernel/.. /proc /proc/self; do
	cd "$to" && pwd -P && ls >/dev/null; done;
	cat /proc/sys/kernel/ostype; cd /proc/sys/kernel && cat ostype; cd /proc/sys/nothing' |
	jq -r '.stdout + .stderr' | grep . | sed 's|^/proc/[0-9]*$|/proc/PID|; s/^.*: //' | tr '\n' ' ' >"$T/went"
no="can't cd to /proc/sys/nothing"
[ "$(cat "$T/went")" = "/proc/sys /proc/sys/kernel /proc/sys /proc/sys /proc /proc/PID Linux Linux $no " ] ||
	fail "chdir within /proc/sys: $(cat "$T/went")"

# ---- what takes it back: each of these alone ----
# judged_by WHAT OPTION…: it is on record then
judged_by()
{
	local what=$1
	shift
	told "$@" -- "$T/w/open" "" "$T/w" open
	[ $how = judged ] || fail "native with $what"
	[ "$(recorded)" -ge 4 ] || fail "$what: $(recorded) records"
	says "$T/w/open" "" "$open_is"
	audit_has '.args.flags == "0x1000" and .path == "" and .reason == "own_descriptor"'
}
policy()
{
	jq -n --arg t "$T" "{version: 1, name: \"t\", extends: [\"minimal\"]} * $1" >"$T/p.json"
}

policy '{audit: {fstat: true}}'
judged_by audit.fstat -p "$T/p.json"
judged_by "the profile extended, which denies **/.env" --profile extended
policy '{filesystem: {deny: ["\($t)/w/hidden"]}}'
judged_by "a denied directory" -p "$T/p.json"
policy '{filesystem: {deny: ["\($t)/w/not-there-yet"]}}'
judged_by "a denied name that may come to be" -p "$T/p.json"
judged_by "a glob that grants" -r "$T/tree/*.txt"
policy '{filesystem: {read: ["\($t)/tree"], redirect: [{from: "\($t)/tree/sub", to: "@scratch/sub"}]}}'
judged_by "a redirect within a tree of the host's" -p "$T/p.json"
policy '{filesystem: {read: ["\($t)/tree"], provide: {"\($t)/tree/file.txt": "provided"}}}'
judged_by "a file provided within a tree of the host's" -p "$T/p.json"
cg run --json -r / -- true | jq -r .enforcement.mountns.why | grep -q 'left to it' &&
	fail "native with a grant of everything"
if [ -z "${LIVE_WITHOUT:-}" ]; then
	for kind in mountns pidns netns userns,mountns,pidns,netns namespaces; do
		judged_by "--without $kind" --without "$kind"
	done
fi
# What leaves it where it was.
policy '{filesystem: {read: ["\($t)/tree"], redirect: [{from: "\($t)/name", to: "@scratch/name"}],
	provide: {"\($t)/file": "provided"}}}'
told -p "$T/p.json" -- "$T/w/open" "" "$T/name" "" "$T/file" "" - "$T/tree/sub/file.bin"
[ $how = $here ] || fail "$how with a redirect and a provided file beside the trees of the host's"
no_wider

# ---- denied names, as long as they are denied ----
policy '{filesystem: {deny: ["**/.env", "\($t)/w/hidden"]}}'
told -p "$T/p.json" -- "$T/w" .env "$T/w" hidden/key "$T/w" hidden - "$T/w/.env" "$T/w/open" ""
for path in .env hidden/key hidden; do
	says "$T/w" $path EACCES
done
says - "$T/w/.env" EACCES
says "$T/w/open" "" "$open_is"
audit_has '.syscall == "newfstatat" and .args.flags == "0x1000" and .path == ".env" and .verdict == "deny"'
audit_has '.syscall == "statx" and .args.flags == "0x1000" and .path == "hidden/key" and .verdict == "deny"'
