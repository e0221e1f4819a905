TESTS += tests/layering.sh
dist_check_SCRIPTS += tests/layering.sh
EXTRA_DIST += tests/README.md
