#!/bin/bash
# A log that proves itself: two programs that share no code agree about logs that were damaged at random, and about logs
# whose writer was killed. Keys: made, refused where the program could read them. Rotation.
. "$(dirname "$0")/../lib.sh"
need python3 openssl jq
W=$T/w
mkdir -p "$W"

verify()
{
	timeout 60 "$CALLGATE" audit verify "$@" </dev/null
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
for _ in $(seq 20); do
	[ -s "$T/got" ] && break
	sleep 0.1
done
verdict intact "$T/command.log" --anchor "$T/got"
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
