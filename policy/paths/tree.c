#include <string.h>

#include "policy/paths/tree.h"

/* The slot at which the search for a node with this parent and name begins. */
static size_t path_tree_get_first_slot(const struct path_tree *tree, uint32_t parent, uint64_t hash)
{
	uint64_t mixed = hash ^ (((uint64_t)parent + 1) * UINT64_C(0xff51afd7ed558ccd));

	return (size_t)(mixed ^ (mixed >> 29)) & (tree->slot_count - 1);
}

uint32_t path_tree_find_child(const struct path_tree *tree, uint32_t parent, uint64_t hash, const char *name,
			      size_t len)
{
	if (!tree->slot_count)
		return PATH_TREE_NO_NODE;
	for (size_t slot = path_tree_get_first_slot(tree, parent, hash);; slot = (slot + 1) & (tree->slot_count - 1)) {
		uint32_t index = tree->hash_slot[slot];
		const struct path_tree_node *node;

		if (index == PATH_TREE_NO_NODE)
			return PATH_TREE_NO_NODE;
		node = &tree->node[index];
		if (node->name_hash == hash && node->parent_index == parent && node->name_len == len &&
		    memcmp(node->name, name, len) == 0)
			return index;
	}
}

/* Puts a node into the first free slot from that of its hash on. */
static void path_tree_put_into_hash_slot(struct path_tree *tree, uint32_t index)
{
	const struct path_tree_node *node = &tree->node[index];
	size_t slot = path_tree_get_first_slot(tree, node->parent_index, node->name_hash);

	while (tree->hash_slot[slot] != PATH_TREE_NO_NODE)
		slot = (slot + 1) & (tree->slot_count - 1);
	tree->hash_slot[slot] = index;
}

/* Keeps the hash table at most a quarter full: most look-ups miss, and a miss should end at the first slot. */
static void path_tree_grow_slots(struct path_tree *tree, struct arena *arena)
{
	size_t slots = tree->slot_count ? tree->slot_count * 2 : 64;

	if (tree->slot_count >= (tree->node_count + 1) * 4)
		return;
	tree->hash_slot = arena_alloc(arena, slots * sizeof(*tree->hash_slot));
	tree->slot_count = slots;
	memset(tree->hash_slot, 0xff, slots * sizeof(*tree->hash_slot)); /* every byte 0xff: PATH_TREE_NO_NODE */
	for (size_t i = 0; i < tree->node_count; i++)
		path_tree_put_into_hash_slot(tree, (uint32_t)i);
}

uint32_t path_tree_add_child(struct path_tree *tree, struct arena *arena, uint32_t parent, const char *name, size_t len)
{
	uint64_t hash = path_tree_hash_name(name, len);
	uint32_t index = path_tree_find_child(tree, parent, hash, name, len);

	if (index != PATH_TREE_NO_NODE)
		return index;
	path_tree_grow_slots(tree, arena);
	index = (uint32_t)tree->node_count;
	ARENA_APPEND(arena, tree->node, tree->node_count,
		     ((struct path_tree_node){.parent_index = parent, .name_hash = hash, .name = name, .name_len = len,
					 .verdict = VERDICT_ALLOW}));
	path_tree_put_into_hash_slot(tree, index);
	if (parent == PATH_TREE_ANY_DIR)
		tree->any_dir_name_bloom_bits |= UINT64_C(1) << (hash >> 58);
	return index;
}

uint32_t path_tree_add_path(struct path_tree *tree, struct arena *arena, const char *path)
{
	/* the root: always the first node */
	uint32_t index = path_tree_add_child(tree, arena, PATH_TREE_NO_NODE, "", 0);
	const char *end;

	for (path++; *path; path = *end ? end + 1 : end) {
		end = strchrnul(path, '/');
		index = path_tree_add_child(tree, arena, index, path, (size_t)(end - path));
	}
	return index;
}

struct path_tree_node *path_tree_find_path(const struct path_tree *tree, const char *path)
{
	uint32_t index = PATH_TREE_ROOT;
	const char *end;

	if (tree->node_count == 0)
		return NULL;
	for (path++; *path; path = *end ? end + 1 : end) {
		size_t len;

		end = strchrnul(path, '/');
		len = (size_t)(end - path);
		index = path_tree_find_child(tree, index, path_tree_hash_name(path, len), path, len);
		if (index == PATH_TREE_NO_NODE)
			return NULL;
	}
	return &tree->node[index];
}
