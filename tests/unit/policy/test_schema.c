/* policy/schema.json says what the parser's key table says: the same keys with the same types and the same words. */
#include <check.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/parse/keys.h"
#include "policy/parse/layer-names.h"
#include "tests/unit/unit.h"

static json_t *schema;

static json_t *at(json_t *object, const char *a, const char *b)
{
	json_t *found = json_object_get(object, a);

	return b ? json_object_get(found, b) : found;
}

static json_t *network_section(const char *section)
{
	json_t *network = json_array_get(at(at(schema, "properties", "network"), "anyOf", NULL), 1);
	json_t *allow = at(at(network, "properties", "allow"), "items", NULL);

	if (strcmp(section, "network.allow[]") == 0)
		return allow;
	if (strcmp(section, "network.allow[].credential") == 0)
		return at(allow, "properties", "credential");
	if (strcmp(section, "network.deny[]") == 0)
		return at(at(network, "properties", "deny"), "items", NULL);
	if (strcmp(section, "network.ask[]") == 0)
		return at(at(network, "properties", "ask"), "items", NULL);
	return strcmp(section, "network.pool") == 0 ? at(network, "properties", "pool") : network;
}

/* The schema of the section a row belongs to. */
static json_t *section_of(const char *section)
{
	json_t *filesystem = at(at(schema, "properties", "filesystem"), "properties", NULL);
	char name[64];

	if (!*section)
		return schema;
	if (strcmp(section, "filesystem.redirect[]") == 0)
		return at(at(filesystem, "redirect", NULL), "items", NULL);
	if (strcmp(section, "filesystem.provide{}") == 0)
		return json_array_get(at(at(filesystem, "provide", "additionalProperties"), "anyOf", NULL), 1);
	if (strcmp(section, "paths[]") == 0)
		return at(schema, "$defs", "rule");
	if (strcmp(section, "paths[].also_grants") == 0)
		return at(at(at(schema, "$defs", "rule"), "properties", NULL), "also_grants", NULL);
	if (strcmp(section, "after_read[]") == 0)
		return at(at(schema, "properties", "after_read"), "items", NULL);
	if (strcmp(section, "after_read[].then") == 0)
		return at(at(section_of("after_read[]"), "properties", NULL), "then", NULL);
	if (strcmp(section, "secrets{}") == 0)
		return at(at(schema, "properties", "secrets"), "additionalProperties", NULL);
	if (strncmp(section, "network", 7) == 0)
		return network_section(section);
	(void)snprintf(name, sizeof(name), "%s", section);
	return at(schema, "properties", name);
}

static const char *const references[KEY_TYPE_MAX] = {
	[KEY_STRING] = "#/$defs/string",
	[KEY_PATH] = "#/$defs/path",
	[KEY_BOOL] = "#/$defs/bool",
	[KEY_DURATION] = "#/$defs/duration",
	[KEY_SIZE] = "#/$defs/size",
	[KEY_SIZE_OR_NONE] = "#/$defs/amount",
	[KEY_NUMBER_OR_NONE] = "#/$defs/count",
	[KEY_STRING_LIST] = "#/$defs/strings",
	[KEY_PATH_LIST] = "#/$defs/paths",
	[KEY_STRINGS_BY_NAME] = "#/$defs/texts",
	[KEY_NUMBER] = "#/$defs/number",
	[KEY_FINDING_LIST] = "#/$defs/findings",
	[KEY_LAYER_LIST] = "#/$defs/layers",
	[KEY_PORT_OR_PORT_LIST] = "#/$defs/ports",
	[KEY_PORT_RANGE_LIST] = "#/$defs/listen",
	[KEY_ADDRESSES_BY_HOST] = "#/$defs/addresses",
	[KEY_BOOL_OR_ENV] = "#/$defs/proxy",
	[KEY_PHASE_OBJECT] = "#/$defs/phase",
};

/* The words are the parser's. */
static void check_words(enum key_type type, json_t *words)
{
	const char *const *known = policy_key_type_get_words(type);
	json_t *word;
	size_t i;

	json_array_foreach (words, i, word)
		ck_assert_str_eq(json_string_value(word), known[i]);
	ck_assert(i > 0 && !known[i]);
}

static void check_type(const struct policy_key *key, json_t *property)
{
	const char *type = json_string_value(json_object_get(property, "type"));

	if (references[key->type])
		ck_assert_str_eq(json_string_value(json_object_get(property, "$ref")), references[key->type]);
	else if (key->type == KEY_FORMAT_VERSION)
		ck_assert_int_eq(json_integer_value(json_object_get(property, "const")), 1);
	else if (policy_key_type_get_words(key->type))
		check_words(key->type, json_object_get(property, "enum"));
	else if (key->type == KEY_NETWORK_OR_NONE)
		ck_assert_str_eq(
			json_string_value(at(json_array_get(json_object_get(property, "anyOf"), 0), "const", NULL)),
			"none");
	else if (key->type == KEY_OBJECT_LIST)
		ck_assert_str_eq(type, "array");
	else
		ck_assert_str_eq(type, "object");
	if (key->type == KEY_OBJECT)
		ck_assert(json_is_false(json_object_get(property, "additionalProperties")));
}

START_TEST(test_every_key_is_in_the_schema)
{
	size_t count;
	const struct policy_key *keys = policy_key_get_all(&count);

	for (size_t i = 0; i < count; i++) {
		json_t *property = at(section_of(keys[i].section), "properties", keys[i].name);

		ck_assert_msg(property != NULL, "%s.%s is missing", keys[i].section, keys[i].name);
		ck_assert_str_eq(json_string_value(json_object_get(property, "description")), keys[i].help);
		check_type(&keys[i], property);
	}
}
END_TEST

static void check_section(const char *section)
{
	json_t *object = section_of(section);
	const char *name;
	json_t *property;

	ck_assert_msg(json_is_false(json_object_get(object, "additionalProperties")), "%s is open", section);
	json_object_foreach (json_object_get(object, "properties"), name, property) {
		const struct policy_key *key = policy_key_find(section, name);

		ck_assert_msg(key, "the parser does not know %s.%s", section, name);
		if (key->type == KEY_OBJECT && !*section)
			check_section(name);
	}
}

START_TEST(test_every_property_is_a_key)
{
	check_section("");
	check_section("paths[]");
	check_section("paths[].also_grants");
	check_section("filesystem.redirect[]");
	check_section("filesystem.provide{}");
	check_section("network");
	check_section("network.allow[]");
	check_section("network.allow[].credential");
	check_section("network.deny[]");
	check_section("network.ask[]");
	check_section("network.pool");
	check_section("secrets{}");
	check_section("after_read[]");
	check_section("after_read[].then");
}
END_TEST

/* A phase has the rows of the top that the parser takes there, as they are at the top. */
START_TEST(test_phase)
{
	json_t *phase = at(at(schema, "$defs", "phase"), "properties", NULL);
	size_t count, in_phase = 0;
	const struct policy_key *keys = policy_key_get_all(&count);

	for (size_t i = 0; i < count; i++) {
		json_t *property = *keys[i].section ? NULL : json_object_get(phase, keys[i].name);
		char reference[64];

		ck_assert_msg(policy_key_may_be_in_phase(&keys[i]) == (property != NULL), "%s", keys[i].name);
		(void)snprintf(reference, sizeof(reference), "#/properties/%s", keys[i].name);
		if (property)
			ck_assert_str_eq(json_string_value(json_object_get(property, "$ref")), reference);
		in_phase += property != NULL;
	}
	ck_assert_uint_eq(in_phase, json_object_size(phase));
	ck_assert(json_is_false(at(at(schema, "$defs", "phase"), "additionalProperties", NULL)));
}
END_TEST

/* The names an editor offers are those the parser takes. */
START_TEST(test_layers)
{
	json_t *names = at(at(at(schema, "$defs", "layers"), "items", NULL), "enum", NULL), *name;
	unsigned all = 0;
	size_t i;

	json_array_foreach (names, i, name) {
		unsigned bits = layer_parse_bits(json_string_value(name), json_string_length(name));

		ck_assert_msg(bits != 0, "the parser does not know %s", json_string_value(name));
		if (i < LAYER_MAX)
			all |= bits;
	}
	ck_assert_uint_eq(json_array_size(names), LAYER_MAX + 1);
	ck_assert_uint_eq(all, LAYER_BIT(LAYER_MAX) - 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("policy schema");
	TCase *tcase = tcase_create("schema");
	const char *top_srcdir = getenv("top_srcdir");
	char path[4096];
	json_error_t error;
	int failed;

	(void)snprintf(path, sizeof(path), "%s/policy/schema.json", top_srcdir ? top_srcdir : TOP_SRCDIR);
	schema = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	if (!schema) {
		(void)fprintf(stderr, "%s:%d: %s\n", path, error.line, error.text);
		return EXIT_FAILURE;
	}
	tcase_add_test(tcase, test_every_key_is_in_the_schema);
	tcase_add_test(tcase, test_every_property_is_a_key);
	tcase_add_test(tcase, test_phase);
	tcase_add_test(tcase, test_layers);
	suite_add_tcase(suite, tcase);
	failed = unit_run(suite);
	json_decref(schema);
	return failed;
}
