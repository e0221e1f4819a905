libcallgate_base_a_SOURCES += \
	base/array.h \
	base/banned.h \
	base/buf.c \
	base/buf.h \
	base/cleanup.h \
	base/elf-machine.h \
	base/ending.h \
	base/fdinfo.c \
	base/fdinfo.h \
	base/helper.c \
	base/helper.h \
	base/hostname.c \
	base/hostname.h \
	base/installed.c \
	base/installed.h \
	base/io.c \
	base/io.h \
	base/mounts.c \
	base/mounts.h \
	base/path.c \
	base/path.h \
	base/pidinfo.h \
	base/procmap.h \
	base/procstat.c \
	base/procstat.h \
	base/proctree.c \
	base/proctree.h \
	base/remove.c \
	base/sha256.c \
	base/sha256.h \
	base/shown.c \
	base/text.c \
	base/text.h \
	base/texthash.h \
	base/units.c
EXTRA_DIST += base/README.md
