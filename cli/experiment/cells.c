#include "cli/experiment/cells.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "config.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/experiment/digest.h"

/* Digests of a plan's programs, inputs and policies. Each is computed once, because many cells share it. */
struct plan_digests {
	char (*program)[SHA256_HEX_SIZE], (*input)[SHA256_HEX_SIZE], (*policy)[SHA256_HEX_SIZE];
};

static void plan_digests_release(struct plan_digests *parts)
{
	free(parts->program);
	free(parts->input);
	free(parts->policy);
}

/* Adds the texts of a list, each ended by a NUL, so that no two different lists give the same bytes. */
static void cell_add_list_texts(struct buf *out, const struct cli_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		buf_add(out, list->item[i], strlen(list->item[i]) + 1);
}

/* Computes the digest of the collected text and releases the text. 0, `error` if it is not 0, or -ENOMEM. */
static int plan_finish_digest(struct buf *text, int error, char ret_digest[SHA256_HEX_SIZE])
{
	if (error == 0 && text->failed)
		error = -ENOMEM;
	if (error == 0)
		sha256_hash_bytes(text->data ? text->data : "", text->len, ret_digest);
	buf_release(text);
	return error;
}

/* The digest of a program: its command, and the content of its working directory. 0 or -errno. */
static int plan_hash_program(const struct plan_program *program, char ret_digest[SHA256_HEX_SIZE])
{
	struct buf text = {0};

	cell_add_list_texts(&text, &program->command);
	return plan_finish_digest(&text, program->workdir ? digest_add_tree(&text, program->workdir) : 0, ret_digest);
}

/* The digest of an input: the file, its name, and the file for stdin. 0 or -errno. */
static int plan_hash_input(const struct plan_input *input, char ret_digest[SHA256_HEX_SIZE])
{
	struct buf text = {0};
	int r = 0;

	if (input->file) {
		/* the file's name is in the digest, because the program sees it */
		buf_puts(&text, strrchr(input->file, '/'));
		r = digest_add_tree(&text, input->file);
	}
	if (r == 0 && input->stdin_file) {
		buf_add(&text, "", 1);
		r = digest_add_tree(&text, input->stdin_file);
	}
	return plan_finish_digest(&text, r, ret_digest);
}

/* The digest of what a policy's options name. 0 or -errno. */
static int plan_hash_policy(const struct plan_policy *policy, char ret_digest[SHA256_HEX_SIZE])
{
	struct buf text = {0};

	return plan_finish_digest(&text, digest_add_policy(&text, &policy->options), ret_digest);
}

/* Computes the digest of each program, input and policy of the plan. 0 or -errno. */
static int plan_digests_create(const struct plan *plan, struct plan_digests *ret_parts)
{
	int r = 0;

	ret_parts->program = calloc(plan->program_count, SHA256_HEX_SIZE);
	ret_parts->input = calloc(plan->input_count, SHA256_HEX_SIZE);
	ret_parts->policy = calloc(plan->policy_count, SHA256_HEX_SIZE);
	if (!ret_parts->program || !ret_parts->input || !ret_parts->policy)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < plan->program_count; i++)
		r = plan_hash_program(&plan->programs[i], ret_parts->program[i]);
	for (size_t i = 0; r == 0 && i < plan->input_count; i++)
		r = plan_hash_input(&plan->inputs[i], ret_parts->input[i]);
	for (size_t i = 0; r == 0 && i < plan->policy_count; i++)
		r = plan_hash_policy(&plan->policies[i], ret_parts->policy[i]);
	return r;
}

uint64_t cell_get_seed(const struct plan *plan, const struct cell *cell)
{
	return plan->seed + cell->repetition - 1;
}

/*
 * Computes the digest of a cell. The digest covers the names, because the row contains them, and the version of
 * callgate, because another version may decide otherwise.
 */
static int cell_compute_digest(const struct plan *plan, const struct plan_digests *parts, struct cell *cell)
{
	_cleanup_free_ char *text =
		text_format("%s\n%s\n%s\n%s\n%s\n%s\n%s\n%u\n%llu\n", PACKAGE_VERSION, cell->program->name,
			    cell->input->name, cell->policy->name, parts->program[cell->program - plan->programs],
			    parts->input[cell->input - plan->inputs], parts->policy[cell->policy - plan->policies],
			    cell->repetition, (unsigned long long)cell_get_seed(plan, cell));

	if (!text)
		return -ENOMEM;
	sha256_hash_bytes(text, strlen(text), cell->digest);
	return 0;
}

/* Fills in the cells of all combinations of programs, inputs, policies and repetitions, each with its digest. */
static int cells_set_parts_and_digests(const struct plan *plan, const struct plan_digests *parts, struct cell *cell)
{
	size_t count = plan->program_count * plan->input_count * plan->policy_count * plan->repetitions;
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		size_t at = i / plan->repetitions;

		cell[i].index = i;
		cell[i].repetition = (unsigned)(i % plan->repetitions) + 1;
		cell[i].policy = &plan->policies[at % plan->policy_count];
		at /= plan->policy_count;
		cell[i].input = &plan->inputs[at % plan->input_count];
		cell[i].program = &plan->programs[at / plan->input_count];
		r = cell_compute_digest(plan, parts, &cell[i]);
	}
	return r;
}

#define EXPERIMENT_CELLS_MAX 1000000u

struct cell *cells_create(const struct plan *plan, size_t *ret_count)
{
	size_t count = plan->program_count * plan->input_count * plan->policy_count * plan->repetitions;
	struct cell *cells = count <= EXPERIMENT_CELLS_MAX ? calloc(count, sizeof(*cells)) : NULL;
	struct plan_digests parts = {0};
	int r = cells ? plan_digests_create(plan, &parts) : -ENOMEM;

	if (r == 0)
		r = cells_set_parts_and_digests(plan, &parts, cells);
	plan_digests_release(&parts);
	*ret_count = count;
	if (r == 0)
		return cells;
	if (count > EXPERIMENT_CELLS_MAX)
		cli_print_error("experiment", "the plan has %zu cells, more than %u; split it", count,
				EXPERIMENT_CELLS_MAX);
	else if (r == -ENOMEM)
		(void)cli_fail_no_memory("experiment");
	free(cells);
	return NULL;
}

/* ---- expanding the command line ---- */

/* Replaces each "{NAME}" in the text by the value of NAME. Owned by the caller; NULL: no memory. */
static char *cell_replace_placeholders(const char *text, const char *const (*values)[2])
{
	struct buf out = {0};

	while (*text) {
		const char *const (*value)[2] = values;

		while ((*value)[0] && strncmp(text, (*value)[0], strlen((*value)[0])) != 0)
			value++;
		if ((*value)[0])
			buf_puts(&out, (*value)[1]);
		else
			buf_add(&out, text, 1);
		text += (*value)[0] ? strlen((*value)[0]) : 1;
	}
	buf_add(&out, "", 0);
	return buf_take_text(&out);
}

int cell_expand_command(const struct plan *plan, const struct cell *cell, struct cli_list *ret_command)
{
	const char *slash = cell->input->file ? strrchr(cell->input->file, '/') : NULL;
	char seed[24], repetition[12];
	const char *const values[][2] = {{"{input}", slash ? slash + 1 : ""}, {"{seed}", seed},
					 {"{repetition}", repetition}, {NULL, NULL}};
	int r = 0;

	(void)snprintf(seed, sizeof(seed), "%llu", (unsigned long long)cell_get_seed(plan, cell));
	(void)snprintf(repetition, sizeof(repetition), "%u", cell->repetition);
	for (size_t i = 0; r == 0 && i < cell->program->command.count; i++)
		r = cli_list_add_owned(ret_command, cell_replace_placeholders(cell->program->command.item[i], values));
	return r;
}

/* ---- making the row of a cell's results ---- */

/*
 * Counts the denials by each rule, from the list of denials in a run's result. A denial without a rule counts as "(no
 * rule)".
 */
static json_t *row_count_denials(const json_t *denials, json_int_t *ret_total)
{
	json_t *by_rule = json_object(), *denial;
	size_t i;

	*ret_total = 0;
	json_array_foreach(denials, i, denial) {
		const char *rule = json_string_value(json_object_get(denial, "rule"));
		json_int_t count = json_integer_value(json_object_get(denial, "count"));
		json_int_t before = json_integer_value(json_object_get(by_rule, rule ? rule : "(no rule)"));

		(void)json_object_set_new(by_rule, rule ? rule : "(no rule)", json_integer(before + count));
		*ret_total += count;
	}
	return by_rule;
}

/* The sum of the bytes of all the run's connections, in one direction. */
static json_int_t row_sum_bytes(const json_t *network, const char *key)
{
	json_int_t sum = 0;
	json_t *endpoint;
	size_t i;

	json_array_foreach(network, i, endpoint) {
		sum += json_integer_value(json_object_get(endpoint, key));
	}
	return sum;
}

/* The measured values of a run: times, memory and number of calls. */
static json_t *row_make_measured_values(const json_t *result)
{
	const json_t *usage = json_object_get(result, "usage");
	json_int_t cpu_ms = json_integer_value(json_object_get(usage, "cpu_user_ms")) +
			    json_integer_value(json_object_get(usage, "cpu_sys_ms"));

	return json_pack("{s:O?, s:I, s:O?, s:O?}", "time_ms", json_object_get(result, "duration_ms"), "cpu_ms", cpu_ms,
			 "memory_bytes", json_object_get(usage, "max_rss_bytes"), "calls",
			 json_object_get(json_object_get(result, "calls"), "judged"));
}

json_t *cell_make_row(const struct plan *plan, const struct cell *cell, const json_t *result)
{
	json_t *network = json_object_get(result, "network"), *error = json_object_get(result, "error");
	json_int_t denials;
	json_t *by_rule = row_count_denials(json_object_get(result, "denials"), &denials);

	return json_pack(
		"{s:s, s:I, s:s, s:s, s:s, s:i, s:I, s:O?, s:O?, s:O?, s:O?, s:I, s:o, s:I, s:I, s:I, s:O?, s:O?, s:o}",
		"cell", cell->digest, "index", (json_int_t)cell->index, "program", cell->program->name, "input",
		cell->input->name, "policy", cell->policy->name, "repetition", (int)cell->repetition, "seed",
		(json_int_t)cell_get_seed(plan, cell), "status", json_object_get(result, "status"), "exit_code",
		json_object_get(result, "exit_code"), "signal", json_object_get(result, "signal"), "error",
		json_object_get(error, "code"), "denials", denials, "denials_by_rule", by_rule, "changes",
		(json_int_t)json_array_size(json_object_get(result, "changes")), "bytes_up",
		row_sum_bytes(network, "bytes_up"), "bytes_down", row_sum_bytes(network, "bytes_down"), "stdout_bytes",
		json_object_get(result, "stdout_bytes"), "stderr_bytes", json_object_get(result, "stderr_bytes"),
		"measured", row_make_measured_values(result));
}
