# The program is built once cli/main.c is listed: "bin_PROGRAMS += callgate" and "callgate_SOURCES += cli/main.c ...".
