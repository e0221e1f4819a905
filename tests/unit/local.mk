# Unit tests with the check library, each linking only the library under test and those below it. A block a test:
#   UNIT_TESTS += tests/unit/test_NAME
#   tests_unit_test_NAME_LDADD = libcallgate_FOLDER.a libcallgate_base.a $(UNIT_LIBS)
UNIT_TESTS =
UNIT_LIBS = $(CHECK_LIBS)
EXTRA_DIST += tests/unit/no-check.sh tests/unit/refuse-call.h tests/unit/sanitized.h tests/unit/unit.h
if HAVE_CHECK
check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(UNIT_TESTS)
ARCHIVE_TESTS += tests/unit/policy/test_compose tests/unit/policy/test_errors
ARCHIVE_BINARIES += tests/unit/policy/test_compose tests/unit/policy/test_errors
else
TESTS += tests/unit/no-check.sh
endif

# This one waits for 30 s, so that it is begun first.
UNIT_TESTS += tests/unit/egress/test_relay
UNIT_TESTS += tests/unit/base/test_buf
tests_unit_base_test_buf_LDADD = libcallgate_base.a $(UNIT_LIBS)

UNIT_TESTS += tests/unit/base/test_io
tests_unit_base_test_io_LDADD = libcallgate_base.a $(UNIT_LIBS)

UNIT_TESTS += tests/unit/base/test_sha256
tests_unit_base_test_sha256_LDADD = libcallgate_base.a $(NETTLE_LIBS) $(LIBCRYPTO_LIBS) $(UNIT_LIBS)

UNIT_TESTS += tests/unit/base/test_path
tests_unit_base_test_path_LDADD = libcallgate_base.a $(UNIT_LIBS)

UNIT_TESTS += tests/unit/base/test_proctree
tests_unit_base_test_proctree_LDADD = libcallgate_base.a $(UNIT_LIBS)

UNIT_TESTS += tests/unit/base/test_text
tests_unit_base_test_text_LDADD = libcallgate_base.a $(JANSSON_LIBS) $(UNIT_LIBS)

UNIT_TESTS += tests/unit/supervisor/test_notify
tests_unit_supervisor_test_notify_LDADD = $(tests_unit_supervisor_test_trace_LDADD) -lpthread

UNIT_TESTS += tests/unit/approval/test_attempts
tests_unit_approval_test_attempts_SOURCES = tests/unit/approval/test_attempts.c tests/unit/approval/attempts.h \
	tests/unit/approval/attempts-rig.c tests/unit/approval/attempts-terminal.c tests/unit/approval/attempts-text.c
tests_unit_approval_test_attempts_LDADD = libcallgate_supervisor.a libcallgate_approval.a libcallgate_base.a \
	$(JANSSON_LIBS) $(UNIT_LIBS)

UNIT_TESTS += tests/unit/approval/test_remembered
tests_unit_approval_test_remembered_LDADD = libcallgate_approval.a libcallgate_base.a $(JANSSON_LIBS) $(UNIT_LIBS)

UNIT_TESTS += tests/unit/approval/test_show
tests_unit_approval_test_show_LDADD = libcallgate_approval.a libcallgate_base.a $(JANSSON_LIBS) $(UNIT_LIBS)

UNIT_TESTS += tests/unit/supervisor/test_ask_directory
tests_unit_supervisor_test_ask_directory_LDADD = libcallgate_supervisor.a libcallgate_base.a $(UNIT_LIBS)

UNIT_TESTS += tests/unit/supervisor/test_scrub
tests_unit_supervisor_test_scrub_LDADD = libcallgate_supervisor.a libcallgate_base.a $(UNIT_LIBS)

UNIT_TESTS += tests/unit/workspace/test_apply
tests_unit_workspace_test_apply_LDADD = $(CALLGATE_LIBS) $(POLICY_LIBS) $(LIBELF_LIBS) $(UNIT_LIBS)

UNIT_TESTS += tests/unit/workspace/test_git_config
tests_unit_workspace_test_git_config_LDADD = libcallgate_workspace.a $(UNIT_LIBS)

UNIT_TESTS += tests/unit/workspace/test_changes
tests_unit_workspace_test_changes_LDADD = libcallgate_workspace.a libcallgate_view.a libcallgate_base.a $(NETTLE_LIBS) \
	$(LIBCRYPTO_LIBS) $(UNIT_LIBS)

UNIT_TESTS += tests/unit/supervisor/test_watchdog
tests_unit_supervisor_test_watchdog_LDADD = libcallgate_keeper.a libcallgate_supervisor.a libcallgate_confine.a \
	libcallgate_base.a $(UNIT_LIBS)

# On processes of the test's own.
CPU_RIG = tests/unit/supervisor/cpu-rig.c tests/unit/supervisor/cpu-rig.h
CPU_LIBS = libcallgate_keeper.a libcallgate_supervisor.a libcallgate_confine.a \
	$(tests_unit_syscalls_test_denials_LDADD)
UNIT_TESTS += tests/unit/supervisor/test_cpu_affinity tests/unit/supervisor/test_cpu_placement
tests_unit_supervisor_test_cpu_affinity_SOURCES = tests/unit/supervisor/test_cpu_affinity.c $(CPU_RIG)
tests_unit_supervisor_test_cpu_affinity_LDADD = $(CPU_LIBS)
tests_unit_supervisor_test_cpu_placement_SOURCES = tests/unit/supervisor/test_cpu_placement.c $(CPU_RIG)
tests_unit_supervisor_test_cpu_placement_LDADD = $(CPU_LIBS)

UNIT_TESTS += tests/unit/syscalls/test_guest
tests_unit_syscalls_test_guest_LDADD = libcallgate_syscalls.a libcallgate_view.a libcallgate_base.a $(UNIT_LIBS)

VIEW_RIG = tests/unit/view/view-rig.c tests/unit/view/view-rig.h tests/unit/view/no-libraries.h
UNIT_TESTS += tests/unit/view/test_view tests/unit/view/test_view_listings
tests_unit_view_test_view_SOURCES = tests/unit/view/test_view.c $(VIEW_RIG)
tests_unit_view_test_view_LDADD = libcallgate_syscalls.a libcallgate_view.a libcallgate_base.a $(NETTLE_LIBS) \
	$(UNIT_LIBS)
tests_unit_view_test_view_listings_SOURCES = tests/unit/view/test_view_listings.c $(VIEW_RIG)
tests_unit_view_test_view_listings_LDADD = $(tests_unit_view_test_view_LDADD)

# The table, its filter on made-up registers, and its filter in the kernel.
UNIT_TESTS += tests/unit/syscalls/test_table tests/unit/confine/test_filter tests/unit/confine/test_filter_kernel \
	tests/unit/confine/test_selffilter
UNIT_TESTS += tests/unit/confine/test_filter_attempts tests/unit/confine/test_filter_reads \
	tests/unit/confine/test_filter_sockets
EXTRA_DIST += tests/unit/confine/bpf-run.h tests/unit/confine/filter-oracle.h tests/unit/row-named.h
FILTER_RIG = tests/unit/confine/filter-rig.c tests/unit/confine/filter-rig.h
tests_unit_syscalls_test_table_LDADD = libcallgate_syscalls.a $(LIBSECCOMP_LIBS) $(UNIT_LIBS)
tests_unit_confine_test_filter_SOURCES = tests/unit/confine/test_filter.c $(FILTER_RIG)
tests_unit_confine_test_filter_LDADD = libcallgate_confine.a libcallgate_syscalls.a $(LIBSECCOMP_LIBS) $(UNIT_LIBS)
tests_unit_confine_test_filter_attempts_SOURCES = tests/unit/confine/test_filter_attempts.c $(FILTER_RIG)
tests_unit_confine_test_filter_attempts_LDADD = $(tests_unit_confine_test_filter_LDADD)
tests_unit_confine_test_filter_reads_SOURCES = tests/unit/confine/test_filter_reads.c $(FILTER_RIG)
tests_unit_confine_test_filter_reads_LDADD = $(tests_unit_confine_test_filter_LDADD)
tests_unit_confine_test_filter_sockets_SOURCES = tests/unit/confine/test_filter_sockets.c $(FILTER_RIG)
tests_unit_confine_test_filter_sockets_LDADD = $(tests_unit_confine_test_filter_LDADD)
tests_unit_confine_test_selffilter_LDADD = libcallgate_confine.a libcallgate_syscalls.a $(UNIT_LIBS)
tests_unit_confine_test_filter_kernel_LDADD = libcallgate_confine.a libcallgate_syscalls.a $(UNIT_LIBS)

# Handlers over real processes, with a made-up run.
UNIT_TESTS += tests/unit/syscalls/test_signal
tests_unit_syscalls_test_signal_LDADD = libcallgate_syscalls.a libcallgate_view.a libcallgate_base.a $(UNIT_LIBS)

UNIT_TESTS += tests/unit/syscalls/test_ptrace
tests_unit_syscalls_test_ptrace_LDADD = libcallgate_syscalls.a libcallgate_view.a libcallgate_base.a $(UNIT_LIBS)

AUDIT_RIG = tests/unit/audit/audit-rig.c tests/unit/audit/audit-rig.h
UNIT_TESTS += tests/unit/audit/test_audit
tests_unit_audit_test_audit_SOURCES = tests/unit/audit/test_audit.c $(AUDIT_RIG)
tests_unit_audit_test_audit_LDADD = libcallgate_audit.a libcallgate_policy.a libcallgate_base.a $(POLICY_LIBS) \
	$(UNIT_LIBS)
UNIT_TESTS += tests/unit/audit/test_audit_compact
tests_unit_audit_test_audit_compact_SOURCES = tests/unit/audit/test_audit_compact.c $(AUDIT_RIG)
tests_unit_audit_test_audit_compact_LDADD = $(tests_unit_audit_test_audit_LDADD)
UNIT_TESTS += tests/unit/audit/test_audit_disk
tests_unit_audit_test_audit_disk_SOURCES = tests/unit/audit/test_audit_disk.c $(AUDIT_RIG)
tests_unit_audit_test_audit_disk_LDADD = $(tests_unit_audit_test_audit_LDADD)
UNIT_TESTS += tests/unit/audit/test_audit_recover
tests_unit_audit_test_audit_recover_SOURCES = tests/unit/audit/test_audit_recover.c $(AUDIT_RIG)
tests_unit_audit_test_audit_recover_LDADD = $(tests_unit_audit_test_audit_LDADD)

UNIT_TESTS += tests/unit/audit/test_audit_net
tests_unit_audit_test_audit_net_LDADD = libcallgate_audit.a libcallgate_policy.a libcallgate_base.a $(POLICY_LIBS) \
	$(UNIT_LIBS)

UNIT_TESTS += tests/unit/audit/test_audit_kill
tests_unit_audit_test_audit_kill_LDADD = libcallgate_audit.a libcallgate_policy.a libcallgate_base.a $(POLICY_LIBS) \
	$(UNIT_LIBS)

# Writes logs for tests/verify-random.py.
check_PROGRAMS += tests/unit/audit/make-log
tests_unit_audit_make_log_SOURCES = tests/unit/audit/make-log.c
tests_unit_audit_make_log_LDADD = libcallgate_audit.a libcallgate_policy.a libcallgate_base.a $(POLICY_LIBS)

UNIT_TESTS += tests/unit/syscalls/test_refusals
EXTRA_DIST += tests/unit/syscalls/stub-call.h
tests_unit_syscalls_test_refusals_LDADD = libcallgate_syscalls.a libcallgate_view.a libcallgate_egress.a \
	libcallgate_policy.a libcallgate_base.a $(POLICY_LIBS) $(JANSSON_LIBS) $(UNIT_LIBS)

UNIT_TESTS += tests/unit/syscalls/test_kept
tests_unit_syscalls_test_kept_LDADD = libcallgate_syscalls.a libcallgate_view.a libcallgate_base.a $(UNIT_LIBS)

UNIT_TESTS += tests/unit/syscalls/test_netlink
tests_unit_syscalls_test_netlink_LDADD = libcallgate_syscalls.a libcallgate_view.a libcallgate_base.a $(UNIT_LIBS)

UNIT_TESTS += tests/unit/syscalls/test_inet_address
tests_unit_syscalls_test_inet_address_LDADD = libcallgate_syscalls.a libcallgate_view.a libcallgate_base.a \
	$(UNIT_LIBS)

UNIT_TESTS += tests/unit/syscalls/test_inet_fence
tests_unit_syscalls_test_inet_fence_LDADD = libcallgate_syscalls.a libcallgate_view.a libcallgate_base.a $(UNIT_LIBS)

UNIT_TESTS += tests/unit/syscalls/test_inet_judge
tests_unit_syscalls_test_inet_judge_SOURCES = tests/unit/syscalls/test_inet_judge.c $(POLICY_RIG)
tests_unit_syscalls_test_inet_judge_LDADD = libcallgate_syscalls.a libcallgate_view.a libcallgate_egress.a \
	libcallgate_audit.a libcallgate_policy.a libcallgate_base.a $(LIBSECCOMP_LIBS) $(POLICY_LIBS) $(UNIT_LIBS)

UNIT_TESTS += tests/unit/supervisor/test_trace
tests_unit_supervisor_test_trace_SOURCES = tests/unit/supervisor/test_trace.c tests/unit/supervisor/trace-rig.c \
	tests/unit/supervisor/trace-rig.h tests/unit/old-kernel.h
tests_unit_supervisor_test_trace_LDADD = libcallgate_keeper.a libcallgate_supervisor.a libcallgate_confine.a \
	libcallgate_syscalls.a libcallgate_view.a libcallgate_audit.a libcallgate_policy.a \
	libcallgate_base.a $(LIBSECCOMP_LIBS) $(POLICY_LIBS) $(UNIT_LIBS)

UNIT_TESTS += tests/unit/supervisor/test_continue tests/unit/syscalls/test_insn
tests_unit_supervisor_test_continue_LDADD = $(tests_unit_supervisor_test_trace_LDADD)
tests_unit_syscalls_test_insn_LDADD = libcallgate_syscalls.a libcallgate_view.a libcallgate_base.a $(UNIT_LIBS)

UNIT_TESTS += tests/unit/supervisor/test_trace_blob
tests_unit_supervisor_test_trace_blob_LDADD = $(tests_unit_supervisor_test_trace_LDADD)

UNIT_TESTS += tests/unit/syscalls/test_changes
tests_unit_syscalls_test_changes_LDADD = libcallgate_syscalls.a libcallgate_view.a libcallgate_audit.a \
	libcallgate_policy.a libcallgate_base.a $(POLICY_LIBS) $(UNIT_LIBS)

UNIT_TESTS += tests/unit/syscalls/test_denials
tests_unit_syscalls_test_denials_LDADD = libcallgate_syscalls.a libcallgate_view.a libcallgate_audit.a \
	libcallgate_policy.a libcallgate_base.a $(POLICY_LIBS) $(UNIT_LIBS)

UNIT_TESTS += tests/unit/syscalls/test_sink
tests_unit_syscalls_test_sink_LDADD = libcallgate_syscalls.a libcallgate_base.a $(UNIT_LIBS)

# Counting tasks, with children of the test's own.
UNIT_TESTS += tests/unit/syscalls/test_forks
tests_unit_syscalls_test_forks_LDADD = $(tests_unit_syscalls_test_denials_LDADD)

# Counting locks, likewise.
UNIT_TESTS += tests/unit/syscalls/test_locks
tests_unit_syscalls_test_locks_LDADD = $(tests_unit_syscalls_test_denials_LDADD)

UNIT_TESTS += tests/unit/view/test_tree
tests_unit_view_test_tree_LDADD = $(tests_unit_syscalls_test_denials_LDADD)

UNIT_TESTS += tests/unit/syscalls/test_fixed_name
tests_unit_syscalls_test_fixed_name_SOURCES = tests/unit/syscalls/test_fixed_name.c $(POLICY_RIG)
tests_unit_syscalls_test_fixed_name_LDADD = $(tests_unit_syscalls_test_denials_LDADD)

UNIT_TESTS += tests/unit/syscalls/test_exec_cache
tests_unit_syscalls_test_exec_cache_SOURCES = tests/unit/syscalls/test_exec_cache.c $(POLICY_RIG)
tests_unit_syscalls_test_exec_cache_LDADD = $(tests_unit_syscalls_test_denials_LDADD)

UNIT_TESTS += tests/unit/syscalls/test_shebang tests/unit/syscalls/test_elf
tests_unit_syscalls_test_shebang_LDADD = libcallgate_syscalls.a libcallgate_view.a libcallgate_base.a $(UNIT_LIBS)
tests_unit_syscalls_test_elf_LDADD = libcallgate_syscalls.a libcallgate_view.a libcallgate_base.a $(UNIT_LIBS)

UNIT_TESTS += tests/unit/policy/test_decide tests/unit/policy/test_errors tests/unit/policy/test_glob \
	tests/unit/policy/test_compose tests/unit/policy/test_schema
POLICY_TEST_LIBS = libcallgate_policy.a libcallgate_base.a $(POLICY_LIBS) $(UNIT_LIBS)
POLICY_RIG = tests/unit/policy/policy-rig.c tests/unit/policy/policy-rig.h
UNIT_TESTS += tests/unit/policy/test_memory
tests_unit_policy_test_memory_SOURCES = tests/unit/policy/test_memory.c $(POLICY_RIG)
tests_unit_policy_test_memory_LDADD = $(POLICY_TEST_LIBS) $(JANSSON_LIBS)
tests_unit_policy_test_memory_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=calloc -Wl,--wrap=realloc -Wl,--wrap=mmap \
	-Wl,--wrap=arena_alloc
UNIT_TESTS += tests/unit/policy/test_variables
tests_unit_policy_test_variables_SOURCES = tests/unit/policy/test_variables.c policy/variables.c policy/variables.h
tests_unit_policy_test_variables_LDADD = $(UNIT_LIBS)
UNIT_TESTS += tests/unit/policy/test_diff
tests_unit_policy_test_diff_SOURCES = tests/unit/policy/test_diff.c $(POLICY_RIG)
tests_unit_policy_test_diff_LDADD = $(POLICY_TEST_LIBS) $(JANSSON_LIBS)
POLICY_GENERATE = tests/unit/policy/generate.c tests/unit/policy/generate.h
UNIT_TESTS += tests/unit/policy/test_properties
tests_unit_policy_test_properties_SOURCES = tests/unit/policy/test_properties.c $(POLICY_GENERATE) $(POLICY_RIG)
tests_unit_policy_test_properties_LDADD = $(POLICY_TEST_LIBS) $(JANSSON_LIBS)
UNIT_TESTS += tests/unit/policy/test_bounds tests/unit/policy/test_host_paths
tests_unit_policy_test_bounds_SOURCES = tests/unit/policy/test_bounds.c $(POLICY_RIG)
tests_unit_policy_test_bounds_LDADD = $(POLICY_TEST_LIBS)
tests_unit_policy_test_host_paths_SOURCES = tests/unit/policy/test_host_paths.c $(POLICY_RIG)
tests_unit_policy_test_host_paths_LDADD = $(POLICY_TEST_LIBS)
UNIT_TESTS += tests/unit/policy/test_after
tests_unit_policy_test_after_SOURCES = tests/unit/policy/test_after.c $(POLICY_RIG)
tests_unit_policy_test_after_LDADD = $(POLICY_TEST_LIBS)

UNIT_TESTS += tests/unit/policy/test_modes
tests_unit_policy_test_modes_SOURCES = tests/unit/policy/test_modes.c $(POLICY_RIG)
tests_unit_policy_test_modes_LDADD = $(POLICY_TEST_LIBS)

UNIT_TESTS += tests/unit/policy/test_phases
tests_unit_policy_test_phases_SOURCES = tests/unit/policy/test_phases.c $(POLICY_RIG)
tests_unit_policy_test_phases_LDADD = $(POLICY_TEST_LIBS)
UNIT_TESTS += tests/unit/policy/test_peek
tests_unit_policy_test_peek_SOURCES = tests/unit/policy/test_peek.c $(POLICY_RIG)
tests_unit_policy_test_peek_LDADD = $(POLICY_TEST_LIBS)
UNIT_TESTS += tests/unit/cli/test_align
tests_unit_cli_test_align_SOURCES = tests/unit/cli/test_align.c cli/compare/align.c cli/compare/align.h
tests_unit_cli_test_align_LDADD = $(UNIT_LIBS)
UNIT_TESTS += tests/unit/cli/test_tally
tests_unit_cli_test_tally_SOURCES = tests/unit/cli/test_tally.c cli/audit/histogram.c cli/audit/histogram.h \
	cli/audit/tally.c cli/audit/tally.h cli/audit/time.c cli/audit/time.h
tests_unit_cli_test_tally_LDADD = $(UNIT_LIBS)
UNIT_TESTS += tests/unit/cli/test_sqlite_file
tests_unit_cli_test_sqlite_file_SOURCES = tests/unit/cli/test_sqlite_file.c cli/audit/export/sqlite-file.c \
	cli/audit/export/sqlite-file.h cli/audit/export/sqlite-row.c cli/audit/export/sqlite-row.h
tests_unit_cli_test_sqlite_file_LDADD = $(UNIT_LIBS)
UNIT_TESTS += tests/unit/audit/test_scan
tests_unit_audit_test_scan_LDADD = libcallgate_audit.a libcallgate_policy.a libcallgate_base.a $(POLICY_LIBS) \
	$(UNIT_LIBS) $(JANSSON_LIBS)
UNIT_TESTS += tests/unit/cli/test_real
tests_unit_cli_test_real_SOURCES = tests/unit/cli/test_real.c tests/unit/cli/made-tree.h cli/host/real.c \
	cli/host/real.h
tests_unit_cli_test_real_LDADD = $(POLICY_TEST_LIBS)
UNIT_TESTS += tests/unit/cli/test_inspect
tests_unit_cli_test_inspect_SOURCES = tests/unit/cli/test_inspect.c cli/inspect/elf/read.c cli/inspect/findings.c \
	cli/inspect/protocol.c cli/inspect/secrets.c cli/inspect/subject.c cli/inspect/text.c cli/list.c \
	policy/findings.c policy/variables.c
tests_unit_cli_test_inspect_LDADD = libcallgate_base.a $(JANSSON_LIBS) $(LIBELF_LIBS) $(UNIT_LIBS)
UNIT_TESTS += tests/unit/cli/test_inspect_command
tests_unit_cli_test_inspect_command_SOURCES = tests/unit/cli/test_inspect_command.c \
	cli/inspect/command-add.c cli/inspect/command.c cli/inspect/git.c cli/inspect/startup.c \
	cli/inspect/subject.c cli/inspect/words.c cli/inspect/wrappers.c cli/list.c policy/variables.c
tests_unit_cli_test_inspect_command_LDADD = libcallgate_base.a $(JANSSON_LIBS) $(UNIT_LIBS)
UNIT_TESTS += tests/unit/cli/test_inspect_time
tests_unit_cli_test_inspect_time_SOURCES = tests/unit/cli/test_inspect_time.c \
	cli/inspect/command-add.c cli/inspect/command.c cli/inspect/git.c \
	cli/inspect/findings.c cli/inspect/imports.c cli/inspect/inspection.c cli/inspect/judge.c \
	cli/inspect/line.c cli/inspect/parts.c \
	cli/inspect/program.c cli/inspect/startup.c cli/inspect/state.c cli/inspect/subject.c cli/inspect/visits.c \
	cli/inspect/words.c cli/inspect/wrappers.c cli/list.c policy/findings.c policy/variables.c
tests_unit_cli_test_inspect_time_LDADD = libcallgate_base.a $(JANSSON_LIBS) $(UNIT_LIBS)
UNIT_TESTS += tests/unit/cli/test_libraries
tests_unit_cli_test_libraries_SOURCES = tests/unit/cli/test_libraries.c cli/libraries/choose.c cli/libraries/dpkg.c \
	cli/libraries/find.c cli/libraries/hide.c cli/libraries/metadata.c cli/libraries/node.c \
	cli/libraries/package.c \
	cli/libraries/python.c cli/libraries/read.c cli/libraries/sets.c
tests_unit_cli_test_libraries_LDADD = $(POLICY_TEST_LIBS)
UNIT_TESTS += tests/unit/cli/test_places
tests_unit_cli_test_places_SOURCES = tests/unit/cli/test_places.c cli/host/command.c cli/host/places.c \
	cli/host/places.h cli/host/program.c cli/host/program.h \
	cli/host/real.c cli/host/real.h
tests_unit_cli_test_places_LDADD = $(POLICY_TEST_LIBS)
# What callgate learn makes of names, files and records, without a run. The library holds what these tests link.
if HAVE_CHECK
check_LIBRARIES = tests/unit/cli/learn/libcallgate_learn.a
endif
tests_unit_cli_learn_libcallgate_learn_a_SOURCES = cli/list.c cli/message.c cli/parse.c cli/learn/deny.c \
	cli/learn/draft.c \
	cli/host/libraries.c cli/host/program.c \
	cli/learn/elf.c cli/learn/endpoints.c cli/learn/fold.c cli/learn/groups.c cli/learn/inodes.c \
	cli/learn/needs.c cli/learn/packages.c cli/learn/pattern.c cli/learn/rules.c cli/learn/scan.c \
	cli/learn/singles.c cli/learn/static.c cli/learn/tier.c cli/learn/units.c
LEARN_LIBS = tests/unit/cli/learn/libcallgate_learn.a $(CPU_LIBS) $(LIBELF_LIBS)
UNIT_TESTS += tests/unit/cli/learn/test_draft tests/unit/cli/learn/test_elf tests/unit/cli/learn/test_endpoints \
	tests/unit/cli/learn/test_fold tests/unit/cli/learn/test_names tests/unit/cli/learn/test_needs \
	tests/unit/cli/learn/test_packages
tests_unit_cli_learn_test_draft_LDADD = $(LEARN_LIBS)
tests_unit_cli_learn_test_elf_LDADD = $(LEARN_LIBS)
tests_unit_cli_learn_test_endpoints_LDADD = $(LEARN_LIBS)
tests_unit_cli_learn_test_fold_LDADD = $(LEARN_LIBS)
tests_unit_cli_learn_test_names_LDADD = $(LEARN_LIBS)
tests_unit_cli_learn_test_needs_LDADD = $(LEARN_LIBS)
tests_unit_cli_learn_test_packages_LDADD = $(LEARN_LIBS)
UNIT_TESTS += tests/unit/policy/test_suggest
tests_unit_policy_test_suggest_LDADD = $(POLICY_TEST_LIBS)
UNIT_TESTS += tests/unit/policy/test_reads
tests_unit_policy_test_reads_SOURCES = tests/unit/policy/test_reads.c $(POLICY_RIG)
tests_unit_policy_test_reads_LDADD = $(POLICY_TEST_LIBS)
UNIT_TESTS += tests/unit/policy/test_below
tests_unit_policy_test_below_SOURCES = tests/unit/policy/test_below.c $(POLICY_RIG)
tests_unit_policy_test_below_LDADD = $(POLICY_TEST_LIBS)
UNIT_TESTS += tests/unit/policy/test_observe
tests_unit_policy_test_observe_SOURCES = tests/unit/policy/test_observe.c $(POLICY_RIG)
tests_unit_policy_test_observe_LDADD = $(POLICY_TEST_LIBS)
UNIT_TESTS += tests/unit/policy/test_move
tests_unit_policy_test_move_SOURCES = tests/unit/policy/test_move.c $(POLICY_RIG)
tests_unit_policy_test_move_LDADD = $(POLICY_TEST_LIBS)
tests_unit_policy_test_decide_SOURCES = tests/unit/policy/test_decide.c $(POLICY_RIG)
tests_unit_policy_test_decide_LDADD = $(POLICY_TEST_LIBS)
tests_unit_policy_test_errors_SOURCES = tests/unit/policy/test_errors.c $(POLICY_RIG)
tests_unit_policy_test_errors_LDADD = $(POLICY_TEST_LIBS)
tests_unit_policy_test_glob_LDADD = $(POLICY_TEST_LIBS)
tests_unit_policy_test_compose_SOURCES = tests/unit/policy/test_compose.c $(POLICY_RIG)
tests_unit_policy_test_compose_LDADD = $(POLICY_TEST_LIBS)
tests_unit_policy_test_schema_CPPFLAGS = $(AM_CPPFLAGS) -DTOP_SRCDIR='"$(abs_top_srcdir)"'
tests_unit_policy_test_schema_LDADD = $(POLICY_TEST_LIBS)

UNIT_TESTS += tests/unit/keeper/test_capture tests/unit/keeper/test_stdin_relay tests/unit/keeper/test_scratch \
	tests/unit/keeper/test_utf8
tests_unit_keeper_test_stdin_relay_LDADD = libcallgate_keeper.a libcallgate_supervisor.a libcallgate_confine.a \
	libcallgate_base.a $(UNIT_LIBS)
tests_unit_keeper_test_capture_LDADD = libcallgate_keeper.a libcallgate_supervisor.a libcallgate_confine.a \
	libcallgate_base.a $(UNIT_LIBS)
tests_unit_keeper_test_scratch_LDADD = libcallgate_keeper.a libcallgate_supervisor.a libcallgate_confine.a \
	libcallgate_base.a $(UNIT_LIBS)
tests_unit_keeper_test_utf8_LDADD = libcallgate_keeper.a libcallgate_supervisor.a libcallgate_confine.a \
	libcallgate_base.a $(UNIT_LIBS)

UNIT_TESTS += tests/unit/confine/test_landlock
tests_unit_confine_test_landlock_LDADD = libcallgate_keeper.a libcallgate_supervisor.a libcallgate_confine.a \
	libcallgate_syscalls.a libcallgate_view.a libcallgate_policy.a libcallgate_base.a $(POLICY_LIBS) $(UNIT_LIBS)

# What a run adds to the disk, with files of the test's own.
UNIT_TESTS += tests/unit/syscalls/test_disk
tests_unit_syscalls_test_disk_LDADD = libcallgate_syscalls.a libcallgate_view.a libcallgate_base.a $(UNIT_LIBS)

UNIT_TESTS += tests/unit/confine/test_layers
tests_unit_confine_test_layers_LDADD = libcallgate_confine.a libcallgate_policy.a libcallgate_base.a $(POLICY_LIBS) \
	$(UNIT_LIBS)

UNIT_TESTS += tests/unit/confine/test_cgroup
tests_unit_confine_test_cgroup_LDADD = libcallgate_keeper.a libcallgate_supervisor.a libcallgate_confine.a \
	libcallgate_policy.a libcallgate_base.a $(POLICY_LIBS) $(UNIT_LIBS)

FILL_RIG = tests/unit/view/fill-rig.c tests/unit/view/fill-rig.h
UNIT_TESTS += tests/unit/view/test_fill tests/unit/view/test_fill_restart
tests_unit_view_test_fill_SOURCES = tests/unit/view/test_fill.c $(FILL_RIG)
tests_unit_view_test_fill_LDADD = libcallgate_view.a libcallgate_base.a $(UNIT_LIBS)
tests_unit_view_test_fill_restart_SOURCES = tests/unit/view/test_fill_restart.c $(FILL_RIG)
tests_unit_view_test_fill_restart_LDADD = $(tests_unit_view_test_fill_LDADD)

UNIT_TESTS += tests/unit/view/test_meminfo
tests_unit_view_test_meminfo_LDADD = libcallgate_view.a libcallgate_base.a $(UNIT_LIBS)

# Parts of the egress process, and the whole of it with a made-up supervisor and program: see egress-rig.h.
EGRESS_LIBS = libcallgate_egress.a libcallgate_policy.a libcallgate_base.a $(POLICY_LIBS) $(EGRESS_NEEDS) $(UNIT_LIBS)
EGRESS_RIG = tests/unit/egress/egress-rig.c tests/unit/egress/egress-rig.h $(POLICY_RIG)
EGRESS_WIRE = tests/unit/egress/egress-wire.c tests/unit/egress/egress-wire.h $(EGRESS_RIG)
UNIT_TESTS += tests/unit/egress/test_budget tests/unit/egress/test_udp
tests_unit_egress_test_relay_SOURCES = tests/unit/egress/test_relay.c $(EGRESS_WIRE)
tests_unit_egress_test_relay_LDADD = $(EGRESS_LIBS)
tests_unit_egress_test_budget_SOURCES = tests/unit/egress/test_budget.c $(EGRESS_WIRE)
tests_unit_egress_test_budget_LDADD = $(EGRESS_LIBS)
tests_unit_egress_test_udp_SOURCES = tests/unit/egress/test_udp.c $(EGRESS_WIRE)
tests_unit_egress_test_udp_LDADD = $(EGRESS_LIBS)

UNIT_TESTS += tests/unit/egress/test_secret
tests_unit_egress_test_secret_SOURCES = tests/unit/egress/test_secret.c tests/unit/memory-search.c \
	tests/unit/memory-search.h
tests_unit_egress_test_secret_LDADD = libcallgate_egress.a libcallgate_base.a $(UNIT_LIBS)

# What the processes of the egress side can still do.
UNIT_TESTS += tests/unit/supervisor/test_confine
tests_unit_supervisor_test_confine_LDADD = libcallgate_keeper.a libcallgate_supervisor.a libcallgate_confine.a \
	libcallgate_syscalls.a libcallgate_view.a libcallgate_policy.a libcallgate_base.a \
	$(LIBSECCOMP_LIBS) $(JANSSON_LIBS) $(NETTLE_LIBS) $(UNIT_LIBS)

UNIT_TESTS += tests/unit/confine/test_namespaces
tests_unit_confine_test_namespaces_LDADD = libcallgate_keeper.a libcallgate_supervisor.a libcallgate_confine.a \
	libcallgate_syscalls.a libcallgate_view.a libcallgate_policy.a libcallgate_base.a \
	$(LIBSECCOMP_LIBS) $(JANSSON_LIBS) $(NETTLE_LIBS) $(UNIT_LIBS)

# HTTP/1: the parser alone, and in a whole egress process.
UNIT_TESTS += tests/unit/egress/test_http1
tests_unit_egress_test_http1_LDADD = libcallgate_egress.a libcallgate_policy.a libcallgate_base.a $(POLICY_LIBS) \
	$(UNIT_LIBS)
HTTP1_RIG = tests/unit/egress/http1-rig.c tests/unit/egress/http1-rig.h $(EGRESS_WIRE)
UNIT_TESTS += tests/unit/egress/test_http1_connection
tests_unit_egress_test_http1_connection_SOURCES = tests/unit/egress/test_http1_connection.c $(HTTP1_RIG)
tests_unit_egress_test_http1_connection_LDADD = $(EGRESS_LIBS)
UNIT_TESTS += tests/unit/egress/test_http1_hostile
tests_unit_egress_test_http1_hostile_SOURCES = tests/unit/egress/test_http1_hostile.c $(HTTP1_RIG)
tests_unit_egress_test_http1_hostile_LDADD = $(EGRESS_LIBS)
UNIT_TESTS += tests/unit/egress/test_http1_questions
tests_unit_egress_test_http1_questions_SOURCES = tests/unit/egress/test_http1_questions.c $(HTTP1_RIG)
tests_unit_egress_test_http1_questions_LDADD = $(EGRESS_LIBS)
UNIT_TESTS += tests/unit/egress/test_http1_refusals
tests_unit_egress_test_http1_refusals_SOURCES = tests/unit/egress/test_http1_refusals.c $(HTTP1_RIG)
tests_unit_egress_test_http1_refusals_LDADD = $(EGRESS_LIBS)
UNIT_TESTS += tests/unit/egress/test_http1_servers
tests_unit_egress_test_http1_servers_SOURCES = tests/unit/egress/test_http1_servers.c $(HTTP1_RIG)
tests_unit_egress_test_http1_servers_LDADD = $(EGRESS_LIBS)
UNIT_TESTS += tests/unit/egress/test_proxy
tests_unit_egress_test_proxy_SOURCES = tests/unit/egress/test_proxy.c $(EGRESS_WIRE)
tests_unit_egress_test_proxy_LDADD = $(EGRESS_LIBS)

# The supervisor's end of the line to egress, between a real notified program and an egress the test plays.
CLIENT_RIG = tests/unit/supervisor/client-rig.c tests/unit/supervisor/client-rig.h $(POLICY_RIG)
UNIT_TESTS += tests/unit/supervisor/test_egress_client
tests_unit_supervisor_test_egress_client_SOURCES = tests/unit/supervisor/test_egress_client.c $(CLIENT_RIG)
tests_unit_supervisor_test_egress_client_LDADD = libcallgate_keeper.a libcallgate_supervisor.a libcallgate_confine.a \
	libcallgate_syscalls.a libcallgate_view.a libcallgate_egress.a \
	libcallgate_audit.a libcallgate_policy.a libcallgate_base.a $(LIBSECCOMP_LIBS) $(POLICY_LIBS) \
	$(EGRESS_NEEDS) $(UNIT_LIBS)
UNIT_TESTS += tests/unit/supervisor/test_egress_lies
tests_unit_supervisor_test_egress_lies_SOURCES = tests/unit/supervisor/test_egress_lies.c $(CLIENT_RIG)
tests_unit_supervisor_test_egress_lies_LDADD = $(tests_unit_supervisor_test_egress_client_LDADD)
UNIT_TESTS += tests/unit/supervisor/test_egress_questions
tests_unit_supervisor_test_egress_questions_SOURCES = tests/unit/supervisor/test_egress_questions.c $(CLIENT_RIG)
tests_unit_supervisor_test_egress_questions_LDADD = $(tests_unit_supervisor_test_egress_client_LDADD)
UNIT_TESTS += tests/unit/supervisor/test_egress_records
tests_unit_supervisor_test_egress_records_SOURCES = tests/unit/supervisor/test_egress_records.c $(CLIENT_RIG)
tests_unit_supervisor_test_egress_records_LDADD = $(tests_unit_supervisor_test_egress_client_LDADD)
UNIT_TESTS += tests/unit/supervisor/test_ask
tests_unit_supervisor_test_ask_LDADD = $(CALLGATE_LIBS) $(POLICY_LIBS) $(EGRESS_NEEDS) $(UNIT_LIBS)
UNIT_TESTS += tests/unit/supervisor/test_answer tests/unit/egress/test_control
tests_unit_supervisor_test_answer_LDADD = $(tests_unit_supervisor_test_egress_client_LDADD)
tests_unit_egress_test_control_LDADD = $(EGRESS_LIBS)

# The network of a policy: text forms, verdicts, mistakes.
UNIT_TESTS += tests/unit/policy/test_net_text
tests_unit_policy_test_net_text_LDADD = $(POLICY_TEST_LIBS)
UNIT_TESTS += tests/unit/policy/test_net
tests_unit_policy_test_net_SOURCES = tests/unit/policy/test_net.c $(POLICY_RIG)
tests_unit_policy_test_net_LDADD = $(POLICY_TEST_LIBS)
UNIT_TESTS += tests/unit/policy/test_net_mistakes
tests_unit_policy_test_net_mistakes_SOURCES = tests/unit/policy/test_net_mistakes.c $(POLICY_RIG)
tests_unit_policy_test_net_mistakes_LDADD = $(POLICY_TEST_LIBS)
UNIT_TESTS += tests/unit/policy/test_net_pack
tests_unit_policy_test_net_pack_SOURCES = tests/unit/policy/test_net_pack.c $(POLICY_RIG)
tests_unit_policy_test_net_pack_LDADD = $(POLICY_TEST_LIBS)
UNIT_TESTS += tests/unit/policy/test_net_values
tests_unit_policy_test_net_values_SOURCES = tests/unit/policy/test_net_values.c $(POLICY_RIG)
tests_unit_policy_test_net_values_LDADD = $(POLICY_TEST_LIBS)

# Names, from the question to the connected socket. No name server is asked.
UNIT_TESTS += tests/unit/egress/test_dial tests/unit/egress/test_dns tests/unit/egress/test_dns_server \
	tests/unit/egress/test_hello \
	tests/unit/egress/test_mode_hello tests/unit/egress/test_pool tests/unit/egress/test_resolver
tests_unit_egress_test_dial_SOURCES = tests/unit/egress/test_dial.c $(POLICY_RIG)
tests_unit_egress_test_dial_LDADD = $(EGRESS_LIBS)
tests_unit_egress_test_dns_SOURCES = tests/unit/egress/test_dns.c tests/unit/egress/dns-ask.c \
	tests/unit/egress/dns-ask.h $(POLICY_RIG)
tests_unit_egress_test_dns_LDADD = $(EGRESS_LIBS)
tests_unit_egress_test_dns_server_SOURCES = tests/unit/egress/test_dns_server.c tests/unit/egress/dns-ask.c \
	tests/unit/egress/dns-ask.h $(EGRESS_RIG)
tests_unit_egress_test_dns_server_LDADD = $(EGRESS_LIBS)
tests_unit_egress_test_hello_LDADD = $(EGRESS_LIBS)
tests_unit_egress_test_mode_hello_SOURCES = tests/unit/egress/test_mode_hello.c $(EGRESS_RIG)
tests_unit_egress_test_mode_hello_LDADD = $(EGRESS_LIBS)
tests_unit_egress_test_resolver_LDADD = $(EGRESS_LIBS)
tests_unit_egress_test_pool_SOURCES = tests/unit/egress/test_pool.c $(POLICY_RIG)
tests_unit_egress_test_pool_LDADD = $(EGRESS_LIBS)

TLS_TEST_LIBS = libcallgate_egress.a libcallgate_base.a $(HOGWEED_LIBS) $(NETTLE_LIBS) $(OPENSSL_LIBS) $(UNIT_LIBS)
UNIT_TESTS += tests/unit/egress/test_channel tests/unit/egress/test_tls
tests_unit_egress_test_channel_SOURCES = tests/unit/egress/test_channel.c tests/unit/egress/tls-rig.c \
	tests/unit/egress/tls-rig.h tests/unit/memory-search.c tests/unit/memory-search.h
tests_unit_egress_test_channel_LDADD = $(TLS_TEST_LIBS)
tests_unit_egress_test_tls_SOURCES = tests/unit/egress/test_tls.c tests/unit/egress/tls-rig.c \
	tests/unit/egress/tls-rig.h tests/unit/memory-search.c tests/unit/memory-search.h
tests_unit_egress_test_tls_LDADD = libcallgate_keeper.a libcallgate_supervisor.a libcallgate_confine.a \
	libcallgate_syscalls.a libcallgate_view.a $(TLS_TEST_LIBS) $(LIBSECCOMP_LIBS)

UNIT_TESTS += tests/unit/egress/test_tls_interception
tests_unit_egress_test_tls_interception_SOURCES = tests/unit/egress/test_tls_interception.c \
	tests/unit/egress/tls-rig.c tests/unit/egress/tls-rig.h $(EGRESS_RIG)
tests_unit_egress_test_tls_interception_LDADD = libcallgate_keeper.a libcallgate_supervisor.a libcallgate_confine.a \
	libcallgate_syscalls.a libcallgate_view.a $(EGRESS_LIBS) $(LIBSECCOMP_LIBS)

UNIT_TESTS += tests/unit/egress/test_side
tests_unit_egress_test_side_SOURCES = tests/unit/egress/test_side.c $(POLICY_RIG)
tests_unit_egress_test_side_LDADD = libcallgate_keeper.a libcallgate_supervisor.a libcallgate_confine.a \
	libcallgate_syscalls.a libcallgate_view.a libcallgate_egress.a libcallgate_audit.a \
	libcallgate_policy.a libcallgate_base.a $(LIBSECCOMP_LIBS) $(POLICY_LIBS) $(EGRESS_NEEDS) \
	$(UNIT_LIBS)

UNIT_TESTS += tests/unit/cli/test_minimise
tests_unit_cli_test_minimise_SOURCES = tests/unit/cli/test_minimise.c cli/policy/attempt.c cli/policy/drop.c \
	cli/policy/minimise.h cli/policy/narrow.c cli/policy/used.c cli/policy/used.h \
	$(POLICY_GENERATE) $(POLICY_RIG)
tests_unit_cli_test_minimise_LDADD = libcallgate_replay.a libcallgate_view.a libcallgate_audit.a $(POLICY_TEST_LIBS) \
	$(JANSSON_LIBS)

# Records judged again.
UNIT_TESTS += tests/unit/replay/test_query
tests_unit_replay_test_query_SOURCES = tests/unit/replay/test_query.c $(POLICY_RIG)
tests_unit_replay_test_query_LDADD = libcallgate_replay.a libcallgate_view.a libcallgate_audit.a $(POLICY_TEST_LIBS)
UNIT_TESTS += tests/unit/replay/test_same
tests_unit_replay_test_same_SOURCES = tests/unit/replay/test_same.c $(POLICY_GENERATE) $(POLICY_RIG)
tests_unit_replay_test_same_LDADD = $(tests_unit_replay_test_query_LDADD) $(JANSSON_LIBS)

UNIT_TESTS += tests/unit/agents/test_loop
tests_unit_agents_test_loop_LDADD = libcallgate_agents.a libcallgate_base.a $(UNIT_LIBS)
tests_unit_agents_test_loop_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=calloc -Wl,--wrap=reallocarray
UNIT_TESTS += tests/unit/agents/test_e2b
tests_unit_agents_test_e2b_LDADD = $(AGENTS_LIBS) $(UNIT_LIBS)
tests_unit_agents_test_e2b_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=strdup,--wrap=text_format
UNIT_TESTS += tests/unit/agents/test_host_command
tests_unit_agents_test_host_command_LDADD = $(AGENTS_LIBS) $(UNIT_LIBS)
UNIT_TESTS += tests/unit/agents/test_look_queue
tests_unit_agents_test_look_queue_LDADD = $(AGENTS_LIBS) $(UNIT_LIBS)
UNIT_TESTS += tests/unit/agents/test_context
tests_unit_agents_test_context_SOURCES = tests/unit/agents/test_context.c tests/fuzz/stage.c tests/fuzz/stage.h
tests_unit_agents_test_context_LDADD = $(AGENTS_LIBS) $(UNIT_LIBS)
UNIT_TESTS += tests/unit/agents/test_fileop
tests_unit_agents_test_fileop_SOURCES = tests/unit/agents/test_fileop.c tests/fuzz/stage.c tests/fuzz/stage.h
tests_unit_agents_test_fileop_LDADD = $(AGENTS_LIBS) $(UNIT_LIBS)
UNIT_TESTS += tests/unit/agents/test_upgrade
tests_unit_agents_test_upgrade_SOURCES = tests/unit/agents/test_upgrade.c tests/fuzz/stage.c tests/fuzz/stage.h \
	tests/fuzz/script.h
tests_unit_agents_test_upgrade_LDADD = $(AGENTS_LIBS) $(UNIT_LIBS)
UNIT_TESTS += tests/unit/agents/test_port_answer
tests_unit_agents_test_port_answer_LDADD = libcallgate_agents.a libcallgate_base.a $(UNIT_LIBS)

TESTS += tests/unit/agents/runners.sh
dist_check_SCRIPTS += tests/unit/agents/runners.sh
EXTRA_DIST += tests/unit/agents/runner/driver.py tests/unit/agents/runner/test_bash.py \
	tests/unit/agents/runner/test_data.py tests/unit/agents/runner/test_node.py \
	tests/unit/agents/runner/test_python.py
