#!/bin/sh
# product.sh folders|sources: prints the folders of the product, which are those with a local.mk but what is for tests
# and users; or their C sources. Sorted.
set -eu

cd "${top_srcdir:-$(dirname "$0")/../..}"
folders()
{
	for part in */local.mk; do
		case ${part%/*} in
		bench | doc | examples | packaging | python | tests) ;;
		*) echo "${part%/*}" ;;
		esac
	done
}

case ${1-} in
folders) folders ;;
sources) folders | xargs sh -c 'find "$@" -name "*.c"' sources | LC_ALL=C sort ;;
*) exit 2 ;;
esac
