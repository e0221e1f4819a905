#!/bin/sh
# Runs the plan, two cells at once, into OUT (default: ./out), and prints the report.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
"${CALLGATE:-callgate}" experiment run -j 2 --csv -o "${1:-out}" "$here/plan.json"
"${CALLGATE:-callgate}" experiment report "${1:-out}"
