#!/bin/bash
# Learnt policies of a few of the programs of tests/programs: each verifies, and grants none of the planted secrets.
. "$(dirname "$0")/../lib.sh"
case $BUILD in /tmp/* | /var/tmp/*) skip "the build directory is below /tmp, of which a run has its own" ;; esac
D=$(mktemp -d "$BUILD/learn-programs.XXXXXX") || skip "the build directory cannot be written"
trap 'chmod -R u+rwX "$D"; rm -rf "$D"; live_done' EXIT

LEARN_TMP=$D CALLGATE=$CALLGATE timeout 100 "$PYTHON" "$SRC/tests/programs/learn.py" --light --seconds 60 \
	tar sqlite3 git >"$T/out" 2>&1
status=$?
[ $status = 77 ] && skip "none of the programs is installed"
[ $status = 0 ] || fail "learnt policies: $(cat "$T/out")"
exit $live_failed
