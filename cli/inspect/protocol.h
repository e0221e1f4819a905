/* Takes what a parser printed. A parser meets hostile text, and is believed nothing that it could not have found. */
#ifndef CALLGATE_CLI_INSPECT_PROTOCOL_H
#define CALLGATE_CLI_INSPECT_PROTOCOL_H

#include <stdint.h>

#include "cli/inspect/findings.h"

/*
 * Takes a parser's lines "LINE KIND WHAT", the last of which is "end COUNT". Each LINE is at most `lines`, how many the
 * file has; 0 stands for the whole file. KIND may also be "standard", an import of the language's own library; or
 * "command", something that a shell script runs, which is added to `commands`; or "local-import", the name of what may
 * be a file of the program, which is added to `imports`; or "unlisted": WHAT is a kind then, and LINE is how many
 * findings of that kind the parser has left out. WHAT is printable UTF-8. Imports outside of `allowed` become findings
 * of their own; NULL: everything may be imported.
 * 0; -EBADMSG: the output is not of this form, as that of a parser that was ended, and the lines before are taken; or
 * -ENOMEM.
 */
int inspect_take_output(const char *output, size_t len, uint32_t lines, const struct cli_list *allowed,
			struct inspect_findings *findings);

#endif
