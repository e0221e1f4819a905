#!/bin/sh
# Builds a C program with make and gcc in a fresh workdir, runs it, and keeps it and its report in OUT (default: ./out).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
callgate=${CALLGATE:-$(command -v "$here/../../build/callgate" || echo callgate)}
exec "$callgate" run -p "$here/policy.json" --input "$here/Makefile" --input "$here/words.h" \
	--input "$here/words.c" --input "$here/main.c" --output "${1:-out}" --artifact top-words --artifact report.txt \
	-- \
	/usr/bin/make test
