#include "cli/host/places.h"

#include <limits.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/cli.h"
#include "policy/paths/host-paths.h"

/* Whether one of the run's policies lets the program write to the host path. */
static bool places_path_is_writable(const struct writable_places *places, const char *host)
{
	for (size_t i = 0; i < PLACES_POLICIES_PER_RUN_MAX; i++)
		if (places->policy[i] && policy_host_path_is_writable(places->policy[i], host))
			return true;
	return false;
}

/* Whether the host path is below the working directory; the directory itself is not. */
static bool places_path_is_in_workdir(const struct writable_places *places, const char *host)
{
	const char *rest = places->workdir ? path_get_rest_below(host, places->workdir) : NULL;

	return rest && *rest;
}

/*
 * Whether a program that could have made the link could also write the file that the link leads to, so that the link
 * gives it nothing new. A link in the workdir that no program could have made may lead anywhere in the workdir.
 */
static bool places_link_widens_no_access(const struct writable_places *places, const char *link, const char *host)
{
	for (size_t i = 0; i < PLACES_POLICIES_PER_RUN_MAX; i++)
		if (places->policy[i] && policy_host_paths_are_writable(places->policy[i], link, host))
			return true;
	return !places_path_is_writable(places, link) && places_path_is_in_workdir(places, link) &&
	places_path_is_in_workdir(places, host);
}

/* Resolves the part of a path that exists, and appends the part that does not. Owned; NULL: no memory, or too long. */
static char *places_resolve_path(const struct writable_places *places, const char *path)
{
	_cleanup_free_ char *head = strdup(path);

	while (head) {
		_cleanup_free_ char *found = cli_resolve_real_path(places->path_cache, *head ? head : "/");
		const char *rest = path + strlen(head);
		char *slash = strrchr(head, '/');

		if (found && strcmp(found, "/") == 0 && rest[0] == '/')
			*found = '\0';
		if (found)
			return text_format("%s%s", found, rest);
		if (!*head || !slash) /* even "/" could not be resolved, or the relative path has no further parent */
			return NULL;
		*slash = '\0';
	}
	return NULL;
}

/* The judging whether the program could change where a path leads. */
struct places_judgement {
	const struct writable_places *places;
	enum places_path_use use;
	const char *path;
	char *host; /* owned: the host path that `path` leads to, set by places_resolve_judged_path() */
	bool ran_out_of_memory;
	char link[PATH_MAX]; /* the first symbolic link that is refused; "": none */
};

/* Resolves the path that is being judged, at the first call only. NULL: out of memory. */
static const char *places_resolve_judged_path(struct places_judgement *judging)
{
	if (!judging->host)
		judging->host = places_resolve_path(judging->places, judging->path);
	judging->ran_out_of_memory = !judging->host;
	return judging->host;
}

/*
 * Callback for each link of a path: keeps the first that a program may have made and that matters for the path's use.
 */
static void places_judge_link(void *ctx, const char *link)
{
	struct places_judgement *judging = ctx;
	const struct writable_places *places = judging->places;
	const char *host;

	if (judging->link[0] || !(places_path_is_writable(places, link) || places_path_is_in_workdir(places, link)))
		return;
	host = places_resolve_judged_path(judging);
	if (judging->use == PLACES_PATH_IS_GRANTED && host && places_link_widens_no_access(places, link, host))
		return;
	(void)snprintf(judging->link, sizeof(judging->link), "%s",
		       link); /* fits: real.c passes only paths shorter than PATH_MAX */
}

int places_judge_path(const struct writable_places *places, enum places_path_use use, const char *path, char **ret_path,
		 struct places_refusal *ret_why)
{
	_cleanup_free_ char *rooted = NULL, *host = NULL, *found = NULL;
	struct places_judgement judging = {.places = places, .use = use, .path = path};

	if (path[0] != '/') {
		rooted = text_format("./%s", path);
		judging.path = rooted;
	}
	if (judging.path)
		found = cli_resolve_real_path_noting_links(places->path_cache, judging.path, places_judge_link,
							   &judging);
	if (judging.path && use == PLACES_PATH_MUST_BE_TRUSTED)
		(void)places_resolve_judged_path(&judging);
	host = judging.host;
	if (!judging.path || judging.ran_out_of_memory)
		return places_refuse(ret_why, "cannot be resolved: %s", strerror(ENOMEM));
	if (judging.link[0] && use == PLACES_PATH_IS_GRANTED)
		return places_refuse(
			ret_why,
			"leads to %.440s by the symbolic link %.440s, which a run may have made; name that path "
			"instead, or remove the link",
			host, judging.link);
	if (judging.link[0])
		return places_refuse(
			ret_why,
			"is reached by the symbolic link %.440s, which a run may have made; name %.440s instead, or "
			"remove the link",
			judging.link, host);
	if (use == PLACES_PATH_MUST_BE_TRUSTED && places_path_is_writable(places, host))
		return places_refuse(ret_why,
				     "lies where a run may write, so that an earlier run, or what was applied of one, "
				     "may have made it; keep it elsewhere, or "
				     "deny %s to the program",
				     host);
	if (ret_path)
		*ret_path = steal_pointer(&found);
	return 0;
}
