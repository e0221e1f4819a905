libcallgate_replay_a_SOURCES += \
	replay/judge.c \
	replay/label.c \
	replay/label.h \
	replay/log.c \
	replay/log.h \
	replay/query.h \
	replay/record.c
EXTRA_DIST += replay/README.md
