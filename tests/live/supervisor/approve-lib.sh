# shellcheck shell=bash
# What approve.sh and approve-hostile.sh have in common; sourced after lib.sh.
# shellcheck disable=SC2154 # of lib.sh
mkdir -p "$T/w" "$T/host" "$T/home/.ssh"
H=$T/host
for name in a b c; do
	echo "text $name" >"$H/$name"
done
echo KEY >"$H/id_rsa"
cat >"$T/p.json" <<END
{"version": 1, "name": "asks", "on_deny": "ask", "filesystem": {
"read": ["/usr", "/bin", "/lib", "/lib64", "/etc", "/run", "/sys/devices/system/cpu"],
"exec": ["/usr", "/bin", "/lib", "/lib64"], "write": ["@workdir"], "deny": ["**/*.rule"]}}
END

# approver DEED...: listens at $T/s, and writes what it is told to $T/asked.
approver()
{
	rm -f "$T/s" "$T/asked"
	python3 "$SRC/tests/live/supervisor/approver.py" "$T/s" "$T/asked" "$@" 2>"$T/approver.err" &
	approver=$!
	awaited test -S "$T/s" || die "no approver: $(cat "$T/approver.err")"
}

# asks WHERE [OPTION...] -- COMMAND: its result is $T/result, its log $T/audit.
asks()
{
	local where=$1

	shift
	rm -rf "$T/audit"
	cg run -p "$T/p.json" --audit "$T/audit" --approve "$where" -e PATH=/usr/bin:/bin --json -t 100 -w "$T/w" "$@" \
		>"$T/result" 2>"$T/err"
}

ended()
{
	jq -e "$1" "$T/result" >/dev/null || fail "not $1: $(jq -c '[.status, .exit_code, .signal, .stdout, .stderr,
		.denials, .calls, .termination, .error]' "$T/result") $(cat "$T/err")"
	"$CALLGATE" audit verify "$T/audit" >/dev/null || fail "the log does not verify"
	wait "${approver:-}" 2>/dev/null
	[ ! -s "$T/approver.err" ] || fail "$(cat "$T/approver.err")"
}

question()
{
	jq -se "map(select(.type == \"question\")) | $1" "$T/asked" >/dev/null || fail "not $1: $(cat "$T/asked")"
}

# record FILTER: exactly one record fulfils it.
record()
{
	[ "$(jq -se "[.[] | select($1)] | length" "$T/audit")" = 1 ] || fail "not one record with $1:
		$(grep -E '"answer"' "$T/audit")"
}
