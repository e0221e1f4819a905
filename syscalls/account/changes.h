/*
 * What the run did to granted trees: each touched path with its state before the first touch. For `changes` of the
 * result.
 */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_CHANGES_H
#define CALLGATE_SYSCALLS_ACCOUNT_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "view/view.h"

struct changes;

enum change_kind { CHANGE_ADDED, CHANGE_MODIFIED, CHANGE_DELETED };

struct change {
	const char *path; /* virtual */
	enum change_kind kind;
	uint64_t size_bytes; /* now; before, when deleted */
	char sha256[65]; /* "" for directories, links and special files, and past CHANGES_HASH_FILE_BYTES */
};

#define CHANGES_MAX 500000       /* paths kept; further ones are only counted */
#define CHANGES_BYTES_MAX (24u << 20) /* of their texts; the report, which the keeper must hold, escapes them */
#define CHANGES_TREE_MAX 200000  /* entries of renamed directories that are listed at once */
#define CHANGES_TREE_NS 3000000000u /* and the time for all of a run's: nothing else is answered meanwhile */
#define CHANGES_HASH_FILE_BYTES (1ull << 30)  /* a file past it is reported without its hash: it may be sparse */
#define CHANGES_HASH_TOTAL_BYTES (4ull << 30) /* of one report */
#define CHANGES_HASH_NS UINT64_C(5000000000)  /* likewise: the keeper's patience after a timeout is twice that */

struct changes *changes_create(void);
void changes_free(struct changes *changes);

/*
 * To be called before the first effect on this place (create, open for writing, unlink, rename …). Cheap when seen
 * already. Places that are not reported (private scratch space, /proc, /dev, provided files) are 0 at once. 0 or
 * -ENOMEM.
 */
int changes_touch(struct changes *changes, const struct place *place);
/*
 * To be called right after a successful rename of two touched places: from_dir, to_dir tell which of the objects that
 * moved (the second one only by RENAME_EXCHANGE) are directories. Lists nothing; what it cannot remember is counted as
 * unlisted.
 */
void changes_moved(struct changes *changes, const struct place *from, const struct place *to, bool from_dir, bool to_dir);

/*
 * How many touches found no room or time (CHANGES_MAX, _BYTES_MAX, _TREE_MAX, _TREE_NS): not 0: the report is
 * incomplete.
 */
uint64_t changes_unlisted(const struct changes *changes);

/* Compares with the present and calls `each` in path order; the change is valid during the call. 0 or -errno. */
int changes_report(struct changes *changes, const struct view *view, void (*each)(void *ctx, const struct change *change),
		   void *ctx);

#endif
