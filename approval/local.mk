libcallgate_approval_a_SOURCES += \
	approval/approver.c \
	approval/approver.h \
	approval/front-command.c \
	approval/front-socket.c \
	approval/front-terminal.c \
	approval/message.h \
	approval/output.c \
	approval/private.h \
	approval/questions.c \
	approval/remembered.c \
	approval/remembered.h \
	approval/show.c \
	approval/show.h
EXTRA_DIST += approval/README.md
