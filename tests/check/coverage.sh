#!/bin/sh
# coverage.sh BUILDDIR: prints the line coverage of each source by the tests, from the counts of gcov.
set -eu

builddir=$1
folders=$("$(dirname "$0")/product.sh" folders)
cd "$builddir"
[ -n "$(find . -name '*.gcda' -print -quit)" ] || {
	echo "coverage: no counts in $builddir; configure with --enable-coverage" >&2
	exit 1
}
command -v gcov >/dev/null || {
	echo "coverage: gcov is not installed (package: gcc)" >&2
	exit 1
}
for folder in $folders; do
	[ ! -d "$folder" ] || find "$folder" -name '*.gcno'
done | xargs gcov --no-output 2>/dev/null | awk -v top="${top_srcdir:-}/" \
	-v folders="$(echo "$folders" | tr '\n ' '||' | sed 's/|$//')" '
	/^File / { file = $2; gsub("\047", "", file); sub(top, "", file); next }
	BEGIN { ours = "^(" folders ")/.*[.]c$" }
	/^Lines executed:/ && file ~ ours {
		split($0, part, /[:% ]+/)
		# "Lines executed:83.33% of 12"
		percent = part[3]; lines = part[5]
		if (!(file in total)) order[++n] = file
		total[file] = lines; run[file] = percent * lines / 100
		file = ""
	}
	END {
		for (i = 1; i <= n; i++) {
			printf "%6.1f %%  %5d lines  %s\n", 100 * run[order[i]] / total[order[i]], total[order[i]],
				order[i]
			all += total[order[i]]; all_run += run[order[i]]
		}
		if (all) printf "%6.1f %%  %5d lines  in all\n", 100 * all_run / all, all
	}' | sort -n
