#!/bin/sh
# Analyses the shipped sales.csv in a fresh workdir and keeps summary.csv and revenue.png in OUT (default: ./out).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
callgate=${CALLGATE:-$(command -v "$here/../../build/callgate" || echo callgate)}
exec "$callgate" run -p "$here/policy.json" --input "$here/sales.csv" --input "$here/analyse.py" \
	--output "${1:-out}" -- /usr/bin/python3 analyse.py sales.csv
