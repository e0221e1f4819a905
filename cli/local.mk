bin_PROGRAMS += callgate
CALLGATE_SOURCES += \
	cli/account.c cli/account.h \
	cli/check.c cli/cli.h cli/host.c cli/host.h cli/interpreter.c cli/interpreter.h cli/main.c cli/managers.c cli/managers.h cli/options.c \
	cli/options.h cli/program.c cli/program.h cli/shim.c cli/shim.h cli/show.c cli/why-net.c cli/why-net.h cli/why.c \
	cli/places-command.c cli/places.c cli/places.h \
	cli/real.c cli/real.h \
	cli/run-options.c \
	cli/run-options.h \
	cli/inherited.c cli/inherited.h \
	cli/run.c cli/run-prepare.c cli/run-private.h cli/run-setup.c \
	cli/user.c \
	cli/user.h
CALLGATE_SOURCES += \
	cli/audit-lines.c \
	cli/audit-show.c \
	cli/audit-stats.c \
	cli/audit.c \
	cli/audit.h \
	cli/doctor-advice.c \
	cli/doctor-run.c \
	cli/doctor.c \
	cli/doctor.h
EXTRA_DIST += cli/README.md
