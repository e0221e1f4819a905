/*
 * Templates: what a sandbox is made of. A template is a directory with policy.json, and perhaps files/, whose content
 * is copied into each sandbox's workdir, and template.json, which has "memory", "disk" (sizes as for `callgate run`),
 * "pids", "python", "setup", "warm", "modules" and "env".
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agents/e2b/private.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"

#define TEMPLATE_NAME_BYTES_MAX 64u
#define TEMPLATE_ARGUMENTS_MAX 200u /* most arguments that a template adds to `callgate session create` */
#define TEMPLATE_MEMORY_DEFAULT "1G"
#define TEMPLATE_DISK_DEFAULT "2G"
#define TEMPLATE_PIDS_DEFAULT 512
#define TEMPLATE_SPARES_MAX 64

/* A template's name is a single file name, such as "base", so that it cannot lead to another directory. */
static bool template_name_is_valid(const char *name)
{
	size_t len = strlen(name);

	return len > 0 && len <= TEMPLATE_NAME_BYTES_MAX && name[0] != '.' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == len;
}

/* Appends an argument of `callgate session create`, and takes `text`. NULL: -ENOMEM. 0 or -errno. */
static int template_add_argument(struct e2b_template *template, size_t *count, char *text)
{
	if (!text)
		return -ENOMEM;
	if (*count >= TEMPLATE_ARGUMENTS_MAX) {
		free(text);
		return -E2BIG;
	}
	template->create_arguments[(*count)++] = text;
	return 0;
}

/* Appends an option with its value, and takes `value`. 0 or -errno. */
static int template_add_option(struct e2b_template *template, size_t *count, const char *option, char *value)
{
	int error = template_add_argument(template, count, strdup(option));

	if (error == 0)
		return template_add_argument(template, count, value);
	free(value);
	return error;
}

/*
 * Makes a second policy file for `callgate session create`, beside policy.json. The file sets the workdir and the
 * account that the SDKs expect. The file is a memfd, so that nothing is left behind when the server is killed; it is
 * opened by its name in /proc.
 */
static int template_make_server_policy(struct e2b_template *template)
{
	_cleanup_free_ char *passwd =
		text_format("user:x:%u:%u:user:" E2B_WORKDIR ":/bin/bash\n"
			    "%snobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
			    (unsigned)getuid(), (unsigned)getgid(), "root:x:0:0:root:/root:/bin/bash\n");
	_cleanup_free_ char *group = text_format("user:x:%u:\nroot:x:0:\nnogroup:x:65534:\n", (unsigned)getgid());
	_cleanup_json_ json_t *policy = NULL;
	_cleanup_free_ char *text = NULL;

	if (!passwd || !group)
		return -ENOMEM;
	policy = json_pack("{s:i, s:s, s:{s:{s:s, s:s}}, s:{s:{s:s, s:s, s:s, s:s}}}", "version", 1, "workdir",
			   E2B_WORKDIR, "filesystem", "provide", "/etc/passwd", passwd, "/etc/group", group, "env",
			   "set", "HOME", E2B_WORKDIR, "USER", "user", "LOGNAME", "user", "SHELL", "/bin/bash");
	text = policy ? json_dumps(policy, JSON_COMPACT) : NULL;
	template->server_policy_fd = text ? memfd_create("callgate-template", MFD_CLOEXEC) : -1;
	if (template->server_policy_fd < 0)
		return text ? -errno : -ENOMEM;
	return io_write_all(template->server_policy_fd, text, strlen(text));
}

/* Adds an option --input for each entry of the template's files/: it is copied into the workdir. */
static int template_add_files(struct e2b_template *template, size_t *count, const char *directory)
{
	_cleanup_free_ char *path = text_format("%s/files", directory);
	_cleanup_closedir_ DIR *dir = path ? opendir(path) : NULL;
	const struct dirent *entry;
	int error = !path ? -ENOMEM : !dir && errno != ENOENT ? -errno : 0;

	while (dir && error == 0 && (entry = io_read_entry(dir, &error)))
		error = template_add_option(template, count, "--input", text_format("%s/%s", path, entry->d_name));
	return error;
}

/* Adds a size of template.json, such as "512M", as an option of `callgate session create`. */
static int template_add_size_option(struct e2b_template *template, size_t *count, const json_t *settings,
				    const char *name, const char *option, const char *default_text, uint64_t *ret_bytes)
{
	const json_t *given = json_object_get(settings, name);
	const char *text = given ? json_string_value(given) : default_text;

	if (!text || text_parse_size(text, ret_bytes) < 0)
		return -EINVAL;
	return template_add_option(template, count, option, strdup(text));
}

/* Loads "warm", how many spares are kept ready, and "modules", what the Python of contexts imports at its start. */
static int template_load_spare_settings(struct e2b_template *template, const json_t *settings)
{
	const json_t *warm = json_object_get(settings, "warm"), *modules = json_object_get(settings, "modules");
	size_t count = json_array_size(modules);

	if ((warm && (!json_is_integer(warm) || json_integer_value(warm) < 0 ||
		      json_integer_value(warm) > TEMPLATE_SPARES_MAX)) ||
	    (modules && !json_is_array(modules)) || count > TEMPLATE_SPARES_MAX)
		return -EINVAL;
	template->wanted_spare_count = (unsigned)json_integer_value(warm);
	template->preloaded_modules = calloc(count + 1, sizeof(*template->preloaded_modules));
	for (size_t i = 0; template->preloaded_modules && i < count; i++) {
		const char *name = json_string_value(json_array_get(modules, i));

		template->preloaded_modules[i] = name ? strdup(name) : NULL;
		if (!template->preloaded_modules[i])
			return -EINVAL;
	}
	return template->preloaded_modules ? 0 : -ENOMEM;
}

/* Reads the settings of a template, and appends the options that they mean for its sandboxes. 0 or -errno. */
static int template_add_settings(struct e2b_template *template, size_t *count, const json_t *settings)
{
	const json_t *pids = json_object_get(settings, "pids"), *env = json_object_get(settings, "env"), *value;
	const json_t *python = json_object_get(settings, "python"), *setup = json_object_get(settings, "setup");
	const char *name;
	int error = pids && !json_is_integer(pids) ? -EINVAL : 0;

	if (error == 0)
		error = template_add_size_option(template, count, settings, "memory", "-m", TEMPLATE_MEMORY_DEFAULT,
						 &template->memory_limit_bytes);
	if (error == 0)
		error = template_add_size_option(template, count, settings, "disk", "--disk", TEMPLATE_DISK_DEFAULT,
						 &template->disk_limit_bytes);
	if (error == 0)
		error = template_add_option(template, count, "--pids",
					    text_format("%d",
							pids ? (int)json_integer_value(pids) : TEMPLATE_PIDS_DEFAULT));
	if ((python && !json_is_string(python)) || (setup && !json_is_string(setup)))
		return -EINVAL;
	template->setup_command = setup ? strdup(json_string_value(setup)) : NULL;
	template->python_interpreter = python ? strdup(json_string_value(python)) : NULL;
	error = error == 0 ? template_load_spare_settings(template, settings) : error;
	template->env = json_object();
	json_object_foreach((json_t *)(uintptr_t)env, name, value)
	{
		if (!json_is_string(value))
			return -EINVAL;
		(void)json_object_set(template->env, name, (json_t *)(uintptr_t)value);
	}
	return error;
}

/* Loads a template: its settings, and the arguments by which its sandboxes are made. 0, or -errno with *ret_why. */
static int template_load(struct e2b_template *template, const char *directory, char **ret_why)
{
	_cleanup_free_ char *settings_path = text_format("%s/template.json", directory);
	_cleanup_json_ json_t *settings = NULL;
	json_error_t error;
	size_t count = 0;
	int r;

	template->create_arguments = calloc(TEMPLATE_ARGUMENTS_MAX + 1, sizeof(*template->create_arguments));
	if (!template->create_arguments || !settings_path)
		return -ENOMEM;
	if (access(settings_path, F_OK) == 0) {
		settings = json_load_file(settings_path, JSON_REJECT_DUPLICATES, &error);
		if (!settings) {
			*ret_why = text_format("%s:%d: %s", settings_path, error.line, error.text);
			return -EINVAL;
		}
	}
	r = template_make_server_policy(template);
	if (r == 0)
		r = template_add_option(template, &count, "-p", text_format("%s/policy.json", directory));
	if (r == 0)
		r = template_add_option(template, &count, "-p",
					text_format("/proc/%d/fd/%d", (int)getpid(), template->server_policy_fd));
	if (r == 0)
		r = template_add_settings(template, &count, settings);
	if (r == -EINVAL)
		*ret_why = text_format(
			"%s: \"memory\" and \"disk\" are sizes such as \"512M\", \"pids\" is a "
			"number, \"python\" and \"setup\" texts, \"warm\" a number, \"modules\" a list of texts, "
			"\"env\" an object of texts",
			settings_path);
	if (r == 0)
		r = template_add_files(template, &count, directory);
	return r;
}

static void template_free(struct e2b_template *template)
{
	for (char **argument = template->create_arguments; argument && *argument; argument++)
		free(*argument);
	free(template->create_arguments);
	json_decref(template->env);
	cleanup_close(&template->server_policy_fd);
	for (char **module = template->preloaded_modules; module && *module; module++)
		free(*module);
	free(template->preloaded_modules);
	loop_cancel_timer(template->refill_timer);
	free(template->setup_command);
	free(template->python_interpreter);
	free(template->name);
	free(template);
}

/* Finds a template's directory; the user's templates hide built-in ones. Owned by the caller; NULL: there is none. */
static char *template_find_directory(const struct e2b *e2b, const char *name)
{
	const char *const parents[] = {e2b->options.user_templates_dir, e2b->options.builtin_templates_dir};

	for (size_t i = 0; i < sizeof(parents) / sizeof(parents[0]); i++) {
		_cleanup_free_ char *directory = parents[i] ? text_format("%s/%s", parents[i], name) : NULL;
		_cleanup_free_ char *policy = directory ? text_format("%s/policy.json", directory) : NULL;

		if (policy && access(policy, R_OK) == 0)
			return steal_pointer(&directory);
	}
	return NULL;
}

struct e2b_template *template_find(struct e2b *e2b, const char *name, char **ret_why)
{
	_cleanup_free_ char *directory = NULL;
	struct e2b_template *template;
	int error;

	for (template = e2b->templates; template; template = template->next)
		if (strcmp(template->name, name) == 0)
			return template;
	directory = template_name_is_valid(name) ? template_find_directory(e2b, name) : NULL;
	if (!directory)
		return NULL;
	template = calloc(1, sizeof(*template));
	if (!template)
		return NULL;
	template->e2b = e2b;
	template->server_policy_fd = -1;
	template->name = strdup(name);
	error = template->name ? template_load(template, directory, ret_why) : -ENOMEM;
	if (error < 0) {
		if (!*ret_why)
			*ret_why = text_format("template %s: %s", name, strerror(-error));
		template_free(template);
		return NULL;
	}
	template->next = e2b->templates;
	e2b->templates = template;
	return template;
}

/* Reads the templates in a directory. Errors are ignored: who asks for a broken template gets its error. */
static void templates_load_directory(struct e2b *e2b, const char *path)
{
	_cleanup_closedir_ DIR *dir = path ? opendir(path) : NULL;
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		_cleanup_free_ char *why = NULL;

		(void)template_find(e2b, entry->d_name, &why);
	}
}

void templates_load_all(struct e2b *e2b)
{
	templates_load_directory(e2b, e2b->options.user_templates_dir);
	templates_load_directory(e2b, e2b->options.builtin_templates_dir);
}

void templates_free_all(struct e2b *e2b)
{
	while (e2b->templates) {
		struct e2b_template *template = e2b->templates;

		e2b->templates = template->next;
		template_free(template);
	}
}
