#!/bin/bash
# Renames, exchanges, links and fills trees of seven names at random, under rules about these names. Afterwards the
# changes in the result equal a comparison of before and after, and what was denied still exists and is still denied.
. "$(dirname "$0")/../lib.sh"
need jq
[ -x "$PYTHON" ] || skip "no $PYTHON"
cp "$SRC/tests/cases/rename-random.py" "$T/rename.py" || die "cp"
cat >"$T/model.py" <<'EOF2'
import fnmatch, hashlib, json, os, random, stat, sys

# By this test alone, knowing nothing of how callgate does it: "**" is any number of names, "*" any text in one.
def matches(glob, parts):
    if not glob:
        return True # and all below it
    if glob[0] == "**":
        return any(matches(glob[1:], parts[at:]) for at in range(len(parts)))
    return bool(parts) and fnmatch.fnmatchcase(parts[0], glob[0]) and matches(glob[1:], parts[1:])

def fill(top, seed):
    rand = random.Random(seed)
    for number in range(40):
        path = "/".join([top] + [rand.choice("a b c d .env hooks x.pem".split()) for _ in range(rand.randrange(1, 5))])
        try:
            os.makedirs(path if number % 2 else os.path.dirname(path), exist_ok=True)
            if number % 2 == 0:
                with open(path, "x") as file:
                    file.write(str(number))
        except OSError:
            pass

def look(top):
    seen = {}
    for here, dirs, files in os.walk(top):
        for name in dirs + files:
            path = here + "/" + name
            status, content = os.lstat(path), None
            if stat.S_ISREG(status.st_mode):
                with open(path) as file:
                    content = file.read()
            elif stat.S_ISLNK(status.st_mode):
                content = os.readlink(path)
            seen[path] = [status.st_ino, status.st_mode, content]
    return seen

def denied(seen, top, rules):
    return {seen[path][0] for path in seen
            if any(matches(rule.replace("@workdir/", "").split("/"), path[len(top) + 1:].split("/")) for rule in rules)}

verb, top = sys.argv[1:3]
if verb == "fill":
    fill(top, int(sys.argv[3]))
    json.dump(look(top), sys.stdout)
    sys.exit()
with open(sys.argv[3]) as file:
    before = json.load(file)
with open(sys.argv[4]) as file:
    result = json.load(file)
rules, after = json.loads(sys.argv[5]), look(top)
if denied(before, top, rules) != denied(after, top, rules):
    print("other things are denied than before")
told = {change["path"]: change["change"] if "change" in change else change["kind"] for change in result["changes"]}
for path in sorted({*before, *after, *told}):
    want = ("added" if path not in before else "deleted" if path not in after else
            "modified" if before[path] != after[path] else None)
    if told.get(path) != want and not (want is None and told[path] == "modified" and path in after): # its times
        print(path[len(top):], "was", want, "is told as", told.get(path))
for change in result["changes"]:
    content = after.get(change["path"], [0, 0, None])[2] # of a link the target, which is not hashed
    if (content is not None and stat.S_ISREG(after[change["path"]][1]) and change.get("sha256") !=
            hashlib.sha256(content.encode()).hexdigest()):
        print(change["path"][len(top):], "has the hash", change.get("sha256"))
if not result["stdout"].strip().isdigit() or int(result["stdout"]) < 40:
    print("it did next to nothing:", result["stdout"], result["stderr"])
EOF2

shapes=('[]' '["@workdir/a/hooks"]' '["**/.env"]' '["@workdir/a/**/x.pem"]' '["@workdir/*/hooks"]' '["@workdir/a/*/b"]'
	'["@workdir/a/b/c"]' '["**/.env", "@workdir/a/hooks", "@workdir/b/**/x.pem"]' \
		'["@workdir/*/*/.env", "**/c/hooks"]'
	'["@workdir/**/a/hooks/**"]' '["**/*.pem", "@workdir/d/a"]')
first=${RENAME_SEED:-0}
for seed in $(seq "$first" $((first + ${RENAME_ROUNDS:-11} - 1))); do
	rm -rf "$T/w" && mkdir "$T/w"
	deny=${shapes[seed % ${#shapes[@]}]}
	jq -n --argjson deny "$deny" --arg t "$T" '{version: 1, name: "t", extends: ["python"],
		filesystem: {read: ["\($t)/rename.py"], deny: $deny}}' >"$T/p.json"
	"$PYTHON" "$T/model.py" fill "$T/w" "$seed" >"$T/before" || die "fill"
	cg run --json -p "$T/p.json" -w "$T/w" -- "$PYTHON" -B "$T/rename.py" "$seed" 500 >"$T/result"
	[ "$(jq .exit_code "$T/result")" = 0 ] || fail "$deny, seed $seed: $(jq -c '[.exit_code, .stderr,
		.error]' "$T/result")"
	"$PYTHON" "$T/model.py" judge "$T/w" "$T/before" "$T/result" "$deny" >"$T/out" 2>&1
	[ ! -s "$T/out" ] || fail "$deny, seed $seed: $(head -n 10 "$T/out")"
done
exit $live_failed
