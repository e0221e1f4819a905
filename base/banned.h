/*
 * Makes functions without bounds checks or error reports a compile-time error. The Makefile includes this file before
 * every .c file (-include), so that the headers below declare the functions before their names are poisoned.
 */
#ifndef CALLGATE_BASE_BANNED_H
#define CALLGATE_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* With clang, glibc defines these two as macros (_FORTIFY_SOURCE), and a macro cannot be poisoned. */
#undef sprintf
#undef vsprintf

#pragma GCC poison strcpy strcat sprintf vsprintf strtok atoi atol gets

#endif
