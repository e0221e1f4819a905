libcallgate_supervisor_a_SOURCES += \
	supervisor/filter.h \
	supervisor/launch.c \
	supervisor/launch.h \
	supervisor/privs.c \
	supervisor/privs.h \
	supervisor/supervise.h \
	supervisor/trace.h
