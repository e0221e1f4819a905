/* The functions on struct egress_process, what keeper and supervisor hold of egress: they add files, and release. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "supervisor/gateway/provide.h"
#include "supervisor/gateway/start.h"

#define EGRESS_EXIT_TIMEOUT_MS 1000 /* time for egress to end by itself, after the supervisor has ended */

int egress_process_keep_text(struct egress_process *egress, char *text)
{
	char **more = text ? reallocarray(egress->owned_text, egress->owned_text_count + 1, sizeof(*more)) : NULL;

	if (!more) {
		free(text);
		return -ENOMEM;
	}
	egress->owned_text = more;
	more[egress->owned_text_count++] = text;
	return 0;
}

int egress_process_add_file_with_kept_text(struct egress_process *egress, const char *virt, char *text, size_t len)
{
	struct view_provided_file *more =
		reallocarray(egress->provided_file, egress->provided_file_count + 1, sizeof(*more));
	struct view_provided_file file = {.virt = strdup(virt), .text = text, .text_len = len};

	if (more)
		egress->provided_file = more;
	if (!more || !file.virt) {
		free(file.virt);
		return -ENOMEM;
	}
	more[egress->provided_file_count++] = file;
	return 0;
}

int egress_process_add_file(struct egress_process *egress, const char *virt, const char *text, size_t len)
{
	char *copy = malloc(len + 1);
	int error;

	if (copy) {
		memcpy(copy, text, len);
		copy[len] = '\0';
	}
	error = egress_process_keep_text(egress, copy);
	return error < 0 ? error : egress_process_add_file_with_kept_text(egress, virt, copy, len);
}

int egress_process_add_variable(struct egress_process *egress, const char *name, const char *value,
				bool overrides_policy)
{
	struct egress_variable *more =
		reallocarray(egress->env_variable, egress->env_variable_count + 1, sizeof(*more));
	struct egress_variable variable = {
		.name = strdup(name), .value = strdup(value), .overrides_policy = overrides_policy};

	if (more)
		egress->env_variable = more;
	if (!more || !variable.name || !variable.value) {
		free(variable.name);
		free(variable.value);
		return -ENOMEM;
	}
	more[egress->env_variable_count++] = variable;
	return 0;
}

void egress_process_close_fds_of_supervisor(struct egress_process *egress)
{
	close_fd(&egress->control_fd);
	close_fd(&egress->dns_fd[0]);
	close_fd(&egress->dns_fd[1]);
}

bool egress_process_end(struct egress_process *egress, int *ret_status)
{
	struct pollfd end = {.fd = egress->pidfd, .events = POLLIN};
	bool in_time = true;

	egress_process_close_fds_of_supervisor(egress);
	*ret_status = 0;
	if (egress->pid > 0) {
		in_time = egress->pidfd >= 0 && poll(&end, 1, EGRESS_EXIT_TIMEOUT_MS) > 0;
		if (!in_time)
			(void)kill(egress->pid, SIGKILL);
		while (waitpid(egress->pid, ret_status, 0) < 0 && errno == EINTR)
			;
	}
	egress->pid = 0;
	return !in_time || *ret_status == 0;
}

void egress_process_release(struct egress_process *egress)
{
	egress_process_close_fds_of_supervisor(egress);
	cleanup_close(&egress->pidfd);
	cleanup_close(&egress->start_error_fd);
	cleanup_close(&egress->address_reserving_fd);
	for (size_t i = 0; i < egress->provided_file_count; i++)
		free(egress->provided_file[i].virt);
	for (size_t i = 0; i < egress->owned_text_count; i++)
		free(egress->owned_text[i]);
	for (size_t i = 0; i < egress->env_variable_count; i++) {
		free(egress->env_variable[i].name);
		free(egress->env_variable[i].value);
	}
	free(egress->provided_file);
	free(egress->owned_text);
	free(egress->env_variable);
	*egress = (struct egress_process)EGRESS_PROCESS_NONE;
}
