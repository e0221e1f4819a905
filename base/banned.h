/*
 * Functions without bounds or error reports are errors. The Makefile includes this first in every .c file (-include).
 * So the headers that declare the functions come before they are poisoned, and no file needs to include them again.
 */
#ifndef CALLGATE_BASE_BANNED_H
#define CALLGATE_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* With clang these are macros of glibc's fortification, which cannot be poisoned. */
#undef sprintf
#undef vsprintf

#pragma GCC poison strcpy strcat sprintf vsprintf strtok atoi atol gets

#endif
