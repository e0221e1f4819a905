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

# ---- what is printed is harmless ----
sed 's/"run":"/&\\u001b[31m\\u202e/' "$T/own.log" >"$T/hostile.log"
verify "$T/hostile.log" >"$T/out"
[ $? -eq 1 ] || fail "a hostile log"
LC_ALL=C grep -q "$(printf '\033')" "$T/out" && fail "an escape sequence reached the terminal"
exit 0
