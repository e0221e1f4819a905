bin_PROGRAMS += callgate
CALLGATE_SOURCES += \
	cli/attest.c \
	cli/check.c \
	cli/cli.h \
	cli/key.c \
	cli/list.c \
	cli/load.c \
	cli/load.h \
	cli/main.c \
	cli/message.c \
	cli/options.c \
	cli/options.h \
	cli/parse.c \
	cli/show.c \
	cli/verbs.c \
	cli/verbs.h
CALLGATE_SOURCES += \
	cli/agents/agents.h \
	cli/agents/approve.c \
	cli/agents/execute.c \
	cli/agents/mcp.c \
	cli/agents/serve.c
CALLGATE_SOURCES += \
	cli/audit/anchor.c \
	cli/audit/anchor.h \
	cli/audit/audit.c \
	cli/audit/audit.h \
	cli/audit/diff.c \
	cli/audit/fields.c \
	cli/audit/fields.h \
	cli/audit/filter.c \
	cli/audit/filter.h \
	cli/audit/follow.c \
	cli/audit/follow.h \
	cli/audit/histogram.c \
	cli/audit/histogram.h \
	cli/audit/logs.c \
	cli/audit/logs.h \
	cli/audit/refusals.c \
	cli/audit/refusals.h \
	cli/audit/rules.c \
	cli/audit/rules.h \
	cli/audit/show.c \
	cli/audit/source.c \
	cli/audit/source.h \
	cli/audit/stats-print.c \
	cli/audit/stats.c \
	cli/audit/stats.h \
	cli/audit/tally.c \
	cli/audit/tally.h \
	cli/audit/time.c \
	cli/audit/time.h \
	cli/audit/top-screen.c \
	cli/audit/top.c \
	cli/audit/top.h \
	cli/audit/tree.c \
	cli/audit/verify.c \
	cli/audit/verify.h
CALLGATE_SOURCES += \
	cli/audit/export/columns.c \
	cli/audit/export/columns.h \
	cli/audit/export/csv.c \
	cli/audit/export/export.c \
	cli/audit/export/export.h \
	cli/audit/export/json.c \
	cli/audit/export/json.h \
	cli/audit/export/jsonl.c \
	cli/audit/export/ocsf.c \
	cli/audit/export/otlp.c \
	cli/audit/export/output.c \
	cli/audit/export/perfetto.c \
	cli/audit/export/sqlite-file.c \
	cli/audit/export/sqlite-file.h \
	cli/audit/export/sqlite-row.c \
	cli/audit/export/sqlite-row.h \
	cli/audit/export/sqlite.c
CALLGATE_SOURCES += \
	cli/audit/report/denials.c \
	cli/audit/report/logs.c \
	cli/audit/report/page.c \
	cli/audit/report/report.c \
	cli/audit/report/report.h \
	cli/audit/report/rows.c \
	cli/audit/report/texts.c
# The page that shows a report: plain files, of which embed.sh makes arrays.
REPORT_PAGE = $(addprefix cli/audit/report/page/,page.html page.css engine.js engine-files.js engine-views.js \
	engine-compare.js engine-end.js dom.js words.js client.js summary.js tree.js timeline.js tables.js records.js \
	main.js)
nodist_callgate_SOURCES = cli/audit/report/templates.c
cli/audit/report/templates.c: cli/audit/report/embed.sh $(REPORT_PAGE)
	$(AM_V_GEN)$(MKDIR_P) cli/audit/report && \
		$(SHELL) $(srcdir)/cli/audit/report/embed.sh $(srcdir)/cli/audit/report/page >$@.new && mv $@.new $@
CLEANFILES += cli/audit/report/templates.c
dist_noinst_SCRIPTS += cli/audit/report/embed.sh
EXTRA_DIST += $(REPORT_PAGE)
CALLGATE_SOURCES += \
	cli/batch/batch.h \
	cli/batch/run.c
CALLGATE_SOURCES += \
	cli/compare/align.c \
	cli/compare/align.h \
	cli/compare/compare.c \
	cli/compare/compare.h \
	cli/compare/differences.c \
	cli/compare/print.c \
	cli/compare/trail.c \
	cli/compare/trail.h
CALLGATE_SOURCES += \
	cli/doctor/advice.c \
	cli/doctor/doctor.c \
	cli/doctor/doctor.h \
	cli/doctor/run.c
CALLGATE_SOURCES += \
	cli/experiment/cells.c \
	cli/experiment/cells.h \
	cli/experiment/digest.c \
	cli/experiment/digest.h \
	cli/experiment/experiment.c \
	cli/experiment/experiment.h \
	cli/experiment/plan.c \
	cli/experiment/plan.h \
	cli/experiment/plot.c \
	cli/experiment/report.c \
	cli/experiment/rows.c \
	cli/experiment/run.c
CALLGATE_SOURCES += \
	cli/host/account.c \
	cli/host/account.h \
	cli/host/command.c \
	cli/host/host.c \
	cli/host/host.h \
	cli/host/home-path.c \
	cli/host/home-path.h \
	cli/host/interpreter.c \
	cli/host/interpreter.h \
	cli/host/libraries.c \
	cli/host/libraries.h \
	cli/host/managers.c \
	cli/host/managers.h \
	cli/host/places.c \
	cli/host/places.h \
	cli/host/program.c \
	cli/host/program.h \
	cli/host/real.c \
	cli/host/real.h
CALLGATE_SOURCES += \
	cli/inspect/changes.c \
	cli/inspect/command-add.c \
	cli/inspect/command-add.h \
	cli/inspect/command.c \
	cli/inspect/command.h \
	cli/inspect/findings.c \
	cli/inspect/findings.h \
	cli/inspect/git.c \
	cli/inspect/git.h \
	cli/inspect/imports.c \
	cli/inspect/imports.h \
	cli/inspect/inspect.c \
	cli/inspect/inspect.h \
	cli/inspect/inspection.c \
	cli/inspect/judge.c \
	cli/inspect/judge.h \
	cli/inspect/line.c \
	cli/inspect/line.h \
	cli/inspect/loader.c \
	cli/inspect/loader.h \
	cli/inspect/look.c \
	cli/inspect/parser.c \
	cli/inspect/parser.h \
	cli/inspect/parts.c \
	cli/inspect/parts.h \
	cli/inspect/print.c \
	cli/inspect/program.c \
	cli/inspect/program.h \
	cli/inspect/protocol.c \
	cli/inspect/protocol.h \
	cli/inspect/secrets.c \
	cli/inspect/startup.c \
	cli/inspect/startup.h \
	cli/inspect/state.c \
	cli/inspect/state.h \
	cli/inspect/subject.c \
	cli/inspect/subject.h \
	cli/inspect/text.c \
	cli/inspect/text.h \
	cli/inspect/visits.c \
	cli/inspect/visits.h \
	cli/inspect/words.c \
	cli/inspect/words.h \
	cli/inspect/wrappers.c \
	cli/inspect/wrappers.h
callgate_elf_SOURCES += \
	base/io.c \
	base/io.h \
	base/path.c \
	base/path.h \
	cli/inspect/elf/main.c \
	cli/inspect/elf/read.c \
	cli/inspect/elf/read.h
# What reads hostile files, in sandboxes.
dist_parsers_DATA = \
	cli/inspect/parsers/documents.py \
	cli/inspect/parsers/findings.py \
	cli/inspect/parsers/interpreter.json \
	cli/inspect/parsers/javascript.js \
	cli/inspect/parsers/javascript_calls.js \
	cli/inspect/parsers/javascript_environment.js \
	cli/inspect/parsers/javascript_findings.js \
	cli/inspect/parsers/javascript_names.js \
	cli/inspect/parsers/patterns.json \
	cli/inspect/parsers/policy.json \
	cli/inspect/parsers/python.py \
	cli/inspect/parsers/python_archive.py \
	cli/inspect/parsers/python_environment.py \
	cli/inspect/parsers/python_files.py \
	cli/inspect/parsers/python_given.py \
	cli/inspect/parsers/python_loops.py \
	cli/inspect/parsers/python_names.py \
	cli/inspect/parsers/python_paths.py \
	cli/inspect/parsers/python_starts.py \
	cli/inspect/parsers/python_variables.py \
	cli/inspect/parsers/shell.py \
	cli/inspect/parsers/shell_commands.py \
	cli/inspect/parsers/shell_environment.py \
	cli/inspect/parsers/shell_files.py \
	cli/inspect/parsers/shell_flows.py \
	cli/inspect/parsers/shell_inputs.py \
	cli/inspect/parsers/shell_names.py \
	cli/inspect/parsers/shell_own.py \
	cli/inspect/parsers/shell_starts.py \
	cli/inspect/parsers/shell_variables.py \
	cli/inspect/parsers/shell_words.py
EXTRA_DIST += cli/inspect/README.md
CALLGATE_SOURCES += \
	cli/libraries/choose.c \
	cli/libraries/choose.h \
	cli/libraries/dpkg.c \
	cli/libraries/dpkg.h \
	cli/libraries/find.c \
	cli/libraries/find.h \
	cli/libraries/hide.c \
	cli/libraries/hide.h \
	cli/libraries/libraries.c \
	cli/libraries/list.c \
	cli/libraries/list.h \
	cli/libraries/metadata.c \
	cli/libraries/metadata.h \
	cli/libraries/node.c \
	cli/libraries/node.h \
	cli/libraries/package.c \
	cli/libraries/package.h \
	cli/libraries/python.c \
	cli/libraries/python.h \
	cli/libraries/read.c \
	cli/libraries/read.h \
	cli/libraries/sets.c \
	cli/libraries/sets.h
EXTRA_DIST += cli/libraries/README.md
CALLGATE_SOURCES += \
	cli/learn/deny.c \
	cli/learn/draft.c \
	cli/learn/draft.h \
	cli/learn/elf.c \
	cli/learn/elf.h \
	cli/learn/endpoints.c \
	cli/learn/fold.c \
	cli/learn/fold.h \
	cli/learn/groups.c \
	cli/learn/groups.h \
	cli/learn/inodes.c \
	cli/learn/inodes.h \
	cli/learn/judge.c \
	cli/learn/learn.c \
	cli/learn/learn.h \
	cli/learn/needs.c \
	cli/learn/needs.h \
	cli/learn/packages.c \
	cli/learn/packages.h \
	cli/learn/pattern.c \
	cli/learn/pattern.h \
	cli/learn/prepare.c \
	cli/learn/report.c \
	cli/learn/rounds.c \
	cli/learn/rules.c \
	cli/learn/rules.h \
	cli/learn/runs.c \
	cli/learn/scan.c \
	cli/learn/scan.h \
	cli/learn/singles.c \
	cli/learn/singles.h \
	cli/learn/static.c \
	cli/learn/tier.c \
	cli/learn/tier.h \
	cli/learn/units.c \
	cli/learn/units.h
CALLGATE_SOURCES += \
	cli/policy/attempt.c \
	cli/policy/cases.c \
	cli/policy/cases.h \
	cli/policy/diff.c \
	cli/policy/drop.c \
	cli/policy/load.c \
	cli/policy/minimise.c \
	cli/policy/minimise.h \
	cli/policy/narrow.c \
	cli/policy/fmt.c \
	cli/policy/test.c \
	cli/policy/used.c \
	cli/policy/used.h \
	cli/policy/verbs.c \
	cli/policy/verbs.h
CALLGATE_SOURCES += \
	cli/replay/logs.c \
	cli/replay/replay.c \
	cli/replay/replay.h \
	cli/replay/report.c
CALLGATE_SOURCES += \
	cli/run/approve.c \
	cli/run/ask.c \
	cli/run/anchor.c \
	cli/run/attest.c \
	cli/run/attest.h \
	cli/run/end-file.c \
	cli/run/inputs.c \
	cli/run/inspect.c \
	cli/run/inspect-result.c \
	cli/run/load.c \
	cli/run/metrics.c \
	cli/run/metrics.h \
	cli/run/options.c \
	cli/run/options.h \
	cli/run/prepare.c \
	cli/run/private.h \
	cli/run/run.c \
	cli/run/session.c \
	cli/run/setup.c \
	cli/run/user.c \
	cli/run/watch.c \
	cli/run/workspace-result.c \
	cli/run/workspace.c
CALLGATE_SOURCES += \
	cli/session/checkpoint.c \
	cli/session/connect.c \
	cli/session/exec.c \
	cli/session/inspect.c \
	cli/session/looking.c \
	cli/session/looking.h \
	cli/session/request.c \
	cli/session/request.h \
	cli/session/session.c \
	cli/session/session.h
CALLGATE_SOURCES += \
	cli/why/ask.c \
	cli/why/ask.h \
	cli/why/net.c \
	cli/why/net.h \
	cli/why/path.c \
	cli/why/path.h \
	cli/why/why.c
CALLGATE_SOURCES += \
	cli/ws/apply.c \
	cli/ws/apply.h \
	cli/ws/apply-explain.c \
	cli/ws/apply-interrupt.c \
	cli/ws/apply-journal.c \
	cli/ws/apply-private.h \
	cli/ws/apply-print.c \
	cli/ws/apply-put.c \
	cli/ws/apply-replace.c \
	cli/ws/apply-hold.c \
	cli/ws/apply-steps.c \
	cli/ws/apply-unlock.c \
	cli/ws/conflict.c \
	cli/ws/conflict.h \
	cli/ws/diff.c \
	cli/ws/diff.h \
	cli/ws/elsewhere.c \
	cli/ws/elsewhere.h \
	cli/ws/fingerprint.c \
	cli/ws/fingerprint.h \
	cli/ws/hunks.c \
	cli/ws/hunks.h \
	cli/ws/keep.c \
	cli/ws/keep.h \
	cli/ws/left-out.c \
	cli/ws/left-out.h \
	cli/ws/open.c \
	cli/ws/open.h \
	cli/ws/patch.c \
	cli/ws/patch.h \
	cli/ws/plan.c \
	cli/ws/plan.h \
	cli/ws/recover.c \
	cli/ws/recover.h \
	cli/ws/select.c \
	cli/ws/select.h \
	cli/ws/versions.c \
	cli/ws/versions.h \
	cli/ws/show.c \
	cli/ws/show.h \
	cli/ws/stale.c \
	cli/ws/stale.h \
	cli/ws/times.c \
	cli/ws/times.h \
	cli/ws/ws.c
EXTRA_DIST += cli/README.md
