libcallgate_syscalls_a_SOURCES += \
	syscalls/call-record.c \
	syscalls/call-record.h \
	syscalls/call.c \
	syscalls/call.h \
	syscalls/changes.h \
	syscalls/decode.c \
	syscalls/decode.h \
	syscalls/denials.h \
	syscalls/exec.h \
	syscalls/file-fd.c \
	syscalls/file.c \
	syscalls/file.h \
	syscalls/filter-terms.c \
	syscalls/guest.c \
	syscalls/guest.h \
	syscalls/handlers.h \
	syscalls/numbers.h \
	syscalls/proc.c \
	syscalls/syscalls.def \
	syscalls/table.c \
	syscalls/table.h \
	syscalls/tree.c \
	syscalls/tree.h \
	syscalls/view-build.c \
	syscalls/view-judge.c \
	syscalls/view-listing.c \
	syscalls/view-name.c \
	syscalls/view-private.h \
	syscalls/view-walk.c \
	syscalls/view.c \
	syscalls/view.h
# Calls without a path, and the architectures.
libcallgate_syscalls_a_SOURCES += \
	syscalls/arch.c syscalls/arch.h \
	syscalls/arch-aarch64.c \
	syscalls/arch-x86_64.c
