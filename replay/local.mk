libcallgate_replay_a_SOURCES += \
	replay/after.c \
	replay/judge.c \
	replay/label.c \
	replay/label.h \
	replay/log.c \
	replay/log.h \
	replay/query.h \
	replay/record.c
EXTRA_DIST += replay/README.md
