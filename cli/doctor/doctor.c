/* callgate doctor: reports which sandbox layers this machine offers, which a run has, and how to get the others. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/doctor/doctor.h"
#include "cli/options.h"
#include "config.h"
#include "supervisor/report.h"

#define DOCTOR_SCHEMA "callgate-doctor/1"
#define DOCTOR_EXIT_RUN_FAILS 1 /* exit status: no run works here */

/* All that `callgate doctor` has found and advises. */
struct diagnosis {
	struct doctor *doctor;
	struct doctor_run run;
	json_t *advice;
	bool run_works; /* the real run succeeded or, if it was not tried, every run's requirements are met */
	/* LAYER_BITs of the real run or, if it failed, of the layers expected by the trials */
	unsigned active_or_expected_layers;
	unsigned layers_contradicted_by_run; /* LAYER_BITs that differ between the real run and the trials */
};

static int doctor_parse_options(int argc, char **argv, bool *ret_json)
{
	static const struct cli_option table[] = {CLI_FLAG("json", 0, "one JSON object", 0), {0}};
	_cleanup_buf_ struct buf layers = {0};
	struct cli_syntax syntax = {
		.verb = "doctor",
		.usage = "Usage: callgate doctor [--json]\n\n"
			 "Tries every feature of the machine that callgate uses, and makes one run. Reports what\n"
			 "works, which layers a run has here, and how to get the others. Leaves nothing behind.\n\n",
		.table = {{NULL, table, ret_json}},
	};

	buf_puts(&layers, "\nLayers:");
	for (enum layer layer = 0; layer < LAYER_OFFERED_BY_MACHINE_MAX; layer++)
		buf_printf(&layers, "%s%s", layer == LAYER_OFFERED_BY_MACHINE_MAX / 2 ? "\n        " : " ",
			   layer_get_name(layer));
	buf_puts(&layers, "\n\nExit status: 0 when runs work here, 1 when not, 125 error.\n");
	syntax.epilogue = layers.data;
	return cli_parse_options(argc, argv, &syntax);
}

/* Examines the machine by all trials and by a run, compares both, and makes the advice. 0 or -errno. */
static int doctor_make_diagnosis(struct diagnosis *diagnosis)
{
	struct doctor *doctor = doctor_run_all_trials();

	diagnosis->doctor = doctor;
	if (!doctor)
		return -errno;
	doctor_try_run(&diagnosis->run);
	diagnosis->run_works = diagnosis->run.run_was_tried ? diagnosis->run.has_succeeded : doctor_can_run(doctor);
	diagnosis->active_or_expected_layers =
		diagnosis->run.has_succeeded ? diagnosis->run.active_layers : doctor->expected_layers;
	/* A failed run may have ended before all its layers were in place: it does not contradict the trials. */
	if (diagnosis->run.has_succeeded)
		diagnosis->layers_contradicted_by_run = diagnosis->run.active_layers ^ doctor->expected_layers;
	diagnosis->advice = doctor_make_advice(doctor);
	return diagnosis->advice ? 0 : -ENOMEM;
}

static void doctor_diagnosis_release(struct diagnosis *diagnosis)
{
	doctor_free(diagnosis->doctor);
	json_decref(diagnosis->run.result);
	json_decref(diagnosis->advice);
}

/* Why a layer is active or not: the run's reason, else the trial's. */
static const char *doctor_get_layer_reason(const struct diagnosis *diagnosis, enum layer layer)
{
	const char *reason = diagnosis->run.has_succeeded ? doctor_run_get_layer_reason(&diagnosis->run, layer) : NULL;

	return reason ? reason : diagnosis->doctor->findings[doctor_get_layer_probe(layer)].explanation;
}

/*
 * Why no run works here: what the first failed trial of a need of every run says, which knows more of the cause than
 * the run's message. NULL: runs work.
 */
static const char *doctor_find_obstacle(const struct diagnosis *diagnosis)
{
	const enum probe missing = doctor_find_missing_need(diagnosis->doctor);

	return diagnosis->run_works   ? NULL
	       : missing != PROBE_MAX ? diagnosis->doctor->findings[missing].explanation
				      : diagnosis->run.message;
}

static void doctor_write_findings(const struct diagnosis *diagnosis, struct buf *text)
{
	for (enum probe probe = 0; probe < PROBE_MAX; probe++) {
		const struct finding *finding = &diagnosis->doctor->findings[probe];

		buf_printf(text, "  %-16s %-7s %s\n", probe_get_name(probe), finding_get_state_name(finding->state),
			   finding->explanation);
	}
	buf_printf(text, "  %-16s %-7s %s\n", "run",
		   !diagnosis->run.run_was_tried  ? "unknown"
		   : diagnosis->run.has_succeeded ? "works"
						  : "lacks",
		   diagnosis->run.has_succeeded ? "true ran under the profile minimal" : diagnosis->run.message);
	for (enum layer layer = 0; layer < LAYER_OFFERED_BY_MACHINE_MAX; layer++)
		if (diagnosis->layers_contradicted_by_run & LAYER_BIT(layer))
			buf_printf(text, "  %-16s %-7s the run %s %s, against the trial above: %s\n", "contradiction",
				   "warns", diagnosis->run.active_layers & LAYER_BIT(layer) ? "has" : "lacks",
				   layer_get_name(layer), doctor_get_layer_reason(diagnosis, layer));
}

static void doctor_write_layers(const struct diagnosis *diagnosis, struct buf *text)
{
	unsigned all = LAYER_BIT(LAYER_OFFERED_BY_MACHINE_MAX) - 1;

	if (!diagnosis->run_works) {
		buf_printf(text, "\nNo run works here: %s\n", doctor_find_obstacle(diagnosis));
		return;
	}
	buf_printf(text, "\nA run here has%s", diagnosis->active_or_expected_layers == all ? " every layer:" : ":");
	for (enum layer layer = 0; layer < LAYER_OFFERED_BY_MACHINE_MAX; layer++)
		if (diagnosis->active_or_expected_layers & LAYER_BIT(layer))
			buf_printf(text, " %s", layer_get_name(layer));
	buf_puts(text, "\n");
	if (diagnosis->active_or_expected_layers != all)
		buf_puts(text, "It lacks:\n");
	for (enum layer layer = 0; layer < LAYER_OFFERED_BY_MACHINE_MAX; layer++)
		if (!(diagnosis->active_or_expected_layers & LAYER_BIT(layer)))
			buf_printf(text, "  %-16s %s\n", layer_get_name(layer),
				   doctor_get_layer_reason(diagnosis, layer));
}

/* Writes what the user can do for what does not work. */
static void doctor_write_advice(const struct diagnosis *diagnosis, struct buf *text)
{
	json_t *advice;
	size_t i;

	if (json_array_size(diagnosis->advice) > 0)
		buf_puts(text, "\nHow to get it:\n");
	json_array_foreach(diagnosis->advice, i, advice)
	{
		const char *line = json_string_value(json_object_get(advice, "text"));

		buf_printf(text, "%s* %s\n", i ? "\n" : "", json_string_value(json_object_get(advice, "title")));
		for (size_t len; *line; line += len) {
			len = strcspn(line, "\n") + 1;
			buf_puts(text, "  ");
			buf_add(text, line, len);
		}
	}
}

static int doctor_print_text(const struct diagnosis *diagnosis)
{
	_cleanup_buf_ struct buf text = {0};

	buf_printf(&text, "callgate %s, as uid %u\n\n", PACKAGE_VERSION, geteuid());
	doctor_write_findings(diagnosis, &text);
	doctor_write_layers(diagnosis, &text);
	doctor_write_advice(diagnosis, &text);
	return cli_print_buf("doctor", &text);
}

static json_t *doctor_make_findings_json(const struct diagnosis *diagnosis)
{
	json_t *list = json_array();

	for (enum probe probe = 0; probe < PROBE_MAX; probe++) {
		const struct finding *finding = &diagnosis->doctor->findings[probe];
		const char *error = finding->error_number ? strerrorname_np(finding->error_number) : NULL;

		(void)json_array_append_new(list,
					    json_pack("{s:s, s:s, s:s?, s:o}", "name", probe_get_name(probe), "state",
						      finding_get_state_name(finding->state), "errno", error, "text",
						      report_make_text_json(finding->explanation)));
	}
	return list;
}

static json_t *doctor_make_layers_json(const struct diagnosis *diagnosis)
{
	json_t *object = json_object();

	for (enum layer layer = 0; layer < LAYER_OFFERED_BY_MACHINE_MAX; layer++)
		(void)json_object_set_new(
			object, layer_get_name(layer),
			json_pack("{s:b, s:b, s:o}", "active",
				  (int)(diagnosis->run_works &&
					diagnosis->active_or_expected_layers & LAYER_BIT(layer)),
				  "expected", (int)!!(diagnosis->doctor->expected_layers & LAYER_BIT(layer)), "why",
				  report_make_text_json(doctor_get_layer_reason(diagnosis, layer))));
	return object;
}

static json_t *doctor_make_run_json(const struct diagnosis *diagnosis)
{
	json_t *contradictions = json_array();
	json_t *status = json_object_get(diagnosis->run.result, "status");

	for (enum layer layer = 0; layer < LAYER_OFFERED_BY_MACHINE_MAX; layer++)
		if (diagnosis->layers_contradicted_by_run & LAYER_BIT(layer))
			(void)json_array_append_new(contradictions, json_string(layer_get_name(layer)));
	return json_pack("{s:b, s:o, s:o}", "tried", (int)diagnosis->run.run_was_tried, "status",
			 status ? json_incref(status) : json_null(), "contradictions", contradictions);
}

static int doctor_print_json(const struct diagnosis *diagnosis)
{
	struct utsname kernel = {.sysname = ""};

	(void)uname(&kernel);
	return cli_print_json(
		"doctor", json_pack("{s:s, s:s, s:i, s:{s:s, s:s}, s:b, s:o, s:o, s:o, s:o, s:O}", "schema",
				    DOCTOR_SCHEMA, "version", PACKAGE_VERSION, "uid", (int)geteuid(), "kernel",
				    "release", kernel.release, "machine", kernel.machine, "works",
				    (int)diagnosis->run_works, "reason",
				    report_make_text_json(doctor_find_obstacle(diagnosis)), "checks",
				    doctor_make_findings_json(diagnosis), "layers", doctor_make_layers_json(diagnosis),
				    "run", doctor_make_run_json(diagnosis), "advice", diagnosis->advice));
}

/* Opens /dev/null in place of a closed stdin or stderr, because the next opened file would get that number. */
static void doctor_open_missing_stdio(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fd != STDOUT_FILENO && fcntl(fd, F_GETFD) < 0)
			(void)!open("/dev/null", O_RDWR); /* on failure the run reports the closed stream */
}

int cli_main_doctor(int argc, char **argv)
{
	struct diagnosis diagnosis = {.doctor = NULL};
	bool json = false;
	int error, status = doctor_parse_options(argc, argv, &json);

	if (status != CLI_OPTIONS_PARSED)
		return status;
	if (optind < argc) {
		cli_print_error("doctor", "%s: doctor takes no arguments", argv[optind]);
		return cli_fail_usage("doctor");
	}
	if (fcntl(STDOUT_FILENO, F_GETFD) < 0) {
		cli_print_error("doctor", "standard output is closed; redirect it to a file or to /dev/null");
		return CLI_EXIT_ERROR;
	}
	doctor_open_missing_stdio();
	error = doctor_make_diagnosis(&diagnosis);
	if (error < 0) {
		cli_print_error("doctor", "%s", strerror(-error));
		status = CLI_EXIT_ERROR;
	} else {
		status = json ? doctor_print_json(&diagnosis) : doctor_print_text(&diagnosis);
		if (status == CLI_EXIT_OK && !diagnosis.run_works)
			status = DOCTOR_EXIT_RUN_FAILS;
	}
	doctor_diagnosis_release(&diagnosis);
	return status;
}
