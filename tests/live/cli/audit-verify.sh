#!/bin/bash
# A log that proves itself: two programs that share no code agree about logs that were damaged at random, and about logs
# whose writer was killed. Keys: made, refused where the program could read them. Rotation.
. "$(dirname "$0")/../lib.sh"
need python3 openssl jq
W=$T/w
mkdir -p "$W"

verify()
{
	timeout 300 "$CALLGATE" audit verify "$@" </dev/null
}

# verdict WANTED LOG OPTION…: what callgate says of a log, and that the other program agrees as far as it can tell.
verdict()
{
	local wanted=$1 got
	shift
	got=$(verify --json "$@" | jq -r .verdict)
	[ "$got" = "$wanted" ] || fail "$*: $got for $wanted"
}

timeout 600 python3 "$SRC/tests/verify-random.py" || fail "damaged logs"

# ---- keys ----
cg key new "$T/key" || fail "key new"
[ "$(stat -c %a "$T/key")" = 600 ] || fail "the key can be read by others"
openssl pkey -in "$T/key" -pubout | cmp - "$T/key.pub" || fail "openssl finds another public key"
cg key new "$T/key" 2>"$T/err" && fail "a key was overwritten"
grep -q 'exists' "$T/err" || fail "$(cat "$T/err")"
ln -s "$T/nowhere" "$T/link"
cg key new "$T/link" 2>/dev/null && fail "a link was followed"

cg run -w "$W" --audit "$T/signed.log" --sign-key "$T/key" --json -- /bin/ls >"$T/result" || fail "run"
verdict intact "$T/signed.log" --key "$T/key.pub"
[ "$(jq -r .audit.head "$T/result")" = "$(tail -n 1 "$T/signed.log" | sha256sum | cut -c 1-64)" ] || fail "the head"
verify --key "$(jq -r .audit.key "$T/result")" "$T/signed.log" >"$T/out" || fail "$(cat "$T/out")"
cg key new "$T/other" || fail "key new"
verdict foreign_key "$T/signed.log" --key "$T/other.pub"
cg run -w "$W" --audit "$T/own.log" -- /bin/ls >/dev/null || fail "run"
verdict intact "$T/own.log"
verdict foreign_key "$T/own.log" --key "$T/key.pub"

# refused TEXT OPTION…: a run with this key does not begin.
refused()
{
	local text=$1
	shift
	rm -f "$T/no.log"
	cg run -w "$W" --audit "$T/no.log" "$@" -- /bin/true 2>"$T/err" && fail "$*: the run began"
	grep -q -- "$text" "$T/err" || fail "$*: $(cat "$T/err")"
}
cp "$T/key" "$W/key"
refused 'program.s reach' --sign-key "$W/key"
refused 'program.s reach' --sign-key "$T/key" -r "$T/key"
cp "$T/key" "$T/open"
chmod 644 "$T/open"
refused 'chmod 600' --sign-key "$T/open"
(umask 077 && openssl genpkey -algorithm X25519 -out "$T/kind" 2>/dev/null)
refused 'no Ed25519 private key' --sign-key "$T/kind"
refused 'cannot read the key' --sign-key "$T/nothing"
refused 'not a regular file' --sign-key "$T"
cg run --sign-key "$T/key" -- /bin/true 2>"$T/err" && fail "a key without a log"

# ---- several files ----
cat >"$W/calls.py" <<'EOF'
import os
for i in range(600):
    try:
        os.stat("/no/such/file-%d" % i)
    except OSError:
        pass
EOF
cg run -w "$W" --profile python --audit "$T/many.log" --audit-rotate 64K -- python3 "$W/calls.py" 2>"$T/err" ||
	fail "rotation: $(cat "$T/err")"
[ -e "$T/many.log.2" ] || fail "the log was not rotated"
verdict intact "$T/many.log"
mapfile -t files < <(ls -v "$T"/many.log*)
[ "$(python3 "$SRC/tests/verify_log.py" "${files[@]}")" = intact ] || fail "verify_log.py: several files"
rm "$T/many.log.1"
verdict lost_file "$T/many.log" "$T/many.log.2"
cg run -w "$W" --audit "$T/many.log.1" --audit-rotate 1K -- /bin/true 2>/dev/null && fail "a size below 64K"

# ---- a full disk ----
# on_small SIZE COMMAND…: in a mount namespace in which $T/small is a tmpfs of SIZE.
on_small()
{
	# shellcheck disable=SC2016 # the inner shell's
	unshare -m sh -c 'mount -t tmpfs -o "size=$1,mode=700" none "$2/small" || exit 99; shift 2; "$@"' sh \
		"$1" "$T" "${@:2}"
}
mkdir "$T/small" || die "mkdir"
if on_small 64k true 2>/dev/null; then
	cat >"$T/rotate.sh" <<'EOF'
"$CALLGATE" run -w "$1/w" --profile python --audit "$1/small/log" --audit-rotate 64K --json -- \
	python3 "$1/w/calls.py" >"$1/result" 2>"$1/err"
ls "$1/small" >"$1/listed"
"$CALLGATE" audit verify "$1/small/log" --json >"$1/verified"
EOF
	# There is room for the first file, but not for the next one's header: the log goes on in the first one.
	CALLGATE=$CALLGATE on_small 104k sh "$T/rotate.sh" "$T"
	jq -e '.audit.rotation_error == "ENOSPC"' "$T/result" >/dev/null ||
		fail "rotation on a full disk: $(jq -c '[.status, .error, .audit]' "$T/result") $(cat "$T/err")"
	grep -q -- "--audit-rotate: the log could not go on .*ENOSPC" "$T/err" || fail "not said: $(cat "$T/err")"
	[ "$(cat "$T/listed")" = log ] || fail "rotation on a full disk leaves $(cat "$T/listed")"
	jq -e '.verdict == "intact"' "$T/verified" >/dev/null || fail "full disk: $(cat "$T/verified")"
	# Half a checkpoint is not left at the end of a file.
	cat >"$T/anchor.sh" <<'EOF'
head -c 4000 /dev/zero | tr '\0' '\n' >"$1/small/anchor"
"$CALLGATE" run -w "$1/w" --audit "$1/short.log" --anchor "$1/small/anchor" --json -- /bin/true >"$1/result" 2>"$1/err"
stat -c %s "$1/small/anchor" >"$1/size"
EOF
	CALLGATE=$CALLGATE on_small 4k sh "$T/anchor.sh" "$T"
	jq -e '.exit_code == 0 and .audit.anchor == {"checkpoints": 0, "skipped": 1, "lines": 0, "error": "ENOSPC"}' \
		"$T/result" >/dev/null || fail "an anchor on a full disk: $(jq -c .audit "$T/result") $(cat "$T/err")"
	grep -q "1 checkpoints are missing.*ENOSPC" "$T/err" || fail "not said: $(cat "$T/err")"
	[ "$(cat "$T/size")" = 4000 ] || fail "a part of a checkpoint is left: $(cat "$T/size") bytes"
fi

# ---- checkpoints outside ----
cg run -w "$W" --profile python --audit "$T/anchored.log" --anchor "$T/anchor" --anchor-every 100 --json -- \
	python3 "$W/calls.py" >"$T/result" 2>"$T/err" || fail "anchor: $(cat "$T/err")"
[ "$(jq .audit.anchor.checkpoints "$T/result")" -ge 1 ] || fail "no checkpoint: $(jq -c .audit "$T/result")"
[ "$(tail -n 4 "$T/anchor" | head -n 1)" = "$(jq .audit.lines "$T/result")" ] ||
	fail "the last checkpoint: $(cat "$T/anchor")"
tail -n 3 "$T/anchor" | head -n 1 | base64 -d | od -An -tx1 | tr -d ' \n' >"$T/digits"
[ "$(cat "$T/digits")" = "$(jq -r .audit.head "$T/result")" ] || fail "the hash of the last checkpoint"
verdict intact "$T/anchored.log" --anchor "$T/anchor"
head -n -3 "$T/anchored.log" >"$T/cut.log"
verdict open_end "$T/cut.log"
verdict truncated "$T/cut.log" --anchor "$T/anchor"
verify "$T/cut.log" --anchor "$T/anchor" >"$T/out"
[ $? -eq 3 ] || fail "the exit status of a truncated log"
# Rewritten and signed anew, by another run of the same key: the checkpoints are not of this run, and say nothing.
verdict intact "$T/own.log" --anchor "$T/anchor"
sed 's/^callgate.audit.*/x/' "$T/anchor" >"$T/bad"
verify "$T/anchored.log" --anchor "$T/bad" >"$T/out" 2>&1 && fail "a file without checkpoints"
sed "2s/.*/3/" "$T/anchor" >"$T/forged"
verdict signature "$T/anchored.log" --anchor "$T/forged"
# A reader that does not read makes nothing wait. A command gets the last checkpoint.
cg run -w "$W" --audit "$T/slow.log" --anchor "command:sleep 2" -- /bin/true || fail "a slow reader"
cg run -w "$W" --audit "$T/command.log" --anchor "command:cat >$T/got" -- /bin/true || fail "a command"
await "the last checkpoint" test -s "$T/got"
verdict intact "$T/command.log" --anchor "$T/got"
# It inherits nothing but its standard streams, so that it holds no pipe, secret or log open.
cg run -w "$W" --audit "$T/inherits.log" --anchor "command:ls -l /proc/self/fd >$T/fds" -- \
	/bin/true 7<"$T/key" 8<"$T/key" || fail "a command"
# shellcheck disable=SC2317 # awaited calls it
lists_all() { [ -e "$T/fds" ] && [ "$(wc -l <"$T/fds")" -gt 4 ]; }
awaited lists_all
[ "$(awk 'NR > 1 { print $9 }' "$T/fds" | tr '\n' ' ')" = "0 1 2 3 " ] || # 3 is the directory that ls reads
	fail "the command inherits: $(cat "$T/fds")"
cg run -w "$W" --audit "$T/fd.log" --anchor fd:7 -- /bin/true 7>"$T/seven" || fail "a descriptor"
verdict intact "$T/fd.log" --anchor "$T/seven"
refused 'program' --anchor "$W/anchor"
refused 'Bad file descriptor' --anchor fd:77

# ---- what is printed is harmless ----
sed 's/"run":"/&\\u001b[31m\\u202e/' "$T/own.log" >"$T/hostile.log"
verify "$T/hostile.log" >"$T/out"
[ $? -eq 1 ] || fail "a hostile log"
LC_ALL=C grep -q "$(printf '\033')" "$T/out" && fail "an escape sequence reached the terminal"
exit 0
