#!/bin/sh
# callgate policy: diff, test, fmt.
set -u

top=${top_srcdir:-$(cd "$(dirname "$0")/.." && pwd)}
callgate=${CALLGATE:-callgate}
failed=0
ran=0

command -v "$callgate" >/dev/null || { echo "no program to test: $callgate" >&2; exit 77; }
callgate=$(command -v "$callgate")
case $callgate in /*) ;; *) callgate=$PWD/$callgate ;; esac
export CALLGATE_PROFILES="$top/policy/profiles"
dir=$(mktemp -d) || exit 99
dir=$(cd "$dir" && pwd -P)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 99

fail()
{
	echo "$*" >&2
	failed=$((failed + 1))
}

# expect STATUS TEXT ARGUMENT...: callgate policy ends so, and its output holds the text.
expect()
{
	status=$1 text=$2
	shift 2
	ran=$((ran + 1))
	out=$("$callgate" policy "$@" 2>&1 </dev/null)
	got=$?
	case $out in
	*"$text"*) [ "$got" -eq "$status" ] && return ;;
	esac
	fail "callgate policy $*: status $got for $status, or no \"$text\" in: $(printf '%s' "$out" | head -c 900)"
}

# expect_no TEXT: the last output does not hold it.
expect_no()
{
	ran=$((ran + 1))
	case $out in
	*"$1"*) fail "\"$1\" should not be in the output" ;;
	esac
}

# ---- the verbs ----
expect 125 'no verb given'
expect 125 'unknown verb "dif"; did you mean "diff"?' dif
expect 0 'Each verb has --help' --help
expect 0 'callgate ' --version

# ---- diff ----
mkdir data work
printf '{"filesystem": {"read": ["%s/data"], "deny": ["**/.env"]}, "limits": {"wall": "60s"}}' "$dir" >a.json
printf '{"filesystem": {"read": ["%s/data"]}, "limits": {"wall": "90s"}, "env": {"pass": ["LANG"]},
	"network": {"allow": [{"host": "api.test", "http": ["GET /v1/**"]}], "listen": [8000]}}' "$dir" >b.json
cp a.json same.json
printf '{"filesystem": {"read": ["%s/data"], "deny": ["**/.env"]}, "limits": {"wall": "60s"},
	"env": {"set": {"PATH": "/elsewhere"}}}' "$dir" >other-path.json
expect 0 'no differences' diff a.json a.json
expect 0 'no differences' diff a.json same.json
expect 1 "+ read by b.json: filesystem.read[0] $dir/data; before: denied_by_rule by a.json: filesystem.deny[0] **/.env
    open $dir/data/.env:r" diff a.json b.json
expect 1 'url GET https://api.test:443/v1' diff a.json b.json
expect 1 '    listen 8000' diff a.json b.json
expect 1 '~ limits.wall: "60s" -> "90s" (wider)' diff a.json b.json
expect 1 '~ env.pass[LANG]: not set -> "LANG" (wider)' diff a.json b.json
expect 1 '- read by b.json' diff b.json a.json
expect_no '+ '
expect 0 'PASS: new accesses: 0; settings that grant more, or may: 0' diff --no-new-access b.json a.json
expect 1 'FAIL: ' diff --no-new-access a.json b.json
expect 1 '"new_access": true' diff --json a.json b.json
expect 0 '"different": false' diff --json a.json a.json
expect 1 'FAIL: new accesses: 0; settings' diff --no-new-access a.json other-path.json
expect_no '+ '
expect 1 '+ exec by extended.json' diff minimal extended
expect 0 'no differences' diff extended extended
expect 0 'no differences' diff -w work -r data a.json same.json
expect 125 'takes two policies' diff a.json
expect 125 'takes two policies' diff a.json b.json c d
expect 125 'no profile "none"' diff a.json none
printf '{\n"filesystm": {}}' >bad.json
expect 125 'bad.json:2: filesystm: unknown key' diff a.json bad.json
expect 0 'Exit status: 0 no differences' diff --help
# What only the setup may do is compared, too.
printf '{"phases": {"setup": {"network": {"allow": [{"host": "a.test"}]}}}}' >setup.json
printf '{"phases": {"setup": {"network": {"allow": [{"host": "b.test"}]}}}}' >setup2.json
expect 1 'phase setup:
+ connect by setup2.json: phases.setup.network.allow[0] b.test:443' diff setup.json setup2.json
expect_no 'phase run'
expect 0 'no differences' diff --phase run setup.json setup2.json
# Each witness is what why answers.
"$callgate" policy diff --json a.json b.json >diff.out
if command -v jq >/dev/null; then
	jq -r '.phases[] | (.added + .removed)[] | .first.verdict as $a | .second.verdict as $b | .witnesses[] |
		to_entries[] | [$a, $b, .key, .value] | @tsv' diff.out >witnesses
	[ -s witnesses ] || fail "no witnesses in: $(cat diff.out)"
	while IFS="$(printf '\t')" read -r first second option text; do
		ran=$((ran + 1))
		for policy in "a.json $first" "b.json $second"; do
			"$callgate" why -p "${policy% *}" "--$option" "$text" --json >why.out 2>&1
			[ "$(jq -r .verdict why.out)" = "${policy#* }" ] ||
				fail "${policy% *} --$option $text: not ${policy#* } but $(cat why.out)"
		done
	done <witnesses
fi

# ---- test ----
cat >cases.json <<'END'
{"description": "of b.json", "cases": [
	{"name": "data #1", "open": "DIR/data/x", "verdict": "allow", "rule": "b.json: filesystem.read[0]"},
	{"open": "DIR/data/x:w", "verdict": "deny", "reason": "read_only"},
	{"exec": "/usr/bin/curl", "verdict": "deny", "rule": null},
	{"url": "GET https://api.test/v1/x", "verdict": "allow"},
	{"connect": "api.test:443", "verdict": "allow", "rule": "network.allow[0]"},
	{"listen": "8000", "verdict": "allow"}
]}
END
sed "s#DIR#$dir#" cases.json >good.json
expect 0 '1..6
ok 1 - data  1: open' test b.json good.json
expect 0 '# rules: 3, decided a case: 3, match a case: 3' test --coverage b.json good.json
expect 0 "#       2       2 b.json: filesystem.read[0] $dir/data" test --coverage b.json good.json
expect 1 "not ok 4 - url GET https://api.test/v1/x: allow
# good.json:5: deny by no rule (no_network)" test a.json good.json
expect 1 '<testsuite name="good.json" tests="6" failures="4">' test --format junit a.json good.json
expect 1 '<failure message="good.json:2: allow by a.json: filesystem.read[0]' test --format junit a.json good.json
if command -v xmllint >/dev/null; then
	printf '%s\n' "$out" | xmllint --noout - || fail "no XML: $out"
fi
# A rule that matches and does not decide is counted apart.
printf '{"filesystem": {"read": ["%s", "%s/data"]}}' "$dir" "$dir" >two.json
printf '{"cases": [{"open": "%s/data/x", "verdict": "allow"}]}' "$dir" >one.json
expect 0 '# rules: 2, decided a case: 1, match a case: 2' test --coverage two.json one.json
# bad REGEX TEXT: callgate policy test refuses this file of cases with the message.
bad()
{
	printf '%b' "$2" >badcases.json
	expect 125 "$1" test b.json badcases.json
}
bad 'badcases.json:1:12: not valid JSON' '{"cases": [}'
bad 'badcases.json:1: must be an object {"cases": [...]}' '[]'
bad 'badcases.json:1: must have "cases"' '{"cases": []}'
bad 'badcases.json:2: case: unknown key; there are "cases"' '{\n"case": []}'
bad 'badcases.json:2: cases[0]: must be an object such as' '{"cases": [\n3]}'
bad 'badcases.json:2: cases[0].opn: unknown key; did you mean "open"?' '{"cases": [\n{"opn": "/a", "verdict": "deny"}]}'
bad 'badcases.json:3: cases[0].exec: is a second question' \
	'{"cases": [{"open": "/a",\n "verdict": "deny",\n "exec": "/a"}]}'
bad 'cases[0].verdict: must be "allow", "deny", "redirect" or "provide", not "kill"' \
	'{"cases": [{"open": "/a", "verdict": "kill"}]}'
bad 'cases[0]: lacks "verdict"' '{"cases": [{"open": "/a"}]}'
bad 'cases[0]: asks nothing' '{"cases": [{"verdict": "deny"}]}'
bad 'cases[0].rule: must be a string that is not empty, or null' \
	'{"cases": [{"open": "/a", "verdict": "deny", "rule": 1}]}'
bad 'badcases.json:2: cases[0].connect: "a_b:1" names no host' \
	'{"cases": [\n{"connect": "a_b:1", "verdict": "deny"}]}'
bad 'cases[0].listen: "70000" is no port' '{"cases": [{"listen": "70000", "verdict": "deny"}]}'
expect 125 'none.json: No such file' test b.json none.json
expect 125 'takes a policy and a file of cases' test b.json
expect 125 'must be tap or junit' test --format xml b.json good.json
expect 125 'unknown key' test bad.json good.json

# ---- fmt ----
printf '{"limits": {"wall": "1s"}, "version": 1,\n"filesystem": {"read": ["/b",
	{"path": "/a", "because": "why"}]}}' >f.json
chmod 640 f.json
ln -s f.json link.json
expect 0 '{
  "version": 1,
  "filesystem": {
    "read": [{"path": "/a", "because": "why"}, "/b"]
  },
  "limits": {
    "wall": "1s"
  }
}' fmt f.json
printf '%s\n' "$out" >wanted
expect 1 'f.json: not in canonical form' fmt --check f.json
expect 0 '' fmt -w link.json
cmp -s wanted f.json || fail "fmt -w wrote: $(cat f.json)"
[ "$(stat -c %a f.json)" = 640 ] || fail "fmt -w changed the mode"
[ -h link.json ] || fail "fmt -w replaced a link"
expect 0 '' fmt --check f.json link.json
expect 125 'bad.json:2: filesystm: unknown key' fmt -w bad.json
printf '{\n"filesystm": {}}' | cmp -s - bad.json || fail "fmt -w changed a policy with mistakes"
expect 125 'none.json: No such file' fmt none.json
expect 125 'no file given' fmt
expect 125 'contradict' fmt -w --check f.json
expect 0 'Usage' fmt --help
# What is installed keeps its meaning.
for profile in "$CALLGATE_PROFILES"/*.json; do
	"$callgate" policy fmt "$profile" >profile.json
	expect 0 'no differences' diff "$(basename "$profile" .json)" profile.json
done
find . -name '*.json.*' | grep . && fail "fmt left a file"

echo "$ran cases, $failed failed"
[ "$failed" -eq 0 ]
