#!/bin/bash
# Sourced by tests of clients: packages of npm and PyPI, installed once.

# install_packages NAME NPM PYPI: the packages of two lists of words. Sets packages to the directory with node_modules/
# and venv/, in tests/cases/kept of the build tree (see go_program in net.sh). What cannot be fetched is no fault of
# ours: the test skips.
install_packages()
{
	packages=$BUILD/tests/cases/kept/$1
	mkdir -p "$packages"
	(
		unset TMPDIR
		[ -e "$packages/package.json" ] || echo '{"private": true}' >"$packages/package.json"
		# shellcheck disable=SC2086 # lists of words
		install_once npm npm install --prefix "$packages" --no-audit --no-fund $2 &&
			install_once venv "$(command -v python3)" -m venv "$packages/venv" &&
			install_once PyPI "$packages/venv/bin/pip" -q install --no-compile \
			--disable-pip-version-check $3
	) || skip "cannot install from $(cat "$T/packages")"
}

# install_once WHAT COMMAND…: false: it failed; $T/packages says why.
install_once()
{
	local what=$1
	shift
	[ ! -e "$packages/$what.done" ] || return 0
	timeout -k 5 300 "$@" >"$packages/$what.log" 2>&1 || {
		echo "$what: $(tail -n 1 "$packages/$what.log")" >"$T/packages"
		return 1
	}
	touch "$packages/$what.done"
}
