/* Policies and questions made up from a seed, with few names, so that rules meet often. */
#ifndef CALLGATE_TESTS_POLICY_GENERATE_H
#define CALLGATE_TESTS_POLICY_GENERATE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* xorshift64*; the state must not be 0. A number below `bound`. */
unsigned generate_number(uint64_t *state, unsigned bound);

/* A policy, which the parser may refuse: rules can contradict each other. Owned by the caller. */
json_t *generate_policy(uint64_t *state);

/* The same policy with the items of each list in another order. Owned by the caller. */
json_t *generate_shuffled(uint64_t *state, const json_t *policy);

/* A path of the names that policies have. */
#define GENERATED_PATH_MAX 64
void generate_path(uint64_t *state, char ret_path[GENERATED_PATH_MAX]);

/* "GET https://host:port/path", "host:port", "port", as the options of callgate why take it. */
#define GENERATED_TEXT_MAX 128
void generate_url(uint64_t *state, char ret_text[GENERATED_TEXT_MAX]);
void generate_endpoint(uint64_t *state, char ret_text[GENERATED_TEXT_MAX]);

#endif
