# Programs that the live tests run inside callgate.
check_PROGRAMS += tests/cases/cases-diff tests/cases/cases-threat
tests_cases_cases_diff_SOURCES = tests/cases/diff.h tests/cases/diff-nr.h tests/cases/diff-deviate.c \
	tests/cases/diff-dirfd.c tests/cases/diff-fifo.c tests/cases/diff-fixture.c tests/cases/diff-main.c \
	tests/cases/diff-mem.c tests/cases/diff-meta.c tests/cases/diff-open.c tests/cases/diff-out.c \
	tests/cases/diff-pair.c tests/cases/diff-path.c tests/cases/diff-proc.c tests/cases/diff-race.c \
	tests/cases/diff-task.c tests/cases/diff-watch.c
tests_cases_cases_diff_LDADD = -lpthread
tests_cases_cases_threat_SOURCES = tests/cases/threat.h tests/cases/threat-files.c tests/cases/threat-kernel.c \
	tests/cases/threat-main.c tests/cases/threat-others.c tests/cases/threat-process.c tests/cases/threat-race.c \
	tests/cases/threat-signals.c
tests_cases_cases_threat_LDADD = -lpthread
EXTRA_DIST += tests/cases/diff-deviations.txt
EXTRA_DIST += tests/cases/exec-forms.py tests/cases/threat-stall.py

# The table with everything its rows point at, so that the test's list cannot differ from the program's.
check_PROGRAMS += tests/cases/cases-rows
tests_cases_cases_rows_SOURCES = tests/cases/rows.c
tests_cases_cases_rows_LDADD = libcallgate_syscalls.a libcallgate_audit.a libcallgate_policy.a libcallgate_base.a \
	$(LIBSECCOMP_LIBS) $(LIBELF_LIBS) $(JANSSON_LIBS) $(LIBCRYPTO_LIBS)

# Attacks that worked once, and random calls.
check_PROGRAMS += tests/cases/cases-attack tests/cases/attack-fuzz
tests_cases_cases_attack_SOURCES = tests/cases/attack.c
tests_cases_cases_attack_LDADD = -lpthread
tests_cases_attack_fuzz_SOURCES = tests/cases/attack-fuzz.c
tests_cases_attack_fuzz_LDADD = -lpthread
