/* The groups that entries of a workspace by copying can have. */
#ifndef CALLGATE_VIEW_COPY_GROUPS_H
#define CALLGATE_VIEW_COPY_GROUPS_H

/*
 * File of the layer: the gid_map of the user namespace that the copy was made in. Entries of the directory with other
 * groups have the user's own in the copy (user_namespaces(7)).
 */
#define VIEW_GROUPS_NAME "groups"

#endif
