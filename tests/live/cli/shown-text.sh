#!/bin/bash
# Output for people contains no characters that hide, move or reorder other text, whatever their source: names chosen by
# the program, files, policies, the environment, an edited log. Output for machines is unchanged JSON.
. "$(dirname "$0")/../lib.sh"
need jq
[ -x "$PYTHON" ] || skip "no $PYTHON"
mkdir "$T/w"

# Every such character that Python's Unicode tables know, in names of at most 200 bytes; and the controls of terminals.
"$PYTHON" - "$T/names" <<'EOF2' || die "no names"
import sys, unicodedata
names, name = [], ""
extra = [0x34f, 0x115f, 0x1160, 0x17b4, 0x180b, 0x3164, 0xfe0f, 0xffa0, 0xe0041, 0xe01ef]
for point in [*range(1, 0x110000), *extra]:
    if unicodedata.category(chr(point)) not in ("Cc", "Cf", "Zl", "Zp") and point not in extra:
        continue
    name += chr(point)
    if len(name.encode()) > 190:
        names.append("d" + name)
        name = ""
names.append("d" + name)
open(sys.argv[1], "wb").write(b"\0".join(n.encode() for n in names) + b"\0")
EOF2
cat >"$T/clean.py" <<'EOF2'
import sys, unicodedata
text = sys.stdin.buffer.read()
extra = {0x34f, 0x115f, 0x1160, 0x17b4, 0x180b, 0x3164, 0xfe0f, 0xffa0, 0xe0041, 0xe01ef}
found = sorted({ord(c) for c in text.decode() if c not in "\n\t" and
    (unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") or ord(c) in extra)})
if found or len(text) < 40:
    print("shown:", [hex(c) for c in found][:10], len(text), "bytes")
EOF2
clean()
{
	local said
	said=$("$PYTHON" "$T/clean.py") || said="no UTF-8"
	[ -z "$said" ] || fail "$1: $said"
}

mapfile -d '' names <"$T/names"
[ "${#names[@]}" -ge 4 ] || die "only ${#names[@]} names"
evil=${names[0]}
bidi=$'/w/\u202etxt.\u2066exe'

for name in "${names[@]}"; do
	"$CALLGATE" check "$T/$name" 2>&1 | clean "check"
	"$CALLGATE" run -p "$T/$name" -- true 2>&1 | clean "run -p"
	"$CALLGATE" why --open "$T/$name" 2>&1 | clean "why"
	"$CALLGATE" run --profile minimal -r "$T/$name" -- "/$name" 2>&1 | clean "run"
	"$CALLGATE" audit show "$T/$name" 2>&1 | clean "audit show of no log"
done
"$CALLGATE" "$evil" 2>&1 | clean "verb"
for verb in run check show why doctor "audit show"; do
	# shellcheck disable=SC2086 # words
	"$CALLGATE" $verb --"$evil" 2>&1 | clean "$verb, an option"
done
"$CALLGATE" run --quiet$'=\u202e'"$evil" 2>&1 | clean "an option's argument"
jq -n --arg p "$T/x$bidi" '{version: 1, extends: ["minimal"], filesystem: {read: [$p]},
($p): 1}' >"$T/bad$'\u202e'.json"
"$CALLGATE" check "$T/bad$'\u202e'.json" 2>&1 | clean "an unknown key"
jq -n --arg p "$T/x$bidi" '{version: 1, extends: ["minimal"], filesystem: {read: [$p]}}' >"$T/good.json"
"$CALLGATE" show -p "$T/good.json" 2>&1 | clean "show"
[ "$("$CALLGATE" show -p "$T/good.json" | jq -r '.filesystem.read[-1]? // .filesystem.read[-1].path' |
	grep -cF "$bidi")" = 1 ] ||
	"$CALLGATE" show -p "$T/good.json" | jq -e --arg p "$T/x$bidi" '[.. | strings | select(contains($p))] |
	length > 0' >/dev/null ||
	fail "show: not the same JSON any more"
mkdir "$T/tmp$bidi" 2>/dev/null || mkdir -p "$T/tmp$bidi"
TMPDIR="$T/tmp$bidi" "$CALLGATE" doctor 2>&1 | clean "doctor"
rm -rf "$T/tmp/w"

# What a program asked for: denials, changes, the log, its statistics.
cat >"$T/w/ask.py" <<'EOF2'
import sys
for name in open(sys.argv[1], "rb").read().split(b"\0")[:-1]:
    for path in (b"/usr/lib/" + name, b"made" + name):
        try:
            open(path, "w")
        except OSError:
            pass
EOF2
for events in blocked all summary; do
	rm -f "$T/audit"
	cg run --profile python --events $events --audit "$T/audit" -r "$T/names" -w "$T/w" \
		-- "$PYTHON" -B "$T/w/ask.py" "$T/names" >"$T/out" 2>&1 ||
		fail "the run: $(tail -n 2 "$T/out")"
	clean "--events $events" <"$T/out"
	rm -f "$T"/w/made*
done
cg audit show "$T/audit" >"$T/out" 2>&1 || fail "audit show"
clean "audit show" <"$T/out"
cg audit stats "$T/audit" >"$T/out" 2>&1 || fail "audit stats"
clean "audit stats" <"$T/out"
clean "the log itself" <"$T/audit"
cg run --json --profile python -r "$T/names" -w "$T/w" -- "$PYTHON" -B "$T/w/ask.py" "$T/names" >"$T/result" 2>&1
clean "run --json" <"$T/result"
# and none of it is lost
for name in "${names[@]}"; do
	jq -e --arg name "$name" 'any(.changes[]; .path | endswith("made" + $name)) and
		(.denials | length > 3)' "$T/result" >/dev/null ||
			fail "not in the result: $(jq -n --arg name "$name" '$name' | cut -c 1-60)"
done

# A log that was edited.
sed 's/"time":"[^"]*"/"time":"2026-01-01T\\u001b[2J\\u202e12:00"/
	s/"verdict":"[^"]*"/"verdict":"\\u001b[2J"/; s/"errno":"[^"]*"/"errno":"\\u001b]0;x"/
	s/"run":"[^"]*"/"run":"\\u001b[31m"/' \
	"$T/audit" >"$T/edited"
cg audit show "$T/edited" 2>&1 | clean "an edited log"
cg audit stats "$T/edited" 2>&1 | clean "statistics of an edited log"
# As it is for machines: the same JSON, of a log that has such characters as they are; tabs between tokens are not in a
# string.
sed 's/"run":"/\t"run":\t"\xe2\x80\xae\xe2\x81\xa6\xc2\x9b\x7f/; s/"path":"/"path":"\xe2\x80\xae\xf3\xa0\x81\x81/' \
	"$T/audit" >"$T/foreign"
grep -q $'\u202e' "$T/foreign" || die "no foreign log"
cg audit show --json "$T/foreign" >"$T/out" 2>&1 || fail "audit show --json of a foreign log"
clean "audit show --json of a foreign log" <"$T/out"
cg audit stats --json "$T/foreign" 2>&1 | clean "audit stats --json of a foreign log"
for part in 'select(.type == "header")' .path; do
	cmp -s <(jq -cS "$part" "$T/foreign") <(jq -cS "$part" "$T/out") ||
		fail "audit show --json: not the same JSON: $part"
done
cg audit show --json "$T/audit" | jq -cS 'select(.type == "header")' |
	cmp -s - <(jq -cS 'select(.type == "header")' "$T/audit") ||
	fail "audit show --json: not our own lines"

# No other file writes to people: the one place is base/shown.c. (namespaces-unshare.c writes id maps, audit/export/ and
# audit/report/ files for tools, top-screen.c the terminal's control sequences, e2b/log.c JSON of ASCII, agents/main.c a
# constant, inspect/elf/ lines for callgate, view/copy/records.c and workspace/checkpoint/known.c records for
# workspace/, and ws/patch.c a patch where standard output is no terminal;
# audit-read.sh and workspace-diff.sh test some on a terminal.)
(cd "$SRC" &&
	top_srcdir=. tests/check/product.sh sources | xargs grep -nE \
		'\b(v?fprintf|fputs|putc|perror|psignal|v?printf|puts|dprintf|fwrite|json_dumpf|json_dumpfd) ?\(' |
	grep -vE -e '^(base/shown|confine/namespaces-unshare|cli/audit/top-screen|agents/e2b/log|agents/main).c' \
		-e '^cli/(audit/(export|report)|inspect/elf)/' -e '^cli/ws/patch[.]c:[0-9]*:.*fwrite\(text->data' \
		-e '^(view/copy/records|workspace/checkpoint/known)[.]c:[0-9]*:.*fwrite') \
	>"$T/writers" &&
		fail "text that does not go through text_escape_for_display: $(cat "$T/writers")"
exit $live_failed
