/* Computes the key of a question: a digest that is the same for two calls that ask the same question. */
#ifndef CALLGATE_SUPERVISOR_ASK_KEY_H
#define CALLGATE_SUPERVISOR_ASK_KEY_H

#include <nettle/sha2.h>
#include <stdbool.h>

#include "base/sha256.h"
#include "syscalls/call/call.h"

/*
 * The key of a judged call: which call, its registers, every byte of its paths and text, the names that they resolved
 * to, the rights that were judged, which object is at each name, and the endpoint. copied: the hash of what else was
 * copied from the target (call_effect_check.note_copied_bytes). False: out of memory.
 */
bool ask_key_compute(const struct call *call, const struct sha256_ctx *copied, char ret_key[SHA256_HEX_SIZE]);

/*
 * The scope of a judged call: what an answer for the whole run holds for. The object at the one name that the call
 * resolved to, that name, and the rights that were judged; by whichever call, and whichever program. "": the call has
 * two names, and only the call as a whole can be approved; of an exec the second name is that of a script's
 * interpreter, and belongs to the scope, as do the exec's directory and deciding variables. Of a connection: host, port
 * and protocol. False: out of memory.
 */
bool ask_key_compute_scope(const struct call *call, char ret_key[SHA256_HEX_SIZE]);

#endif
