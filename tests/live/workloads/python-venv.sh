#!/bin/bash
# A virtual environment is created, entered and used; with and without pip.
. "$(dirname "$0")/../lib.sh"
live_env+=(PYTHONDONTWRITEBYTECODE=1)
same venv bash -c "$PYTHON -m venv --without-pip env && env/bin/python -c 'import sys; print(sys.prefix,
	sys.executable)' &&
	. env/bin/activate && python -c 'import sys, site; print(sys.prefix,
	site.getsitepackages())' && readlink env/bin/python3"
if "$PYTHON" -c 'import ensurepip' 2>/dev/null; then
	TREE_SKIP='__pycache__|RECORD$'
	same venv-pip bash -c \
		"$PYTHON -m venv env >/dev/null && env/bin/pip --version && env/bin/pip list --format=freeze"
fi
