libcallgate_supervisor_a_SOURCES += \
	supervisor/blocking.c \
	supervisor/blocking.h \
	supervisor/capture.c \
	supervisor/capture.h \
	supervisor/dispatch.c \
	supervisor/dispatch.h \
	supervisor/filter.c supervisor/filter.h \
	supervisor/killtree.c \
	supervisor/killtree.h \
	supervisor/launch.c \
	supervisor/launch.h \
	supervisor/notify.c \
	supervisor/notify.h \
	supervisor/privs.c \
	supervisor/privs.h \
	supervisor/scratch.c \
	supervisor/scratch.h \
	supervisor/supervise.c \
	supervisor/supervise.h \
	supervisor/trace.h \
	supervisor/utf8.c \
	supervisor/utf8.h \
	supervisor/watchdog.c \
	supervisor/watchdog.h
libcallgate_supervisor_a_SOURCES += \
	supervisor/trace-blob.c \
	supervisor/trace-private.h \
	supervisor/trace-stop.c \
	supervisor/trace-verify.c \
	supervisor/trace.c
