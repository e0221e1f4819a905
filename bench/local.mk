# `make bench` is not a test: machines are noisy and only ratios within one run mean anything.
check_PROGRAMS += bench-floor bench-micro
bench_floor_SOURCES = bench/floor.c
bench_micro_SOURCES = bench/micro.c bench/micro-operations.c bench/micro.h
dist_noinst_SCRIPTS += bench/bench.py bench/compare bench/fetch bench/figures bench/plot bench/report.py \
	bench/scale.py bench/targets.py bench/soak.sh bench/workspace.py
EXTRA_DIST += bench/README.md bench/estimate.py bench/figures.json bench/place.py bench/rivals.py bench/sampling.py \
	bench/sizes.py bench/trees.py bench/workloads.py
CLEANFILES += $(EXTRA_PROGRAMS)

.PHONY: bench
bench: callgate$(EXEEXT) bench-floor$(EXEEXT) bench-micro$(EXEEXT)
	$(top_srcdir)/bench/bench.py --build $(abs_top_builddir) $(BENCH_FLAGS)

# The table of all rivals. What cannot be fetched is left out, with the reason.
.PHONY: bench-rivals
bench-rivals: callgate$(EXEEXT) bench-floor$(EXEEXT) bench-micro$(EXEEXT)
	-$(top_srcdir)/bench/fetch bench-fetched
	$(top_srcdir)/bench/bench.py --build $(abs_top_builddir) --only table $(BENCH_FLAGS)

# Needs the check library: the made-up supervisor is the unit tests'.
EXTRA_PROGRAMS += bench-egress
bench_egress_SOURCES = bench/egress.c $(EGRESS_RIG)
bench_egress_LDADD = $(EGRESS_LIBS)

# Instructions per call, counted by callgrind: bench/instructions compares them with bench/instructions.budget.
check_PROGRAMS += bench-instructions
bench_instructions_SOURCES = bench/judged-calls.c bench/judged-calls.h bench/judged-kernel.c bench/judged-tree.c
bench_instructions_CPPFLAGS = $(AM_CPPFLAGS) -DBENCH_FLAGS='"$(CFLAGS) $(MODE_CFLAGS)"'
bench_instructions_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=syscall -Wl,--wrap=ioctl -Wl,--wrap=clock_gettime \
	-Wl,--wrap=nettle_sha256_update -Wl,--wrap=nettle_sha256_digest
bench_instructions_LDADD = libcallgate_syscalls.a libcallgate_view.a libcallgate_egress.a libcallgate_audit.a \
	libcallgate_policy.a libcallgate_base.a $(POLICY_LIBS)
dist_noinst_SCRIPTS += bench/instructions
EXTRA_DIST += bench/instructions.budget
