#!/bin/bash
# "libraries" of a policy: of the packages that are installed for Python, those exist that it names, with what they
# need. The others do not, by whatever path they are looked for, and the result says what would show them.
. "$(dirname "$0")/../lib.sh"
need jq

# put NAME NEEDS FILE…: a package of the virtual environment, version 1.
put()
{
	local name=$1 needs=$2 file
	shift 2
	mkdir -p "$site/$name-1.dist-info"
	printf 'Name: %s\nVersion: 1\n%s\n' "$name" "$needs" >"$site/$name-1.dist-info/METADATA"
	for file in "$@"; do
		mkdir -p "$(dirname "$site/$file")"
		[ -e "$site/$file" ] || echo "NAME = '$name'" >"$site/$file"
		echo "$file,," >>"$site/$name-1.dist-info/RECORD"
	done
	echo '../../../../../etc/passwd,,' >>"$site/$name-1.dist-info/RECORD"
}
# policy NAME JSON
policy()
{
	echo '{"version": 1, "extends": ["python"], '"$2}" >"$T/$1.json"
}
# run POLICY ARGUMENT…: sets status; $T/out, $T/err and $T/result tell what happened.
run()
{
	local policy=$1
	shift
	cg run --json -p "$T/$policy.json" -r "$T/venv" -x "$T/venv/bin" -w "$T/w" -- "$T/venv/bin/python3" "$@" \
		>"$T/result" 2>"$T/notes"
	status=$?
	jq -r .stdout "$T/result" >"$T/out"
	jq -r .stderr "$T/result" >"$T/err"
}
# suggested WORDS: denials of the last run name exactly these packages.
suggested()
{
	jq -r '[.denials[] | select(.reason == "not_in_libraries") | .suggest] | unique | .[]' \
		"$T/result" >"$T/suggested"
	printf 'in the policy "libraries": {"python": ["%s"]}\n' "$@" >"$T/expected"
	[ $# -gt 0 ] || : >"$T/expected"
	cmp -s "$T/suggested" "$T/expected" || fail "suggested: $(cat "$T/suggested")"
}

"$PYTHON" -m venv --without-pip "$T/venv" || skip "python3 -m venv does not work"
site=$(echo "$T"/venv/lib/python3*/site-packages)
mkdir "$T/w"
put app 'Requires-Dist: helper (>=1)
Requires-Dist: gone
Requires-Dist: other; extra == "test"' app/__init__.py space/app.py
put helper 'Requires-Dist: app' helper.py
put other '' other/__init__.py space/other.py other_single.py
echo 'NAME = "loose"' >"$site/loose.py"
echo 'import sys; sys.from_pth = True' >"$site/loose.pth"

# What is chosen is there, and what it needs; importlib.metadata and pkgutil see no other.
cat >"$T/w/chosen.py" <<'END'
import importlib.metadata, json, pkgutil, sys
import app, helper, space.app
print(sorted(d.metadata["Name"] for d in importlib.metadata.distributions()), hasattr(sys, "from_pth"))
END
# What an old installer leaves: an egg that is a file, one that is a directory, a link to a directory of sources, and
# compiled forms of what is hidden. Second names that were made before, in the site.
"$PYTHON" - "$site" <<'END' || die "eggs"
import os, py_compile, sys, zipfile
site = sys.argv[1]
with zipfile.ZipFile(site + "/zipped-1.egg", "w") as egg:
    egg.writestr("zipped.py", "NAME = 'zipped'")
os.makedirs(site + "/dir-1.egg/dir")
open(site + "/dir-1.egg/dir/__init__.py", "w").close()
open(site + "/linked.egg-link", "w").write("/usr/share")
py_compile.compile(site + "/other_single.py")
py_compile.compile(site + "/other/__init__.py")
os.link(site + "/other_single.py", site + "/second.py")
os.symlink("other_single.py", site + "/third.py")
os.symlink("other", site + "/fourth")
END
policy app '"libraries": {"python": ["App"]}'
run app chosen.py
{ [ "$status" = 0 ] && [ "$(cat "$T/out")" = "['app', 'helper'] False" ]; } ||
	fail "chosen: $status $(cat "$T/out" "$T/err")"
suggested
grep -q 'not installed' "$T/err" && fail "a missing need is warned of: $(cat "$T/err")"

# Another is absent, and the result and standard error say what would show it.
echo 'import other' >"$T/w/import.py"
run app import.py
[ "$status" = 1 ] || fail "an import of what is hidden: status $status"
grep -q "^ModuleNotFoundError: No module named 'other'" "$T/err" || fail "other: $(cat "$T/err")"
suggested other
[ "$(jq -r .status "$T/result")" = denied ] || fail "status $(jq -r .status "$T/result")"
# Several imports, also of modules within packages and of those that nothing has: once each, and together.
cat >"$T/w/several.py" <<'END'
for name in "other", "app.none", "space.other", "other_single", "loose", "nothing", "other.part.one", "helper":
    try:
        __import__(name)
    except ModuleNotFoundError as error:
        print(error)
END
run app several.py
jq -e '.libraries == [{language: "python", missing: ["other", "loose"],
	suggest: "in the policy \"libraries\": {\"python\": [\"other\", \"loose\"]}"}]' "$T/result" >/dev/null ||
	fail "libraries of the result: $(jq -c .libraries "$T/result")"
[ "$(grep -c '^No module named' "$T/out")" = 7 ] || fail "several: $(cat "$T/out")"
run app chosen.py
[ "$(jq -c .libraries "$T/result")" = "[]" ] || fail "libraries of a good run: $(jq -c .libraries "$T/result")"
cg run --events summary -p "$T/app.json" -r "$T/venv" -x "$T/venv/bin" -w "$T/w" -- "$T/venv/bin/python3" import.py \
	>/dev/null 2>"$T/err"
grep -qxF 'callgate: not in "libraries": other; to allow: in the policy "libraries": {"python": ["other"]}' "$T/err" ||
	fail "nothing suggests it: $(cat "$T/err")"
run app -c 'import loose'
suggested loose
# The results of a session's programs and of tools of MCP have it, too.
wanted='[{"language":"python","missing":["other"],"suggest":"in the policy \"libraries\": {\"python\": [\"other\"]}"}]'
grants=(-p "$T/app.json" -r "$T/venv" -x "$T/venv/bin" -x /usr/bin -x /bin -w "$T/w")
id=$(PATH=$T/venv/bin:$PATH cg session create "${grants[@]}") || fail "session create"
cg session exec --json "$id" -- "$T/venv/bin/python3" import.py >"$T/out" 2>"$T/err"
[ "$(jq -c .libraries "$T/out")" = "$wanted" ] || fail "a session: $(cat "$T/out" "$T/err")"
cg session stop "$id"
if [ -x "$BUILD/callgate-agents" ]; then
	call='"name": "run_command", "arguments": {"command": "'$T'/venv/bin/python3 -c '"'import other'"'"}'
	printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}' \
		'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{'"$call"'}}' |
		PATH=$T/venv/bin:$PATH timeout -k 5 "$LIVE_TIMEOUT" "$CALLGATE" mcp "${grants[@]}" 2>"$T/err" |
		cat >"$T/out"
	[ "$(jq -c 'select(.id == 2).result.structuredContent.libraries' "$T/out")" = "$wanted" ] ||
		fail "MCP: $(cat "$T/out" "$T/err")"
fi

# Lists of all files add up; a module without a package can be named; no list is no change; an empty one hides all.
policy more '"libraries": {"python": ["other", "loose", "nothing-of-that-name"]}'
echo '{"version": 1, "extends": ["./app.json", "./more.json"]}' >"$T/both.json"
run both -c 'import app, other, loose, space.other, other_single; print("all")'
[ "$(cat "$T/out")" = all ] || fail "both: $(cat "$T/err")"
cg check "$T/both.json" 2>"$T/err" >&2
grep -q '"nothing-of-that-name" is not installed' "$T/err" || fail "no warning of what is missing: $(cat "$T/err")"
policy none '"name": "none"'
run none -c 'import sys, app, other, loose; print(sys.from_pth)'
[ "$(cat "$T/out")" = True ] || fail "none: $(cat "$T/err")"
policy empty '"libraries": {"python": []}'
run empty -c 'import json, sqlite3, app'
grep -q "^ModuleNotFoundError: No module named 'app'" "$T/err" || fail "empty: $(cat "$T/err")"

# A set stands for what is installed of it; an unknown one is an error. This one is not the built-in one, whose members
# may be installed here.
mkdir -p "$T/profiles/libraries"
echo '{"python": {"plotting": {"packages": ["plotly", "cg-none"]}}}' >"$T/profiles/libraries/sets.json"
cp "$CALLGATE_PROFILES"/*.json "$T/profiles"
export CALLGATE_PROFILES="$T/profiles"
policy set '"libraries": {"python": ["@plotting"]}'
put plotly '' plotly/__init__.py
run set -c 'import plotly; print(plotly.NAME); import app'
{ [ "$(cat "$T/out")" = plotly ] && grep -q "No module named 'app'" "$T/err"; } || fail "set: $(cat "$T/out" "$T/err")"
cg check "$T/set.json" 2>"$T/err" >&2 || fail "a set is refused: $(cat "$T/err")"
grep -q 'not installed' "$T/err" && fail "a member of a set is missed: $(cat "$T/err")"
policy unknown '"libraries": {"python": ["@plots"]}'
cg check "$T/unknown.json" 2>"$T/err" && fail "an unknown set passes"
grep -q 'unknown.json:1: libraries.python: there is no set "@plots"' "$T/err" || fail "unknown: $(cat "$T/err")"

# callgate libraries: what is installed; what a choice comes to, and why; 1 when a name is missing.
list() { cg libraries --python "$T/venv/bin/python3" "$@" >"$T/out" 2>"$T/err"; }
list || fail "libraries: status $? $(cat "$T/err")"
for line in "$site:" '  app 1, dist-info, 2 files; needs helper, gone' '  other 1, dist-info, 3 files' \
	'@plotting: plotly; not installed: cg-none'; do
	grep -qxF -- "$line" "$T/out" || fail "libraries: no line \"$line\" in: $(head -n 20 "$T/out")"
done
list App loose @plotting || fail "libraries App: status $? $(cat "$T/err")"
diff - "$T/out" >&2 <<END || fail "libraries App"
$site:
  app 1, dist-info, 2 files: named
  helper 1, dist-info, 1 files: app needs it
  plotly 1, dist-info, 1 files: @plotting has it
modules that belong to no package: loose
not installed:
  cg-none: @plotting has it
  gone: app needs it
python: 3 packages, 4 files
END
list -p "$T/set.json" absent
{ [ $? = 1 ] && grep -qx '  plotly 1, dist-info, 1 files: @plotting has it' "$T/out" &&
	grep -qx '  absent: named' "$T/out"; } || fail "libraries -p: $(cat "$T/out" "$T/err")"
list --json -p "$T/app.json"
jq -e --arg site "$site" '.schema == "callgate-libraries/1" and (.languages[0] | .language == "python" and
	.packages[0] == {name: "app", version: "1", from: "dist-info", debian_package: null, site: $site, files: 2,
		needs: ["helper", "gone"], chosen_by: "App", set: null, needed_by: null} and
	.packages[1].needed_by == "app" and .modules == [] and
	.missing == [{name: "gone", chosen_by: null, set: null, needed_by: "app"}])' "$T/out" >/dev/null ||
	fail "libraries --json: $(cat "$T/out")"
(cd "$T" && list -p app.json) || fail "libraries -p where the policy lies: $(cat "$T/err")"
(cd "$T/venv/lib" && cg libraries --python ../bin/python3 app >"$T/out" 2>"$T/err") ||
	fail "libraries --python with a relative path: $(cat "$T/err")"
list @plots
{ [ $? = 125 ] && grep -q 'there is no set "@plots"' "$T/err"; } || fail "libraries @plots: $(cat "$T/err")"
for wrong in '--python nothing' '--node nothing' '-p nothing'; do
	# shellcheck disable=SC2086 # an option and its value
	list $wrong
	[ $? = 125 ] || fail "libraries $wrong: no error"
done

# No way leads to what is hidden, and nothing else than ENOENT tells of it.
cat >"$T/w/attack.py" <<END
import ctypes, importlib.util, os, sys
S, bad = "$site", []
compiled = "__pycache__/other_single." + sys.implementation.cache_tag + ".pyc"
def gone(what, *args):
    try:
        bad.append((what.__name__, args, what(*args)))
    except FileNotFoundError:
        pass
    except Exception as error:
        bad.append((what.__name__, args, error))
for root in "", "/proc/self/root", "/proc/self/cwd/link", "/proc/thread-self/root":
    if root.endswith("link") and not os.path.islink("link"):
        os.symlink("/", "link")
    for name in ("other/__init__.py", "other_single.py", "space/other.py", "other", "loose.py",
                 "other-1.dist-info/RECORD", "zipped-1.egg", "dir-1.egg/dir/__init__.py", "linked.egg-link",
                 "second.py", "fourth/__init__.py", "app/../other/__init__.py",
                 "other/__pycache__", compiled):
        path = root + S + "/" + name
        for what in open, os.stat, os.lstat, os.readlink, os.listdir, os.chdir:
            gone(what, path)
        gone(os.open, path, os.O_PATH)
        gone(os.rename, path, "stolen")
        gone(os.link, path, "stolen")
        gone(os.execv, path, [path])
directory, pinned = os.open(S, os.O_RDONLY), os.open(S, os.O_PATH)
for fd in directory, pinned:
    for name in "other_single.py", "app/../other_single.py", "other/__init__.py":
        gone(lambda: os.open(name, os.O_RDONLY, dir_fd=fd))
os.chdir(S)
gone(open, "other_single.py")
gone(open, "../site-packages/loose.py")
def load(path):
    spec = importlib.util.spec_from_file_location("other_single", path)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
gone(load, S + "/other_single.py")
import subprocess, zipimport
for path in S + "/zipped-1.egg", "/proc/self/root" + S + "/zipped-1.egg":
    try:
        bad.append(zipimport.zipimporter(path))
    except zipimport.ZipImportError:
        pass
for path in S, "/proc/self/root" + S, S + "/zipped-1.egg", S + "/dir-1.egg", S + "/../site-packages":
    code = "import app\nfor m in 'other', 'other_single', 'second', 'third', 'fourth', 'zipped', 'dir':\n" \
        "  try: __import__(m); print(m)\n  except ImportError: pass"
    got = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": path}, capture_output=True, text=True)
    if got.stdout or got.returncode:
        bad.append((path, got))
for path in "/proc/self/root" + S, "$T/venv/lib64/" + S.split("/")[-2] + "/site-packages", ".":
    sys.path.insert(0, path)
    for module in "other", "other_single", "loose", "space.other":
        try:
            __import__(module)
            bad.append((path, module))
        except ModuleNotFoundError:
            pass
print([n for n in os.listdir(S) if n.endswith(("-info", ".pth")) and "other" in n or "loose.p" in n and "pth" in n])
for what in bad:
    print("BAD", what)
END
run app attack.py
[ "$(cat "$T/out")" = "[]" ] || fail "attacks: $(cat "$T/out" "$T/err")"

# With "judge": "changes" a mount would list what is hidden, so that all is judged; --mode observe says what would be.
policy kernel '"judge": "changes", "libraries": {"python": ["app"]}'
run kernel attack.py
[ "$(cat "$T/out")" = "[]" ] || fail "judge changes: $(cat "$T/out" "$T/err")"

# The system's own packages, by dpkg's lists.
if [ -e /usr/lib/python3/dist-packages/pip/__init__.py ]; then
	cg why -p "$T/app.json" --open /usr/lib/python3/dist-packages/pip/__init__.py >"$T/out"
	{ grep -q not_in_libraries "$T/out" && grep -qF '{"python": ["pip"]}' "$T/out"; } || fail "why: $(cat "$T/out")"
fi
if "$PYTHON" -c 'import numpy, pandas' 2>/dev/null; then
	policy system '"libraries": {"python": ["pandas"]}'
	cg run -p "$T/system.json" -w "$T/w" -- "$PYTHON" \
		-c 'import numpy, pandas, dateutil; print(pandas.DataFrame({"a": [1]}).sum().a)' >"$T/out" 2>"$T/err"
	[ "$(cat "$T/out")" = 1 ] || fail "pandas of the system: $(cat "$T/out" "$T/err")"
fi
