libcallgate_supervisor_a_SOURCES += \
	supervisor/filter.c supervisor/filter.h \
	supervisor/capture.c \
	supervisor/capture.h \
	supervisor/killtree.c \
	supervisor/killtree.h \
	supervisor/launch.c \
	supervisor/launch.h \
	supervisor/privs.c \
	supervisor/privs.h \
	supervisor/scratch.c \
	supervisor/scratch.h \
	supervisor/supervise.h \
	supervisor/trace.h \
	supervisor/utf8.c \
	supervisor/utf8.h
