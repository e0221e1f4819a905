#include "supervisor/answer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/io.h"

/* An ioctl that was interrupted (by the watchdog, or in a cancelled worker) had no effect, so it is repeated. */
static int answer_call_ioctl(int listener_fd, unsigned long request, const void *argument)
{
	int r;

	do
		r = ioctl(listener_fd, request, argument);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : r;
}

static int answer_send_response(int listener_fd, const struct seccomp_notif_resp *response)
{
	return answer_call_ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_SEND, response);
}

int answer_with_value(int listener_fd, uint64_t id, int64_t value)
{
	return answer_send_response(listener_fd, &(struct seccomp_notif_resp){.id = id, .val = value});
}

int answer_with_error(int listener_fd, uint64_t id, int error)
{
	return answer_send_response(listener_fd, &(struct seccomp_notif_resp){.id = id, .error = error});
}

int answer_add_descriptor(int listener_fd, uint64_t id, int fd, bool cloexec)
{
	struct seccomp_notif_addfd addfd = {.id = id, .srcfd = (unsigned)fd, .newfd_flags = cloexec ? O_CLOEXEC : 0};
	int number = answer_call_ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_ADDFD, &addfd);

	(void)close(fd);
	return number == -ENOENT ? -EINTR : number;
}

int answer_check_descriptors_can_be_added(int listener_fd)
{
	struct seccomp_notif_addfd none = {.srcfd = (unsigned)-1};
	int r = answer_call_ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_ADDFD, &none);

	/* The kernel looks for the descriptor first, and for the notification later. */
	return r == -EBADF ? 0 : r < 0 ? r : -EIO;
}

static int answer_send_continue(int listener_fd, uint64_t id, bool permitted)
{
	if (permitted)
		return answer_send_response(listener_fd,
			       &(struct seccomp_notif_resp){.id = id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE});
	(void)answer_with_error(listener_fd, id, -EPERM); /* fails when the call has ended already */
	return -EPERM;
}

/* Whether a continued call of this basis cannot be changed by the program after it was judged. */
static bool answer_may_continue(enum row_basis basis, enum continue_reason reason)
{
	return basis == BASIS_REGS || (basis == BASIS_EXEC && reason == CONTINUE_EXEC_VERIFIED) ||
	       ((basis == BASIS_NETNS || basis == BASIS_MOUNTNS) && reason == CONTINUE_NAMESPACE_BOUNDED);
}

int answer_continue(int listener_fd, uint64_t id, const struct syscall_row *row, enum continue_reason reason)
{
	return answer_send_continue(listener_fd, id, row && answer_may_continue(row->basis, reason));
}

int answer_continue_after_hook(int listener_fd, const struct seccomp_notif *notification, const struct syscall_row *row)
{
	uint64_t arg[6];

	memcpy(arg, notification->data.args, sizeof(arg));
	return answer_send_continue(listener_fd, notification->id, row && table_row_allows(row, arg));
}

struct delayed_response answer_make_for_later_response(const struct call *call)
{
	return (struct delayed_response){.sandbox = call->sandbox,
					 .id = call->id,
					 .start_ns = call->start_ns,
					 .outcome_location = call->outcome_location};
}

bool answer_thread_still_waits(const struct delayed_response *answer)
{
	return ioctl(answer->sandbox->listener_fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &answer->id) == 0;
}

uint64_t answer_send_and_end_record(const struct delayed_response *answer, int64_t result)
{
	int listener_fd = answer->sandbox->listener_fd;
	uint64_t ended_ns = io_read_clock_ns();

	if (result < 0)
		(void)answer_with_error(listener_fd, answer->id, (int)result);
	else
		(void)answer_with_value(listener_fd, answer->id, result);
	audit_end_record(answer->sandbox->audit, answer->outcome_location,
			 result == ANSWER_ERESTARTSYS ? -EINTR : result, ended_ns - answer->start_ns);
	return ended_ns;
}
