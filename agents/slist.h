/* Singly linked lists of any structure. `link` is the member that points to the next entry, NULL in the last one. */
#ifndef CALLGATE_AGENTS_SLIST_H
#define CALLGATE_AGENTS_SLIST_H

#include <stdbool.h>
#include <stddef.h>

/* Removes an entry from the list whose first entry is in the variable `head`. True: the entry was in the list. */
#define slist_remove(head, entry, link)                                                                                \
	({                                                                                                             \
		__typeof__(head) *slist_at_ = &(head);                                                                 \
		bool slist_is_there_;                                                                                  \
                                                                                                                       \
		while (*slist_at_ && *slist_at_ != (entry))                                                            \
			slist_at_ = &(*slist_at_)->link;                                                               \
		slist_is_there_ = *slist_at_ != NULL;                                                                  \
		if (slist_is_there_)                                                                                   \
			*slist_at_ = (entry)->link;                                                                    \
		slist_is_there_;                                                                                       \
	})

/* Adds an entry at the end of the list whose first entry is in the variable `head`. */
#define slist_append(head, entry, link)                                                                                \
	do {                                                                                                           \
		__typeof__(head) *slist_at_ = &(head);                                                                 \
                                                                                                                       \
		while (*slist_at_)                                                                                     \
			slist_at_ = &(*slist_at_)->link;                                                               \
		*slist_at_ = (entry);                                                                                  \
		(entry)->link = NULL;                                                                                  \
	} while (0)

/* Returns the number of entries of a list. */
#define slist_count(head, link)                                                                                        \
	({                                                                                                             \
		size_t slist_count_ = 0;                                                                               \
                                                                                                                       \
		for (__typeof__(&*(head)) slist_at_ = (head); slist_at_; slist_at_ = slist_at_->link)                  \
			slist_count_++;                                                                                \
		slist_count_;                                                                                          \
	})

#endif
