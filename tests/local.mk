# What a second round from the release archive runs (./check distcheck). It asks whether all is there and works from
# there, not once more what holds: a few tests that between them read every kind of file. The same program has been
# through all tests by then.
ARCHIVE_TESTS = tests/audit.sh tests/columns.sh tests/completion.sh \
	tests/layering.sh tests/policy.sh
# The test programs that those run: all others were built from the same sources.
ARCHIVE_BINARIES = tests/cases/callgate-open tests/cases/cases-rows tests/cases/cases-second-lock \
	tests/cases/cases-threat
TESTS += tests/circles.sh tests/columns.sh tests/completion.sh tests/layering.sh tests/links.sh
dist_check_SCRIPTS += tests/circles.sh tests/columns.sh tests/completion.sh tests/layering.sh tests/links.sh
EXTRA_DIST += tests/README.md
dist_noinst_SCRIPTS += tests/branches.py tests/sample.py tests/mutants.py
EXTRA_DIST += tests/mutants.txt
dist_noinst_SCRIPTS += tests/check/coverage.sh tests/check/cross.sh tests/check/lint.sh \
	tests/check/product.sh tests/check/tally.sh \
	tests/vm/build.sh tests/vm/common.sh tests/vm/foreign.sh tests/vm/image.sh tests/vm/inside.sh \
	tests/vm/kernel.sh tests/vm/matrix.py tests/vm/run.sh tests/vm/unit.sh
EXTRA_DIST += tests/vm/docker-default.apparmor tests/vm/kernels.json
TESTS += tests/kernels.sh
dist_check_SCRIPTS += tests/kernels.sh
EXTRA_DIST += tests/check/codespell.ignore tests/check/common.sh tests/check/outline.awk
include tests/cases/local.mk
include tests/live/local.mk
TESTS += tests/packages.sh
dist_check_SCRIPTS += tests/packages.sh
dist_noinst_SCRIPTS += tests/check/packages.sh tests/check/clean.sh tests/check/inside.sh
EXTRA_DIST += NEWS SECURITY.md
TESTS += tests/contributing.sh
dist_check_SCRIPTS += tests/contributing.sh
EXTRA_DIST += CONTRIBUTING.md
TESTS += tests/audit.sh
dist_check_SCRIPTS += tests/audit.sh
TESTS += tests/policy.sh tests/policy-verbs.sh
dist_check_SCRIPTS += tests/policy.sh tests/policy-verbs.sh
TESTS += tests/bench-compare.sh tests/bench-instructions.sh tests/bench-sampling.sh tests/bench-smoke.sh
dist_check_SCRIPTS += tests/bench-compare.sh tests/bench-instructions.sh tests/bench-sampling.sh tests/bench-smoke.sh
