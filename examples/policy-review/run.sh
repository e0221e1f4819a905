#!/bin/sh
# Tests a policy, and compares it with a proposal.
set -eu

cd "$(dirname "$0")"
callgate=${CALLGATE:-$(command -v ../../build/callgate || echo callgate)}
"$callgate" policy test --coverage policy.json cases.json
if "$callgate" policy test proposed.json cases.json; then
	echo "the cases hold for the proposal, too" >&2
	exit 1
fi
if "$callgate" policy diff --no-new-access policy.json proposed.json; then
	echo "the proposal grants nothing new" >&2
	exit 1
fi
