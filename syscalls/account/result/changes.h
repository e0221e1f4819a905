/*
 * The changes that the run made in granted trees, for `changes` of the result. Keeps each touched path with the state
 * of its file before the first touch. Handlers touch paths; supervisor/report.c reports. All in the supervisor thread.
 */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_RESULT_CHANGES_H
#define CALLGATE_SYSCALLS_ACCOUNT_RESULT_CHANGES_H

#include "view/view.h"

struct changes;

enum change_kind { CHANGE_ADDED, CHANGE_MODIFIED, CHANGE_DELETED };

/* A changed file, as the result lists it. */
struct change {
	const char *path; /* virtual path of the file */
	enum change_kind kind;
	uint64_t size_bytes; /* size now; of a deleted file, its size before the run */
	char sha256[65];     /* "" for directories, links, special files, and files that exceed the limits of hashing */
};

#define CHANGES_TOUCHED_PATHS_MAX 500000 /* most paths that are kept; further ones are only counted */
/*
 * most bytes of all touched paths together, because the keeper holds the whole report in memory, with the paths escaped
 */
#define CHANGES_PATHS_BYTES_MAX (24u << 20)
#define CHANGES_LISTED_ENTRIES_MAX 200000 /* most entries of renamed directories that are listed */
/* most time for all listings of a run, because notifications wait meanwhile */
#define CHANGES_LISTING_TIME_MAX_NS 3000000000u
#define CHANGES_HASHED_FILE_BYTES_MAX (1ull << 30)  /* larger files are reported without a hash: they may be sparse */
#define CHANGES_HASHED_TOTAL_BYTES_MAX (4ull << 30) /* most bytes that a report hashes */
/*
 * most time that a report spends on hashing files, because the keeper waits for the report before it writes the result
 */
#define CHANGES_HASHING_TIME_MAX_NS UINT64_C(5000000000)

struct changes *changes_create(void);
void changes_free(struct changes *changes);

/*
 * To be called before each effect on a place (open for writing, unlink …). Cheap if the place was touched before. 0 or
 * -ENOMEM.
 */
int changes_add_touched_place(struct changes *changes, const struct place *place);
/* True when changes_add_touched_place() has kept this place. */
bool changes_has_touched_place(const struct changes *changes, const struct place *place);
/*
 * To be called right after a successful rename of two touched places. from_dir: the object that was at `from` is a
 * directory. to_dir: with RENAME_EXCHANGE, the object that was at `to` is a directory. A failure is counted as
 * unlisted.
 */
void changes_note_rename(struct changes *changes, const struct place *from, const struct place *to, bool from_dir,
			 bool to_dir);

/*
 * The number of touches beyond CHANGES_TOUCHED_PATHS_MAX, CHANGES_PATHS_BYTES_MAX, CHANGES_LISTED_ENTRIES_MAX or
 * CHANGES_LISTING_TIME_MAX_NS. Not 0: the report is incomplete.
 */
uint64_t changes_get_unlisted_count(const struct changes *changes);

/* Calls `each` for every changed path, in path order; the change is valid during the call. 0 or -errno. */
int changes_report(struct changes *changes, const struct view *view,
		   void (*each)(void *ctx, const struct change *change), void *ctx);

#endif
