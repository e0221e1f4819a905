/* Reads the metadata of Python's packages: METADATA, PKG-INFO, RECORD, requires.txt … Pure: texts only. */
#ifndef CALLGATE_CLI_LIBRARIES_METADATA_H
#define CALLGATE_CLI_LIBRARIES_METADATA_H

#include "cli/libraries/package.h"

/* A name as PEP 503 compares it: in lower case, with one "-" for each run of "-", "_" and ".". */
char *metadata_normalise_name(struct arena *arena, const char *name, size_t len);

/* Reads METADATA or PKG-INFO: Name, Version, Requires-Dist. python: "3.11", for markers; NULL: unknown. */
void metadata_read_headers(struct packages *packages, struct package *package, const char *text, const char *python);

/* Reads requires.txt of an egg-info: all but what belongs to an extra. */
void metadata_read_requires(struct packages *packages, struct package *package, const char *text, const char *python);

/* Reads RECORD: the first column is a path relative to the site. */
void metadata_read_record(struct packages *packages, struct package *package, const char *text);

/* Reads installed-files.txt: one path a line, relative to the directory of the metadata. */
void metadata_read_installed_files(struct packages *packages, struct package *package, const char *text);

/* Reads top_level.txt: names of modules, of which it is unknown what kind of file they are. */
void metadata_read_top_level(struct packages *packages, struct package *package, const char *text);

/*
 * Whether a marker such as 'extra == "test"' or 'python_version < "3.8"' is plainly false here: it asks for an extra,
 * for another system, or for another version of Python. Comparisons with anything else never are.
 */
bool metadata_marker_is_false(const char *marker, size_t len, const char *python);

#endif
