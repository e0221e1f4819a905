#!/bin/sh
# Runs the plan, two cells at once, into OUT (default: ./out), and prints the report.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
callgate=${CALLGATE:-$(command -v "$here/../../build/callgate" || echo callgate)}
"$callgate" experiment run -j 2 --csv -o "${1:-out}" "$here/plan.json"
"$callgate" experiment report "${1:-out}"
