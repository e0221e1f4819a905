# Tests of the whole program. Each is a script of its own: run one as CALLGATE=build/callgate tests/live/NAME.sh.
LIVE_TESTS = \
	tests/live/as-user.sh \
	tests/live/bad-input.sh \
	tests/live/diff-deviate.sh \
	tests/live/diff-dirfd.sh \
	tests/live/diff-meta.sh \
	tests/live/diff-open.sh \
	tests/live/diff-pair.sh \
	tests/live/diff-path.sh \
	tests/live/diff-task.sh \
	tests/live/examples.sh \
	tests/live/exec-forms.sh \
	tests/live/in-container.sh \
	tests/live/kill-supervisor.sh \
	tests/live/life.sh \
	tests/live/man.sh \
	tests/live/rows.sh \
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
	tests/live/threat-41-terminal.sh \
	tests/live/threat-42-log-injection.sh \
	tests/live/workload-build.sh \
	tests/live/workload-editors.sh \
	tests/live/workload-files.sh \
	tests/live/workload-git.sh \
	tests/live/workload-node.sh \
	tests/live/workload-pipes.sh \
	tests/live/workload-python-data.sh \
	tests/live/workload-python-processes.sh \
	tests/live/workload-python-sqlite.sh \
	tests/live/workload-python-venv.sh \
	tests/live/workload-shell.sh \
	tests/live/workload-sqlite.sh
TESTS += $(LIVE_TESTS)
dist_check_SCRIPTS += $(LIVE_TESTS) tests/live/diff.sh
EXTRA_DIST += tests/live/lib.sh
