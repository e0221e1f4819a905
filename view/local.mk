libcallgate_view_a_SOURCES += \
	view/attach-names.c \
	view/attach-names.h \
	view/attach.c \
	view/build-workspace.c \
	view/build.c \
	view/build.h \
	view/execs.c \
	view/facts.c \
	view/fixed.c \
	view/fixed.h \
	view/judge.c \
	view/hidden.c \
	view/kernel-reads-cover.c \
	view/kernel-reads-proc.c \
	view/kernel-reads-walk.c \
	view/kernel-reads.c \
	view/kernel-reads.h \
	view/listing.c \
	view/locate.c \
	view/meminfo.c \
	view/meminfo.h \
	view/nodes.c \
	view/open.c \
	view/overlay.c \
	view/overlay.h \
	view/private.h \
	view/procfs.c \
	view/readable.c \
	view/second.c \
	view/skeleton.c \
	view/start.c \
	view/terminals.c \
	view/tree.c \
	view/tree.h \
	view/view.h \
	view/walk.c
EXTRA_DIST += view/README.md
