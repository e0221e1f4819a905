libcallgate_workspace_a_SOURCES += \
	workspace/store.c \
	workspace/store.h
EXTRA_DIST += workspace/README.md
