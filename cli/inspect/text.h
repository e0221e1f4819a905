/* Looks at the bytes of any text: characters that deceive readers, and secrets. */
#ifndef CALLGATE_CLI_INSPECT_TEXT_H
#define CALLGATE_CLI_INSPECT_TEXT_H

#include <stddef.h>

#include "cli/inspect/findings.h"

/*
 * Finds control, invisible and bidirectional characters. The latter make a text look like another one on the screen
 * (CVE-2021-42574, "Trojan Source"). 0 or -ENOMEM.
 */
int inspect_text_find_characters(const char *text, size_t len, struct inspect_findings *findings);

/*
 * Finds tokens by their well-known beginnings, headers of private keys, and random values that are assigned to names
 * such as "password". What is found does not repeat the secret. 0 or -ENOMEM.
 */
int inspect_text_find_secrets(const char *text, size_t len, struct inspect_findings *findings);

#endif
