/* Releases what the keeper and the supervisor have of egress, and adds to it: struct egress_side. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "supervisor/gateway/provide.h"
#include "supervisor/gateway/start.h"

#define EGRESS_END_TIMEOUT_MS 1000 /* time for egress to end by itself, after the supervisor has ended */

int egress_side_keep_text(struct egress_side *side, char *text)
{
	char **more = text ? reallocarray(side->owned_text, side->owned_text_count + 1, sizeof(*more)) : NULL;

	if (!more) {
		free(text);
		return -ENOMEM;
	}
	side->owned_text = more;
	more[side->owned_text_count++] = text;
	return 0;
}

int egress_side_add_file_with_kept_text(struct egress_side *side, const char *virt, char *text, size_t len)
{
	struct view_provided_file *more =
		reallocarray(side->provided_file, side->provided_file_count + 1, sizeof(*more));
	struct view_provided_file file = {.virt = strdup(virt), .text = text, .text_len = len};

	if (more)
		side->provided_file = more;
	if (!more || !file.virt) {
		free(file.virt);
		return -ENOMEM;
	}
	more[side->provided_file_count++] = file;
	return 0;
}

int egress_side_add_file(struct egress_side *side, const char *virt, const char *text, size_t len)
{
	char *copy = malloc(len + 1);
	int error;

	if (copy) {
		memcpy(copy, text, len);
		copy[len] = '\0';
	}
	error = egress_side_keep_text(side, copy);
	return error < 0 ? error : egress_side_add_file_with_kept_text(side, virt, copy, len);
}

int egress_side_add_variable(struct egress_side *side, const char *name, const char *value, bool wins)
{
	struct egress_variable *more = reallocarray(side->env_variable, side->env_variable_count + 1, sizeof(*more));
	struct egress_variable variable = {.name = strdup(name), .value = strdup(value), .overrides_policy = wins};

	if (more)
		side->env_variable = more;
	if (!more || !variable.name || !variable.value) {
		free(variable.name);
		free(variable.value);
		return -ENOMEM;
	}
	more[side->env_variable_count++] = variable;
	return 0;
}

void egress_side_close_fds_of_supervisor(struct egress_side *side)
{
	close_fd(&side->control_fd);
	close_fd(&side->dns_fd[0]);
	close_fd(&side->dns_fd[1]);
}

bool egress_side_end_process(struct egress_side *side, int *ret_status)
{
	struct pollfd end = {.fd = side->pidfd, .events = POLLIN};
	bool in_time = true;

	egress_side_close_fds_of_supervisor(side);
	*ret_status = 0;
	if (side->pid > 0) {
		in_time = side->pidfd >= 0 && poll(&end, 1, EGRESS_END_TIMEOUT_MS) > 0;
		if (!in_time)
			(void)kill(side->pid, SIGKILL);
		while (waitpid(side->pid, ret_status, 0) < 0 && errno == EINTR)
			;
	}
	side->pid = 0;
	return !in_time || *ret_status == 0;
}

void egress_side_release(struct egress_side *side)
{
	egress_side_close_fds_of_supervisor(side);
	cleanup_close(&side->pidfd);
	cleanup_close(&side->start_error_fd);
	cleanup_close(&side->address_reserving_fd);
	for (size_t i = 0; i < side->provided_file_count; i++)
		free(side->provided_file[i].virt);
	for (size_t i = 0; i < side->owned_text_count; i++)
		free(side->owned_text[i]);
	for (size_t i = 0; i < side->env_variable_count; i++) {
		free(side->env_variable[i].name);
		free(side->env_variable[i].value);
	}
	free(side->provided_file);
	free(side->owned_text);
	free(side->env_variable);
	*side = (struct egress_side)EGRESS_SIDE_NONE;
}
