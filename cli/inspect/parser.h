/* Runs the parsers of callgate inspect, each in a sandbox: callgate run, with the policies beside the parsers. */
#ifndef CALLGATE_CLI_INSPECT_PARSER_H
#define CALLGATE_CLI_INSPECT_PARSER_H

#include "cli/inspect/findings.h"
#include "cli/inspect/subject.h"

/*
 * Runs the parser for the subject's type, if it has one, and adds what it found. What it may import: as
 * inspect_take_output(). A parser that is missing or fails is a finding. 0; -ECANCELED: callgate run did not start it,
 * and a message was printed; or another -errno.
 */
int inspect_run_parser(const struct inspect_subject *subject, const struct cli_list *allowed,
		       struct inspect_findings *findings);

#endif
