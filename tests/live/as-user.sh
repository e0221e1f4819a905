#!/bin/bash
# Runs the core of the live suite (core.sh) again as an unprivileged user without supplementary groups and without a
# passwd entry. Root is not needed for the tests themselves.
. "$(dirname "$0")/lib.sh"
need setpriv
[ "$(id -u)" = 0 ] || skip "not root: the whole suite runs as a user already"
USER_ID=${LIVE_USER:-$(own_uid)}

# A copy, because the user may have no way into the source and build directories.
top_srcdir=$SRC top_builddir=$BUILD "$SRC/tests/live/core.sh" copy "$T/tree" || die "cannot copy the tests"
chmod 711 "$T"
mkdir -m 700 "$T/user" || die "mkdir"
chown "$USER_ID:$USER_ID" "$T/user" || die "chown"
as_user=(setpriv "--reuid=$USER_ID" "--regid=$USER_ID" --clear-groups --inh-caps=-all --bounding-set=-all --)
cd "$T/user" || die "cd"
timeout -k 5 "${LIVE_USER_TIMEOUT:-1700}" "${as_user[@]}" env -i PATH="$PATH" CORE_TESTS="${CORE_TESTS:-}" \
	CORE_TIMEOUT="${CORE_TIMEOUT:-}" CORE_JOBS="${CORE_JOBS:-}" CORE_SHUFFLE="${CORE_SHUFFLE:-}" \
	DIFF_PART="${DIFF_PART:-}" LIVE_JUDGE="${LIVE_JUDGE:-}" \
	LIVE_TMP="$T/user" HOME="$T/user" TMPDIR="$T/user" \
	top_srcdir="$T/tree" top_builddir="$T/tree/built" bash "$T/tree/tests/live/core.sh" </dev/null
status=$?
[ $status = 0 ] || fail "as user $USER_ID: see above (status $status)"
