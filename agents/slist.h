/* Singly linked lists of any structure. link: its member that points to the next entry; the last one has NULL there. */
#ifndef CALLGATE_AGENTS_SLIST_H
#define CALLGATE_AGENTS_SLIST_H

#include <stdbool.h>
#include <stddef.h>

/* Takes an entry out of the list that begins at the variable `head`. True: it was there. */
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

/* Puts an entry at the end of the list. */
#define slist_append(head, entry, link)                                                                                \
	do {                                                                                                           \
		__typeof__(head) *slist_at_ = &(head);                                                                 \
                                                                                                                       \
		while (*slist_at_)                                                                                     \
			slist_at_ = &(*slist_at_)->link;                                                               \
		*slist_at_ = (entry);                                                                                  \
		(entry)->link = NULL;                                                                                  \
	} while (0)

/* How many entries there are. */
#define slist_count(head, link)                                                                                        \
	({                                                                                                             \
		size_t slist_count_ = 0;                                                                               \
                                                                                                                       \
		for (__typeof__(&*(head)) slist_at_ = (head); slist_at_; slist_at_ = slist_at_->link)                  \
			slist_count_++;                                                                                \
		slist_count_;                                                                                          \
	})

#endif
