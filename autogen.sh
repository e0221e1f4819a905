#!/bin/sh
# Makes configure and the Makefile templates from a git checkout.
set -eu

cd "$(dirname "$0")"
for tool in autoreconf automake pkg-config; do
	command -v "$tool" >/dev/null || {
		echo "autogen.sh: $tool is missing; install autoconf, automake and pkg-config" >&2
		exit 1
	}
done
exec autoreconf --install --force
