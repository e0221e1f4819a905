TESTS += tests/call-order.sh tests/completion.sh tests/layering.sh
dist_check_SCRIPTS += tests/call-order.sh tests/completion.sh tests/layering.sh
EXTRA_DIST += tests/README.md
dist_noinst_SCRIPTS += tests/check/coverage.sh tests/check/cross.sh tests/check/lint.sh tests/check/tally.sh
EXTRA_DIST += tests/check/codespell.ignore tests/check/common.sh
include tests/cases/local.mk
include tests/live/local.mk
TESTS += tests/audit.sh
dist_check_SCRIPTS += tests/audit.sh
TESTS += tests/policy.sh
dist_check_SCRIPTS += tests/policy.sh
TESTS += tests/bench-compare.sh tests/bench-instructions.sh tests/bench-sampling.sh tests/bench-smoke.sh
dist_check_SCRIPTS += tests/bench-compare.sh tests/bench-instructions.sh tests/bench-sampling.sh tests/bench-smoke.sh
