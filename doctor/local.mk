libcallgate_doctor_a_SOURCES += \
	doctor/examine.c \
	doctor/examine.h \
	doctor/host.c \
	doctor/landlock.c \
	doctor/namespaces.c \
	doctor/probe.c \
	doctor/probe.h \
	doctor/process.c \
	doctor/seccomp.c
EXTRA_DIST += doctor/README.md
