libcallgate_audit_a_SOURCES += \
	audit/append.c \
	audit/audit.c \
	audit/audit.h \
	audit/chain.c \
	audit/chain.h \
	audit/checkpoint.c \
	audit/checkpoint.h \
	audit/clock.c \
	audit/clock.h \
	audit/compact.c \
	audit/encode.c \
	audit/encode.h \
	audit/envelope.c \
	audit/envelope.h \
	audit/expand.h \
	audit/file.c \
	audit/finding.c \
	audit/hash.c \
	audit/hash.h \
	audit/lines.c \
	audit/log.h \
	audit/outcome.c \
	audit/put.c \
	audit/put.h \
	audit/read.c \
	audit/read.h \
	audit/record.h \
	audit/recover.c \
	audit/rotate.c \
	audit/scan-text.c \
	audit/scan.c \
	audit/scan.h \
	audit/sign.c \
	audit/sign.h \
	audit/verify.c \
	audit/verify.h
EXTRA_DIST += audit/README.md
