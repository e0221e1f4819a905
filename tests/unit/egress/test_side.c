/* The parts that a run's network is put together from: addresses, sockets, routes, files, variables, Java's list. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <net/if.h>
#include <openssl/sha.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "supervisor/environment.h"
#include "supervisor/gateway/handover.h"
#include "supervisor/gateway/provide.h"
#include "supervisor/gateway/starter.h"
#include "tests/unit/policy/policy-rig.h"
#include "tests/unit/unit.h"

static const char text[] =
	"{\"version\": 1, \"env\": {\"set\": {\"TOKEN\": \"policy's\", \"SSL_CERT_FILE\": \"/mine\"}},"
	" \"network\": {\"allow\": [{\"host\": \"one.test\"}, {\"host\": \"*.wild.test\"},"
	" {\"host\": \"real.test\", \"dns\": \"real\"},"
	" {\"host\": \"192.0.2.7\", \"port\": 99, \"proto\": \"udp\", \"private\": true}]}}";

static struct policy *load(struct rig *rig)
{
	struct policy *policy = NULL;

	ck_assert_msg(rig_load(rig, text, NULL, &policy) == 0, "%s", rig->errors.count ? rig->errors.item[0].text : "");
	return policy;
}

START_TEST(addresses_are_taken_once)
{
	struct in_addr address[40];
	int fd[40];

	for (size_t i = 0; i < 40; i++) {
		uint32_t number;

		ck_assert_int_eq(egress_address_reserve(&address[i], &fd[i]), 0);
		number = ntohl(address[i].s_addr);
		ck_assert_uint_eq(number >> 24, 127);
		ck_assert_uint_ne(number >> 16 & 0xff, 0);
		ck_assert_uint_eq(number & 1, 0); /* the next one is the run's as well */
		ck_assert_uint_ge(number & 0xff, 2);
		ck_assert_uint_le(number & 0xff, 252);
		for (size_t j = 0; j < i; j++)
			ck_assert_uint_ne(address[j].s_addr, address[i].s_addr);
	}
	for (size_t i = 0; i < 40; i++)
		(void)close(fd[i]);
}
END_TEST

START_TEST(a_port_is_bound_for_both)
{
	struct in_addr own;
	int own_fd, fd[2], other[2];
	uint16_t port = 0, again = 0;

	ck_assert_int_eq(egress_address_reserve(&own, &own_fd), 0);
	ck_assert_int_eq(egress_address_bind_udp_and_tcp(own, 0, fd, &port), 0);
	ck_assert_uint_ne(port, 0);
	ck_assert_int_eq(egress_address_bind_udp_and_tcp(own, port, other, &again), -EADDRINUSE);
	(void)close(fd[0]);
	(void)close(fd[1]);
	(void)close(own_fd);
}
END_TEST

/* As namespaces-unshare.c has done by then. */
static void raise_loopback(void)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo) < 0)
		_exit(78);
	(void)close(fd);
}

/* In a child, because nothing leaves a namespace again. */
static _Noreturn void try_guest(const struct policy *policy)
{
	struct egress_process egress = EGRESS_PROCESS_NONE;
	struct egress_program_sockets guest = EGRESS_PROGRAM_SOCKETS_INIT;
	struct sockaddr_in to = {.sin_family = AF_INET};
	const char *step = "";
	int fd;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		_exit(77);
	raise_loopback();
	if (egress_open_program_sockets(&egress, policy, true, &guest, &step) < 0)
		_exit(2);
	if (guest.dns_port != 53 || guest.loopback.s_addr != htonl(INADDR_LOOPBACK))
		_exit(3);
	/* An address of the pool, and one that a rule names, are ours. */
	if (inet_pton(AF_INET, "198.18.0.16", &to.sin_addr) != 1 || (fd = socket(AF_INET, SOCK_DGRAM, 0)) < 0 ||
	    bind(fd, (const struct sockaddr *)&to, sizeof(to)) < 0)
		_exit(4);
	(void)close(fd);
	if (inet_pton(AF_INET, "192.0.2.7", &to.sin_addr) != 1 || (fd = socket(AF_INET, SOCK_DGRAM, 0)) < 0 ||
	    bind(fd, (const struct sockaddr *)&to, sizeof(to)) < 0)
		_exit(5);
	(void)close(fd);
	if (inet_pton(AF_INET, "192.0.2.8", &to.sin_addr) != 1 || (fd = socket(AF_INET, SOCK_DGRAM, 0)) < 0 ||
	    bind(fd, (const struct sockaddr *)&to, sizeof(to)) == 0)
		_exit(6);
	_exit(0);
}

START_TEST(the_pool_is_local)
{
	struct rig rig = {0};
	struct policy *policy = load(&rig);
	int status;
	pid_t pid = fork();

	if (pid == 0)
		try_guest(policy);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	/* 77: a system without user namespaces */
	ck_assert_msg(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77), "%#x",
		      (unsigned)status);
	policy_free(policy);
	rig_done(&rig);
}
END_TEST

START_TEST(nobody_is_at_the_sink)
{
	struct rig rig = {0};
	struct policy *policy = load(&rig);
	struct egress_process egress = EGRESS_PROCESS_NONE;
	struct egress_program_sockets guest;
	struct sockaddr_in to = {.sin_family = AF_INET};
	const char *step = "";
	struct pollfd readable;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	char byte;

	ck_assert_int_eq(egress_address_reserve(&egress.own_address, &egress.address_reserving_fd), 0);
	ck_assert_msg(egress_open_program_sockets(&egress, policy, false, &guest, &step) == 0, "%s", step);
	ck_assert_uint_eq(guest.loopback.s_addr, egress.own_address.s_addr);
	to.sin_addr = guest.loopback;
	to.sin_port = htons(guest.sink_port);
	ck_assert_int_eq(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
	ck_assert_int_eq(send(fd, "x", 1, 0), 1);
	readable = (struct pollfd){.fd = fd, .events = POLLIN};
	ck_assert_int_eq(poll(&readable, 1, 100000), 1);
	ck_assert_int_eq(recv(fd, &byte, 1, 0), -1);
	ck_assert_int_eq(errno, ECONNREFUSED);
	(void)close(fd);
	/* And no other process can be there. */
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	ck_assert_int_lt(bind(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
	(void)close(fd);
	ck_assert_int_eq(egress_provide_resolv_conf(&egress, &guest, false), 0);
	ck_assert_ptr_nonnull(strstr(egress.provided_file[0].text, "\noptions use-vc\n"));
	egress_program_sockets_release(&guest);
	egress_process_release(&egress);
	policy_free(policy);
	rig_done(&rig);
}
END_TEST

static const char *file_of(const struct egress_process *egress, const char *virt)
{
	for (size_t i = 0; i < egress->provided_file_count; i++)
		if (strcmp(egress->provided_file[i].virt, virt) == 0)
			return egress->provided_file[i].text;
	return NULL;
}

#define CA "-----BEGIN CERTIFICATE-----\nAQID\n-----END CERTIFICATE-----\n"

START_TEST(files_and_variables)
{
	struct rig rig = {0};
	struct policy *policy = load(&rig);
	struct egress_process egress = EGRESS_PROCESS_NONE;
	struct egress_provide_options provide = {.policy = policy, .root_certificates_pem = strdup("roots"), .ca = CA};
	const char *hosts, *bundle;
	char **envp;

	ck_assert_int_eq(egress_process_add_variable(&egress, "TOKEN", "placeholder", true), 0);
	ck_assert_int_eq(egress_provide_files_and_variables(&provide, &egress), 0);
	hosts = file_of(&egress, "/etc/hosts");
	ck_assert_ptr_nonnull(hosts);
	ck_assert_ptr_nonnull(strstr(hosts, "127.0.0.1 localhost\n"));
	ck_assert_ptr_nonnull(strstr(hosts, "\n198.18.0."));
	ck_assert_ptr_nonnull(strstr(hosts, "\nfd00:5a::"));
	ck_assert_ptr_nonnull(strstr(hosts, " one.test\n"));
	ck_assert_ptr_null(strstr(hosts, "wild.test")); /* it is not known what is asked for */
	ck_assert_ptr_null(strstr(hosts, "real.test")); /* that is egress' to answer */
	ck_assert_ptr_nonnull(strstr(file_of(&egress, "/etc/nsswitch.conf"), "hosts: files dns\n"));
	bundle = NULL;
	for (size_t i = 0; i < egress.env_variable_count; i++)
		if (strcmp(egress.env_variable[i].name, "CURL_CA_BUNDLE") == 0)
			bundle = file_of(&egress, egress.env_variable[i].value);
	ck_assert_ptr_nonnull(bundle);
	ck_assert_str_eq(bundle, "roots\n" CA);
	/* A secret's placeholder comes before what the policy sets, all else after it. */
	envp = environment_build(policy, &egress);
	ck_assert_ptr_nonnull(envp);
	ck_assert_str_eq(environment_get_value(envp, "TOKEN"), "placeholder");
	ck_assert_str_eq(environment_get_value(envp, "SSL_CERT_FILE"), "/mine");
	ck_assert_ptr_nonnull(environment_get_value(envp, "NODE_EXTRA_CA_CERTS"));
	environment_free(envp);
	egress_process_release(&egress);
	policy_free(policy);
	rig_done(&rig);
}
END_TEST

START_TEST(without_an_authority_there_is_no_variable)
{
	struct rig rig = {0};
	struct policy *policy = load(&rig);
	struct egress_process egress = EGRESS_PROCESS_NONE;
	struct egress_provide_options provide = {.policy = policy, .root_certificates_pem = strdup("roots")};

	ck_assert_int_eq(egress_provide_files_and_variables(&provide, &egress), 0);
	ck_assert_uint_eq(egress.env_variable_count, 0);
	egress_process_release(&egress);
	policy_free(policy);
	rig_done(&rig);
}
END_TEST

static int make_store(const char *pem, char **ret_bytes, size_t *ret_len)
{
	struct truststore store;
	int error;

	truststore_begin(&store, 0);
	error = truststore_add(&store, pem);
	if (error == 0)
		error = truststore_finish(&store, ret_bytes, ret_len);
	truststore_release(&store);
	return error;
}

/* What keytool reads is in tests/live; here the bytes. */
START_TEST(java_reads_a_store)
{
	static const char keyed[] = "\0c\0h\0a\0n\0g\0e\0i\0tMighty Aphrodite";
	static const unsigned char head[] = {0xfe, 0xed, 0xfe, 0xed, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2, 0, 10};
	unsigned char all[512], digest[SHA_DIGEST_LENGTH];
	char *bytes = NULL;
	size_t len = 0, body;

	ck_assert_int_eq(make_store("no certificate", &bytes, &len), -EINVAL);
	ck_assert_int_eq(make_store(CA "text between\n" CA, &bytes, &len), 0);
	ck_assert_uint_gt(len, sizeof(head) + SHA_DIGEST_LENGTH);
	ck_assert_mem_eq(bytes, head, sizeof(head));
	body = len - SHA_DIGEST_LENGTH;
	ck_assert_uint_le(body + sizeof(keyed) - 1, sizeof(all));
	memcpy(all, keyed, sizeof(keyed) - 1);
	memcpy(all + sizeof(keyed) - 1, bytes, body);
	(void)SHA1(all, sizeof(keyed) - 1 + body, digest);
	ck_assert_mem_eq(bytes + body, digest, SHA_DIGEST_LENGTH);
	free(bytes);
}
END_TEST

/* The certificate of a store that has one: what follows the fixed beginning of its entry. 0 bytes: the PEM is wrong. */
static size_t der_of(const char *base64, unsigned char der[64])
{
	char pem[256], *bytes = NULL;
	const size_t head = 12 + 4 + 2 + strlen("callgate-1") + 8 + 2 + strlen("X.509");
	size_t len, der_len = 0;

	(void)snprintf(pem, sizeof(pem), "-----BEGIN CERTIFICATE-----%s-----END CERTIFICATE-----", base64);
	if (make_store(pem, &bytes, &len) == 0) {
		der_len = (unsigned char)bytes[head + 3];
		memcpy(der, bytes + head + 4, der_len);
	}
	free(bytes);
	return der_len;
}

START_TEST(certificates_are_decoded_strictly)
{
	static const char *const wrong[] = {"", "A", "AB", "ABC", "AB=", "A===", "====", "AB==AB==", "ABC=\n=", "AB-_",
					    "AB=C", "ABCD=", ("\xc3\xa4" "AB")};
	unsigned char der[64];

	ck_assert_uint_eq(der_of("AQID", der), 3);
	ck_assert_mem_eq(der, "\1\2\3", 3);
	ck_assert_uint_eq(der_of("\n+/+/\r\n \t//8=\n", der), 5);
	ck_assert_mem_eq(der, "\xfb\xff\xbf\xff\xff", 5);
	ck_assert_uint_eq(der_of("AZaz\n09AAQQ=\n=", der), 7);
	ck_assert_mem_eq(der, "\x01\x96\xb3\xd3\xd0\x00\x41", 7);
	ck_assert_uint_eq(der_of("AQIDBA\nUGBw==", der), 7); /* a line that ends within a group of four digits */
	ck_assert_mem_eq(der, "\1\2\3\4\5\6\7", 7);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ck_assert_msg(der_of(wrong[i], der) == 0, "%s", wrong[i]);
}
END_TEST

/* ---- the process that becomes egress ---- */

/* Starts one whose callgate-egress is a text, which cannot be executed. */
static pid_t start_waiting(struct policy *policy, int *ret_fd, int *ret_why_fd)
{
	static struct layers layers;
	struct helper_program program = {.fd = memfd_create("no program", MFD_CLOEXEC), .role = strdup("egress")};
	const struct starter_options options = {.policy = policy, .layers = &layers, .run_id = "0123",
						.program = &program, .makes_ca = true};
	struct starter_reply reply;
	pid_t pid;

	ck_assert_int_eq(starter_fork(&options, &pid, ret_fd, ret_why_fd), 0);
	helper_close_program(&program);
	ck_assert_int_eq(starter_receive_reply(*ret_fd, &reply), 0);
	ck_assert_int_eq(reply.error, 0);
	ck_assert(strncmp(reply.pem, "-----BEGIN CERTIFICATE-----\n", 28) == 0);
	return pid;
}

/* Sends a message, with three descriptors unless fd is -1. */
static void send_message(int socket_fd, enum control_type type, int fd)
{
	const struct control_message message = {.version = CONTROL_VERSION, .type = (uint32_t)type};
	const int fds[CONTROL_FDS_MAX] = {fd, fd, fd};

	ck_assert_int_eq(control_send_message(socket_fd, &message, fds, fd < 0 ? 0 : CONTROL_FDS_MAX), 0);
}

static const struct starter_case {
	const char *what;
	bool sockets, query;   /* the program's sockets are sent; one has a query */
	int message;           /* sent after that; -1: none, and the supervisor closes its end */
	int status;
	const char *why;
} starter_cases[] = {
	{"no message", false, false, -1, EXIT_SUCCESS, ""},
	{"the end at once", false, false, CONTROL_END, EXIT_SUCCESS, ""},
	{"the end", true, false, CONTROL_END, EXIT_SUCCESS, ""},
	{"the supervisor's death", true, false, -1, EXIT_SUCCESS, ""},
	{"a message before the sockets", false, false, CONTROL_CANCEL, EXIT_FAILURE, ""},
	{"the sockets' message without them", false, false, CONTROL_PROGRAM_SOCKETS, EXIT_FAILURE, ""},
	{"a connect", true, false, CONTROL_CONNECT, EXIT_FAILURE, "cannot be started"},
	{"a query", true, true, -1, EXIT_FAILURE, "cannot be started"},
};

START_TEST(egress_starts_when_it_is_needed)
{
	const struct starter_case *one = &starter_cases[_i];
	struct rig rig = {0};
	struct policy *policy = load(&rig);
	int fd, why_fd, query[2], status;
	char why[200];
	pid_t pid = start_waiting(policy, &fd, &why_fd);

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, query), 0);
	if (one->sockets)
		send_message(fd, CONTROL_PROGRAM_SOCKETS, query[0]);
	if (one->query)
		ck_assert_int_eq(send(query[1], "?", 1, 0), 1);
	if (one->message >= 0)
		send_message(fd, (enum control_type)one->message, -1);
	else if (!one->query)
		(void)close(fd);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == one->status, "%s: %x", one->what, (unsigned)status);
	starter_read_start_error(why_fd, why, sizeof(why));
	ck_assert_msg(one->why[0] ? strstr(why, one->why) != NULL : !why[0], "%s: %s", one->what, why);
	(void)close(query[0]);
	(void)close(query[1]);
	(void)close(why_fd);
	policy_free(policy);
	rig_done(&rig);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("egress_process");
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, addresses_are_taken_once);
	tcase_add_test(tcase, a_port_is_bound_for_both);
	tcase_add_test(tcase, the_pool_is_local);
	tcase_add_test(tcase, nobody_is_at_the_sink);
	tcase_add_test(tcase, files_and_variables);
	tcase_add_test(tcase, without_an_authority_there_is_no_variable);
	tcase_add_test(tcase, java_reads_a_store);
	tcase_add_test(tcase, certificates_are_decoded_strictly);
	tcase_add_loop_test(tcase, egress_starts_when_it_is_needed, 0,
			    sizeof(starter_cases) / sizeof(starter_cases[0]));
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
