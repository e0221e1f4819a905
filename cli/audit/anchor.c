#include "cli/audit/anchor.h"

#include <errno.h>
#include <string.h>

/* Reads the run's next checkpoint, and skips those about lines that were compared already. */
static int anchor_read_next_of_run(struct anchor_check *anchor, uint64_t lines)
{
	int r;

	anchor->has_next_checkpoint = false;
	while ((r = checkpoint_read(anchor->file, anchor->key, &anchor->next_checkpoint)) == 1) {
		if (strcmp(anchor->next_checkpoint.run, anchor->run) != 0)
			continue;
		if (!anchor->next_checkpoint.is_signed) {
			anchor->has_forged_checkpoint = true;
			continue;
		}
		if (anchor->next_checkpoint.line_count < lines)
			continue;
		anchor->has_next_checkpoint = true;
		return 0;
	}
	return r;
}

int anchor_open(struct anchor_check *anchor, const struct verify *verify, const uint8_t *key)
{
	if (!anchor->checkpoints_path)
		return 0;
	anchor->file = fopen(anchor->checkpoints_path, "re");
	if (!anchor->file)
		return -errno;
	memcpy(anchor->run, verify->run, sizeof(anchor->run));
	if (key)
		memcpy(anchor->key, key, sizeof(anchor->key));
	else if (signing_parse_public(verify->header_key_text, strlen(verify->header_key_text), anchor->key) < 0)
		return 0; /* without a key no checkpoint can be verified */
	return anchor_read_next_of_run(anchor, 0);
}

int anchor_compare_last_line(struct anchor_check *anchor, struct verify *verify)
{
	int r = 0;

	while (r == 0 && anchor->has_next_checkpoint && !verify->is_broken &&
	       anchor->next_checkpoint.line_count == verify->lines) {
		if (verify_last_line_has_hash(verify, anchor->next_checkpoint.head_hash)) {
			anchor->agreed_lines = verify->lines;
			anchor->agreed_count++;
		} else if (anchor->rewritten_line.line_number == 0) {
			anchor->rewritten_line = verify->last_line.place;
		}
		r = anchor_read_next_of_run(anchor, verify->lines);
	}
	return r;
}

void anchor_apply_to_finding(const struct anchor_check *anchor, const struct verify *verify,
			     struct verify_finding *finding)
{
	const struct verify_place nowhere = {0};

	if (anchor->rewritten_line.line_number > 0) {
		*finding = (struct verify_finding){.kind = VERIFY_REWRITTEN, .place = anchor->rewritten_line};
		return;
	}
	if (verify->is_broken && finding->kind != VERIFY_NO_TRAILER)
		return;
	if (anchor->has_next_checkpoint && anchor->next_checkpoint.line_count > verify->lines)
		*finding = (struct verify_finding){.kind = VERIFY_TRUNCATED,
						   .place = nowhere,
						   .first = verify->lines,
						   .last = anchor->next_checkpoint.line_count - 1};
	else if (anchor->has_forged_checkpoint && finding->kind == VERIFY_INTACT)
		*finding = (struct verify_finding){.kind = VERIFY_BAD_SIGNATURE, .place = nowhere};
}

/* Closes the file of checkpoints, and forgets what was compared. */
void anchor_close(struct anchor_check *anchor)
{
	if (anchor->file)
		(void)fclose(anchor->file);
	*anchor = (struct anchor_check){.checkpoints_path = anchor->checkpoints_path};
}
