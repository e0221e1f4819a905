libcallgate_supervisor_a_SOURCES += \
	supervisor/filter.h \
	supervisor/launch.h \
	supervisor/supervise.h \
	supervisor/trace.h
