/*
 * The rules as a tree of path components, stored in one hash table: judging a path takes one look-up for each
 * component. Built by index.c and mounts.c, read by decide.c and move.c. Nodes with the parent PATH_TREE_ANY_DIR are
 * apart from the tree: each is a name that is denied in every directory.
 */
#ifndef CALLGATE_POLICY_PATHS_TREE_H
#define CALLGATE_POLICY_PATHS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/arena.h"
#include "policy/policy.h"

struct rule;

#define PATH_TREE_ROOT 0
#define PATH_TREE_NO_NODE UINT32_MAX       /* index returned when no node is found */
#define PATH_TREE_ANY_DIR (UINT32_MAX - 1) /* parent of a name that is denied in every directory */

/* A component of a path in a tree, and what rules say about the path up to it. */
struct path_tree_node {
	/* The fields that every look-up reads come first. */
	uint64_t name_hash;               /* hash of the component */
	uint32_t parent_index;
	unsigned rights;             /* POLICY_ rights that rules grant here, for the subtree */
	const char *name;            /* the component; not NUL-terminated */
	size_t name_len;
	const struct rule *deny_rule;
	const struct rule *exec_deny_rule;
	size_t glob_rule_count;
	const struct rule *grant_rules[3]; /* rules that grant the whole subtree, for READ, WRITE, EXEC */
	bool is_remapped;                  /* a remapped mount is here: rights granted above do not apply below */
	bool has_unlisted_names;           /* "libraries" hides names in this directory from listings */
	bool has_grant;              /* a rule grants something at this node or below */
	const struct rule **glob;    /* rules with a glob that starts in this directory */
	enum verdict verdict;        /* remapped: the verdict for what is allowed below */
	uint32_t mount_index_plus_1; /* used while compiling: index + 1 of the mount at this node; 0: none */
	const struct rule *public_rule;  /* the RULE_PUBLIC for this subtree */
	/* the RULE_PRIVATE for this subtree or, below PATH_TREE_ANY_DIR, for this name */
	const struct rule *private_rule;
	uint32_t after_read_entries;         /* entries of after_read whose "paths" contain the subtree, or the name */
	uint32_t after_write_entries;        /* entries of after_read whose "write" contains the subtree, or the name */
	const char *alias_path[2];        /* remapped: other paths of the same object; deny rules for them apply here */
};

/* A tree of path components, with what rules say about each. */
struct path_tree {
	struct path_tree_node *node;
	size_t node_count;
	uint32_t *hash_slot; /* hash table: indices into node[] */
	size_t slot_count;   /* number of slots: a power of two */
	uint64_t any_dir_name_bloom_bits; /* Bloom filter of the nodes below PATH_TREE_ANY_DIR: bit hash >> 58 is set */
};

/* A weak but fast hash: path_tree_find_child() also compares the names. */
static inline uint64_t path_tree_hash_name(const char *name, size_t len)
{
	uint64_t head = 0, tail = 0;

	if (len >= 8) {
		__builtin_memcpy(&head, name, 8);
		__builtin_memcpy(&tail, name + len - 8, 8);
	} else {
		for (size_t i = 0; i < len; i++)
			head = head << 8 | (unsigned char)name[i];
	}
	head = (head ^ len) * UINT64_C(0x9e3779b97f4a7c15);
	return (head ^ (head >> 32) ^ tail) * UINT64_C(0xd6e8feb86659fd93);
}

/* Returns the index of a child, or PATH_TREE_NO_NODE. `hash` is path_tree_hash_name() of the name. */
uint32_t path_tree_find_child(const struct path_tree *tree, uint32_t parent, uint64_t hash, const char *name,
			      size_t len);

/* Finds or adds a child, and returns its index. Borrows the name. May reallocate node[]. */
uint32_t path_tree_add_child(struct path_tree *tree, struct arena *arena, uint32_t parent, const char *name,
			     size_t len);

/* Finds or adds every component of an absolute path ("/" is PATH_TREE_ROOT), and returns the index of the last. */
uint32_t path_tree_add_path(struct path_tree *tree, struct arena *arena, const char *path);

/* Returns the node of this absolute path, or NULL. */
struct path_tree_node *path_tree_find_path(const struct path_tree *tree, const char *path);

#endif
