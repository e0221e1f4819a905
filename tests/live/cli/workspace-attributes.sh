#!/bin/bash
# Extended attributes with names of the overlay's own: what the directory has stays, and what the program sets is
# applied, as when the program is run natively.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/workspace-lib.sh"
need jq
W=$T/w

cat >"$T/show.py" <<'END'
import os, sys
for where, dirs, files in os.walk(sys.argv[1]):
    for name in sorted(dirs + files):
        path = os.path.join(where, name)
        kept = {k: os.getxattr(path, k) for k in sorted(os.listxattr(path)) if not k.startswith('security.')}
        print(os.path.relpath(path, sys.argv[1]), kept)
END
cat >"$T/fresh.py" <<'END'
import os, sys
os.chdir(sys.argv[1])
os.mkdir('dir')
for name in ('appended', 'both', 'escaped', 'moved', 'set', 'plain', 'dir/in', 'same', 'anew', 'off'):
    open(name, 'w').write(name)
for path, name in (('appended', 'x'), ('dir', 'opaque'), ('both', 'x'), ('escaped', 'overlay.x'), ('moved', 'x'),
                   ('same', 'x'), ('anew', 'x'), ('off', 'overlay.x')):
    os.setxattr(path, 'user.overlay.' + name, b'base')
    os.setxattr(path, 'user.' + name, b'base')
    if os.geteuid() == 0:
        try:
            os.setxattr(path, 'trusted.overlay.' + name, b'base')
        except PermissionError:
            pass
END
cat >"$T/change.py" <<'END'
import os
for name in ('appended', 'both', 'escaped'):
    open(name, 'a').write('more')
os.rename('moved', 'there')
for name in ('set', 'dir', 'both'):
    os.setxattr(name, 'user.overlay.set', b'program')
    os.setxattr(name, 'user.set', b'program')
os.mkdir('new')
open('new/in', 'w').write('x')
os.setxattr('new/in', 'user.overlay.x', b'program')
os.setxattr('new', 'user.overlay.x', b'program')
os.unlink('anew')
open('anew', 'w').write('by the program')
END

mkdir "$W" "$T/native"
"$PYTHON" -c 'import os, sys; os.setxattr(sys.argv[1], "user.x", b"")' "$W" 2>/dev/null || skip "no attributes here"
"$PYTHON" "$T/fresh.py" "$W" || die "fresh"
"$PYTHON" "$T/fresh.py" "$T/native" || die "fresh"
(cd "$T/native" && "$PYTHON" "$T/change.py") || die "natively"
"$PYTHON" "$T/show.py" "$T/native" >"$T/expected"
cg run --json "${WORKSPACE_COW:---cow}" --profile python -w "$W" -r "$T/change.py" -- "$PYTHON" "$T/change.py" \
	>"$T/result" 2>"$T/err"
if [ "$(jq .exit_code "$T/result")" != 0 ]; then # before Linux 6.7, an overlay refuses these names
	jq -r .stderr "$T/result" | grep -q 'Operation not permitted\|Operation not supported' && skip "refused"
	die "$(cat "$T/result" "$T/err")"
fi
id=$(jq -r .workspace.id "$T/result")
ws diff "$id" >"$T/diff"
grep -q 'same\|escaped.*attributes\|appended.*attributes' "$T/diff" && fail "unchanged attributes: $(cat "$T/diff")"
ws apply "$id" >/dev/null 2>"$T/err" || fail "apply: $(cat "$T/err")"
ws diff "$id" >"$T/diff" || fail "left: $(cat "$T/diff")"
"$PYTHON" "$T/show.py" "$W" >"$T/found"
diff "$T/expected" "$T/found" >"$T/diff" || fail "attributes: $(cat "$T/diff")"
discard_all
