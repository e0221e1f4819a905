#include "cli/audit/anchor.h"

#include <errno.h>
#include <string.h>

/* Reads the run's next checkpoint, and skips those about lines that were compared already. */
static int anchor_advance(struct anchor *anchor, uint64_t lines)
{
	int r;

	anchor->has_next = false;
	while ((r = checkpoint_read(anchor->file, anchor->key, &anchor->next)) == 1) {
		if (strcmp(anchor->next.run, anchor->run) != 0)
			continue;
		if (!anchor->next.is_signed) {
			anchor->forged = true;
			continue;
		}
		if (anchor->next.lines < lines)
			continue;
		anchor->has_next = true;
		return 0;
	}
	return r;
}

int anchor_open(struct anchor *anchor, const struct verify *verify, const uint8_t *key)
{
	if (!anchor->path)
		return 0;
	anchor->file = fopen(anchor->path, "re");
	if (!anchor->file)
		return -errno;
	memcpy(anchor->run, verify->run, sizeof(anchor->run));
	if (key)
		memcpy(anchor->key, key, sizeof(anchor->key));
	else if (signing_parse_public(verify->key_text, strlen(verify->key_text), anchor->key) < 0)
		return 0; /* without a key no checkpoint counts */
	return anchor_advance(anchor, 0);
}

int anchor_compare(struct anchor *anchor, struct verify *verify)
{
	int r = 0;

	while (r == 0 && anchor->has_next && !verify->is_broken && anchor->next.lines == verify->lines) {
		if (verify_last_line_has_hash(verify, anchor->next.head)) {
			anchor->lines = verify->lines;
			anchor->count++;
		} else if (anchor->rewritten.number == 0) {
			anchor->rewritten = verify->last_line.place;
		}
		r = anchor_advance(anchor, verify->lines);
	}
	return r;
}

void anchor_judge(const struct anchor *anchor, const struct verify *verify, struct verify_finding *finding)
{
	const struct verify_place nowhere = {0};

	if (anchor->rewritten.number > 0) {
		*finding = (struct verify_finding){.kind = VERIFY_REWRITTEN, .place = anchor->rewritten};
		return;
	}
	if (verify->is_broken && finding->kind != VERIFY_OPEN_END)
		return;
	if (anchor->has_next && anchor->next.lines > verify->lines)
		*finding = (struct verify_finding){.kind = VERIFY_TRUNCATED, .place = nowhere,
						   .first = verify->lines, .last = anchor->next.lines - 1};
	else if (anchor->forged && finding->kind == VERIFY_INTACT)
		*finding = (struct verify_finding){.kind = VERIFY_SIGNATURE, .place = nowhere};
}

void anchor_close(struct anchor *anchor)
{
	if (anchor->file)
		(void)fclose(anchor->file);
	*anchor = (struct anchor){.path = anchor->path};
}
