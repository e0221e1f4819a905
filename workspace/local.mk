libcallgate_workspace_a_SOURCES += \
	workspace/changes.c \
	workspace/changes.h \
	workspace/content.c \
	workspace/content.h \
	workspace/layer.c \
	workspace/layer.h \
	workspace/renames.c \
	workspace/renames.h \
	workspace/store.c \
	workspace/store.h
EXTRA_DIST += workspace/README.md
