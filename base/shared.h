/*
 * callgate is two programs of the same objects. `callgate` is linked statically: without a loader, its libraries' mappings
 * and their symbols a run starts half a millisecond sooner. `callgate-shared` is linked with shared libraries and can do
 * what a static program cannot: load the module of the network (base/module.h) and ask the name service of the C library
 * (cli/account.h). A `callgate` that finds it needs these becomes the other one, by exec with the arguments it was given.
 * Where there are no static libraries to link with, or with configure --disable-static-start, there is one program, with
 * shared ones.
 */
#ifndef CALLGATE_BASE_SHARED_H
#define CALLGATE_BASE_SHARED_H

/* What main was given, before anything changes their order. The strings are borrowed until the end. */
void shared_program_arguments(int argc, char **argv);

/* What is undone before the exec, which begins everything anew; NULL: nothing. */
void shared_program_undo(void (*undo)(void *ctx), void *ctx);

/* From now on too much has been done to begin anew: a program that is not the one with shared libraries stays so. */
void shared_program_settled(void);

/*
 * Makes sure that this is the program with shared libraries. It may not return: then everything begins anew. 0: it is.
 * -errno: it is not and cannot be, though `undo` may have been called; *ret_why (static) says why, to follow a name.
 * Nothing that cannot be read a second time (a pipe) may have been read before.
 */
int shared_program(const char **ret_why);

#endif
