#!/bin/sh
# Prints the C sources of the product, sorted: those of each folder with a local.mk, but what is for tests and users.
set -eu

cd "${top_srcdir:-$(dirname "$0")/../..}"
for part in */local.mk; do
	case ${part%/*} in
	bench | doc | examples | packaging | python | tests) ;;
	*) echo "${part%/*}" ;;
	esac
done | xargs sh -c 'find "$@" -name "*.c"' sources | LC_ALL=C sort
