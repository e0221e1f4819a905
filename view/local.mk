libcallgate_view_a_SOURCES += \
	view/attach.c \
	view/attach.h \
	view/base.c \
	view/build.c \
	view/build.h \
	view/cover.c \
	view/execs.c \
	view/grant.c \
	view/holes.c \
	view/judge.c \
	view/kernels.c \
	view/links.c \
	view/listing.c \
	view/mount.c \
	view/name.c \
	view/private.h \
	view/proc.c \
	view/procfs.c \
	view/provide.c \
	view/rebase.c \
	view/shown.c \
	view/skeleton.c \
	view/tree.c \
	view/tree.h \
	view/twin.c \
	view/view.c \
	view/view.h \
	view/walk.c
EXTRA_DIST += view/README.md
