#!/bin/bash
# The attestation of a run: what it says, that callgate and openssl alone verify it, that nothing in it can be changed,
# and that it goes with its log only.
. "$(dirname "$0")/../lib.sh"
need jq openssl
W=$T/w
mkdir -p "$W" "$T/out"
cd "$T" || die "no directory"
cg key new "$T/key" || fail "key new"
printf 'a;b\n' >"$T/in.csv"

# attest NAME OPTION… -- PROGRAM…: runs it with a log and an attestation.
attest()
{
	local name=$1
	shift
	cg run --sign-key "$T/key" --audit "$T/$name.log" --attest "$T/$name.att" "$@"
}

verify()
{
	timeout 300 "$CALLGATE" attest verify "$@" </dev/null
}

attest run --input "$T/in.csv" --output "$T/out" --json -- \
	/bin/sh -c 'echo x >made; exit 3' "$(printf 'a\nb \033[31m')" >"$T/result"
[ $? -eq 3 ] || fail "the run: $(cat "$T/result")"
verify "$T/run.att" --key "$T/key.pub" --log "$T/run.log" >"$T/shown" || fail "not verified: $(cat "$T/shown")"
LC_ALL=C grep -q "$(printf '\033')" "$T/shown" && fail "an escape sequence reached the terminal"
verify "$T/run.att" --key "$T/key.pub" --json >"$T/statement" || fail "no statement"
jq -e '._type == "https://in-toto.io/Statement/v1" and (.predicate | .exit_code == 3 and (.command | length) == 4 and
	(.policy.text | fromjson | type) == "object" and .kernel.release and .enforcement.seccomp_notify.active and
	.inputs[0].name == "in.csv")' "$T/statement" >"$T/shown" ||
	fail "the statement: $(cat "$T/statement")"
[ "$(jq -r '.predicate.inputs[0].digest.sha256' "$T/statement")" = "$(sha256sum <"$T/in.csv" | cut -c 1-64)" ] ||
	fail "the digest of the input"
[ "$(jq -r '.subject[] | select(.name | endswith("/made")) | .digest.sha256' "$T/statement")" = \
	"$(echo x | sha256sum | cut -c 1-64)" ] || fail "the digest of the output"
[ "$(jq -r .predicate.log.head "$T/statement")" = "$(tail -n 1 "$T/run.log" | sha256sum | cut -c 1-64)" ] ||
	fail "the head of the log"
[ "$(jq -r .predicate.policy.sha256 "$T/statement")" = "$(jq -r .policy.sha256 "$T/result")" ] || fail "the policy"

# ---- by the manual, without callgate ----
sed -n '/tests.live.cli.attest.sh runs these lines/,/^\.Ed/p' "$SRC/doc/callgate.1" | grep -v '^\.' |
	sed 's/\\-/-/g; s/\\e/\\/g' >"$T/by-hand.sh"
cp "$T/key.pub" "$T/key.pub.kept"
(cd "$T" && sh -e ./by-hand.sh) >"$T/shown" 2>&1 || fail "the manual's commands: $(cat "$T/shown")"
grep -q 'Verified Successfully' "$T/shown" || fail "openssl says: $(cat "$T/shown")"
cmp -s <(cat "$T/statement") <(cat "$T/payload"; echo) || fail "the statement is not the signed payload"

# ---- changed ----
# changed STATUS FILTER: the envelope, changed by jq, is refused so.
changed()
{
	jq -c "$2" "$T/run.att" >"$T/changed.att"
	verify "$T/changed.att" --key "$T/key.pub" >"$T/shown" 2>&1
	[ $? -eq "$1" ] || fail "$2: $(cat "$T/shown")"
}
changed 2 '.payload |= (@base64d | sub("\"exit_code\":3"; "\"exit_code\":0") | @base64)'
changed 2 '.signatures[0].sig |= (if startswith("A") then "B" else "A" end) + .[1:]'
changed 2 '.signatures = []'
changed 125 '.payloadType = "text/plain"'
changed 125 'del(.payload)'
changed 125 '.payload = "%%"'
echo '[' >"$T/changed.att"
verify "$T/changed.att" --key "$T/key.pub" 2>/dev/null && fail "not JSON"
cg key new "$T/other" || fail "key new"
verify "$T/run.att" --key "$T/other.pub" 2>/dev/null
[ $? -eq 2 ] || fail "another key"

# ---- with another log ----
attest other -- /bin/true || fail "another run"
verify "$T/run.att" --key "$T/key.pub" --log "$T/other.log" >/dev/null 2>&1
[ $? -eq 1 ] || fail "another log"
sed 's/"pid":/"pid": /' "$T/run.log" >"$T/edited.log"
verify "$T/run.att" --key "$T/key.pub" --log "$T/edited.log" >/dev/null 2>&1
[ $? -eq 1 ] || fail "an edited log"

# ---- refused ----
cg run --attest "$T/no.att" -- /bin/true 2>"$T/err" && fail "an attestation without a log"
grep -q 'add --audit' "$T/err" || fail "$(cat "$T/err")"
[ -e "$T/no.att" ] && fail "a file without a run"
exit 0
