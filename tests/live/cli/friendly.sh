#!/bin/bash
# What callgate says when something is missing, too small or mistaken: the thing, the reason and the way out.
. "$(dirname "$0")/../lib.sh"
need jq
cg_says() # PATTERN STATUS ARGUMENT...: standard error has a line like this, and the exit status is this
{
	local pattern=$1 want=$2 status
	shift 2
	timeout -k 5 300 "$CALLGATE" "$@" </dev/null >"$T/out" 2>"$T/err"
	status=$?
	[ $status = "$want" ] || fail "$*: exit status $status: $(cat "$T/err")"
	[ -z "$pattern" ] || grep -qE "$pattern" "$T/err" || fail "$*: says $(cat "$T/err")"
}

# the mistakes of a policy, in the result as well
cat >"$T/bad.json" <<'JSON'
{"version": 1,
 "filesystem": {"read": ["/usr", 5], "rite": []},
 "limits": {"wall": "soon"}}
JSON
cg_says 'bad.json:3: limits.wall: "soon" is no time' 125 check "$T/bad.json"
[ "$(wc -l <"$T/err")" = 3 ] || fail "check does not report all three: $(cat "$T/err")"
cg_says 'nothing was run' 125 run --json -p "$T/bad.json" -- true
jq -e --arg file "$T/bad.json" '.error.code == "policy_invalid" and
	([.error.mistakes[] | [.file, .line, .key]] ==
	[[$file, 2, "filesystem.read[1]"], [$file, 2, "filesystem.rite"], [$file, 3, "limits.wall"]]) and
	(.error.mistakes[1].message | startswith("unknown key; did you mean"))' "$T/out" >/dev/null ||
	fail "the mistakes: $(jq -c .error "$T/out")"
echo '{"version": 1,}' >"$T/syntax.json"
cg_says 'not valid JSON' 125 run --json -p "$T/syntax.json" -- true
jq -e '.error.mistakes[0] | .line == 1 and .key == null and (.message | startswith("not valid JSON"))' \
	"$T/out" >/dev/null ||
	fail "a syntax error: $(jq -c .error "$T/out")"
cg_says 'nothing was run' 125 run --json --allow-host a..b -- true
jq -e '.error.mistakes == [{"file": null, "line": null, "key": "--allow-host a..b", "message": "is no host name"}]' \
	"$T/out" >/dev/null || fail "a mistake on the command line: $(jq -c .error "$T/out")"

# grants of what is not there
mkdir "$T/w"
cg_says 'command line: -r: warning: /no/such does not exist' 0 run -r /no/such -W "$T/w" -W @workdir/new -- /bin/true
grep -q "$T/w\|new" "$T/err" && fail "warns of what is there, or may be made: $(cat "$T/err")"
cg_says '' 0 run -q -r /no/such -- /bin/true
[ -s "$T/err" ] && fail "-q warns: $(cat "$T/err")"
echo '{"version": 1, "extends": ["extended"], "filesystem": {"read": ["/no/such/*"]}}' >"$T/missing.json"
cg_says 'missing.json:1: filesystem.read\[0\]: warning: /no/such does not exist' 0 check "$T/missing.json"
[ "$(wc -l <"$T/err")" = 1 ] || fail "warns of the profile's paths: $(cat "$T/err")"

# secrets
unset FRIENDLY_TOKEN
cg_says 'run: --secret FRIENDLY_TOKEN: that variable is not set' 125 run --secret FRIENDLY_TOKEN@a.test -- /bin/true
cg_says 'FRIENDLY_TOKEN: .*that variable is not set' 125 run --secret FRIENDLY_TOKEN@a.test --allow-host a.test -- \
	/bin/true

# too few descriptors
(
	ulimit -n 24
	cg_says 'ulimit -n is 24, this policy may need [0-9]+' 125 run --profile python -- /usr/bin/true
	exit "$live_failed"
) || live_failed=1

# limits that end a run
cg_says 'reached its limit: cpu 1 s, used (1|1\.[0-9]+) s' 124 run --profile python --cpu 1s -- \
	"$PYTHON" -c 'while 1: pass'
cg_says 'reached its limit: disk 1M, used [0-9.]+M' 137 run --profile python --disk 1M -- \
	"$PYTHON" -c 'open("x", "w").write("x" * 5000000)'
mkdir "$T/cow" && head -c 5M /dev/urandom >"$T/cow/big"
cg_says 'reached its limit: disk 3M.*; there was no room for .*/cow/big$' 137 run --profile extended --disk 3M --cow \
	-w "$T/cow" -- sh -c 'echo x >>big'
for workspace in "$TMPDIR"/callgate-*/workspaces/*; do
	"$CALLGATE" ws discard "${workspace##*/}" 2>/dev/null || fail "no workspace to discard"
done
cg_says 'reached its limit: memory 60M, used [0-9.]+M$' 137 run --profile python -m 60M -- \
	"$PYTHON" -c 'x = b"1" * 200000000'
cg_says 'memory 2M, used [0-9.]+M; that is too small for most programs to start: use a larger -m' 137 \
	run --profile python -m 2M -- "$PYTHON" -c 'x = b"1" * 200000000'
TMPDIR=$T/gone cg_says "TMPDIR $T/gone: it does not exist; set TMPDIR" 125 run -- /bin/true

# --help tells each verb's default, and names only sections that the man page has
for verb in show why replay run "session create" mcp; do
	profile=minimal
	[ "$verb" != mcp ] || profile=extended
	# shellcheck disable=SC2086 # words
	"$CALLGATE" $verb --help | grep -qE "(default: --|[Ww]ithout -p and --profile .* the )profile $profile" ||
		fail "$verb --help does not tell the default profile $profile"
done
for verb in "audit report" "audit show" run compare learn experiment "session inspect" policy; do
	# shellcheck disable=SC2086 # words
	while IFS= read -r section; do
		grep -q "^\.Sh $section" "$SRC/doc/callgate.1" ||
			fail "$verb --help: no section $section in callgate(1)"
	done < <("$CALLGATE" $verb --help | grep -oE 'callgate\(1\), [A-Z][A-Z ]+' | cut -d ' ' -f 2-)
done

# each option of --help is in a man page
sed 's/\\-/-/g' "$SRC"/doc/callgate*.1 >"$T/pages"
while IFS= read -r verb; do
	# shellcheck disable=SC2086 # words
	while IFS= read -r option; do
		grep -qE -- "(Fl|,) $option( |\$|,|=|\[)" "$T/pages" || fail "$verb -$option is in no man page"
	done < <("$CALLGATE" $verb --help | sed -nE 's/^ +(-., )?-(-[a-z-]+).*/\2/p' | grep -vxE -- '-(help|version)')
done < <(printf '%s\n' run check show why policy\ {diff,fmt,minimise,test} \
	audit\ {show,stats,top,diff,export,report,verify} "attest verify" \
	session\ {create,exec,inspect,checkpoint,restore,list,stop} mcp serve \
	ws\ {list,diff,apply,recover,keep,discard} \
	compare replay inspect libraries learn "experiment run" doctor)

# shellcheck disable=SC2016 # the inner shell's
# with --user the variables of a user, and "~", are that user's
if [ "$(id -u)" = 0 ] && id nobody >/dev/null 2>&1; then
	chmod 755 "$T"
	chmod 1777 "$T/tmp"
	home=$(getent passwd nobody | cut -d: -f6)
	HOME=/root USER=root PATH=/root/bin:$PATH cg_says '' 0 run --user nobody --profile minimal -e HOME -e USER \
		-e PATH -e LOGNAME -x /bin/sh -- /bin/sh -c 'echo $HOME $USER $LOGNAME $PATH'
	[ "$(cat "$T/out")" = "$home nobody nobody /usr/local/bin:/usr/bin:/bin" ] ||
		fail "--user nobody: $(cat "$T/out")"
	HOME=/root USER=root cg_says '' 0 run --user 54321 --profile minimal -e HOME -e USER -x /bin/sh -- \
		/bin/sh -c 'echo $HOME $USER'
	[ "$(cat "$T/out")" = / ] || fail "--user 54321: $(cat "$T/out")"
fi
exit 0
