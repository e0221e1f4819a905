libcallgate_workspace_a_SOURCES += \
	workspace/bases.c \
	workspace/bases.h \
	workspace/changes.c \
	workspace/changes.h \
	workspace/checkpoint-size.c \
	workspace/checkpoint.c \
	workspace/checkpoint.h \
	workspace/conflict.c \
	workspace/conflict.h \
	workspace/content.c \
	workspace/content.h \
	workspace/copies.c \
	workspace/copies.h \
	workspace/dirs.c \
	workspace/dirs.h \
	workspace/executed.c \
	workspace/executed.h \
	workspace/fold.c \
	workspace/fold.h \
	workspace/journal.c \
	workspace/journal.h \
	workspace/known.c \
	workspace/known.h \
	workspace/layer.c \
	workspace/layer.h \
	workspace/links.c \
	workspace/links.h \
	workspace/place.c \
	workspace/place.h \
	workspace/records.c \
	workspace/records.h \
	workspace/renames.c \
	workspace/renames.h \
	workspace/restore.c \
	workspace/store.c \
	workspace/store.h
EXTRA_DIST += workspace/README.md
