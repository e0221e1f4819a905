#!/bin/bash
# "libraries" of a policy, of node's packages: those that are named, and what they need, also packages of scopes and
# those within packages. The others do not exist.
. "$(dirname "$0")/../lib.sh"
need jq node

# put DIRECTORY [DEPENDENCY…]
put()
{
	local dir=$T/w/node_modules/$1 needs=
	shift
	for name in "$@"; do needs="$needs\"$name\": \"*\", "; done
	mkdir -p "$dir"
	echo "{\"name\": \"x\", \"version\": \"1.0.0\", \"dependencies\": {${needs%, }}}" >"$dir/package.json"
	echo "module.exports = '$dir'" >"$dir/index.js"
}
# run POLICY CODE
run()
{
	cg run --json -p "$T/$1.json" -w "$T/w" -- "$(command -v node)" -e "$2" >"$T/result" 2>"$T/notes"
	status=$?
	jq -r .stdout "$T/result" >"$T/out"
	jq -r .stderr "$T/result" >"$T/err"
}

put app @scope/needed nested ../../../etc/passwd app
put @scope/needed
put @scope/other
put app/node_modules/nested deep
put deep
put other
mkdir "$T/w/node_modules/.bin"
ln -s ../.. "$T/w/node_modules/up"
echo '{"version": 1, "extends": ["python"], "libraries": {"node": ["app"]}}' >"$T/app.json"
echo '{"version": 1, "extends": ["./app.json"], "libraries": {"node": ["@scope/other", "none"]}}' >"$T/more.json"
chosen='require("app"); require("@scope/needed"); require("deep"); console.log(fs.readdirSync("node_modules").join())'
run app "$chosen"
[ "$(cat "$T/out")" = .bin,@scope,app,deep,up ] || fail "chosen: $(cat "$T/out" "$T/err" "$T/notes")"
mkdir "$T/w/node_modules/two"$'\n'"lines"
cg libraries --node "$T/w" >"$T/out" || fail "libraries: status $?"
{ grep -qx "  @scope/needed 1.0.0, node_modules, 2 files" "$T/out" && grep -qx '  two.u000alines ?, .*' "$T/out"; } ||
	fail "libraries: $(cat "$T/out")"
cg libraries --node "$T/w" -p "$T/more.json" >"$T/out"
{ [ $? = 1 ] && grep -qx '  @scope/needed .*: app needs it' "$T/out" && grep -qx '  none: named' "$T/out" &&
	! grep -q '  other' "$T/out"; } || fail "libraries -p: $(cat "$T/out")"
rmdir "$T/w/node_modules/two"$'\n'"lines"
for name in other @scope/other; do
	run app "require('$name')"
	{ [ "$status" != 0 ] && grep -q "code: 'MODULE_NOT_FOUND'" "$T/err"; } || fail "$name: $(cat "$T/err")"
	jq -e --arg words "in the policy \"libraries\": {\"node\": [\"$name\"]}" \
		'[.denials[].suggest] | unique == [$words]' "$T/result" >/dev/null ||
		fail "$name: $(jq -c .denials "$T/result")"
	run app "import('$name').catch(error => { console.log(error.code); process.exit(1) })"
	{ [ "$(cat "$T/out")" = ERR_MODULE_NOT_FOUND ] &&
		jq -e --arg name "$name" '.libraries[0].missing == [$name]' "$T/result" >/dev/null; } ||
		fail "import $name: $(cat "$T/out" "$T/err"; jq -c .libraries "$T/result")"
	for path in "$T/w/node_modules/$name" "/proc/self/root$T/w/node_modules/$name" \
		"./node_modules/up/node_modules/$name"; do
		run app "try { require('$path') } catch (error) { console.log(error.code) }
			try { fs.readFileSync('$path/index.js') } catch (error) { console.log(error.code) }
			try { fs.renameSync('$path', 'stolen') } catch (error) { console.log(error.code) }
			try { fs.renameSync('node_modules', 'moved'); require('./moved/$name')
			} catch (error) { console.log('kept') }"
		[ "$(xargs <"$T/out")" = "MODULE_NOT_FOUND ENOENT ENOENT kept" ] ||
			fail "$path: $(cat "$T/out" "$T/err")"
		[ ! -d "$T/w/moved" ] || mv "$T/w/moved" "$T/w/node_modules"
	done
done
run more 'require("@scope/other"); console.log("more")'
[ "$(cat "$T/out")" = more ] || fail "more: $(cat "$T/err")"
cg check "$T/more.json" 2>"$T/err" >&2
grep -q '"none" is not installed' "$T/err" || fail "no warning: $(cat "$T/err")"
