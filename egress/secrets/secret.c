#include "egress/secrets/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"

#define NS_PER_MS 1000000u
#define PLACEHOLDER_PREFIX "callgate-secret-"
#define PLACEHOLDER_RANDOM_BYTES 16

/* A secret of the run, with its value and the placeholder that the program sees. */
struct secret {
	const struct net_secret *definition; /* the secret's definition in the policy */
	char *value; /* a mapping of SECRET_VALUE_BYTES_MAX bytes; NULL: the value was forgotten */
	size_t len;
	char placeholder[SECRET_PLACEHOLDER_SIZE];
	size_t placeholder_len;
};

/* All secrets of a run. */
struct secrets {
	size_t count;
	struct secret item[];
};

/* ---- sources of values: each sets value and len; returns NULL, or a text that says why it failed, with errno ---- */

/* Sets errno, and returns the reason that a secret cannot be loaded. */
static const char *secret_fail_load(int error, const char *why)
{
	errno = error;
	return why;
}

/* Sets errno to EFBIG, and returns the reason. */
static const char *secret_fail_too_long(void)
{
	return secret_fail_load(EFBIG, "its value is longer than 16384 bytes");
}

/* Waits until fd is readable. 0; -ETIMEDOUT; -EINTR and others of poll(2). */
static int secret_wait_until_readable(int fd, uint64_t until_ns)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	uint64_t now = io_read_clock_ns();
	int count = now < until_ns ? poll(&ready, 1, (int)((until_ns - now) / NS_PER_MS) + 1) : 0;

	return count > 0 ? 0 : count < 0 ? -errno : -ETIMEDOUT;
}

/* Reads until the end of file, directly into the protected memory. */
static const char *secret_read_all(struct secret *secret, int fd, const char *why)
{
	uint64_t until = io_read_clock_ns() + (uint64_t)SECRET_SOURCE_TIMEOUT_MS * NS_PER_MS;

	for (;;) {
		char more;
		bool full = secret->len == SECRET_VALUE_BYTES_MAX;
		int error = secret_wait_until_readable(fd, until);
		ssize_t got;

		if (error == -EINTR)
			continue;
		if (error)
			return secret_fail_load(-error,
						error == -ETIMEDOUT ? "it did not come within 10 seconds" : why);
		got = read(fd, full ? &more : secret->value + secret->len,
			   full ? 1 : SECRET_VALUE_BYTES_MAX - secret->len);
		if (got == 0)
			return NULL;
		if (got < 0 && errno != EINTR && errno != EAGAIN)
			return why;
		if (got > 0 && full)
			return secret_fail_too_long();
		if (got > 0)
			secret->len += (size_t)got;
	}
}

/* Reads a secret from a variable. Returns why it cannot, with errno set, or NULL. */
static const char *secret_read_env(struct secret *secret, const char *name)
{
	const char *value = getenv(name);
	size_t len = value ? strlen(value) : 0;

	if (!value)
		return secret_fail_load(ENOENT, "that variable is not set");
	if (len > SECRET_VALUE_BYTES_MAX)
		return secret_fail_too_long();
	memcpy(secret->value, value, len);
	secret->len = len;
	return NULL;
}

/* Reads a secret from a file. Returns why it cannot, with errno set, or NULL. */
static const char *secret_read_file(struct secret *secret, const char *path)
{
	/* The policy has the canonical name. With O_NONBLOCK the time limit holds for a FIFO, too. */
	_cleanup_close_ int fd = io_open_without_links(path, O_RDONLY | O_NOCTTY | O_NONBLOCK);

	if (fd < 0)
		return secret_fail_load(-fd, "that file cannot be opened");
	return secret_read_all(secret, fd, "that file cannot be read");
}

/* Reads a secret from a descriptor, and closes it unless it is a standard one. Returns why it cannot, or NULL. */
static const char *secret_read_fd(struct secret *secret, const char *number)
{
	_cleanup_close_ int taken = -1;
	uint64_t fd;

	if (text_parse_number(number, 0, 1 << 20, &fd))
		return secret_fail_load(EINVAL, "that is no descriptor");
	if (fd > STDERR_FILENO)
		taken = (int)fd; /* closed after reading, because the program must not inherit it */
	return secret_read_all(secret, (int)fd, "that descriptor cannot be read");
}

/*
 * Executes a secret's command in a process group of its own, so that its children can be killed, too; it cannot read
 * the terminal. It runs in the root directory, because git, make and python3 -m read files of their working directory,
 * which an earlier run may have written.
 */
static _Noreturn void secret_run_command(const char *command, int output_fd)
{
	int input_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigset_t none;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL); /* ignored signals stay ignored over execve(2) */
	if (!setpgid(0, 0) && !chdir("/") && input_fd >= 0 && dup2(input_fd, STDIN_FILENO) >= 0 &&
	    dup2(output_fd, STDOUT_FILENO) >= 0)
		(void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

/*
 * Waits for the command until the end of the time limit, because it may close its output early. With WNOWAIT it is not
 * reaped, so that its process group id stays valid.
 */
static const char *secret_wait_for_command(pid_t pid, uint64_t until_ns)
{
	static const struct timespec pause = {.tv_nsec = 5 * NS_PER_MS};

	for (;;) {
		siginfo_t end = {0};

		if (waitid(P_PID, (id_t)pid, &end, WEXITED | WNOHANG | WNOWAIT) < 0 && errno != EINTR)
			return "its command cannot be waited for";
		if (end.si_pid == pid)
			return end.si_code == CLD_EXITED && !end.si_status
				       ? NULL
				       : secret_fail_load(EIO, "its command failed");
		if (io_read_clock_ns() >= until_ns)
			return secret_fail_load(ETIMEDOUT, "its command did not end within 10 seconds");
		(void)nanosleep(&pause, NULL);
	}
}

/* Reads a secret from the output of its command. Returns why it cannot, with errno set, or NULL. */
static const char *secret_read_command(struct secret *secret, const char *command)
{
	uint64_t until = io_read_clock_ns() + (uint64_t)SECRET_SOURCE_TIMEOUT_MS * NS_PER_MS;
	const char *why;
	int pipe_fd[2], error;
	pid_t pid;

	if (pipe2(pipe_fd, O_CLOEXEC) < 0)
		return "no pipe can be made";
	pid = fork();
	if (pid == 0)
		secret_run_command(command, pipe_fd[1]);
	(void)close(pipe_fd[1]);
	if (pid < 0) {
		(void)close(pipe_fd[0]);
		return secret_fail_load(EAGAIN, "its command cannot be started");
	}
	(void)setpgid(pid, pid); /* parent and child both call it, because either may run first */
	why = secret_read_all(secret, pipe_fd[0], "its command's output cannot be read");
	cleanup_close(&pipe_fd[0]);
	if (!why)
		why = secret_wait_for_command(pid, until);
	error = errno;
	(void)kill(-pid, SIGKILL); /* kills what remains of the command's process group */
	(void)waitpid(pid, NULL, 0);
	errno = error;
	return why;
}

static const struct {
	const char *prefix;
	const char *(*read)(struct secret *secret, const char *rest);
} sources[] = {
	{"env:", secret_read_env},
	{"file:", secret_read_file},
	{"fd:", secret_read_fd},
	{"command:", secret_read_command},
};

/* Drops the final line end of a value, and refuses an empty value and control characters. */
static const char *secret_check_value(struct secret *secret)
{
	char *end = secret->value + secret->len;

	if (secret->len && end[-1] == '\n')
		*--end = '\0';
	if (end > secret->value && end[-1] == '\r')
		*--end = '\0';
	secret->len = (size_t)(end - secret->value);
	if (!secret->len)
		return secret_fail_load(EINVAL, "its value is empty");
	for (const char *at = secret->value; at < end; at++)
		if (((unsigned char)*at < ' ' && *at != '\t') || *at == 0x7f)
			return secret_fail_load(EINVAL, "its value has a line end or another control character in it");
	return NULL;
}

/* Reads a secret from the source that the policy names, and checks it. Returns why it cannot, or NULL. */
static const char *secret_read_value(struct secret *secret)
{
	const char *from = secret->definition->value_source, *why;

	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		size_t len = strlen(sources[i].prefix);

		if (strncmp(from, sources[i].prefix, len) != 0)
			continue;
		why = sources[i].read(secret, from + len);
		return why ? why : secret_check_value(secret);
	}
	return secret_fail_load(EINVAL, "its source is not known");
}

/* Wipes the environment variable of a value; called when all were read, because two secrets may use one variable. */
static void secret_wipe_env(const struct net_secret *secret)
{
	char *value;

	if (strncmp(secret->value_source, "env:", 4) != 0)
		return;
	value = getenv(secret->value_source + 4);
	if (!value)
		return;
	explicit_bzero(value, strlen(value)); /* these are the bytes that /proc/PID/environ shows */
	(void)unsetenv(secret->value_source + 4);
}

/* ---- holding values ---- */

/* Allocates a mapping for a value, so that the bytes are never in the heap of malloc(3). */
static char *secret_allocate_value(void)
{
	void *value = mmap(NULL, SECRET_VALUE_BYTES_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (value == MAP_FAILED)
		return NULL;
	(void)madvise(value, SECRET_VALUE_BYTES_MAX,
		      MADV_DONTDUMP); /* fork(2) inherits this, but not the lock of mlock(2) */
	(void)mlock(value, SECRET_VALUE_BYTES_MAX);
	return value;
}

/* Wipes the value of a secret, and releases its memory. */
static void secret_free_value(struct secret *secret)
{
	if (!secret->value)
		return;
	explicit_bzero(secret->value, SECRET_VALUE_BYTES_MAX);
	(void)munmap(secret->value, SECRET_VALUE_BYTES_MAX);
	secret->value = NULL;
	secret->len = 0;
}

/* Makes a placeholder. The secret's name in it helps a person who sees it in a log; it may be truncated. */
static int secret_make_placeholder(struct secret *secret)
{
	unsigned char random[PLACEHOLDER_RANDOM_BYTES];
	size_t at;

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -EIO;
	at = (size_t)snprintf(secret->placeholder, sizeof(secret->placeholder), PLACEHOLDER_PREFIX "%.40s-",
			      secret->definition->name);
	for (size_t i = 0; i < sizeof(random); i++)
		at += (size_t)snprintf(secret->placeholder + at, sizeof(secret->placeholder) - at, "%02x", random[i]);
	secret->placeholder_len = at;
	return 0;
}
_Static_assert(sizeof(PLACEHOLDER_PREFIX) + 40 + 1 + 2 * PLACEHOLDER_RANDOM_BYTES <= SECRET_PLACEHOLDER_SIZE,
	       "a placeholder fits");

/* Reads the secret's value, and makes its placeholder. 0, or -errno with a text in *ret_error. */
static int secret_load(struct secret *secret, const struct net_secret *definition, struct policy_error *ret_error)
{
	const char *why = "no memory", *system = "";
	int error = ENOMEM;

	secret->definition = definition;
	secret->value = secret_allocate_value();
	if (secret->value && (why = secret_read_value(secret)))
		error = errno;
	if (!why && secret_make_placeholder(secret)) {
		error = EIO;
		why = "no random bytes";
	}
	if (!why)
		return 0;
	if (strstr(why, "cannot")) /* only texts with "cannot" need the text of errno */
		system = strerror(error);
	/* The command is left out, because its text may contain a secret. */
	(void)snprintf(ret_error->text, sizeof(ret_error->text), "secret %s: from \"%.200s\": %s%s%s%s",
		       definition->name,
		       strncmp(definition->value_source, "command:", 8) ? definition->value_source : "command:", why,
		       *system ? " (" : "", system, *system ? ")" : "");
	return -error;
}

/* Allocates room for `count` secrets, which are added later. NULL: no memory. */
static struct secrets *secrets_allocate(size_t count)
{
	return calloc(1, sizeof(struct secrets) + count * sizeof(struct secret));
}

int secrets_load(const struct policy *policy, struct secrets **ret_secrets, struct policy_error *ret_error)
{
	size_t count;
	const struct net_secret *list = policy_net_get_secrets(policy, &count);
	struct secrets *secrets;
	int error = 0;

	if (!count) {
		*ret_secrets = NULL;
		return 0;
	}
	secrets = secrets_allocate(count);
	if (!secrets) {
		(void)snprintf(ret_error->text, sizeof(ret_error->text), "secrets: no memory");
		return -ENOMEM;
	}
	for (size_t i = 0; i < count && !error; i++) {
		secrets->count = i + 1;
		error = secret_load(&secrets->item[i], &list[i], ret_error);
	}
	for (size_t i = 0; i < count; i++)
		secret_wipe_env(&list[i]);
	if (error) {
		secrets_free(secrets);
		return error;
	}
	*ret_secrets = secrets;
	return 0;
}

int secrets_bind_to_policy(struct secrets *secrets, const struct policy *policy)
{
	size_t count;
	const struct net_secret *list = policy_net_get_secrets(policy, &count);

	if (!secrets)
		return 0;
	if (count != secrets->count)
		return -ESTALE;
	for (size_t i = 0; i < count; i++) {
		struct secret *secret = &secrets->item[i];

		if (strcmp(secret->definition->name, list[i].name) != 0 ||
		    strcmp(secret->definition->value_source, list[i].value_source) != 0)
			return -ESTALE;
		secret->definition = &list[i];
		if (secret_make_placeholder(secret) < 0)
			return -EIO;
	}
	return 0;
}

/* ---- sending secrets to egress ---- */

/* One message for each secret, sent from and received into its own memory: no buffer ever holds a value. */
static struct msghdr secret_make_message(struct secret *secret, struct iovec part[2])
{
	part[0] = (struct iovec){secret->placeholder, sizeof(secret->placeholder)};
	part[1] = (struct iovec){secret->value, secret->len};
	return (struct msghdr){.msg_iov = part, .msg_iovlen = 2};
}

int secrets_send(struct secrets *secrets, int fd)
{
	for (size_t i = 0; secrets && i < secrets->count; i++) {
		struct iovec part[2];
		const struct msghdr message = secret_make_message(&secrets->item[i], part);

		if (TEMP_FAILURE_RETRY(sendmsg(fd, &message, MSG_NOSIGNAL)) < 0)
			return -errno;
	}
	return 0;
}

/* Receives value and placeholder from the process that has loaded the secret. 0 or -errno. */
static int secret_receive(struct secret *secret, const struct net_secret *definition, int fd)
{
	struct iovec part[2];
	struct msghdr message;
	ssize_t got;

	secret->definition = definition;
	secret->value = secret_allocate_value();
	if (!secret->value)
		return -ENOMEM;
	secret->len = SECRET_VALUE_BYTES_MAX;
	message = secret_make_message(secret, part);
	got = TEMP_FAILURE_RETRY(recvmsg(fd, &message, 0));
	if (got < (ssize_t)sizeof(secret->placeholder) || message.msg_flags & MSG_TRUNC)
		return got < 0 ? -errno : -EPIPE;
	secret->len = (size_t)got - sizeof(secret->placeholder);
	secret->placeholder_len = strnlen(secret->placeholder, sizeof(secret->placeholder));
	return 0;
}

/* Reads from the fd, in the policy's order, the secrets' values that another process has loaded. 0 or -errno. */
int secrets_receive(const struct policy *policy, int fd, struct secrets **ret_secrets)
{
	size_t count;
	const struct net_secret *list = policy_net_get_secrets(policy, &count);
	struct secrets *secrets = count ? secrets_allocate(count) : NULL;
	int error = count && !secrets ? -ENOMEM : 0;

	for (size_t i = 0; i < count && !error; i++) {
		secrets->count = i + 1;
		error = secret_receive(&secrets->item[i], &list[i], fd);
	}
	if (error) {
		secrets_free(secrets);
		return error;
	}
	*ret_secrets = secrets;
	return 0;
}

void secrets_forget_values(struct secrets *secrets)
{
	for (size_t i = 0; secrets && i < secrets->count; i++)
		secret_free_value(&secrets->item[i]);
}

void secrets_free(struct secrets *secrets)
{
	secrets_forget_values(secrets);
	free(secrets);
}

void secrets_mlock_values(const struct secrets *secrets)
{
	for (size_t i = 0; secrets && i < secrets->count; i++)
		if (secrets->item[i].value)
			/* On failure, above RLIMIT_MEMLOCK, the value may be swapped. */
			(void)mlock(secrets->item[i].value, SECRET_VALUE_BYTES_MAX);
}

size_t secrets_get_count(const struct secrets *secrets)
{
	return secrets ? secrets->count : 0;
}

const char *secrets_get_name(const struct secrets *secrets, size_t index)
{
	return secrets->item[index].definition->name;
}

const char *secrets_get_placeholder(const struct secrets *secrets, size_t index)
{
	return secrets->item[index].placeholder;
}

/* ---- inserting values into texts ---- */

/* Counts bytes, and writes them if `out` is set. The first pass only finds the size, so that nothing is reallocated. */
struct secret_text_writer {
	char *out;
	size_t len;
};

/* Adds to the text, or only to its length while the text is measured. */
static void writer_put(struct secret_text_writer *writer, const char *text, size_t len)
{
	if (writer->out)
		memcpy(writer->out + writer->len, text, len);
	writer->len += len;
}

/* Allocates the text, whose length the writer has measured, and starts to write. 0, -EMSGSIZE or -ENOMEM. */
static int writer_allocate(struct secret_text_writer *writer)
{
	if (writer->len > SECRET_TEXT_WITH_VALUES_BYTES_MAX)
		return -EMSGSIZE;
	writer->out = malloc(writer->len + 1);
	if (!writer->out)
		return -ENOMEM;
	writer->out[writer->len] = '\0';
	writer->len = 0;
	return 0;
}

static const struct secret *secrets_find_by_name(const struct secrets *secrets, const char *name, size_t len)
{
	for (size_t i = 0; secrets && i < secrets->count; i++)
		if (strlen(secrets->item[i].definition->name) == len &&
		    !memcmp(secrets->item[i].definition->name, name, len))
			return &secrets->item[i];
	return NULL;
}

/*
 * Writes a text such as "Bearer {NAME}" with the secrets' values. -EACCES: a secret is not for the host. -ENOENT:
 * unknown.
 */
static int secrets_write_template(const struct secrets *secrets, const char *template, const char *host,
				  struct secret_text_writer *writer)
{
	while (*template) {
		size_t plain = strcspn(template, "{"), name;
		const struct secret *secret;

		writer_put(writer, template, plain);
		template += plain;
		if (!*template)
			break;
		name = strcspn(template + 1, "}");
		secret = template[1 + name] ? secrets_find_by_name(secrets, template + 1, name) : NULL;
		if (!secret)
			return -ENOENT;
		if (!secret->value || !net_secret_allows_host(secret->definition, host))
			return -EACCES;
		writer_put(writer, secret->value, secret->len);
		template += name + 2;
	}
	return 0;
}

int secrets_fill_template(const struct secrets *secrets, const char *template, const char *host, char **ret_text)
{
	struct secret_text_writer writer = {0};
	int error = secrets_write_template(secrets, template, host, &writer);

	if (!error)
		error = writer_allocate(&writer);
	if (error)
		return error;
	(void)secrets_write_template(secrets, template, host, &writer); /* cannot fail: the first pass succeeded */
	*ret_text = writer.out;
	return 0;
}

static const struct secret *secrets_find_by_placeholder(const struct secrets *secrets, const char *host,
						       const char *text, size_t len)
{
	for (size_t i = 0; i < secrets->count; i++) {
		const struct secret *secret = &secrets->item[i];

		if (secret->value && secret->placeholder_len <= len &&
		    !memcmp(secret->placeholder, text, secret->placeholder_len) &&
		    net_secret_allows_host(secret->definition, host))
			return secret;
	}
	return NULL;
}

/* Replaces placeholders, except those of secrets for other hosts. Returns the number of replacements. */
static size_t secrets_write_with_values(const struct secrets *secrets, const char *host, const char *text, size_t len,
				   struct secret_text_writer *writer)
{
	size_t replaced = 0;

	while (len) {
		const char *found = memmem(text, len, PLACEHOLDER_PREFIX, sizeof(PLACEHOLDER_PREFIX) - 1);
		size_t plain = found ? (size_t)(found - text) : len;
		const struct secret *secret;

		writer_put(writer, text, plain);
		text += plain;
		len -= plain;
		if (!found)
			break;
		secret = secrets_find_by_placeholder(secrets, host, text, len);
		plain = secret ? secret->placeholder_len : sizeof(PLACEHOLDER_PREFIX) - 1;
		if (secret)
			writer_put(writer, secret->value, secret->len);
		else
			writer_put(writer, text, plain);
		replaced += secret != NULL;
		text += plain;
		len -= plain;
	}
	return replaced;
}

int secrets_replace_placeholders(const struct secrets *secrets, const char *host, const char *text, size_t len,
				 char **ret_text, size_t *ret_len)
{
	struct secret_text_writer writer = {0};
	int error;

	if (!secrets || !secrets_write_with_values(secrets, host, text, len, &writer))
		return 0;
	error = writer_allocate(&writer);
	if (error)
		return error;
	(void)secrets_write_with_values(secrets, host, text, len, &writer);
	*ret_text = writer.out;
	*ret_len = writer.len;
	return 1;
}
