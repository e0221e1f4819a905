#!/bin/bash
# --user and the policy's "user": keeper, supervisor and program run as that user, and own what they create. Files that
# root opened before stay root's. Without --user: root without capabilities is subject to file modes like any user.
. "$(dirname "$0")/../lib.sh"
need setpriv jq
RUN_UID=$(($(own_uid))) # of no other process on this machine, also where the test runs twice
OTHER=$((RUN_UID + 1))

refused()
{
	local name=$1 pattern=$2 status
	shift 2
	"$@" >"$T/out" 2>"$T/err"
	status=$?
	[ $status = 125 ] || fail "$name: ended with $status: $(cat "$T/err")"
	grep -qE -- "$pattern" "$T/err" || fail "$name: the message lacks '$pattern': $(cat "$T/err")"
	[ "$(wc -l <"$T/err")" -le 2 ] || fail "$name: more than a message: $(cat "$T/err")"
}

if [ "$(id -u)" != 0 ]; then
	refused not-root "only root .*another user" cg run --user $(($(id -u) + 1)) -x /usr/bin/true -- /usr/bin/true
	cg run --user "$(id -u):$(id -g)" -x /usr/bin/true -- /usr/bin/true || fail "oneself is refused"
	printf '{"version": 1, "extends": ["minimal"], "user": "0:0"}' >"$T/p.json"
	refused policy-not-root "the policy's user 0:0: only root" cg run -p "$T/p.json" -x /usr/bin/true \
		-- /usr/bin/true
	exit
fi

chmod 711 "$T"
chmod 1777 "$T/tmp"
mkdir -m 700 "$T/mine"
mkdir -m 755 "$T/grant"
mkdir -m 777 "$T/open"
BASE=$T/tmp/callgate-$RUN_UID

# as_user [OPTION…] -- PROGRAM…
as_user()
{
	cg run --user $RUN_UID -x /usr/bin "$@"
}

# ---- who runs: all three, while they run ----
mkfifo "$T/status"
timeout 300 "$CALLGATE" run --user $RUN_UID --status-fd 9 -x /usr/bin -- /usr/bin/sleep 200 \
	9>"$T/status" </dev/null 2>"$T/err" &
shell=$!
read -r -t 60 line <"$T/status"
keeper=$(jq -r .pid <<<"$line")
# shellcheck disable=SC2317 # awaited calls it
runs()
{
	tree=$(pgrep -P "$keeper" -u "$RUN_UID") && sleeper=$(pgrep -u "$RUN_UID" -x sleep -n)
}
awaited runs || die "nothing runs: $(cat "$T/err")"
for pid in $keeper $tree $sleeper; do
	state=$(grep -E '^(Uid|Gid|Groups|CapPrm|CapEff|CapInh|CapAmb|NoNewPrivs):' "/proc/$pid/status" |
		tr -s ' \t\n' ' ')
	expected="Uid: $RUN_UID $RUN_UID $RUN_UID $RUN_UID Gid: $RUN_UID $RUN_UID $RUN_UID $RUN_UID Groups: "
	case $state in
	"$expected"*) ;;
	*) fail "process $pid ($(cat "/proc/$pid/comm")) is: $state" ;;
	esac
	for caps in Prm Eff Inh Amb; do
		case $state in
		*"Cap$caps: 0000000000000000"*) ;;
		*) fail "process $pid has capabilities: $state" ;;
		esac
	done
	case $state in
	*"NoNewPrivs: 1"*) ;;
	*) fail "process $pid: $state" ;;
	esac
done
# the custodian: root, but without capabilities, under a filter, and holding nothing but its line to the keeper,
# and the groups above the run's
custodian=$(pgrep -P "$keeper" -u 0)
expected=("CapEff:	0000000000000000" "CapPrm:	0000000000000000" "NoNewPrivs:	1")
! layer self_filter || expected+=("Seccomp:	2")
for line in "${expected[@]}"; do
	grep -q "^$line" "/proc/$custodian/status" ||
		fail "the custodian has no '$line': $(grep "^${line%%:*}" "/proc/$custodian/status")"
done
held=$(find "/proc/$custodian/fd" -mindepth 1 ! -lname '/sys/fs/cgroup/*' -printf '%l' | tr -d '0-9')
[ "$held" = "socket:[]" ] || fail "the custodian holds $held"
# not dumpable: /proc/PID of ours is root's, so its own user cannot look into it
for pid in $keeper $tree; do
	setpriv --reuid=$RUN_UID --regid=$RUN_UID --clear-groups cat "/proc/$pid/environ" >"$T/out" 2>/dev/null &&
		fail "its user reads the environment of process $pid"
done
[ "$(stat -c %u "$BASE")" = $RUN_UID ] || fail "the scratch base belongs to $(stat -c %u "$BASE")"
kill "$shell"
wait "$shell" 2>/dev/null
[ -e "$BASE" ] && fail "left behind: $(find "$BASE" | head -n 3)"

# ---- what it may do: what its uid may ----
echo secret >"$T/grant/root-only"
chmod 600 "$T/grant/root-only"
echo public >"$T/grant/public"
out=$(as_user -r "$T/grant" -W "$T/open" -- /usr/bin/sh -c \
	"cat '$T/grant/public'; cat '$T/grant/root-only'; echo x >'$T/open/made'; mkdir '$T/open/dir'" 2>&1)
case $out in
*public*"root-only: Permission denied"*) ;;
*) fail "within the grant: $out" ;;
esac
case $out in *secret*) fail "a root-only file was read" ;; esac
[ "$(stat -c %u:%g "$T/open/made" "$T/open/dir" | sort -u)" = "$RUN_UID:$RUN_UID" ] ||
	fail "owners: $(stat -c '%n %u:%g' "$T"/open/*)"
out=$(as_user -r /etc/passwd -- /usr/bin/sh -c 'id; test -w . && ls -ldn . && cat /etc/passwd')
grep -q "uid=$RUN_UID.*gid=$RUN_UID.*groups=$RUN_UID" <<<"$out" || fail "id: $out"
grep -q "^d[rwx-]* .* $RUN_UID *$RUN_UID .* \.$" <<<"$out" || fail "the workdir: $out"

# ---- forms of a user ----
[ "$(cg run --user nobody -x /usr/bin -- /usr/bin/id -u)" = "$(id -u nobody)" ] || fail "--user nobody"
[ "$(cg run --user nobody:$OTHER -x /usr/bin -- /usr/bin/id -g)" = $OTHER ] || fail "--user nobody:$OTHER"
[ "$(cg run --user $RUN_UID:daemon -x /usr/bin -- /usr/bin/id -g)" = "$(getent group daemon | cut -d: -f3)" ] ||
	fail "--user :daemon"
printf '{"version": 1, "extends": ["minimal"], "user": "%s"}' $OTHER >"$T/mine/p.json"
[ "$(cg run -p "$T/mine/p.json" -x /usr/bin -- /usr/bin/id -u)" = $OTHER ] || fail "the policy's user"
[ "$(cg run -p "$T/mine/p.json" --user $RUN_UID -x /usr/bin -- /usr/bin/id -u)" = $RUN_UID ] ||
	fail "--user over the policy's"
cg show -p "$T/mine/p.json" | jq -e ".user == \"$OTHER\"" >/dev/null || fail "show does not tell the user"
refused unknown-user "--user no-such-user: no such user" cg run --user no-such-user -- /usr/bin/true
refused unknown-group "no such group" cg run --user 1:no-such-group -- /usr/bin/true
refused large-user "no user has that number" cg run --user 4294967295 -- /usr/bin/true
refused colons "more than one colon" cg run --user 1:2:3 -- /usr/bin/true
refused no-user "names no user" cg run --user :3 -- /usr/bin/true
refused no-group "names no group" cg run --user 3: -- /usr/bin/true
refused user-not-root "only root" setpriv --reuid=$OTHER --regid=$OTHER --clear-groups "$CALLGATE" run --user 0 \
	-- /usr/bin/true

# ---- a workdir of root's: nothing about it changes ----
refused workdir-closed "-w $T/mine: Permission denied; name a directory that user $RUN_UID can read" as_user \
	-w "$T/mine" -- /usr/bin/true
before=$(stat -c '%u %g %a' "$T/grant")
as_user -w "$T/grant" -- /usr/bin/sh -c 'cat public; ! touch new' >"$T/out" 2>"$T/err" ||
	fail "in root's directory: $(cat "$T/err")"
grep -q "user $RUN_UID may not write there" "$T/err" || fail "no warning: $(cat "$T/err")"
[ "$(stat -c '%u %g %a' "$T/grant")" = "$before" ] || fail "the workdir was changed"

# ---- what root hands in and gets back, from and to where the user has no way ----
echo handed-in >"$T/mine/in"
chmod 600 "$T/mine/in"
cd "$T/mine" || die cd
as_user --json --input in --output out --audit log --output-limit 10 \
	-- /usr/bin/sh -c 'cat in; mkdir -m 700 d; umask 077; cat in >d/file; seq 100' >"$T/json" 2>"$T/err" ||
	fail "handing in and out: $(cat "$T/err" "$T/json")"
[ "$(cat out/d/file)" = handed-in ] || fail "--output: $(ls -lR out)"
[ "$(stat -c %u out out/d out/d/file log | sort -u)" = 0 ] || fail "owners: $(stat -c '%n %u' out out/d out/d/file log)"
[ "$(stat -c %a log)" = 600 ] || fail "the log's mode is $(stat -c %a log)"
tail -n 1 log | jq -e '.type == "trailer" or .status == "ok"' >/dev/null || fail "the log has no end: $(tail -n 1 log)"
spill=$(jq -r .stdout_path "$T/json")
[ "$(head -n 1 "$spill")" = handed-in ] || fail "the spill file $spill: $(ls -l "$spill")"
rm -rf "$BASE"
refused log-exists "the log log exists" as_user --audit log -- /usr/bin/true
refused log-nowhere "cannot write the log .*No such file" as_user --audit /no/such/log -- /usr/bin/true
cd "$T" || die cd

# the supervisor dies: the keeper, who is not root any more, still ends the log
timeout 300 "$CALLGATE" run --user $RUN_UID --audit "$T/mine/killed" -x /usr/bin -- /usr/bin/sleep 200 \
	</dev/null 2>"$T/err" &
shell=$!
# shellcheck disable=SC2317 # await calls it
sleeps() { sleeper=$(pgrep -u "$RUN_UID" -x sleep -n); }
await "the program" sleeps
kill -9 "$(ps -o ppid= -p "$sleeper" | tr -d ' ')"
wait "$shell"
[ $? = 125 ] || fail "the supervisor's death was not told"
tail -n 1 "$T/mine/killed" | grep -q '"error"' ||
	fail "the log of a dead supervisor: $(tail -n 1 "$T/mine/killed" | cut -c 1-200)"
awaited dead "$sleeper" || fail "the program lives on"

# ---- another user was in the scratch space before us ----
mkdir "$BASE"
chown $OTHER "$BASE"
chmod 700 "$BASE"
# squatted WHAT: the run has another directory, says so once, and leaves nothing; what is there stays as it was.
squatted()
{
	as_user -- /usr/bin/true >"$T/out" 2>&1 || fail "$1: the run ended with $?: $(cat "$T/out")"
	[ "$(grep -c "$BASE cannot be used as scratch space: .*; this run has $BASE-......" "$T/out")" = 1 ] ||
		fail "$1: $(cat "$T/out")"
	as_user --quiet -- /usr/bin/true >"$T/out" 2>&1 || fail "$1, quiet: the run ended with $?"
	[ -s "$T/out" ] && fail "$1: said in spite of --quiet: $(cat "$T/out")"
	[ -z "$(find "$BASE"-* -mindepth 1 ! -path '*/spare' ! -path '*/spare/*' 2>/dev/null)" ] ||
		fail "$1: left: $(find "$BASE"-*)"
	[ -z "$(find "$T/tmp" -path "$BASE-*" ! -uid $RUN_UID)" ] ||
		fail "$1: not the user's: $(find "$T/tmp" -path "$BASE-*" -ls)"
}
squatted foreign-base
[ "$(stat -c '%u %a' "$BASE")" = "$OTHER 700" ] || fail "another's directory was changed: $(stat -c '%u %a' "$BASE")"
rmdir "$BASE"
mkdir -m 777 "$T/victim"
ln -s "$T/victim" "$BASE"
squatted linked-base
[ -z "$(ls -A "$T/victim")" ] || fail "made through a link: $(ls -A "$T/victim")"
rm "$BASE"
echo x >"$BASE"
squatted file
rm -rf "$BASE" "$BASE"-*
mkdir -m 700 "$T/closed"
TMPDIR=$T/closed refused closed-tmpdir "TMPDIR" as_user -- /usr/bin/true

# ---- root itself, without --user: modes hold, as they do for a root without capabilities ----
echo nobodys >"$T/grant/nobodys"
chown $OTHER:$OTHER "$T/grant/nobodys"
chmod 000 "$T/grant/nobodys"
mkdir -m 700 "$T/grant/theirs"
echo x >"$T/grant/theirs/file"
chown -R $OTHER:$OTHER "$T/grant/theirs"
for command in "cat '$T/grant/nobodys'" "cat '$T/grant/theirs/file'" "touch '$T/grant/theirs/new'" \
	"chmod 644 '$T/grant/nobodys'" "ln '$T/grant/nobodys' '$T/grant/link'"; do
	native /usr/bin/sh -c "$command" >"$T/native" 2>&1
	cg run -x /usr/bin -W "$T/grant" -W "$T/open" -- /usr/bin/sh -c "$command" >"$T/inside" 2>&1
	cmp -s "$T/native" "$T/inside" || fail "$command: natively $(cat "$T/native"), inside $(cat "$T/inside")"
	grep -qE "Permission denied|not permitted" "$T/inside" || fail "$command: not refused: $(cat "$T/inside")"
done

# ---- an ordinary user with a further group: the supervisor opens what he may open, by his groups, and nothing else
# ----
echo by-group >"$T/grant/by-group"
chown 0:$RUN_UID "$T/grant/by-group"
chmod 640 "$T/grant/by-group"
CALLGATE_PROFILES=$SRC/policy/profiles "$CALLGATE" show -x /usr/bin -r "$T/grant" >"$T/open/p.json" || fail "show"
chmod 644 "$T/open/p.json" # a policy of its own: the profiles may be closed to that user
if setpriv --reuid=$OTHER --regid=$OTHER --clear-groups test -x "$CALLGATE"; then
	as_other=(setpriv "--reuid=$OTHER" "--regid=$OTHER")
	[ "$("${as_other[@]}" --groups=$OTHER,$RUN_UID "$CALLGATE" run -p "$T/open/p.json" \
		-- /usr/bin/cat "$T/grant/by-group" 2>&1)" = by-group ] ||
		fail "a further group does not count inside"
	out=$("${as_other[@]}" --clear-groups "$CALLGATE" run -p "$T/open/p.json" \
		-- /usr/bin/cat "$T/grant/by-group" 2>&1) && fail "read without the group: $out"
	grep -q "Permission denied" <<<"$out" || fail "without the group: $out"
	# and --user takes away root's
	out=$(setpriv --groups=0,$OTHER "$CALLGATE" run --user $OTHER:$OTHER -x /usr/bin -- /usr/bin/id -G)
	[ "$out" = $OTHER ] || fail "--user leaves the groups $out"
fi
[ -e "$BASE" ] && fail "left behind: $(find "$BASE" | head -n 3)"
awaited not pgrep -u $RUN_UID,$OTHER >/dev/null || fail "processes are left: $(pgrep -lu $RUN_UID,$OTHER)"
exit
