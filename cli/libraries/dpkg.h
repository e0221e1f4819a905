/* What dpkg knows of packages of a language: Debian's metadata of Python packages has often neither files nor needs. */
#ifndef CALLGATE_CLI_LIBRARIES_DPKG_H
#define CALLGATE_CLI_LIBRARIES_DPKG_H

#include "cli/libraries/package.h"

#define DPKG_DIR "/var/lib/dpkg"

/*
 * For each package of the site, without a list of files, whose metadata belongs to a Debian package: adds the files
 * that this has in the site. dpkg_dir: DPKG_DIR, or in tests another directory.
 */
void dpkg_add_files(struct packages *packages, size_t site, const char *dpkg_dir);

/* For each package that belongs to a Debian package: adds those whose Debian packages that one depends on. */
void dpkg_add_needs(struct packages *packages, const char *dpkg_dir);

#endif
