# Tests of the whole program. Each is a script of its own: run one as CALLGATE=build/check/callgate tests/live/NAME.sh.
LIVE_TESTS = \
	tests/live/attacks/attributes.sh \
	tests/live/attacks/crowd.sh \
	tests/live/attacks/denied-names.sh \
	tests/live/attacks/fuzz.sh \
	tests/live/attacks/net-h2.sh \
	tests/live/attacks/net-listener.sh \
	tests/live/attacks/ipc-memory.sh \
	tests/live/attacks/glob-write.sh \
	tests/live/attacks/host-names.sh \
	tests/live/attacks/oom.sh \
	tests/live/attacks/output.sh \
	tests/live/attacks/proc-net.sh \
	tests/live/attacks/procfs.sh \
	tests/live/attacks/public.sh \
	tests/live/attacks/reopen.sh \
	tests/live/attacks/scratch.sh \
	tests/live/attacks/script.sh \
	tests/live/attacks/spinners.sh \
	tests/live/attacks/starved.sh \
	tests/live/attacks/storm.sh \
	tests/live/attacks/terminal.sh \
	tests/live/attacks/traced-end.sh \
	tests/live/supervisor/affinity.sh \
	tests/live/supervisor/approve-attempts.sh \
	tests/live/supervisor/approve-calls.sh \
	tests/live/supervisor/approve-exec.sh \
	tests/live/supervisor/approve-hostile.sh \
	tests/live/supervisor/approve-cow.sh \
	tests/live/supervisor/approve-http.sh \
	tests/live/supervisor/approve-network.sh \
	tests/live/supervisor/approve-session.sh \
	tests/live/supervisor/approve-tty.sh \
	tests/live/supervisor/approve.sh \
	tests/live/supervisor/ask-file.sh \
	tests/live/supervisor/after-read.sh \
	tests/live/supervisor/judge-changes.sh \
	tests/live/supervisor/session-inspect.sh \
	tests/live/supervisor/session.sh \
	tests/live/supervisor/session-checkpoint.sh \
	tests/live/supervisor/session-terminal.sh \
	tests/live/supervisor/session-workspace.sh \
	tests/live/supervisor/on-deny.sh \
	tests/live/supervisor/one-of-each.sh \
	tests/live/agents/contexts.sh \
	tests/live/agents/mcp.sh \
	tests/live/agents/mcp-approval.sh \
	tests/live/agents/mcp-inspect.sh \
	tests/live/agents/mcp-sdk.sh \
	tests/live/agents/pause.sh \
	tests/live/agents/python.sh \
	tests/live/agents/sandbox.sh \
	tests/live/agents/serve-approval.sh \
	tests/live/agents/serve.sh \
	tests/live/agents/e2b-sdk.sh \
	tests/live/as-user.sh \
	tests/live/cli/bad-input.sh \
	tests/live/cli/audit-export.sh \
	tests/live/cli/audit-read.sh \
	tests/live/cli/audit-verify.sh \
	tests/live/cli/attest.sh \
	tests/live/cli/minimise.sh \
	tests/live/cli/replay.sh \
	tests/live/cli/report.sh \
	tests/live/cli/report-browser.sh \
	tests/live/cli/observe.sh \
	tests/live/limits/bombs.sh \
	tests/live/limits/crowd-200.sh \
	tests/live/syscalls/async.sh \
	tests/live/syscalls/closed-directory.sh \
	tests/live/syscalls/newer-calls.sh \
	tests/live/syscalls/diff-deviate.sh \
	tests/live/syscalls/diff-dirfd.sh \
	tests/live/syscalls/diff-meta.sh \
	tests/live/syscalls/diff-open.sh \
	tests/live/syscalls/diff-pair.sh \
	tests/live/syscalls/diff-path.sh \
	tests/live/syscalls/diff-inet.sh \
	tests/live/syscalls/diff-last-close.sh \
	tests/live/syscalls/diff-sock.sh \
	tests/live/syscalls/options.sh \
	tests/live/syscalls/diff-task.sh \
	tests/live/doctor/doctor.sh \
	tests/live/doctor/confined.sh \
	tests/live/doctor/lacking.sh \
	tests/live/doctor/doctor-advice.sh \
	tests/live/egress/egress-life.sh \
	tests/live/cli/compare.sh \
	tests/live/cli/inspect.sh \
	tests/live/cli/inspect-run.sh \
	tests/live/cli/inspect-imports.sh \
	tests/live/cli/inspect-state.sh \
	tests/live/cli/inspect-corpus.sh \
	tests/live/cli/libraries.sh \
	tests/live/cli/libraries-node.sh \
	tests/live/cli/examples.sh \
	tests/live/cli/experiment.sh \
	tests/live/cli/experiments-page.sh \
	tests/live/syscalls/errnos.sh \
	tests/live/syscalls/exec-again.sh \
	tests/live/syscalls/exec-attacks.sh \
	tests/live/syscalls/exec-forms.sh \
	tests/live/in-container.sh \
	tests/live/keeper/keeper.sh \
	tests/live/keeper/progress.sh \
	tests/live/egress/fetch.sh \
	tests/live/syscalls/fstat.sh \
	tests/live/syscalls/hot-calls.sh \
	tests/live/syscalls/interrupted.sh \
	tests/live/syscalls/ipc-private.sh \
	tests/live/supervisor/kill-supervisor.sh \
	tests/live/confine/kernel-reads-names.sh \
	tests/live/confine/kernel-reads.sh \
	tests/live/confine/kernel-reads-made.sh \
	tests/live/confine/kernel-reads-failing.sh \
	tests/live/confine/kernel-reads-lacking.sh \
	tests/live/confine/landlock-abi.sh \
	tests/live/confine/landlock-rules.sh \
	tests/live/keeper/ending.sh \
	tests/live/keeper/input.sh \
	tests/live/keeper/life.sh \
	tests/live/cli/friendly.sh \
	tests/live/cli/home-path.sh \
	tests/live/cli/learn-attacks.sh \
	tests/live/cli/learn-programs.sh \
	tests/live/cli/learn.sh \
	tests/live/cli/listen.sh \
	tests/live/cli/suggest.sh \
	tests/live/cli/man.sh \
	tests/live/limits/cgroup.sh \
	tests/live/limits/cpu.sh \
	tests/live/limits/disk.sh \
	tests/live/limits/disk-copy.sh \
	tests/live/limits/disk-workspace.sh \
	tests/live/limits/files.sh \
	tests/live/limits/hoard.sh \
	tests/live/limits/memory.sh \
	tests/live/limits/pids.sh \
	tests/live/limits/workloads.sh \
	tests/live/confine/least-privilege.sh \
	tests/live/syscalls/links.sh \
	tests/live/cli/names.sh \
	tests/live/confine/namespaces.sh \
	tests/live/egress/answers.sh \
	tests/live/egress/corpus.sh \
	tests/live/egress/curl.sh \
	tests/live/egress/db.sh \
	tests/live/egress/git.sh \
	tests/live/egress/crowd.sh \
	tests/live/egress/http1.sh \
	tests/live/egress/http2.sh \
	tests/live/egress/java.sh \
	tests/live/egress/loopback.sh \
	tests/live/egress/program.sh \
	tests/live/egress/smoke.sh \
	tests/live/egress/static.sh \
	tests/live/egress/wget.sh \
	tests/live/egress/names.sh \
	tests/live/egress/negative.sh \
	tests/live/egress/node.sh \
	tests/live/egress/npm.sh \
	tests/live/egress/pinned.sh \
	tests/live/egress/pip.sh \
	tests/live/egress/python.sh \
	tests/live/egress/egress-dies.sh \
	tests/live/egress/files.sh \
	tests/live/egress/records.sh \
	tests/live/egress/secrets.sh \
	tests/live/egress/tls.sh \
	tests/live/cli/phases.sh \
	tests/live/syscalls/probes.sh \
	tests/live/syscalls/rename-random.sh \
	tests/live/syscalls/rename-trees.sh \
	tests/live/syscalls/rows.sh \
	tests/live/confine/second-lock.sh \
	tests/live/syscalls/self-restriction.sh \
	tests/live/syscalls/sendfile.sh \
	tests/live/cli/shown-text.sh \
	tests/live/syscalls/signals.sh \
	tests/live/keeper/terminal.sh \
	tests/live/syscalls/unix-datagrams.sh \
	tests/live/syscalls/unix-names.sh \
	tests/live/syscalls/unix-peers.sh \
	tests/live/threats/01-clone.sh \
	tests/live/threats/02-exec-flip.sh \
	tests/live/threats/02-exec-race.sh \
	tests/live/threats/02-exec.sh \
	tests/live/threats/03-unreadable.sh \
	tests/live/threats/04-exec-thread.sh \
	tests/live/threats/05-nested.sh \
	tests/live/threats/06-supervisor.sh \
	tests/live/threats/07-descriptors.sh \
	tests/live/threats/08-same-uid.sh \
	tests/live/threats/09-kill-all.sh \
	tests/live/threats/10-handles.sh \
	tests/live/threats/11-daemon.sh \
	tests/live/threats/12-core.sh \
	tests/live/threats/13-arches.sh \
	tests/live/threats/14-high-bits.sh \
	tests/live/threats/15-refusals.sh \
	tests/live/threats/16-chdir.sh \
	tests/live/threats/16-flip.sh \
	tests/live/threats/17-memory.sh \
	tests/live/threats/18-stall.sh \
	tests/live/threats/19-pointers.sh \
	tests/live/threats/20-swap.sh \
	tests/live/threats/21-spoof.sh \
	tests/live/threats/22-alias.sh \
	tests/live/threats/23-environment.sh \
	tests/live/threats/24-procfs.sh \
	tests/live/threats/25-reopen.sh \
	tests/live/threats/26-metadata.sh \
	tests/live/threats/27-setid.sh \
	tests/live/threats/28-fifos.sh \
	tests/live/threats/29-signals.sh \
	tests/live/threats/29-sigurg.sh \
	tests/live/threats/30-sigkill.sh \
	tests/live/threats/31-full-table.sh \
	tests/live/threats/32-start.sh \
	tests/live/threats/33-flood.sh \
	tests/live/threats/34-fastopen.sh \
	tests/live/threats/34-38-network.sh \
	tests/live/threats/35-mptcp.sh \
	tests/live/threats/36-datagrams.sh \
	tests/live/threats/36-messages.sh \
	tests/live/threats/36-outsiders.sh \
	tests/live/threats/37-families.sh \
	tests/live/threats/37-netlink.sh \
	tests/live/threats/38-addresses.sh \
	tests/live/threats/39-datagrams.sh \
	tests/live/threats/39-unix.sh \
	tests/live/threats/41-pseudoterminals.sh \
	tests/live/threats/41-terminal.sh \
	tests/live/threats/42-log-injection.sh \
	tests/live/threats/43-log.sh \
	tests/live/threats/44-ptrace.sh \
	tests/live/cli/workspace.sh \
	tests/live/cli/workspace-acls.sh \
	tests/live/cli/workspace-apply.sh \
	tests/live/cli/workspace-attributes.sh \
	tests/live/cli/workspace-base.sh \
	tests/live/cli/workspace-bases.sh \
	tests/live/cli/workspace-clone.sh \
	tests/live/cli/workspace-dirs.sh \
	tests/live/cli/workspace-dirs-hostile.sh \
	tests/live/cli/workspace-placeholders.sh \
	tests/live/cli/workspace-policy.sh \
	tests/live/cli/workspace-capabilities.sh \
	tests/live/cli/workspace-changed-dirs.sh \
	tests/live/cli/workspace-copy.sh \
	tests/live/cli/workspace-copy-ended.sh \
	tests/live/cli/workspace-deletions.sh \
	tests/live/cli/workspace-hardlinks.sh \
	tests/live/cli/workspace-together.sh \
	tests/live/cli/workspace-diff.sh \
	tests/live/cli/workspace-executed.sh \
	tests/live/cli/workspace-hostile.sh \
	tests/live/cli/workspace-large.sh \
	tests/live/cli/workspace-locked-dirs.sh \
	tests/live/cli/workspace-messages.sh \
	tests/live/cli/workspace-large-copies.sh \
	tests/live/cli/workspace-large-races.sh \
	tests/live/cli/workspace-seconds.sh \
	tests/live/cli/workspace-programs.sh \
	tests/live/cli/workspace-random.sh \
	tests/live/cli/workspace-recover.sh \
	tests/live/cli/workspace-replace.sh \
	tests/live/cli/workspace-setup.sh \
	tests/live/cli/user.sh \
	tests/live/limits/weight.sh \
	tests/live/with-judge-changes.sh \
	tests/live/workloads/build.sh \
	tests/live/workloads/debuggers.sh \
	tests/live/workloads/editors.sh \
	tests/live/workloads/files.sh \
	tests/live/workloads/git.sh \
	tests/live/workloads/node.sh \
	tests/live/workloads/pipes.sh \
	tests/live/workloads/proc.sh \
	tests/live/workloads/programs.sh \
	tests/live/workloads/postgres.sh \
	tests/live/workloads/python-data.sh \
	tests/live/workloads/python-processes.sh \
	tests/live/workloads/python-sqlite.sh \
	tests/live/workloads/python-venv.sh \
	tests/live/workloads/setgid.sh \
	tests/live/workloads/shell.sh \
	tests/live/workloads/slurm.sh \
	tests/live/workloads/hostname.sh \
	tests/live/workloads/interfaces.sh \
	tests/live/workloads/sockets.sh \
	tests/live/workloads/sqlite.sh \
	tests/live/workloads/terminals.sh \
	tests/live/workloads/unix-programs.sh
TESTS += $(LIVE_TESTS)
ARCHIVE_TESTS += $(addprefix tests/live/,cli/bad-input.sh doctor/doctor.sh cli/examples.sh keeper/life.sh cli/man.sh \
	egress/smoke.sh syscalls/rows.sh confine/second-lock.sh \
	threats/01-clone.sh threats/02-exec.sh cli/user.sh workloads/shell.sh)
dist_check_SCRIPTS += $(LIVE_TESTS) tests/live/core.sh tests/live/four-ways.sh tests/live/diff.sh
dist_check_SCRIPTS += tests/live/play-pod.sh
dist_check_SCRIPTS += tests/live/limits/cgroup-v2.sh # for tests/vm
EXTRA_DIST += tests/programs/run.py tests/programs/learn.py tests/programs/light.cases tests/programs/heavy.cases
EXTRA_DIST += tests/live/cli/workspace-lib.sh tests/live/supervisor/approve-lib.sh tests/live/supervisor/approver.py
EXTRA_DIST += tests/live/bomb.sh tests/live/docker-profile.sh tests/live/lib.sh
EXTRA_DIST += tests/live/doctor/examine.sh tests/live/doctor/filter.py
EXTRA_DIST += tests/live/canary.py tests/live/canary.sh tests/live/watch.sh
EXTRA_DIST += tests/live/agents/contexts.py
EXTRA_DIST += tests/live/cli/workspace-program.py tests/live/cli/workspace-random.py
EXTRA_DIST += tests/live/syscalls/closed-directory.py
EXTRA_DIST += tests/cases/approval-attempts.py tests/cases/approval-calls.py
EXTRA_DIST += tests/cases/mcp_client.py
EXTRA_DIST += tests/cases/mcp-approval.py tests/cases/mcp-sdk-approval.py tests/cases/mcp-sdk-approval.mjs
EXTRA_DIST += tests/live/agents/mcp-approval-lib.sh tests/cases/mcp-inspect.py tests/cases/mcp-workspace.py
EXTRA_DIST += tests/live/agents/packages.sh tests/live/agents/server.sh
# On request: CALLGATE_SOAK=1800 tests/live/agents/soak.sh
EXTRA_DIST += tests/live/agents/soak.sh tests/cases/e2b-soak.py
EXTRA_DIST += tests/live/net-server.py tests/live/net.sh tests/cases/net-grpc.py tests/cases/net-http1.py
EXTRA_DIST += tests/cases/attack-net-h2.py tests/cases/attack-net-listener.py tests/cases/threat-datagrams.py \
	tests/cases/threat-outsiders.py
EXTRA_DIST += tests/cases/net-crowd.py tests/cases/net-negative.py
EXTRA_DIST += tests/verify-random.py tests/verify_log.py
EXTRA_DIST += tests/cases/audit-export.py tests/cases/audit-hostile.py
EXTRA_DIST += tests/cases/replay-ops.py tests/cases/net-python.py tests/cases/net-node.js tests/cases/NetJava.java
EXTRA_DIST += tests/cases/after-read.py tests/cases/mcp-check.py tests/cases/session-client.py
EXTRA_DIST += tests/cases/e2b-approval.py tests/cases/e2b-basic.py tests/cases/e2b-client.py \
	tests/cases/e2b-hostile.py tests/cases/e2b-pause.py tests/cases/e2b-ports.py tests/cases/session-memory.py \
	tests/cases/session-terminal.py
EXTRA_DIST += tests/cases/e2b-sdk.py tests/cases/e2b-sdk.mjs tests/cases/mcp-sdk.py tests/cases/mcp-sdk.mjs
EXTRA_DIST += tests/cases/net-packages.py tests/cases/net-pinned.py tests/cases/net-answers.py
EXTRA_DIST += tests/cases/net-git.py tests/cases/net-static.c tests/cases/net-go.go
EXTRA_DIST += tests/cases/report-log.py tests/cases/report-page.py tests/cases/report-engine.js \
	tests/cases/report-browser.js
EXTRA_DIST += tests/cases/net-corpus.py tests/cases/net_corpus.py tests/cases/net_corpus_h2.py tests/cases/http-servers
# What tests build when they first need it, and keep for the next run: see go_program in net.sh.
clean-local:
	rm -rf tests/cases/kept
