libcallgate_confine_a_SOURCES += \
	confine/bpf-emit.c \
	confine/bpf-emit.h \
	confine/bpf.c \
	confine/bpf.h \
	confine/cgroup-find.c \
	confine/cgroup-leaf.c \
	confine/cgroup-private.h \
	confine/cgroup-v2.c \
	confine/cgroup.c \
	confine/cgroup.h \
	confine/descriptors.c \
	confine/descriptors.h \
	confine/filter.c \
	confine/filter.h \
	confine/landlock.c \
	confine/landlock.h \
	confine/layers.c \
	confine/layers.h \
	confine/namespaces-clone.c \
	confine/namespaces-inside.c \
	confine/namespaces-note.c \
	confine/namespaces-private.h \
	confine/namespaces-unshare.c \
	confine/namespaces.c \
	confine/namespaces.h \
	confine/pidmax.c \
	confine/pidmax.h \
	confine/privs.c \
	confine/privs.h \
	confine/scheduling.c \
	confine/scheduling.h \
	confine/selffilter.c \
	confine/selffilter.h
EXTRA_DIST += confine/README.md
