libcallgate_syscalls_a_SOURCES += \
	syscalls/call.h \
	syscalls/changes.h \
	syscalls/decode.h \
	syscalls/denials.h \
	syscalls/exec.h \
	syscalls/file.h \
	syscalls/guest.h \
	syscalls/table.h \
	syscalls/tree.h \
	syscalls/view.h
# The table and the calls without a path.
libcallgate_syscalls_a_SOURCES += \
	syscalls/handlers.h \
	syscalls/numbers.h \
	syscalls/syscalls.def \
	syscalls/table.c
