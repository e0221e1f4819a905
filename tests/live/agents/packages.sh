#!/bin/bash
# Sourced by tests of clients: packages of npm and PyPI, installed once.

# install_packages NAME NPM PYPI: the packages of two lists of words. Sets packages to the directory with node_modules/
# and python/ (for PYTHONPATH: a virtual environment would take twice the time), in tests/cases/kept of the build tree
# (see go_program in net.sh). What cannot be fetched is no fault of ours: the test skips.
install_packages()
{
	packages=$BUILD/tests/cases/kept/$1
	mkdir -p "$packages"
	(
		unset TMPDIR
		[ -e "$packages/package.json" ] || echo '{"private": true}' >"$packages/package.json"
		# shellcheck disable=SC2086 # lists of words
		install_once npm timeout -k 5 300 npm install --prefix "$packages" --no-audit --no-fund \
			--ignore-scripts --prefer-offline $2 &&
			install_once python install_for_python "$packages/python" $3
	) || skip "cannot install from $(cat "$T/packages")"
}

# install_for_python DIR PACKAGE…: Debian's python3-venv has pip as a wheel only, from which it can be run.
install_for_python()
{
	local wheels dir=$1
	wheels=(/usr/share/python-wheels/pip-*.whl)
	shift
	"$(command -v python3)" -c 'import pip' 2>/dev/null || export PYTHONPATH=${wheels[0]}
	timeout -k 5 300 "$(command -v python3)" -m pip -q install --no-compile --disable-pip-version-check \
		--target "$dir" "$@"
}

# install_once WHAT COMMAND…: false: it failed; $T/packages says why.
install_once()
{
	local what=$1
	shift
	[ ! -e "$packages/$what.done" ] || return 0
	"$@" >"$packages/$what.log" 2>&1 || {
		echo "$what: $(tail -n 1 "$packages/$what.log")" >"$T/packages"
		return 1
	}
	touch "$packages/$what.done"
}
