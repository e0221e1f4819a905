/* Functions whose bounds or errors cannot be seen at the call. Included last by every .c file. */
#ifndef CALLGATE_BASE_BANNED_H
#define CALLGATE_BASE_BANNED_H

/* With clang, glibc's fortified versions are macros, which it would not poison. */
#undef sprintf
#undef vsprintf

#pragma GCC poison strcpy strcat sprintf vsprintf strtok atoi atol gets

#endif
