/* Releases a reference to a JSON value at the end of a scope. Only for what is linked with jansson. */
#ifndef CALLGATE_BASE_CLEANUP_JSON_H
#define CALLGATE_BASE_CLEANUP_JSON_H

#include <jansson.h>

#define _cleanup_json_ __attribute__((cleanup(json_decrefp)))

#endif
