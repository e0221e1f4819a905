# The Python package. configure finds out where Python looks for it.
callgatepythondir = $(pythondir)/callgate
dist_callgatepython_DATA = \
	python/callgate/__init__.py \
	python/callgate/aio.py \
	python/callgate/commands.py \
	python/callgate/connection.py \
	python/callgate/errors.py \
	python/callgate/executor.py \
	python/callgate/files.py \
	python/callgate/functions.py \
	python/callgate/keep_server.py \
	python/callgate/models.py \
	python/callgate/py.typed \
	python/callgate/sandbox.py \
	python/callgate/server.py \
	python/callgate/values.py
EXTRA_DIST += python/README.md python/pyproject.toml
