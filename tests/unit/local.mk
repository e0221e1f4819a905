# Unit tests with the check library, each linking only the library under test and those below it. A block a test:
#   UNIT_TESTS += tests/unit/test_NAME
#   tests_unit_test_NAME_LDADD = libcallgate_FOLDER.a libcallgate_base.a $(UNIT_LIBS)
UNIT_TESTS =
UNIT_LIBS = $(CHECK_LIBS)
EXTRA_DIST += tests/unit/no-check.sh tests/unit/unit.h
if HAVE_CHECK
check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(UNIT_TESTS)
ARCHIVE_TESTS += tests/unit/test_policy_compose tests/unit/test_policy_errors
else
TESTS += tests/unit/no-check.sh
endif

UNIT_TESTS += tests/unit/test_buf
tests_unit_test_buf_LDADD = libcallgate_base.a $(UNIT_LIBS)

UNIT_TESTS += tests/unit/test_io
tests_unit_test_io_LDADD = libcallgate_base.a $(UNIT_LIBS)

UNIT_TESTS += tests/unit/test_sha256
tests_unit_test_sha256_LDADD = libcallgate_base.a $(NETTLE_LIBS) $(LIBCRYPTO_LIBS) $(UNIT_LIBS)

UNIT_TESTS += tests/unit/test_path
tests_unit_test_path_LDADD = libcallgate_base.a $(UNIT_LIBS)

UNIT_TESTS += tests/unit/test_proctree
tests_unit_test_proctree_LDADD = libcallgate_base.a $(UNIT_LIBS)

UNIT_TESTS += tests/unit/test_text
tests_unit_test_text_LDADD = libcallgate_base.a $(JANSSON_LIBS) $(UNIT_LIBS)

UNIT_TESTS += tests/unit/test_notify
tests_unit_test_notify_LDADD = $(tests_unit_test_trace_LDADD) -lpthread

UNIT_TESTS += tests/unit/test_watchdog
tests_unit_test_watchdog_LDADD = libcallgate_keeper.a libcallgate_supervisor.a libcallgate_confine.a $(UNIT_LIBS)

# On processes of the test's own.
CPU_RIG = tests/unit/cpu-rig.c tests/unit/cpu-rig.h
CPU_LIBS = libcallgate_keeper.a libcallgate_supervisor.a libcallgate_confine.a $(tests_unit_test_denials_LDADD)
UNIT_TESTS += tests/unit/test_cpu_affinity tests/unit/test_cpu_placement
tests_unit_test_cpu_affinity_SOURCES = tests/unit/test_cpu_affinity.c $(CPU_RIG)
tests_unit_test_cpu_affinity_LDADD = $(CPU_LIBS)
tests_unit_test_cpu_placement_SOURCES = tests/unit/test_cpu_placement.c $(CPU_RIG)
tests_unit_test_cpu_placement_LDADD = $(CPU_LIBS)

UNIT_TESTS += tests/unit/test_guest
tests_unit_test_guest_LDADD = libcallgate_syscalls.a libcallgate_view.a libcallgate_base.a $(UNIT_LIBS)

UNIT_TESTS += tests/unit/test_view
tests_unit_test_view_LDADD = libcallgate_syscalls.a libcallgate_view.a libcallgate_base.a $(NETTLE_LIBS) $(UNIT_LIBS)

# The table, its filter on made-up registers, and its filter in the kernel.
UNIT_TESTS += tests/unit/test_table tests/unit/test_filter tests/unit/test_filter_kernel tests/unit/test_selffilter
EXTRA_DIST += tests/unit/bpf-run.h tests/unit/filter-oracle.h tests/unit/row-named.h
tests_unit_test_table_LDADD = libcallgate_syscalls.a $(LIBSECCOMP_LIBS) $(UNIT_LIBS)
tests_unit_test_filter_LDADD = libcallgate_confine.a libcallgate_syscalls.a $(LIBSECCOMP_LIBS) $(UNIT_LIBS)
tests_unit_test_selffilter_LDADD = libcallgate_confine.a libcallgate_syscalls.a $(UNIT_LIBS)
tests_unit_test_filter_kernel_LDADD = libcallgate_confine.a libcallgate_syscalls.a $(UNIT_LIBS)

# Handlers over real processes, with a made-up run.
UNIT_TESTS += tests/unit/test_signal
tests_unit_test_signal_LDADD = libcallgate_syscalls.a libcallgate_view.a libcallgate_base.a $(UNIT_LIBS)

UNIT_TESTS += tests/unit/test_audit
tests_unit_test_audit_LDADD = libcallgate_audit.a libcallgate_policy.a libcallgate_base.a $(POLICY_LIBS) \
	$(UNIT_LIBS)

UNIT_TESTS += tests/unit/test_audit_net
tests_unit_test_audit_net_LDADD = libcallgate_audit.a libcallgate_policy.a libcallgate_base.a $(POLICY_LIBS) \
	$(UNIT_LIBS)

UNIT_TESTS += tests/unit/test_audit_kill
tests_unit_test_audit_kill_LDADD = libcallgate_audit.a libcallgate_policy.a libcallgate_base.a $(POLICY_LIBS) \
	$(UNIT_LIBS)

UNIT_TESTS += tests/unit/test_refusals
EXTRA_DIST += tests/unit/stub-call.h
tests_unit_test_refusals_LDADD = libcallgate_syscalls.a libcallgate_view.a libcallgate_egress.a libcallgate_policy.a libcallgate_base.a \
	$(POLICY_LIBS) $(JANSSON_LIBS) $(UNIT_LIBS)

UNIT_TESTS += tests/unit/test_inet_address
tests_unit_test_inet_address_LDADD = libcallgate_syscalls.a libcallgate_view.a libcallgate_base.a $(UNIT_LIBS)

UNIT_TESTS += tests/unit/test_inet_fence
tests_unit_test_inet_fence_LDADD = libcallgate_syscalls.a libcallgate_view.a libcallgate_base.a $(UNIT_LIBS)

UNIT_TESTS += tests/unit/test_inet_judge
tests_unit_test_inet_judge_SOURCES = tests/unit/test_inet_judge.c $(POLICY_RIG)
tests_unit_test_inet_judge_LDADD = libcallgate_syscalls.a libcallgate_view.a libcallgate_egress.a libcallgate_audit.a libcallgate_policy.a \
	libcallgate_base.a $(LIBSECCOMP_LIBS) $(POLICY_LIBS) $(UNIT_LIBS)

UNIT_TESTS += tests/unit/test_trace
tests_unit_test_trace_SOURCES = tests/unit/test_trace.c tests/unit/trace-rig.c tests/unit/trace-rig.h tests/unit/old-kernel.h
tests_unit_test_trace_LDADD = libcallgate_keeper.a libcallgate_supervisor.a libcallgate_confine.a libcallgate_syscalls.a libcallgate_view.a libcallgate_audit.a libcallgate_policy.a \
	libcallgate_base.a $(LIBSECCOMP_LIBS) $(POLICY_LIBS) $(UNIT_LIBS)

UNIT_TESTS += tests/unit/test_continue tests/unit/test_insn
tests_unit_test_continue_LDADD = $(tests_unit_test_trace_LDADD)
tests_unit_test_insn_LDADD = libcallgate_syscalls.a libcallgate_view.a libcallgate_base.a $(UNIT_LIBS)

UNIT_TESTS += tests/unit/test_trace_blob
tests_unit_test_trace_blob_LDADD = $(tests_unit_test_trace_LDADD)

UNIT_TESTS += tests/unit/test_changes
tests_unit_test_changes_LDADD = libcallgate_syscalls.a libcallgate_view.a libcallgate_audit.a libcallgate_policy.a libcallgate_base.a \
	$(POLICY_LIBS) $(UNIT_LIBS)

UNIT_TESTS += tests/unit/test_denials
tests_unit_test_denials_LDADD = libcallgate_syscalls.a libcallgate_view.a libcallgate_audit.a libcallgate_policy.a libcallgate_base.a \
	$(POLICY_LIBS) $(UNIT_LIBS)

# Counting tasks, with children of the test's own.
UNIT_TESTS += tests/unit/test_forks
tests_unit_test_forks_LDADD = $(tests_unit_test_denials_LDADD)

# Counting locks, likewise.
UNIT_TESTS += tests/unit/test_locks
tests_unit_test_locks_LDADD = $(tests_unit_test_denials_LDADD)

UNIT_TESTS += tests/unit/test_tree
tests_unit_test_tree_LDADD = $(tests_unit_test_denials_LDADD)

UNIT_TESTS += tests/unit/test_exec_cache
tests_unit_test_exec_cache_SOURCES = tests/unit/test_exec_cache.c $(POLICY_RIG)
tests_unit_test_exec_cache_LDADD = $(tests_unit_test_denials_LDADD)

UNIT_TESTS += tests/unit/test_shebang tests/unit/test_elf
tests_unit_test_shebang_LDADD = libcallgate_syscalls.a libcallgate_view.a libcallgate_base.a $(UNIT_LIBS)
tests_unit_test_elf_LDADD = libcallgate_syscalls.a libcallgate_view.a libcallgate_base.a $(UNIT_LIBS)

UNIT_TESTS += tests/unit/test_policy_decide tests/unit/test_policy_errors tests/unit/test_policy_glob \
	tests/unit/test_policy_compose tests/unit/test_policy_schema
POLICY_TEST_LIBS = libcallgate_policy.a libcallgate_base.a $(POLICY_LIBS) $(UNIT_LIBS)
POLICY_RIG = tests/unit/policy-rig.c tests/unit/policy-rig.h
UNIT_TESTS += tests/unit/test_policy_phases
tests_unit_test_policy_phases_SOURCES = tests/unit/test_policy_phases.c $(POLICY_RIG)
tests_unit_test_policy_phases_LDADD = $(POLICY_TEST_LIBS)
UNIT_TESTS += tests/unit/test_policy_peek
tests_unit_test_policy_peek_SOURCES = tests/unit/test_policy_peek.c $(POLICY_RIG)
tests_unit_test_policy_peek_LDADD = $(POLICY_TEST_LIBS)
UNIT_TESTS += tests/unit/test_real
tests_unit_test_real_SOURCES = tests/unit/test_real.c cli/real.c cli/real.h
tests_unit_test_real_LDADD = $(POLICY_TEST_LIBS)
UNIT_TESTS += tests/unit/test_places
tests_unit_test_places_SOURCES = tests/unit/test_places.c cli/places-command.c cli/places.c cli/places.h \
	cli/real.c cli/real.h
tests_unit_test_places_LDADD = $(POLICY_TEST_LIBS)
UNIT_TESTS += tests/unit/test_policy_below
tests_unit_test_policy_below_SOURCES = tests/unit/test_policy_below.c $(POLICY_RIG)
tests_unit_test_policy_below_LDADD = $(POLICY_TEST_LIBS)
UNIT_TESTS += tests/unit/test_policy_move
tests_unit_test_policy_move_SOURCES = tests/unit/test_policy_move.c $(POLICY_RIG)
tests_unit_test_policy_move_LDADD = $(POLICY_TEST_LIBS)
tests_unit_test_policy_decide_SOURCES = tests/unit/test_policy_decide.c $(POLICY_RIG)
tests_unit_test_policy_decide_LDADD = $(POLICY_TEST_LIBS)
tests_unit_test_policy_errors_SOURCES = tests/unit/test_policy_errors.c $(POLICY_RIG)
tests_unit_test_policy_errors_LDADD = $(POLICY_TEST_LIBS)
tests_unit_test_policy_glob_LDADD = $(POLICY_TEST_LIBS)
tests_unit_test_policy_compose_SOURCES = tests/unit/test_policy_compose.c $(POLICY_RIG)
tests_unit_test_policy_compose_LDADD = $(POLICY_TEST_LIBS)
tests_unit_test_policy_schema_CPPFLAGS = $(AM_CPPFLAGS) -DSCHEMA='"$(abs_top_srcdir)/policy/schema.json"'
tests_unit_test_policy_schema_LDADD = $(POLICY_TEST_LIBS)

UNIT_TESTS += tests/unit/test_capture tests/unit/test_feed tests/unit/test_scratch tests/unit/test_utf8
tests_unit_test_feed_LDADD = libcallgate_keeper.a libcallgate_supervisor.a libcallgate_confine.a libcallgate_base.a $(UNIT_LIBS)
tests_unit_test_capture_LDADD = libcallgate_keeper.a libcallgate_supervisor.a libcallgate_confine.a libcallgate_base.a $(UNIT_LIBS)
tests_unit_test_scratch_LDADD = libcallgate_keeper.a libcallgate_supervisor.a libcallgate_confine.a libcallgate_base.a $(UNIT_LIBS)
tests_unit_test_utf8_LDADD = libcallgate_keeper.a libcallgate_supervisor.a libcallgate_confine.a libcallgate_base.a $(UNIT_LIBS)

UNIT_TESTS += tests/unit/test_landlock
tests_unit_test_landlock_LDADD = libcallgate_keeper.a libcallgate_supervisor.a libcallgate_confine.a libcallgate_syscalls.a libcallgate_view.a libcallgate_policy.a libcallgate_base.a \
	$(POLICY_LIBS) $(UNIT_LIBS)

# What a run adds to the disk, with files of the test's own.
UNIT_TESTS += tests/unit/test_disk
tests_unit_test_disk_LDADD = libcallgate_syscalls.a libcallgate_view.a libcallgate_base.a $(UNIT_LIBS)

UNIT_TESTS += tests/unit/test_cgroup
tests_unit_test_cgroup_LDADD = libcallgate_keeper.a libcallgate_supervisor.a libcallgate_confine.a libcallgate_policy.a libcallgate_base.a $(POLICY_LIBS) \
	$(UNIT_LIBS)

UNIT_TESTS += tests/unit/test_meminfo
tests_unit_test_meminfo_LDADD = libcallgate_syscalls.a libcallgate_view.a libcallgate_base.a $(NETTLE_LIBS) $(UNIT_LIBS)

# Parts of the egress process, and the whole of it with a made-up supervisor and program: see egress-rig.h.
EGRESS_LIBS = libcallgate_egress.a libcallgate_policy.a libcallgate_base.a $(POLICY_LIBS) $(EGRESS_NEEDS) $(UNIT_LIBS)
EGRESS_RIG = tests/unit/egress-rig.c tests/unit/egress-rig.h $(POLICY_RIG)
EGRESS_WIRE = tests/unit/egress-wire.c tests/unit/egress-wire.h $(EGRESS_RIG)
UNIT_TESTS += tests/unit/test_egress_relay tests/unit/test_egress_budget tests/unit/test_egress_udp
tests_unit_test_egress_relay_SOURCES = tests/unit/test_egress_relay.c $(EGRESS_WIRE)
tests_unit_test_egress_relay_LDADD = $(EGRESS_LIBS)
tests_unit_test_egress_budget_SOURCES = tests/unit/test_egress_budget.c $(EGRESS_WIRE)
tests_unit_test_egress_budget_LDADD = $(EGRESS_LIBS)
tests_unit_test_egress_udp_SOURCES = tests/unit/test_egress_udp.c $(EGRESS_WIRE)
tests_unit_test_egress_udp_LDADD = $(EGRESS_LIBS)

UNIT_TESTS += tests/unit/test_secret
tests_unit_test_secret_SOURCES = tests/unit/test_secret.c tests/unit/memory-search.c tests/unit/memory-search.h
tests_unit_test_secret_LDADD = libcallgate_egress.a libcallgate_base.a $(UNIT_LIBS)

# What the processes of the egress side can still do.
UNIT_TESTS += tests/unit/test_confine
tests_unit_test_confine_LDADD = libcallgate_keeper.a libcallgate_supervisor.a libcallgate_confine.a libcallgate_syscalls.a libcallgate_view.a libcallgate_policy.a libcallgate_base.a \
	$(LIBSECCOMP_LIBS) $(JANSSON_LIBS) $(NETTLE_LIBS) $(UNIT_LIBS)

UNIT_TESTS += tests/unit/test_namespaces
tests_unit_test_namespaces_LDADD = libcallgate_keeper.a libcallgate_supervisor.a libcallgate_confine.a libcallgate_syscalls.a libcallgate_view.a libcallgate_policy.a libcallgate_base.a \
	$(LIBSECCOMP_LIBS) $(JANSSON_LIBS) $(NETTLE_LIBS) $(UNIT_LIBS)

# HTTP/1: the parser alone, and in a whole egress process.
UNIT_TESTS += tests/unit/test_http1 tests/unit/test_egress_http1
tests_unit_test_http1_LDADD = libcallgate_egress.a libcallgate_policy.a libcallgate_base.a $(POLICY_LIBS) $(UNIT_LIBS)
tests_unit_test_egress_http1_SOURCES = tests/unit/test_egress_http1.c $(EGRESS_RIG)
tests_unit_test_egress_http1_LDADD = $(EGRESS_LIBS)
UNIT_TESTS += tests/unit/test_egress_proxy
tests_unit_test_egress_proxy_SOURCES = tests/unit/test_egress_proxy.c $(EGRESS_RIG)
tests_unit_test_egress_proxy_LDADD = $(EGRESS_LIBS)

# The supervisor's end of the line to egress, between a real notified program and an egress the test plays.
UNIT_TESTS += tests/unit/test_egress_client
tests_unit_test_egress_client_SOURCES = tests/unit/test_egress_client.c tests/unit/client-rig.c tests/unit/client-rig.h $(POLICY_RIG)
tests_unit_test_egress_client_LDADD = libcallgate_keeper.a libcallgate_supervisor.a libcallgate_confine.a libcallgate_syscalls.a libcallgate_view.a libcallgate_egress.a \
	libcallgate_audit.a libcallgate_policy.a libcallgate_base.a $(LIBSECCOMP_LIBS) $(POLICY_LIBS) \
	$(EGRESS_NEEDS) $(UNIT_LIBS)
UNIT_TESTS += tests/unit/test_answer tests/unit/test_control
tests_unit_test_answer_LDADD = $(tests_unit_test_egress_client_LDADD)
tests_unit_test_control_LDADD = $(EGRESS_LIBS)

# The network of a policy: text forms, verdicts, mistakes.
UNIT_TESTS += tests/unit/test_net_text
tests_unit_test_net_text_LDADD = $(POLICY_TEST_LIBS)
UNIT_TESTS += tests/unit/test_policy_net
tests_unit_test_policy_net_SOURCES = tests/unit/test_policy_net.c $(POLICY_RIG)
tests_unit_test_policy_net_LDADD = $(POLICY_TEST_LIBS)

# Names, from the question to the connected socket. No name server is asked.
UNIT_TESTS += tests/unit/test_dial tests/unit/test_dns tests/unit/test_dns_server tests/unit/test_hello \
	tests/unit/test_mode_hello tests/unit/test_pool tests/unit/test_resolver
tests_unit_test_dial_SOURCES = tests/unit/test_dial.c $(POLICY_RIG)
tests_unit_test_dial_LDADD = $(EGRESS_LIBS)
tests_unit_test_dns_SOURCES = tests/unit/test_dns.c tests/unit/dns-ask.c tests/unit/dns-ask.h $(POLICY_RIG)
tests_unit_test_dns_LDADD = $(EGRESS_LIBS)
tests_unit_test_dns_server_SOURCES = tests/unit/test_dns_server.c tests/unit/dns-ask.c tests/unit/dns-ask.h $(EGRESS_RIG)
tests_unit_test_dns_server_LDADD = $(EGRESS_LIBS)
tests_unit_test_hello_LDADD = $(EGRESS_LIBS)
tests_unit_test_mode_hello_SOURCES = tests/unit/test_mode_hello.c $(EGRESS_RIG)
tests_unit_test_mode_hello_LDADD = $(EGRESS_LIBS)
tests_unit_test_resolver_LDADD = $(EGRESS_LIBS)
tests_unit_test_pool_SOURCES = tests/unit/test_pool.c $(POLICY_RIG)
tests_unit_test_pool_LDADD = $(EGRESS_LIBS)

TLS_TEST_LIBS = libcallgate_egress.a libcallgate_base.a $(OPENSSL_LIBS) $(UNIT_LIBS)
UNIT_TESTS += tests/unit/test_channel tests/unit/test_tls
tests_unit_test_channel_SOURCES = tests/unit/test_channel.c tests/unit/tls-rig.c tests/unit/tls-rig.h \
	tests/unit/memory-search.c tests/unit/memory-search.h
tests_unit_test_channel_LDADD = $(TLS_TEST_LIBS)
tests_unit_test_tls_SOURCES = tests/unit/test_tls.c tests/unit/tls-rig.c tests/unit/tls-rig.h tests/unit/memory-search.c \
	tests/unit/memory-search.h
tests_unit_test_tls_LDADD = libcallgate_keeper.a libcallgate_supervisor.a libcallgate_confine.a libcallgate_syscalls.a libcallgate_view.a $(TLS_TEST_LIBS) $(LIBSECCOMP_LIBS)

UNIT_TESTS += tests/unit/test_egress_tls
tests_unit_test_egress_tls_SOURCES = tests/unit/test_egress_tls.c tests/unit/tls-rig.c tests/unit/tls-rig.h $(EGRESS_RIG)
tests_unit_test_egress_tls_LDADD = libcallgate_keeper.a libcallgate_supervisor.a libcallgate_confine.a libcallgate_syscalls.a libcallgate_view.a $(EGRESS_LIBS) $(LIBSECCOMP_LIBS)

UNIT_TESTS += tests/unit/test_egress_side
tests_unit_test_egress_side_SOURCES = tests/unit/test_egress_side.c $(POLICY_RIG)
tests_unit_test_egress_side_LDADD = libcallgate_keeper.a libcallgate_supervisor.a libcallgate_confine.a libcallgate_syscalls.a libcallgate_view.a libcallgate_egress.a libcallgate_audit.a \
	libcallgate_policy.a libcallgate_base.a $(LIBSECCOMP_LIBS) $(POLICY_LIBS) $(EGRESS_NEEDS) \
	$(UNIT_LIBS)
