/* realpath(3) for many paths that have most of their directories in common. */
#ifndef CALLGATE_CLI_REAL_H
#define CALLGATE_CLI_REAL_H

/* Names that were found to be there and no links; set of tsearch(3), owned. As true as the moment they were looked at. */
struct cli_real {
	void *known;
};

/* As realpath(path, NULL), of an absolute path. Owned. */
char *cli_real_path(struct cli_real *real, const char *path);
void cli_real_done(struct cli_real *real);

#endif
