/* Judges what an ELF file tells its loader: the loader itself, search paths, and where libraries would come from. */
#ifndef CALLGATE_CLI_INSPECT_LOADER_H
#define CALLGATE_CLI_INSPECT_LOADER_H

#include "cli/inspect/findings.h"
#include "cli/inspect/subject.h"

/*
 * Goes through the findings of an ELF file. Adds to each needed library the path that the loader would find, or makes a
 * finding of a missing one; makes findings of search paths that others can write to, of loaders that are not the
 * system's, and of set-id bits of the file. 0 or -ENOMEM.
 */
int inspect_judge_loading(const struct inspect_subject *subject, struct inspect_findings *findings);

#endif
