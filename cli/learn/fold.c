#include "cli/learn/fold.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cli/learn/groups.h"
#include "cli/learn/rules.h"
#include "cli/learn/singles.h"

/* Collects the needs for which a rule is to be made. Those whose path cannot be granted are reported or left out. */
static int fold_collect_items(struct fold *fold, const struct unmet_need *unmet, size_t count)
{
	bool done = false;
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		const struct need *need = unmet[i].need;

		r = rules_reject_inexpressible_path(fold, &unmet[i], &done);
		if (r == 0 && !done)
			r = rules_leave_out_if_tier_forbids(fold, &unmet[i], &done);
		if (r == 0 && !done)
			fold->items[fold->item_count++] = (struct fold_item){
				.unmet = &unmet[i], .grant_path = rules_get_grant_path(fold->context, need)};
	}
	return r;
}

/* Whether the needed path is a directory on the host now. */
static bool fold_item_is_directory(const struct fold *fold, const struct fold_item *item)
{
	char host[PATH_MAX];
	struct stat status;

	rules_get_host_path(fold->context, item->unmet->need->path, host);
	return stat(host, &status) == 0 && S_ISDIR(status.st_mode);
}

int fold_add_rules_for_unmet_needs(struct draft *draft, const struct needs *needs, const struct packages *packages,
				   const struct fold_context *context, const struct unmet_need *unmet, size_t count,
				   bool directories)
{
	struct fold fold = {.draft = draft,
			    .needs = needs,
			    .packages = packages,
			    .context = context,
			    .items = calloc(count + 1, sizeof(*fold.items))};
	int r = fold.items ? fold_collect_items(&fold, unmet, count) : -ENOMEM;

	for (size_t i = 0; i < fold.item_count; i++) /* directories and links do not become members of groups */
		fold.items[i].is_granted =
			fold.items[i].unmet->is_link_itself || fold_item_is_directory(&fold, &fold.items[i]);
	if (r == 0)
		r = groups_merge_paths_by_directory(&fold);
	if (r == 0)
		r = groups_merge_numbered_paths(&fold);
	if (r == 0)
		r = groups_merge_paths_by_suffix(&fold);
	for (size_t i = 0; r == 0 && i < fold.item_count; i++)
		if (!fold.items[i].is_granted || fold.items[i].unmet->is_link_itself ||
		    fold_item_is_directory(&fold, &fold.items[i]))
			r = singles_add_rule(&fold, &fold.items[i], directories);
	for (size_t i = 0; i < fold.item_count; i++)
		free(fold.items[i].group_key);
	free(fold.items);
	return r;
}
