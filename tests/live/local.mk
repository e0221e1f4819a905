# Tests of the whole program. Each is a script of its own: run one as CALLGATE=build/check/callgate tests/live/NAME.sh.
LIVE_TESTS = \
	tests/live/attack-attributes.sh \
	tests/live/attack-crowd.sh \
	tests/live/attack-denied-names.sh \
	tests/live/attack-fuzz.sh \
	tests/live/attack-net-h2.sh \
	tests/live/attack-net-listener.sh \
	tests/live/attack-ipc-memory.sh \
	tests/live/attack-glob-write.sh \
	tests/live/attack-host-names.sh \
	tests/live/attack-oom.sh \
	tests/live/attack-output.sh \
	tests/live/attack-procfs.sh \
	tests/live/attack-reopen.sh \
	tests/live/attack-scratch.sh \
	tests/live/attack-script.sh \
	tests/live/attack-spinners.sh \
	tests/live/attack-starved.sh \
	tests/live/attack-storm.sh \
	tests/live/attack-terminal.sh \
	tests/live/attack-traced-end.sh \
	tests/live/affinity.sh \
	tests/live/as-user.sh \
	tests/live/bad-input.sh \
	tests/live/bombs.sh \
	tests/live/crowd-200.sh \
	tests/live/diff-deviate.sh \
	tests/live/diff-dirfd.sh \
	tests/live/diff-meta.sh \
	tests/live/diff-open.sh \
	tests/live/diff-pair.sh \
	tests/live/diff-path.sh \
	tests/live/diff-inet.sh \
	tests/live/diff-last-close.sh \
	tests/live/diff-sock.sh \
	tests/live/diff-task.sh \
	tests/live/doctor.sh \
	tests/live/doctor-advice.sh \
	tests/live/egress-life.sh \
	tests/live/examples.sh \
	tests/live/exec-again.sh \
	tests/live/exec-attacks.sh \
	tests/live/exec-forms.sh \
	tests/live/in-container.sh \
	tests/live/keeper.sh \
	tests/live/fetch.sh \
	tests/live/fstat.sh \
	tests/live/hot-calls.sh \
	tests/live/interrupted.sh \
	tests/live/ipc-private.sh \
	tests/live/kill-supervisor.sh \
	tests/live/landlock-rules.sh \
	tests/live/life.sh \
	tests/live/man.sh \
	tests/live/limits-cgroup.sh \
	tests/live/limits-cpu.sh \
	tests/live/limits-disk.sh \
	tests/live/limits-files.sh \
	tests/live/limits-hoard.sh \
	tests/live/limits-memory.sh \
	tests/live/limits-pids.sh \
	tests/live/limits-workloads.sh \
	tests/live/least-privilege.sh \
	tests/live/links.sh \
	tests/live/names.sh \
	tests/live/namespaces.sh \
	tests/live/net-answers.sh \
	tests/live/net-corpus.sh \
	tests/live/net-curl.sh \
	tests/live/net-db.sh \
	tests/live/net-git.sh \
	tests/live/net-crowd.sh \
	tests/live/net-http1.sh \
	tests/live/net-http2.sh \
	tests/live/net-java.sh \
	tests/live/net-loopback.sh \
	tests/live/net-program.sh \
	tests/live/net-smoke.sh \
	tests/live/net-static.sh \
	tests/live/net-wget.sh \
	tests/live/net-names.sh \
	tests/live/net-negative.sh \
	tests/live/net-node.sh \
	tests/live/net-npm.sh \
	tests/live/net-pinned.sh \
	tests/live/net-pip.sh \
	tests/live/net-python.sh \
	tests/live/net-egress-dies.sh \
	tests/live/net-files.sh \
	tests/live/net-records.sh \
	tests/live/net-secrets.sh \
	tests/live/net-tls.sh \
	tests/live/phases.sh \
	tests/live/rename-random.sh \
	tests/live/rename-trees.sh \
	tests/live/rows.sh \
	tests/live/second-lock.sh \
	tests/live/self-restriction.sh \
	tests/live/sendfile.sh \
	tests/live/shown-text.sh \
	tests/live/signals.sh \
	tests/live/terminal.sh \
	tests/live/threat-01-clone.sh \
	tests/live/threat-02-exec-race.sh \
	tests/live/threat-02-exec.sh \
	tests/live/threat-03-unreadable.sh \
	tests/live/threat-04-exec-thread.sh \
	tests/live/threat-05-nested.sh \
	tests/live/threat-06-supervisor.sh \
	tests/live/threat-07-descriptors.sh \
	tests/live/threat-08-same-uid.sh \
	tests/live/threat-09-kill-all.sh \
	tests/live/threat-10-handles.sh \
	tests/live/threat-11-daemon.sh \
	tests/live/threat-12-core.sh \
	tests/live/threat-13-arches.sh \
	tests/live/threat-14-high-bits.sh \
	tests/live/threat-15-refusals.sh \
	tests/live/threat-16-chdir.sh \
	tests/live/threat-16-flip.sh \
	tests/live/threat-17-memory.sh \
	tests/live/threat-18-stall.sh \
	tests/live/threat-19-pointers.sh \
	tests/live/threat-20-swap.sh \
	tests/live/threat-21-spoof.sh \
	tests/live/threat-22-alias.sh \
	tests/live/threat-23-environment.sh \
	tests/live/threat-24-procfs.sh \
	tests/live/threat-25-reopen.sh \
	tests/live/threat-26-metadata.sh \
	tests/live/threat-27-setid.sh \
	tests/live/threat-28-fifos.sh \
	tests/live/threat-29-signals.sh \
	tests/live/threat-29-sigurg.sh \
	tests/live/threat-30-sigkill.sh \
	tests/live/threat-31-full-table.sh \
	tests/live/threat-32-start.sh \
	tests/live/threat-33-flood.sh \
	tests/live/threat-34-fastopen.sh \
	tests/live/threat-34-38-network.sh \
	tests/live/threat-35-mptcp.sh \
	tests/live/threat-36-datagrams.sh \
	tests/live/threat-36-messages.sh \
	tests/live/threat-36-outsiders.sh \
	tests/live/threat-37-families.sh \
	tests/live/threat-38-addresses.sh \
	tests/live/threat-39-unix.sh \
	tests/live/threat-41-terminal.sh \
	tests/live/threat-42-log-injection.sh \
	tests/live/threat-43-log.sh \
	tests/live/user.sh \
	tests/live/weight.sh \
	tests/live/workload-build.sh \
	tests/live/workload-editors.sh \
	tests/live/workload-files.sh \
	tests/live/workload-git.sh \
	tests/live/workload-node.sh \
	tests/live/workload-pipes.sh \
	tests/live/workload-postgres.sh \
	tests/live/workload-python-data.sh \
	tests/live/workload-python-processes.sh \
	tests/live/workload-python-sqlite.sh \
	tests/live/workload-python-venv.sh \
	tests/live/workload-shell.sh \
	tests/live/workload-sockets.sh \
	tests/live/workload-sqlite.sh
TESTS += $(LIVE_TESTS)
ARCHIVE_TESTS += $(addprefix tests/live/,bad-input.sh doctor.sh examples.sh life.sh man.sh net-smoke.sh rows.sh second-lock.sh \
	threat-01-clone.sh threat-02-exec.sh user.sh workload-shell.sh)
dist_check_SCRIPTS += $(LIVE_TESTS) tests/live/core.sh tests/live/four-ways.sh tests/live/diff.sh
EXTRA_DIST += tests/live/bomb.sh tests/live/lib.sh
EXTRA_DIST += tests/live/canary.py tests/live/canary.sh tests/live/watch.sh
EXTRA_DIST += tests/live/net-server.py tests/live/net.sh tests/cases/net-grpc.py tests/cases/net-http1.py
EXTRA_DIST += tests/cases/attack-net-h2.py tests/cases/attack-net-listener.py tests/cases/threat-datagrams.py tests/cases/threat-outsiders.py
EXTRA_DIST += tests/cases/net-crowd.py tests/cases/net-negative.py
EXTRA_DIST += tests/cases/net-python.py tests/cases/net-node.js tests/cases/NetJava.java
EXTRA_DIST += tests/cases/net-packages.py tests/cases/net-pinned.py tests/cases/net-answers.py
EXTRA_DIST += tests/cases/net-git.py tests/cases/net-static.c tests/cases/net-go.go
EXTRA_DIST += tests/cases/net-corpus.py tests/cases/net_corpus.py tests/cases/net_corpus_h2.py tests/cases/http-servers
# What tests build when they first need it, and keep for the next run: see go_program in net.sh.
clean-local:
	rm -rf tests/cases/kept
