/*
 * The files of a conflict, written beside the one that callgate ws apply does not touch: NAME.base, NAME.ours and
 * NAME.theirs. Each appears in one step, wholly, under a name that nothing has.
 */
#ifndef CALLGATE_WORKSPACE_BESIDE_H
#define CALLGATE_WORKSPACE_BESIDE_H

#include <limits.h>

#include "workspace/changes.h"

#define BESIDE_FILE_BYTES_MAX (64u << 20) /* a larger file is written only where the file system can clone it */
#define BESIDE_NUMBERS_MAX 9              /* NAME.base, NAME.base.2 to NAME.base.9 */

/*
 * Copies the regular file from_fd, open with O_PATH, beside the path of a change, as NAME.WORD; if something else has
 * that name there or in the layer, as NAME.WORD.2 and so on. A file with the same content, which an earlier apply has
 * made, is taken as it is. Its mode has what both files of the change allow, without set-id bits. Its owner is that of
 * both files; if they have not one, it is the caller's, and no other user may read it. word: "base", "ours" (the
 * directory's file) or "theirs". temporary: of place_format_name(), what place_remove_temporary() removes after a
 * crash.
 *
 * 0, and ret_name is its name; -EINVAL: it is no regular file; -EFBIG: it is too large; -ENAMETOOLONG: the name would
 * be; -EEXIST: all names are taken; -EBUSY: an entry is called `temporary`; or -errno. Then nothing was written.
 */
int workspace_write_beside(const struct workspace_layer *layer, const struct workspace_change *change, const char *word,
			   int from_fd, const char *temporary, char ret_name[NAME_MAX + 1]);

#endif
