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
grep -qx '  up ?, node_modules, 0 files' "$T/out" || fail "counted elsewhere, where a link leads: $(cat "$T/out")"
cg libraries --node "$T/w" -p "$T/more.json" >"$T/out"
{ [ $? = 1 ] && grep -qx '  @scope/needed .*: app needs it' "$T/out" && grep -qx '  none: named' "$T/out" &&
	! grep -q '  other' "$T/out"; } || fail "libraries -p: $(cat "$T/out")"
rmdir "$T/w/node_modules/two"$'\n'"lines"
for name in other @scope/other; do
	run app "require('$name')"
	{ [ "$status" != 0 ] && grep -q "code: 'MODULE_NOT_FOUND'" "$T/err"; } || fail "$name: $(cat "$T/err")"
	jq -e --arg words "in the policy \"libraries\": {\"node\": [\"$name\"]}" '
		[.denials[] | select(.reason == "not_in_libraries").suggest] | unique == [$words]
		' "$T/result" >/dev/null ||
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
# A store as pnpm makes it: what is needed exists there only, and nothing leads to the rest.
store=$T/p/node_modules/.pnpm
mkdir -p "$store/node_modules" "$T/p/node_modules"
for name in app needed other; do
	mkdir -p "$store/$name@1.0.0/node_modules/$name"
	echo "module.exports = '$name'" >"$store/$name@1.0.0/node_modules/$name/index.js"
	echo '{"version": "1.0.0"}' >"$store/$name@1.0.0/node_modules/$name/package.json"
	ln -s "../$name@1.0.0/node_modules/$name" "$store/node_modules/$name"
done
echo '{"version": "1.0.0", "dependencies": {"needed": "1"}}' >"$store/app@1.0.0/node_modules/app/package.json"
echo 'module.exports = require("needed")' >"$store/app@1.0.0/node_modules/app/index.js"
ln -s ../../needed@1.0.0/node_modules/needed "$store/app@1.0.0/node_modules/needed"
ln -s .pnpm/app@1.0.0/node_modules/app .pnpm/other@1.0.0/node_modules/other "$T/p/node_modules"
cat >"$T/p/try.js" <<'END'
const s = process.cwd() + "/node_modules/.pnpm", got = [require("app")]
for (const path of ["other", s + "/node_modules/other", s + "/other@1.0.0/node_modules/other", "./node_modules/other",
	"/proc/self/root" + s + "/other@1.0.0/node_modules/other", s + "/app@1.0.0/../other@1.0.0/node_modules/other"])
	try { got.push(path + require(path)) } catch (error) { if (error.code != "MODULE_NOT_FOUND") got.push(error) }
console.log(got.join())
END
for option in '' --preserve-symlinks; do
	# shellcheck disable=SC2086 # no option, or one
	NODE_PATH=$store/node_modules cg run -e NODE_PATH -p "$T/app.json" -w "$T/p" -- "$(command -v node)" $option \
		try.js >"$T/out" 2>"$T/err"
	[ "$(cat "$T/out")" = needed ] || fail "pnpm $option: $(cat "$T/out" "$T/err")"
done
cg libraries --node "$T/p" app >"$T/out" || fail "libraries of a store: $?"
grep -qx '  needed 1.0.0, store, 2 files: app needs it' "$T/out" || fail "libraries of a store: $(cat "$T/out")"
run more 'require("@scope/other"); console.log("more")'
[ "$(cat "$T/out")" = more ] || fail "more: $(cat "$T/err")"
cg check "$T/more.json" 2>"$T/err" >&2
grep -q '"none" is not installed' "$T/err" || fail "no warning: $(cat "$T/err")"
