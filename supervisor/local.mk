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
	supervisor/trace-later.c \
	supervisor/trace-pathfd.c \
	supervisor/trace-private.h \
	supervisor/trace-stop.c \
	supervisor/trace-verify.c \
	supervisor/trace.c
libcallgate_supervisor_a_SOURCES += \
	supervisor/environment.c \
	supervisor/environment.h \
	supervisor/feed.c \
	supervisor/feed.h \
	supervisor/input.c \
	supervisor/input.h \
	supervisor/keeper.c \
	supervisor/keeper.h \
	supervisor/keeper-fork.c \
	supervisor/keeper-fork.h \
	supervisor/lookup.c \
	supervisor/lookup.h \
	supervisor/output.c \
	supervisor/output.h \
	supervisor/process.c \
	supervisor/process.h \
	supervisor/redirects.c \
	supervisor/redirects.h \
	supervisor/report.c \
	supervisor/report.h \
	supervisor/result.c \
	supervisor/result.h \
	supervisor/status.c \
	supervisor/status.h \
	supervisor/statusline.c \
	supervisor/statusline.h \
	supervisor/summary.c \
	supervisor/summary.h
EXTRA_DIST += supervisor/README.md
