/* Declarations shared by the source files of `callgate audit export`. Each format has a source file of its own. */
#ifndef CALLGATE_CLI_AUDIT_EXPORT_EXPORT_H
#define CALLGATE_CLI_AUDIT_EXPORT_EXPORT_H

#include <stdio.h>

#include "base/buf.h"
#include "cli/audit/audit.h"

/* What an output format writes to, and its own state. */
struct export_state {
	FILE *out;     /* where the records are written; write errors are looked for once, at the end */
	bool out_is_terminal;   /* out is a terminal, for which control characters are escaped */
	bool has_several_logs;  /* several logs are exported, so pids need to be told apart by log */
	struct buf line_buffer; /* buffer for the text that is written next */
	uint64_t record_count;  /* records that were given to the format so far */
	void *state; /* the state of the format; freed with free(3) */
};

/* An output format of callgate audit export. Its functions return 0 or -errno. All but `entry` may be NULL. */
struct export_format {
	const char *name;
	bool needs_file; /* the output must be a regular file */
	int (*begin)(struct export_state *export);
	/* called for each record, header and trailer */
	int (*entry)(struct export_state *export, const struct audit_entry *entry);
	int (*end)(struct export_state *export);
	void (*release)(struct export_state *export); /* frees export->state; called also if `begin` failed */
};

extern const struct export_format export_jsonl, export_csv, export_sqlite, export_ocsf, export_otlp, export_perfetto;

/* ---- output.c ---- */

/* The file or stream to which an export is written. */
struct export_output {
	const char *shown_path; /* for messages */
	char *path;        /* canonical path of the file to be written; owned; NULL: the output is no regular file */
	char *temporary_path; /* owned */
	FILE *file;        /* the stream to write to; owned, unless it is stdout */
};

/*
 * Opens the output: stdout (path NULL), an existing pipe or device, or a new regular file. A new file gets its name
 * when it is complete. 0, or -errno: -ESPIPE if needs_file is set and the output is no regular file. Call output_close
 * also after an error.
 */
int output_open(struct export_output *output, const char *path, bool needs_file);

/* Closes the output. keep: gives a new file its name; otherwise removes the new file. 0 or -errno. */
int output_close(struct export_output *output, bool keep);

/* Writes export->line_buffer, and empties it. 0 or -ENOMEM. */
int export_flush_line(struct export_state *export);

#endif
