# Programs that the live tests run inside callgate.
check_PROGRAMS += tests/cases/cases-diff tests/cases/cases-threat
tests_cases_cases_diff_SOURCES = tests/cases/diff.h tests/cases/diff-deviate.c \
	tests/cases/diff-dirfd.c tests/cases/diff-fifo.c tests/cases/diff-fixture.c tests/cases/diff-main.c \
	tests/cases/diff-mem.c tests/cases/diff-meta.c tests/cases/diff-open.c tests/cases/diff-out.c \
	tests/cases/diff-outside.c \
	tests/cases/diff-pair.c tests/cases/diff-path.c tests/cases/diff-proc.c tests/cases/diff-race.c \
	tests/cases/diff-sock.h tests/cases/diff-sock-use.c tests/cases/diff-sock.c tests/cases/diff-task.c \
	tests/cases/diff-watch.c
tests_cases_cases_diff_LDADD = -lpthread
tests_cases_cases_threat_SOURCES = tests/cases/threat.h tests/cases/threat-files.c tests/cases/threat-kernel.c \
	tests/cases/threat-main.c tests/cases/threat-others.c tests/cases/threat-process.c \
	tests/cases/threat-promises.c tests/cases/threat-ptrace.c tests/cases/threat-race.c \
	tests/cases/threat-address.h tests/cases/threat-signals.c tests/cases/threat-sockets.c \
	tests/cases/threat-datagrams.c tests/cases/threat-unix.c \
	tests/cases/threat-inet.c tests/cases/threat-netlink.c tests/cases/threat-procnet.c
tests_cases_cases_threat_LDADD = libcallgate_syscalls.a -lpthread
EXTRA_DIST += tests/cases/diff-deviations.txt tests/cases/inspect-benign.txt tests/cases/inspect-hostile.txt \
	tests/cases/inspect-shells.txt \
	tests/cases/inspect-words.txt
EXTRA_DIST += tests/cases/async.py tests/cases/errnos.py
EXTRA_DIST += tests/cases/exec-forms.py tests/cases/ipc.py tests/cases/keeper.py tests/cases/signals.py \
	tests/cases/slow-fs.py tests/cases/terminal-attacks.py tests/cases/terminal.py tests/cases/terminals.py \
	tests/cases/threat-canary.py tests/cases/threat-stall.py tests/cases/rename-random.py
EXTRA_DIST += tests/cases/proc-ends.py tests/cases/judge-changes.py
EXTRA_DIST += tests/cases/Interfaces.java tests/cases/interfaces.c tests/cases/interfaces.go tests/cases/interfaces.py
EXTRA_DIST += tests/cases/unix-datagrams.py tests/cases/unix-names.py tests/cases/unix-peers.py
EXTRA_DIST += tests/cases/workload-sockets.js tests/cases/workload-sockets.py

# Internet sockets, natively and inside.
check_PROGRAMS += tests/cases/cases-inet
tests_cases_cases_inet_SOURCES = tests/cases/inet.c
tests_cases_cases_inet_LDADD = -lpthread
EXTRA_DIST += tests/cases/net-loopback.py
EXTRA_DIST += tests/cases/net-options.py

# Signals that come before a call was received.
check_PROGRAMS += tests/cases/cases-interrupted
tests_cases_cases_interrupted_SOURCES = tests/cases/interrupted.c
tests_cases_cases_interrupted_LDADD = -lpthread

# Masks of CPUs, looked at from everywhere.
check_PROGRAMS += tests/cases/cases-affinity
tests_cases_cases_affinity_SOURCES = tests/cases/affinity.c
tests_cases_cases_affinity_LDADD = -lpthread

# Chains of processes that fork and end at once.
check_PROGRAMS += tests/cases/cases-fork-chain
tests_cases_cases_fork_chain_SOURCES = tests/cases/fork-chain.c
tests_cases_cases_fork_chain_LDADD = -lpthread

# fstat, and what is passed in its place.
check_PROGRAMS += tests/cases/cases-fstat
tests_cases_cases_fstat_SOURCES = tests/cases/fstat.c

# What the calls that only read answer, and what they must not get to read.
check_PROGRAMS += tests/cases/cases-reads tests/cases/cases-reads-attack
tests_cases_cases_reads_SOURCES = tests/cases/reads.c
tests_cases_cases_reads_attack_SOURCES = tests/cases/reads-attack.c
tests_cases_cases_reads_attack_LDADD = -lpthread

# What ends with the last descriptor of a file.
check_PROGRAMS += tests/cases/cases-last-close
tests_cases_cases_last_close_SOURCES = tests/cases/last-close.c

# A container's filter in one call.
check_PROGRAMS += tests/cases/cases-without
tests_cases_cases_without_SOURCES = tests/cases/without.c

# callgate where system calls fail, and on kernels with an older Landlock. callgate-open can do that, too.
check_PROGRAMS += tests/cases/callgate-failing
tests_cases_callgate_failing_SOURCES = tests/cases/failing.c
tests_cases_callgate_failing_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=syscall
tests_cases_callgate_failing_LDADD = $(callgate_OBJECTS) $(CALLGATE_LIBS) $(POLICY_LIBS) $(LIBELF_LIBS)

# The table itself, so that the test's list cannot differ from the program's.
check_PROGRAMS += tests/cases/cases-rows
tests_cases_cases_rows_SOURCES = tests/cases/rows.c
tests_cases_cases_rows_LDADD = libcallgate_syscalls.a

# What never ends by itself, and what a neighbour notices of it.
check_PROGRAMS += tests/cases/cases-storm
tests_cases_cases_storm_SOURCES = tests/cases/storm.c
tests_cases_cases_storm_LDADD = -lpthread

# The second lock alone: callgate with an open filter, and what tries to get by the lock, without a loader or a library.
check_PROGRAMS += tests/cases/callgate-open tests/cases/cases-second-lock
tests_cases_callgate_open_SOURCES = confine/filter.c tests/cases/failing.c
tests_cases_callgate_open_CPPFLAGS = $(AM_CPPFLAGS) -DCALLGATE_OPEN_FILTER
tests_cases_callgate_open_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=syscall
tests_cases_callgate_open_LDADD = $(callgate_OBJECTS) $(CALLGATE_LIBS) $(POLICY_LIBS) $(LIBELF_LIBS)
tests_cases_cases_second_lock_SOURCES = tests/cases/second-lock.c tests/cases/second-lock-net.c \
	tests/cases/second-lock.h
tests_cases_cases_second_lock_CFLAGS = -std=gnu17 $(WARN_CFLAGS)
tests_cases_cases_second_lock_LDFLAGS = -static

# Attacks that worked once, and random calls.
check_PROGRAMS += tests/cases/cases-attack tests/cases/cases-exec tests/cases/attack-fuzz
tests_cases_cases_exec_SOURCES = tests/cases/exec.c
tests_cases_cases_exec_LDADD = -lpthread
tests_cases_cases_attack_SOURCES = tests/cases/attack.c
tests_cases_cases_attack_LDADD = -lpthread
tests_cases_attack_fuzz_SOURCES = tests/cases/attack-fuzz.c
tests_cases_attack_fuzz_LDADD = libcallgate_syscalls.a -lpthread

# What uses up memory, time and processes.
check_PROGRAMS += tests/cases/cases-bomb
tests_cases_cases_bomb_SOURCES = tests/cases/bomb.c
tests_cases_cases_bomb_LDADD = -lpthread
check_PROGRAMS += tests/cases/cases-hoard
tests_cases_cases_hoard_SOURCES = tests/cases/hoard.c
tests_cases_cases_hoard_LDADD = -lpthread

# What uses up the disk.
check_PROGRAMS += tests/cases/cases-fill
tests_cases_cases_fill_SOURCES = tests/cases/fill.c

# Sandboxes of agents/, driven as callgate-agents does.
check_PROGRAMS += tests/cases/cases-agents
tests_cases_cases_agents_SOURCES = tests/cases/agents.c
tests_cases_cases_agents_LDADD = $(AGENTS_LIBS)
# Contexts of agents/, likewise.
check_PROGRAMS += tests/cases/cases-contexts
tests_cases_cases_contexts_SOURCES = tests/cases/contexts.c
tests_cases_cases_contexts_LDADD = $(AGENTS_LIBS)
EXTRA_DIST += tests/cases/python-executor.py tests/cases/python-hostile.py tests/cases/python-sandbox.py
