# Each harness twice: fuzz_NAME replays and mutates its corpus under "make check", with any compiler; libfuzzer_NAME is
# libFuzzer's, with "configure CC=clang --enable-fuzz". To go on from the corpus:
#   mkdir new; tests/fuzz/libfuzzer_elf -max_len=65536 new $top_srcdir/tests/fuzz/corpus/elf
# For http1 also from all that tests/live/egress/corpus.sh sends; every 28th is in corpus/http1 (corpus-*):
#   $top_srcdir/tests/cases/net-corpus.py seeds seeds
#   tests/fuzz/libfuzzer_http1 -max_len=65536 new seeds $top_srcdir/tests/fuzz/corpus/http1
FUZZ_TESTS =
EXTRA_DIST += tests/fuzz/corpus
check_PROGRAMS += $(FUZZ_TESTS)
TESTS += $(FUZZ_TESTS)
ARCHIVE_TESTS += tests/fuzz/fuzz_elf tests/fuzz/fuzz_policy
ARCHIVE_BINARIES += tests/fuzz/fuzz_elf tests/fuzz/fuzz_policy
fuzz_main = tests/fuzz/fuzz.h tests/fuzz/script.h tests/fuzz/replay.c
libfuzzer_flags = $(AM_LDFLAGS) -fsanitize=fuzzer

fuzz_decode_libs = libcallgate_syscalls.a libcallgate_view.a libcallgate_base.a
FUZZ_TESTS += tests/fuzz/fuzz_decode
tests_fuzz_fuzz_decode_SOURCES = tests/fuzz/fuzz_decode.c $(fuzz_main)
tests_fuzz_fuzz_decode_LDADD = $(fuzz_decode_libs)

fuzz_elf_libs = libcallgate_syscalls.a libcallgate_view.a libcallgate_base.a
FUZZ_TESTS += tests/fuzz/fuzz_elf
tests_fuzz_fuzz_elf_SOURCES = tests/fuzz/fuzz_elf.c $(fuzz_main)
tests_fuzz_fuzz_elf_LDADD = $(fuzz_elf_libs)

fuzz_policy_libs = libcallgate_policy.a libcallgate_base.a $(POLICY_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_policy
tests_fuzz_fuzz_policy_SOURCES = tests/fuzz/fuzz_policy.c $(fuzz_main)
tests_fuzz_fuzz_policy_LDADD = $(fuzz_policy_libs)

if ENABLE_FUZZ
noinst_PROGRAMS += tests/fuzz/libfuzzer_decode tests/fuzz/libfuzzer_elf tests/fuzz/libfuzzer_policy
endif
tests_fuzz_libfuzzer_decode_SOURCES = tests/fuzz/fuzz_decode.c tests/fuzz/fuzz.h
tests_fuzz_libfuzzer_decode_LDADD = $(fuzz_decode_libs)
tests_fuzz_libfuzzer_decode_LDFLAGS = $(libfuzzer_flags)
tests_fuzz_libfuzzer_elf_SOURCES = tests/fuzz/fuzz_elf.c tests/fuzz/fuzz.h
tests_fuzz_libfuzzer_elf_LDADD = $(fuzz_elf_libs)
tests_fuzz_libfuzzer_elf_LDFLAGS = $(libfuzzer_flags)
tests_fuzz_libfuzzer_policy_SOURCES = tests/fuzz/fuzz_policy.c tests/fuzz/fuzz.h
tests_fuzz_libfuzzer_policy_LDADD = $(fuzz_policy_libs)
tests_fuzz_libfuzzer_policy_LDFLAGS = $(libfuzzer_flags)

fuzz_audit_libs = libcallgate_audit.a libcallgate_policy.a libcallgate_base.a $(POLICY_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_audit
tests_fuzz_fuzz_audit_SOURCES = tests/fuzz/fuzz_audit.c $(fuzz_main)
tests_fuzz_fuzz_audit_LDADD = $(fuzz_audit_libs)

if ENABLE_FUZZ
noinst_PROGRAMS += tests/fuzz/libfuzzer_audit
endif
tests_fuzz_libfuzzer_audit_SOURCES = tests/fuzz/fuzz_audit.c tests/fuzz/fuzz.h
tests_fuzz_libfuzzer_audit_LDADD = $(fuzz_audit_libs)
tests_fuzz_libfuzzer_audit_LDFLAGS = $(libfuzzer_flags)

fuzz_path_libs = libcallgate_syscalls.a libcallgate_view.a libcallgate_base.a
FUZZ_TESTS += tests/fuzz/fuzz_path
tests_fuzz_fuzz_path_SOURCES = tests/fuzz/fuzz_path.c $(fuzz_main)
tests_fuzz_fuzz_path_LDADD = $(fuzz_path_libs)

if ENABLE_FUZZ
noinst_PROGRAMS += tests/fuzz/libfuzzer_path
endif
tests_fuzz_libfuzzer_path_SOURCES = tests/fuzz/fuzz_path.c tests/fuzz/fuzz.h
tests_fuzz_libfuzzer_path_LDADD = $(fuzz_path_libs)
tests_fuzz_libfuzzer_path_LDFLAGS = $(libfuzzer_flags)

# What the program says to its name server and at the beginning of TLS.
fuzz_dns_libs = libcallgate_egress.a libcallgate_policy.a libcallgate_base.a $(POLICY_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_dns
tests_fuzz_fuzz_dns_SOURCES = tests/fuzz/fuzz_dns.c $(fuzz_main)
tests_fuzz_fuzz_dns_LDADD = $(fuzz_dns_libs)
fuzz_hello_libs = $(fuzz_dns_libs) $(OPENSSL_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_hello
tests_fuzz_fuzz_hello_SOURCES = tests/fuzz/fuzz_hello.c $(fuzz_main)
tests_fuzz_fuzz_hello_LDADD = $(fuzz_hello_libs)
if ENABLE_FUZZ
noinst_PROGRAMS += tests/fuzz/libfuzzer_dns tests/fuzz/libfuzzer_hello
endif
tests_fuzz_libfuzzer_dns_SOURCES = tests/fuzz/fuzz_dns.c tests/fuzz/fuzz.h
tests_fuzz_libfuzzer_dns_LDADD = $(fuzz_dns_libs)
tests_fuzz_libfuzzer_dns_LDFLAGS = $(libfuzzer_flags)
tests_fuzz_libfuzzer_hello_SOURCES = tests/fuzz/fuzz_hello.c tests/fuzz/fuzz.h
tests_fuzz_libfuzzer_hello_LDADD = $(fuzz_hello_libs)
tests_fuzz_libfuzzer_hello_LDFLAGS = $(libfuzzer_flags)

fuzz_http1_libs = libcallgate_egress.a libcallgate_policy.a libcallgate_base.a $(POLICY_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_http1 tests/fuzz/fuzz_proxy
tests_fuzz_fuzz_http1_SOURCES = tests/fuzz/fuzz_http1.c $(fuzz_main)
tests_fuzz_fuzz_http1_LDADD = $(fuzz_http1_libs)
tests_fuzz_fuzz_proxy_SOURCES = tests/fuzz/fuzz_proxy.c $(fuzz_main)
tests_fuzz_fuzz_proxy_LDADD = $(fuzz_http1_libs)

if ENABLE_FUZZ
noinst_PROGRAMS += tests/fuzz/libfuzzer_http1 tests/fuzz/libfuzzer_proxy
endif
tests_fuzz_libfuzzer_http1_SOURCES = tests/fuzz/fuzz_http1.c tests/fuzz/fuzz.h
tests_fuzz_libfuzzer_http1_LDADD = $(fuzz_http1_libs)
tests_fuzz_libfuzzer_http1_LDFLAGS = $(libfuzzer_flags)
tests_fuzz_libfuzzer_proxy_SOURCES = tests/fuzz/fuzz_proxy.c tests/fuzz/fuzz.h
tests_fuzz_libfuzzer_proxy_LDADD = $(fuzz_http1_libs)
tests_fuzz_libfuzzer_proxy_LDFLAGS = $(libfuzzer_flags)

fuzz_net_text_libs = libcallgate_policy.a libcallgate_base.a $(POLICY_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_net_text
tests_fuzz_fuzz_net_text_SOURCES = tests/fuzz/fuzz_net_text.c $(fuzz_main)
tests_fuzz_fuzz_net_text_LDADD = $(fuzz_net_text_libs)

if ENABLE_FUZZ
noinst_PROGRAMS += tests/fuzz/libfuzzer_net_text
endif
tests_fuzz_libfuzzer_net_text_SOURCES = tests/fuzz/fuzz_net_text.c tests/fuzz/fuzz.h
tests_fuzz_libfuzzer_net_text_LDADD = $(fuzz_net_text_libs)
tests_fuzz_libfuzzer_net_text_LDFLAGS = $(libfuzzer_flags)

fuzz_frames_libs = $(AGENTS_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_frames
tests_fuzz_fuzz_frames_SOURCES = tests/fuzz/fuzz_frames.c $(fuzz_main)
tests_fuzz_fuzz_frames_LDADD = $(fuzz_frames_libs)

if ENABLE_FUZZ
noinst_PROGRAMS += tests/fuzz/libfuzzer_frames
endif
tests_fuzz_libfuzzer_frames_SOURCES = tests/fuzz/fuzz_frames.c tests/fuzz/fuzz.h
tests_fuzz_libfuzzer_frames_LDADD = $(fuzz_frames_libs)
tests_fuzz_libfuzzer_frames_LDFLAGS = $(libfuzzer_flags)

# Scripts of clients and of hostile programs for the servers of agents/: each run makes a server, so there are fewer.
stage_main = $(fuzz_main) tests/fuzz/stage.h tests/fuzz/stage.c
stage_flags = $(AM_CPPFLAGS) -DMUTATIONS=20 -DCUT_STEP=97
FUZZ_TESTS += tests/fuzz/fuzz_serve tests/fuzz/fuzz_mcp
tests_fuzz_fuzz_serve_SOURCES = tests/fuzz/fuzz_serve.c $(stage_main)
tests_fuzz_fuzz_serve_CPPFLAGS = $(stage_flags)
tests_fuzz_fuzz_serve_LDADD = $(AGENTS_LIBS)
tests_fuzz_fuzz_mcp_SOURCES = tests/fuzz/fuzz_mcp.c $(stage_main)
tests_fuzz_fuzz_mcp_CPPFLAGS = $(stage_flags)
tests_fuzz_fuzz_mcp_LDADD = $(AGENTS_LIBS)
if ENABLE_FUZZ
noinst_PROGRAMS += tests/fuzz/libfuzzer_serve tests/fuzz/libfuzzer_mcp
endif
# Their clock is the script's, so libFuzzer cannot measure them: -timeout=10000
tests_fuzz_libfuzzer_serve_SOURCES = tests/fuzz/fuzz_serve.c tests/fuzz/fuzz.h tests/fuzz/script.h tests/fuzz/stage.h \
	tests/fuzz/stage.c
tests_fuzz_libfuzzer_serve_LDADD = $(AGENTS_LIBS)
tests_fuzz_libfuzzer_serve_LDFLAGS = $(libfuzzer_flags)
tests_fuzz_libfuzzer_mcp_SOURCES = tests/fuzz/fuzz_mcp.c tests/fuzz/fuzz.h tests/fuzz/script.h tests/fuzz/stage.h \
	tests/fuzz/stage.c
tests_fuzz_libfuzzer_mcp_LDADD = $(AGENTS_LIBS)
tests_fuzz_libfuzzer_mcp_LDFLAGS = $(libfuzzer_flags)

# Clients of a session, and the answer of a server in a sandbox to a request for its port.
fuzz_session_libs = libcallgate_supervisor.a libcallgate_base.a $(JANSSON_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_session tests/fuzz/fuzz_port
tests_fuzz_fuzz_session_SOURCES = tests/fuzz/fuzz_session.c $(fuzz_main)
tests_fuzz_fuzz_session_CPPFLAGS = $(stage_flags)
tests_fuzz_fuzz_session_LDADD = $(fuzz_session_libs)
fuzz_port_libs = libcallgate_agents.a libcallgate_base.a
tests_fuzz_fuzz_port_SOURCES = tests/fuzz/fuzz_port.c $(fuzz_main)
tests_fuzz_fuzz_port_LDADD = $(fuzz_port_libs)
if ENABLE_FUZZ
noinst_PROGRAMS += tests/fuzz/libfuzzer_session tests/fuzz/libfuzzer_port
endif
tests_fuzz_libfuzzer_session_SOURCES = tests/fuzz/fuzz_session.c tests/fuzz/fuzz.h tests/fuzz/script.h
tests_fuzz_libfuzzer_session_LDADD = $(fuzz_session_libs)
tests_fuzz_libfuzzer_session_LDFLAGS = $(libfuzzer_flags)
tests_fuzz_libfuzzer_port_SOURCES = tests/fuzz/fuzz_port.c tests/fuzz/fuzz.h
tests_fuzz_libfuzzer_port_LDADD = $(fuzz_port_libs)
tests_fuzz_libfuzzer_port_LDFLAGS = $(libfuzzer_flags)

# What a front answers to the approver.
fuzz_approval_libs = libcallgate_approval.a libcallgate_base.a $(JANSSON_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_approval
tests_fuzz_fuzz_approval_SOURCES = tests/fuzz/fuzz_approval.c $(fuzz_main)
tests_fuzz_fuzz_approval_LDADD = $(fuzz_approval_libs)

if ENABLE_FUZZ
noinst_PROGRAMS += tests/fuzz/libfuzzer_approval
endif
tests_fuzz_libfuzzer_approval_SOURCES = tests/fuzz/fuzz_approval.c tests/fuzz/fuzz.h
tests_fuzz_libfuzzer_approval_LDADD = $(fuzz_approval_libs)
tests_fuzz_libfuzzer_approval_LDFLAGS = $(libfuzzer_flags)
