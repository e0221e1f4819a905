#!/bin/bash
# Threat 2: foreign interpreters, scripts, memfd, descriptors, ELF32: no denied image runs.
. "$(dirname "$0")/../lib.sh"
mkdir "$T/denied" "$T/ok" && cp "$CASES/cases-threat" "$T/denied/prog" && cp "$CASES/cases-threat" "$T/ok/prog"
# an allowed program whose PT_INTERP is a loader that is not; one of another class; a chain of scripts; a text
loader=$(readelf -l "$T/ok/prog" 2>/dev/null | sed -n 's/.*interpreter: \(.*\)]/\1/p')
[ -n "$loader" ] && cp "$loader" "$T/i" && "$PYTHON" - "$T" "$loader" <<'EOF'
import os, sys
top, loader = sys.argv[1].encode(), sys.argv[2].encode()
data = open(top + b"/ok/prog", "rb").read()
interp = top + b"/i"
assert len(interp) <= len(loader), interp
open(top + b"/ok/interp", "wb").write(data.replace(loader, interp.ljust(len(loader), b"\0"), 1))
open(top + b"/ok/elf32", "wb").write(data[:4] + b"\1" + data[5:])
open(top + b"/ok/machine", "wb").write(data[:18] + b"\xb7\0" + data[20:])
open(top + b"/ok/short", "wb").write(data[:40])
open(top + b"/ok/chain", "w").write("#!" + sys.argv[1] + "/ok/chain2\n")
open(top + b"/ok/chain2", "w").write("#!" + sys.argv[1] + "/denied/prog marker\n")
open(top + b"/ok/text", "w").write("no magic\n")
for name in ("interp", "elf32", "machine", "short", "chain", "chain2", "text"):
    os.chmod(top + b"/ok/" + name.encode(), 0o755)
EOF
CG_OPTIONS=(-r "$T/denied" -r "$T/i" -x "$T/ok")
hostile cases-threat exec "$T/denied/prog" "$T/w/marker" "$T/ok/prog" "$T/ok/interp" "$T/ok/elf32" "$T/ok/machine" \
	"$T/ok/short" \
	"$T/ok/chain" "$T/ok/chain2" "$T/ok/text"
[ ! -e "$T/w/marker" ] || fail "a denied program ran"
audit_has '(.syscall == "execve" or .syscall == "execveat") and .verdict == "deny"'
