libcallgate_agents_a_SOURCES += \
	agents/loop.c \
	agents/loop.h \
	agents/sandbox/connect.c \
	agents/sandbox/create.c \
	agents/sandbox/launcher.c \
	agents/sandbox/private.h \
	agents/sandbox/program.c \
	agents/sandbox/sandbox.h
EXTRA_DIST += agents/README.md
