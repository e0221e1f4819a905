/*
 * Writes paths into rules so that a rule means one path. In a rule's path "*" is a glob, which has no escape character,
 * and "${" begins a variable. Names are chosen by programs: without this, a rule that callgate shows or makes for a
 * file would open others.
 */
#ifndef CALLGATE_POLICY_PATHS_LITERAL_H
#define CALLGATE_POLICY_PATHS_LITERAL_H

#define LITERAL_REASON_NONE "no rule permits just this: its name would mean something else there"

/* Returns why no rule can mean just this path. Static; NULL: literal_write() makes such a rule's path. */
const char *literal_find_objection(const char *path);

/*
 * Writes a path as a rule has it, with every "${" as "$${". top: how the path begins and is not to be escaped, such as
 * "@workdir"; a slash is put between it and `tail`. Owned by the caller; NULL: no memory.
 */
char *literal_write(const char *top, const char *tail);

#endif
