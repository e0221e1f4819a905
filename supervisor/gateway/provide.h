/*
 * Shared by the files that prepare the program's network before it starts: files in its view, variables in its
 * environment, addresses and routes.
 */
#ifndef CALLGATE_SUPERVISOR_GATEWAY_PROVIDE_H
#define CALLGATE_SUPERVISOR_GATEWAY_PROVIDE_H

#include <stdint.h>

#include "base/buf.h"
#include "egress/secrets/secret.h"
#include "supervisor/gateway/start.h"

#define CA_CERTIFICATES_BYTES_MAX (8u << 20) /* most bytes of a file of certificates */
#define DNS_PORT 53

/* What the files and variables are made from that egress' clients need. */
struct egress_provide_options {
	const struct policy *policy;
	const struct secrets *secrets; /* NULL: no secrets */
	char *root_certificates_pem;   /* the system's certificates in PEM; NULL: none were found */
	const char *ca;                /* the certificate of the run's authority in PEM; NULL: no TLS is intercepted */
	struct java_truststores *java_truststores; /* made before `ca` is known; NULL: there is no Java */
	/* root_certificates_pem and `ca` in one text, which egress_process_release() frees; NULL: neither exists */
	char *root_and_run_certificates_pem;
};

/* Returns the system's certificates in PEM, owned; NULL: none were found. */
char *egress_read_system_roots(size_t *ret_len);

/*
 * Fills egress->provided_file and egress->env_variable. Takes provide->root_certificates_pem and
 * provide->java_truststores, also on failure. 0 or -ENOMEM.
 */
int egress_provide_files_and_variables(struct egress_provide_options *provide, struct egress_process *egress);

/* egress.c: add a file or a variable, and copy its texts. 0 or -ENOMEM. */
int egress_process_add_file(struct egress_process *egress, const char *virt, const char *text, size_t len);
/*
 * Keeps a text until egress_process_release(); takes it also on failure. The text can then be the content of several
 * provided files without being copied: certificates take 200 kB. 0 or -ENOMEM.
 */
int egress_process_keep_text(struct egress_process *egress, char *text);
/* Adds a provided file whose text egress_process_keep_text() keeps. 0 or -ENOMEM. */
int egress_process_add_file_with_kept_text(struct egress_process *egress, const char *virt, char *text, size_t len);
/* Adds a variable of the program's environment. overrides_policy: also if the policy sets it. 0 or -ENOMEM. */
int egress_process_add_variable(struct egress_process *egress, const char *name, const char *value,
				bool overrides_policy);

/*
 * provide-java.c: a cacerts file for each Java that the policy lets be executed. Begun while another process makes the
 * run's authority. *ret_stores: NULL when there is no Java. 0 or -ENOMEM.
 */
int egress_begin_java_truststores(const struct policy *policy, const char *roots, struct java_truststores **ret_stores);
/* Adds the certificate of the run's authority, and the files to egress. 0, -ENOMEM or -EINVAL. */
int egress_finish_java_truststores(struct java_truststores *stores, const char *ca, struct egress_process *egress);
void egress_free_java_truststores(struct java_truststores *stores);

/* truststore.c: a keystore (JKS, password "changeit"), for $JAVA_HOME/lib/security/cacerts. */
#define TRUSTSTORE_NO_DIGIT 0x80u
/* A Java truststore in the JKS format that is being written. */
struct truststore {
	struct buf buf;
	unsigned certificate_count; /* certificates written so far */
	uint8_t base64_value[256]; /* of each digit; TRUSTSTORE_NO_DIGIT: it is none */
};

/* Begins an empty keystore. bytes: about how large it will be. */
void truststore_begin(struct truststore *store, size_t bytes);
/* Adds the certificates of a PEM text, which may be NULL, but for those that are not base64. 0 or -ENOMEM. */
int truststore_add(struct truststore *store, const char *pem);
/* 0 with owned bytes; -ENOMEM; -EINVAL: there is no certificate. */
int truststore_finish(struct truststore *store, char **ret_bytes, size_t *ret_len);
void truststore_release(struct truststore *store);

/* ---- address.c: loopback addresses for runs without a network namespace ---- */

/* Reserves a free pair of addresses (127.x.y.z with an even z, and the next one) while *ret_fd is open. 0 or -errno. */
int egress_address_reserve(struct in_addr *ret_address, int *ret_fd);
/* Binds a UDP socket and a listening TCP socket to the same port; port 0: any free port. 0 or -errno. */
int egress_address_bind_udp_and_tcp(struct in_addr address, uint16_t port, int ret_fd[2], uint16_t *ret_port);
/* Binds a socket of this type. Returns the descriptor or -errno. */
int egress_address_bind_socket(struct in_addr address, uint16_t port, int type, uint16_t *ret_port);

/*
 * routes.c: makes foreign addresses local in the run's own network namespace: by "ip route add local RANGE dev lo" the
 * policy's pool and the addresses in its UDP rules, and by "ip address add OWN dev lo" the run's own address in the
 * pool. Needs CAP_NET_ADMIN over the network namespace. IPv6 is skipped if the kernel lacks it. 0 or -errno.
 */
int egress_routes_add(const struct policy *policy);

#endif
