libcallgate_replay_a_SOURCES += \
	replay/judge.c \
	replay/query.h \
	replay/record.c
EXTRA_DIST += replay/README.md
