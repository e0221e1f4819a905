libcallgate_approval_a_SOURCES += \
	approval/approver.c \
	approval/approver.h \
	approval/front.c \
	approval/message.h \
	approval/private.h \
	approval/remembered.c \
	approval/remembered.h \
	approval/show.c \
	approval/show.h \
	approval/terminal.c
EXTRA_DIST += approval/README.md
