libcallgate_keeper_a_SOURCES += \
	keeper/capture.c \
	keeper/capture.h \
	keeper/custodian.c \
	keeper/custodian.h \
	keeper/evidence.c \
	keeper/evidence.h \
	keeper/fork.c \
	keeper/input.c \
	keeper/input.h \
	keeper/loop.c \
	keeper/outcome.c \
	keeper/output.c \
	keeper/output.h \
	keeper/private.h \
	keeper/progress.c \
	keeper/progress.h \
	keeper/result.c \
	keeper/result.h \
	keeper/run.c \
	keeper/run.h \
	keeper/scratch-base.c \
	keeper/scratch-inside.c \
	keeper/scratch-private.h \
	keeper/scratch.c \
	keeper/scratch.h \
	keeper/stdin-relay.c \
	keeper/stdin-relay.h \
	keeper/store.c \
	keeper/store.h \
	keeper/summary.c \
	keeper/summary.h \
	keeper/terminal.c \
	keeper/terminal.h \
	keeper/utf8.c \
	keeper/utf8.h
EXTRA_DIST += keeper/README.md
