/* Policies and questions made up from a seed, with few names, so that rules meet often. */
#ifndef CALLGATE_TESTS_POLICY_GENERATE_H
#define CALLGATE_TESTS_POLICY_GENERATE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/*
 * How many seeds a test tries: `usual` ones, always the same. With CALLGATE_SEEDS=N in the environment N times as many,
 * from a random start, which is printed; CALLGATE_START=START tries those again. To be called before the tests run.
 */
int generate_count(int usual);

/* The first state for the test of index `index`. `salt` is odd and different in each test. */
uint64_t generate_seed(uint64_t salt, int index);

/* xorshift64*; the state must not be 0. A number below `bound`. */
unsigned generate_number(uint64_t *state, unsigned bound);

/* A policy, which the parser may refuse: rules can contradict each other. Owned by the caller. */
json_t *generate_policy(uint64_t *state);

/* The same policy with the items of each list and the members of each object in another order. Owned by the caller. */
json_t *generate_shuffled(uint64_t *state, const json_t *policy);

/* A path of the names that policies have. */
#define GENERATED_PATH_MAX 64
void generate_path(uint64_t *state, char ret_path[GENERATED_PATH_MAX]);

/* "GET https://host:port/path", "host:port", "port", as the options of callgate why take it. */
#define GENERATED_TEXT_MAX 128
void generate_url(uint64_t *state, char ret_text[GENERATED_TEXT_MAX]);
void generate_endpoint(uint64_t *state, char ret_text[GENERATED_TEXT_MAX]);

#endif
