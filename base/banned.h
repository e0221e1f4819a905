/* Functions without bounds or error reports are errors. Included last by every .c file. */
#ifndef CALLGATE_BASE_BANNED_H
#define CALLGATE_BASE_BANNED_H

/* With clang these are macros of glibc's fortification, which cannot be poisoned. */
#undef sprintf
#undef vsprintf

#pragma GCC poison strcpy strcat sprintf vsprintf strtok atoi atol gets

#endif
