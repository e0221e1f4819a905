#!/bin/bash
# Errors of users: each gives one clear message on stderr and the right exit status, and leaves nothing behind.
. "$(dirname "$0")/../lib.sh"

# refused NAME STATUS PATTERN COMMAND…: it ends with STATUS and says PATTERN (extended regex) in at most LINES lines.
refused()
{
	local name=$1 want=$2 pattern=$3 status left
	shift 3
	"$@" >"$T/out" 2>"$T/err"
	status=$?
	[ $status = "$want" ] || fail "$name: status $status, not $want: $(head -n 3 "$T/err")"
	grep -qE -- "$pattern" "$T/err" || fail "$name: the message does not say '$pattern': $(head -n 5 "$T/err")"
	[ "$(wc -l <"$T/err")" -le "${LINES_MAX:-2}" ] ||
		fail "$name: $(wc -l <"$T/err") lines of message: $(cat "$T/err")"
	grep -qE 'assert|Segmentation|AddressSanitizer|core dumped' "$T/err" && fail "$name: $(cat "$T/err")"
	left=$(find "$T/tmp" -mindepth 2 -maxdepth 2 ! -name lock ! -name results ! -name spare)
	[ -z "$left" ] || fail "$name: left $left"
}

# policy TEXT: writes it; the name is in $P
P=$T/policy.json
policy() { printf '%s\n' "$1" >"$P"; }
run_policy() { cg run -p "$P" -- /bin/true; }

policy '{"version": 1, "filesystem": {"read": ["/usr"'
refused malformed 125 "$P:[0-9]+" run_policy
policy '[]'
refused not-an-object 125 "$P" run_policy
: >"$P"
refused empty-file 125 "$P" run_policy
policy '{"version": 1, "filesytem": {}}'
refused unknown-key 125 "$P:1.*filesytem" run_policy
policy '{"version": 1,
 "filesystem": {"reed": ["/usr"]}}'
refused unknown-inner-key 125 "$P:2.*reed" run_policy
policy '{"version": 1, "filesystem": {"read": "/usr"}}'
refused wrong-type 125 "$P:1.*read" run_policy
policy '{"version": 1, "filesystem": {"read": [7]}}'
refused wrong-item-type 125 "$P:1.*read" run_policy
policy '{"version": 9}'
refused version 125 "$P:1.*version" run_policy
policy '{"version": 1, "filesystem": {"read": ["relative/path"]}}'
refused relative-path 125 "$P:1.*relative/path" run_policy
policy '{"version": 1, "filesystem": {"read": ["/us**r"]}}'
refused mid-word-glob 125 "$P:1" run_policy
policy '{"version": 1, "filesystem": {"write": ["/opt/x"], "deny": ["/opt/x"]}}'
refused contradiction 125 "$P:1.*/opt/x" run_policy
policy '{"version": 1, "extends": ["no-such-profile"]}'
refused extends-nothing 125 "no-such-profile" run_policy
policy "{\"version\": 1, \"extends\": [\"$P\"]}"
refused extends-itself 125 "$P" run_policy
policy '{"version": 1, "limits": {"wall": "fast"}}'
refused bad-time 125 "$P:1.*wall" run_policy
policy '{"version": 1, "limits": {
  "pids": 0}}'
refused bad-pids 125 "$P:2: limits.pids: .*number" run_policy
policy '{"version": 1, "limits": {"memory": "1K"}}'
refused small-memory 125 "$P:1: limits.memory: .*range.*1M" run_policy
policy '{"version": 1, "limits": {"pids": 5}, "process": {"max": 6}}'
refused pids-twice 125 "$P:1: process.max: .*limits.pids" run_policy
policy '{"version": 1, "env": {"set": {"A=B": "x"}}}'
refused bad-env-name 125 "$P:1" run_policy
policy '{"version": 1,
 "require": ["landlok"]}'
refused unknown-layer 125 "$P:2: require\[0\]: .*landlok.*did you mean \"landlock\"" run_policy
policy '{"version": 1,
 "user": "a:b:c"}'
refused bad-policy-user 125 "$P:2: user: .*more than one colon" run_policy
refused no-such-policy 125 "$T/none.json" cg run -p "$T/none.json" -- /bin/true
refused no-such-profile 125 "nothing" cg run --profile nothing -- /bin/true

run() { cg run --profile minimal "$@"; }
LINES_MAX=4
refused unknown-option 125 'frobnicate' cg run --frobnicate -- /bin/true
refused no-program 125 'program' cg run
refused no-verb 125 'frob' cg frob
refused bad-user 125 "no group behind the colon" run --user 1: -- /bin/true
refused unknown-user 125 "no such user" run --user no-such-user -- /bin/true
refused bad-layer 125 'no layer "moat"' run --require landlock,moat -- /bin/true
refused needed-layer 125 'nothing runs without seccomp_notify' run --without no_new_privs -- /bin/true
refused doctor-argument 125 'takes no arguments' cg doctor /etc
refused bad-timeout 125 'soon' run -t soon -- /bin/true
refused bad-memory 125 '-m 3: .*range' run -m 3 -- /bin/true
refused bad-pids-option 125 '--pids x: .*number' run --pids x -- /bin/true
refused bad-disk 125 '--disk 1Q: .*size' run --disk 1Q -- /bin/true
LINES_MAX=2
refused missing-program 127 'no-such-program' run -- no-such-program
refused missing-path 127 '/no/such' run -- /no/such
touch "$T/plain"
refused not-executable 126 "$T/plain" run -r "$T/plain" -- "$T/plain"
refused not-granted 126 "$T/tool" sh -c "cp /bin/true '$T/tool'; \"\$@\"" sh timeout 100 "$CALLGATE" run \
	--profile minimal -r "$T/tool" -- "$T/tool"
refused directory 126 "$T" run -r "$T/home" -- "$T/home"
refused missing-workdir 125 "$T/none" run -w "$T/none" -- /bin/true
refused workdir-is-file 125 "$T/plain" run -w "$T/plain" -- /bin/true
mkdir "$T/closed" && chmod 0 "$T/closed"
[ "$(id -u)" = 0 ] || refused unreadable-workdir 125 "$T/closed" run -w "$T/closed" -- /bin/true
[ "$(id -u)" != 0 ] || refused unreadable-workdir 125 "$T/closed" \
	setpriv --inh-caps=-all --bounding-set=-all timeout 100 "$CALLGATE" run --profile minimal -w "$T/closed" \
	-- /bin/true
refused missing-input 125 "$T/none" run --input "$T/none" -- /bin/true
refused output-is-file 125 "$T/plain" run --output "$T/plain" -- /bin/true
refused log-not-writable 125 '/no/such/dir' run --audit /no/such/dir/log -- /bin/true
echo old >"$T/old-log"
refused log-exists 125 "$T/old-log" run --audit "$T/old-log" -- /bin/true

# A layer that is insisted on and not there: said before anything else is wrong, by one message, in each case.
LINES_MAX=1
policy '{"version": 1, "extends": ["minimal"], "require": ["userns", "landlock"]}'
refused layer-missing 125 'the layer landlock is required and not active: switched off' run --require landlock \
	--without landlock -- no-such-program
refused layer-missing-policy 125 'the layer landlock is required and not active: switched off' cg run \
	--without landlock,userns -p "$P" -- /bin/sh
refused layer-missing-json 125 'callgate doctor' run --json --require landlock --without landlock -- /bin/sh
[ "$(jq -r '[.status, .exit_code, .error.code, .enforcement.landlock.active] |
	join(" ")' "$T/out")" = "error 125 layer_missing false" ] ||
	fail "layer-missing: the result says $(jq -c '[.status, .exit_code, .error]' "$T/out")"
LINES_MAX=2

# a log that cannot grow: the call is refused, the run says so
LINES_MAX=6
refused log-full 125 'audit|log' run --audit /dev/full -- /bin/true
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	mkdir "$T/small"
	# shellcheck disable=SC2016 # expanded in there
	refused log-disk-full 125 'audit|log' unshare -m sh \
		-c 'mount -t tmpfs -o size=64k tmpfs "$1/small" && shift && timeout 100 "$@" --audit "$0/log" \
		-- /bin/sh -c "i=0; while [ \$i -lt 5000 ]; do i=\$((i+1)); [ -e /x ]; done"; exit 125' "$T/small" \
		"$T" "$CALLGATE" run --profile minimal -x /bin/sh
fi
closed_stdout() { timeout 100 "$CALLGATE" run --profile minimal "$@" -- /bin/echo hello >&-; }
refused closed-stdout 125 'standard output|stdout' closed_stdout
refused closed-stdout-json 125 'standard output|stdout' closed_stdout --json
closed_doctor() { timeout 100 "$CALLGATE" doctor >&-; }
refused closed-stdout-doctor 125 'standard output' closed_doctor
full_doctor() { timeout 100 "$CALLGATE" doctor >/dev/full; }
refused full-stdout-doctor 125 'standard output' full_doctor
full_stdout() { timeout 100 "$CALLGATE" run --profile minimal "$@" -- /bin/echo hello >/dev/full; }
refused full-stdout-json 125 'standard output|stdout|No space' full_stdout --json

# ---- plans, policies, case files and logs: one message each that says where; nothing is half-written ----
LINES_MAX=1
cd "$T" || die "cd"
mkdir "$T/in" "$T/in/dir"
printf '{"a": [1' >"$T/in/cut"
echo '[]' >"$T/in/list"
echo 7 >"$T/in/number"
printf '{"version": 1, "x": "a\0b"}' >"$T/in/nul"
: >"$T/in/empty"
printf '\377\376\001x' >"$T/in/bytes"
head -c 20000000 /dev/zero | tr '\0' ' ' >"$T/in/huge"
ln -s loop "$T/in/loop"
echo '{"version":1,"filesystem":{"read":["/usr"]}}' >"$T/in/pol"
echo '{"cases":[{"open":"/usr","verdict":"allow"}]}' >"$T/in/cases"
run -x /bin/true --audit "$T/in/log" -- /bin/true || fail "no log"
for what in cut list number nul empty bytes huge loop dir missing; do
	bad=in/$what
	refused "plan-$what" 125 "$bad" cg experiment run "$bad" -o made
	refused "results-$what" 125 "$bad" cg experiment report "$bad"
	refused "cases-$what" 125 "$bad" cg policy test in/pol "$bad"
	refused "policy-of-cases-$what" 125 "$bad" cg policy test "$bad" in/cases
	refused "log-$what" 125 "$bad" cg replay "$bad" -p in/pol
	refused "policy-of-replay-$what" 125 "$bad" cg replay in/log -p "$bad"
	refused "log-to-minimise-$what" 125 "$bad" cg policy minimise in/pol "$bad" -o made
	refused "minimise-$what" 125 "$bad" cg policy minimise "$bad" in/log -o made
	refused "diff-$what" 125 "$bad" cg policy diff in/pol "$bad"
	refused "fmt-$what" 125 "$bad" cg policy fmt "$bad"
	refused "compare-$what" 125 "$bad" cg compare -p in/pol -p "$bad" --keep made -- /bin/true
	[ ! -e made ] || die "$what: left $(find made)"
done
# damaged NAME PATTERN: the log in/NAME is refused, at its line.
damaged()
{
	refused "replay-$1" 125 "$2" cg replay "in/$1" -p in/pol
	refused "minimise-$1" 125 "$2" cg policy minimise in/pol "in/$1" -o made
	[ ! -e made ] || die "$1: left made"
}
head -c -40 in/log >in/torn && damaged torn "in/torn:[0-9]+: .*incomplete"
sed 's/"seq":2,/"seq":"x",/' in/log >in/typed && damaged typed "in/typed:[0-9]+: not a line"
sed '2s/^/{/' in/log >in/braces && damaged braces "in/braces:2: not a line"
(cat in/log && printf '\0\0\n') >in/zeros && damaged zeros "in/zeros:[0-9]+:"
# plan TEXT PATTERN: the members of a plan whose program and policy are right, and what is said of them.
plan()
{
	printf '{"version": 1, "programs": [{"name": "a", "command": ["true"]%s}], "policies": [{"name": "p", %s}]%s}' \
		"$1" "$2" "$3" >in/plan
	refused "plan $*" 125 "$4" cg experiment run in/plan -o made
	[ ! -e made ] || die "plan $*: left made"
}
plan '' '"file": "none"' '' 'in/plan:1: policies\[0\].file: .*none: No such file'
plan '' '"file": "cut"' '' 'in/cut:1:8: not valid JSON'
plan '' '"file": "pol"' ', "timeout": "soon"' 'in/plan:1: timeout: write a time'
plan '' '"file": "pol"' ', "repetitions": -1' 'in/plan:1: repetitions'
plan '' '"file": "pol"' ', "frob": 1' 'in/plan:1: frob: unknown key'
plan ', "workdir": "none"' '"file": "pol"' '' 'in/plan:1: programs\[0\].workdir: .*No such file'
plan '' '"file": "pol"' ', "inputs": [{"name": "i", "file": "none"}]' 'in/plan:1: inputs\[0\].file'
# Output that cannot be written.
full() { timeout 100 "$CALLGATE" "$@" >/dev/full; }
refused full-replay 125 'standard output' full replay in/log -p in/pol
refused full-diff 125 'standard output' full policy diff in/pol in/pol
refused full-fmt 125 'standard output' full policy fmt in/pol
refused full-test 125 'standard output' full policy test in/pol in/cases
refused full-compare 125 'standard output' full compare -p in/pol -p in/pol -- /bin/true
plan ', "workdir": "none"' '"file": "pol"' '' 'none'
sed -i 's/, "workdir": "none"//' in/plan
refused output-is-file 125 'in/pol' cg experiment run in/plan -o in/pol
# Not a byte in any file; the messages go through a pipe, because they are kept in one.
small()
{
	(ulimit -f 0 && exec timeout 100 "$CALLGATE" "$@") 2>&1 | cat >&2
	return "${PIPESTATUS[0]}"
}
cp in/pol in/kept && printf ' ' >>in/kept && cp in/kept in/before
refused small-fmt 125 'in/kept' small policy fmt -w in/kept
cmp -s in/kept in/before || fail "fmt -w: the file changed though it could not be written"
LINES_MAX=4 refused small-minimise 125 'in/small' small policy minimise in/pol in/log -o in/small
left=$(find in -name 'kept?*' -o -name 'small*')
[ -z "$left" ] || fail "half-written: $left"
LINES_MAX=2

# ---- options of which nothing would come, and names that nothing has ----
LINES_MAX=1
refused ask-timeout-alone 125 '--ask-timeout is for questions' run --ask-timeout 5 -- /bin/true
refused status-every-alone 125 '--status-every is for --status-fd' run --status-every 2s -- /bin/true
refused anchor-every-alone 125 '--anchor-every is for --anchor' run --anchor-every 5 -- /bin/true
refused no-approver 125 '--approve socket:/no/such: .*start the approver' run --approve socket:/no/such -- /bin/true
refused relative-program 127 '[.]/x: not found in the working directory /work; -w' run -- ./x
refused pids-0 125 'pids 0: is out of range; write a number from 1' run --pids 0 -- /bin/true
refused no-verdict 125 'no record has the verdict "maybe"' cg audit show --verdict deny,maybe in/log
refused no-errno 125 'no record has the error "EFOO"' cg audit stats --errno EFOO in/log
refused compare-workdir 125 '-w none: No such file' cg compare -p in/pol -p in/pol -w none -- /bin/true
refused compare-input 125 '--input none: No such file' cg compare -p in/pol -p in/pol --input none -- /bin/true
refused learn-input 125 '--input none: No such file' cg learn -o made --input none -- /bin/true
refused json-is-a-file 125 'cannot read none.json: No such file' cg check none.json
refused inspect-type 125 '--type foo: must be elf' cg inspect --type foo in/pol
refused session-program 125 '/no/such: not found' cg session create /no/such
LINES_MAX=2
refused empty-policy-name 125 '-p : is empty' cg run -p '' -- /bin/true
refused session-list-argument 125 'extra: no argument is taken' cg session list extra
refused secret-without-hosts 125 'write NAME@HOST' run --secret NOT_SET_HERE -- /bin/true
refused serve-templates 125 '--templates none: No such file' cg serve --templates none --api-key "$(printf %040d 0)"

# a log that is refused is the error of the result, also where an attestation was wanted
LINES_MAX=1
refused attest-without-log 125 'exists; remove it' run --json --audit "$T/old-log" --attest "$T/attest" -- /bin/true
[ "$(jq -r .error.code "$T/out")" != attest_failed ] || fail "attest-without-log: $(jq -c .error "$T/out")"
LINES_MAX=2

# callgate inside of callgate: there is a listener already
LINES_MAX=4
nested()
{
	cg_run extended -e CALLGATE_PROFILES -e ASAN_OPTIONS=detect_leaks=0 -x "$CALLGATE" -r "$SRC" -r "$BUILD" \
		-- "$CALLGATE" run --profile minimal -- /bin/true
}
refused nested 125 'listener|seccomp|nested' nested
