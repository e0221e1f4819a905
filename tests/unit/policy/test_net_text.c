/* Canonical host names, normalised request paths and classes of addresses, from untrusted text. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/network/net.h"
#include "policy/network/network.h"
#include "tests/unit/unit.h"

struct pair {
	const char *text, *result; /* NULL: refused */
};

/* clang-format off */
static const struct pair hosts[] = {
	{"api.github.com", "api.github.com"}, {"API.GitHub.Com.", "api.github.com"}, {"localhost", "localhost"},
	{"a", "a"},
	{"xn--bcher-kva.example", "xn--bcher-kva.example"}, {"1.example", "1.example"}, {"a-b.c--d", "a-b.c--d"},
	{"0x.example", "0x.example"},
	{"", NULL}, {".", NULL}, {"a..b", NULL}, {".a", NULL}, {"a_b.c", NULL}, {"_dmarc.a", NULL}, {"a b", NULL},
	{"a@b", NULL},
	{"a:b", NULL}, {"a/b", NULL}, {"a%41", NULL}, {"a\r", NULL}, {"a\x7f", NULL}, {"b\xc3\xbc", NULL},
	{"-a.b", NULL}, {"a-.b", NULL}, {"a.b-", NULL},
	{"a*", NULL}, {"*.a", NULL}, {"a..", NULL}, {"a\\b", NULL}, {"a[b]", NULL},
	{"192.0.2.1", "192.0.2.1"}, {"192.0.2.1.", "192.0.2.1"}, {"127.1", NULL}, {"0x7f.1", NULL},
	{"2130706433", NULL}, {"0x7f000001", NULL},
	{"0177.0.0.1", NULL}, {"192.0.2.256", NULL}, {"192.0.2.01", NULL}, {"1.2.3", NULL}, {"1.2.3.4.5", NULL},
	{"a.0x1f", NULL}, {"a.0x", NULL}, {"a.9", NULL},
	{"::1", "::1"}, {"[::1]", "::1"}, {"2001:DB8:0::1", "2001:db8::1"}, {"::ffff:192.0.2.1", "192.0.2.1"},
	{"[::1", NULL}, {"[]", NULL},
	{"fe80::1%eth0", NULL}, {"[fe80::1%25eth0]", NULL}, {"::1]", NULL}, {"1:2:3:4:5:6:7:8:9", NULL},
	{"[192.0.2.1]", NULL}, {":", NULL}, {"[", NULL},
};

static const struct pair written_hosts[] = {
	{"B\xc3\xbc" "cher.example", "xn--bcher-kva.example"},
	{"\xe4\xbe\x8b\xe3\x81\x88.\xe3\x83\x86\xe3\x82\xb9\xe3\x83\x88", "xn--r8jz45g.xn--zckzah"},
	{"api\xe3\x80\x82test", "api.test"}, {"\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.1", NULL},
	{"fa\xc3\x9f.de", "xn--fa-hia.de"},
	{"a\xff", NULL}, {"https://api.test", NULL}, {"api.test/x", NULL}, {"user@api.test", NULL},
	{"api_x.test", NULL}, {"127.1", NULL},
};

static const struct pair paths[] = {
	{"/", "/"}, {"/a/b", "/a/b"}, {"/a/./b", "/a/b"}, {"/a/../b", "/b"}, {"/a/b/..", "/a/"}, {"/a/.", "/a/"},
	{"/a/b/../../c", "/c"}, {"/a//b", "/a//b"},
	{"/a//../b", "/a/b"}, {"/%7euser/%41", "/~user/A"}, {"/a%2fb", "/a%2Fb"}, {"/@types%2fnode", "/@types%2Fnode"},
	{"/a%3ab", "/a%3Ab"}, {"/a%2A", "/a%2A"},
	{"/%c3%bc", "/%C3%BC"}, {"/\xc3\xbc", "/%C3%BC"}, {"/a{b}|\"<>^`", "/a%7Bb%7D%7C%22%3C%3E%5E%60"},
	{"/a?b/../c", "/a"}, {"/?x=%zz", "/"}, {"/...", "/..."}, {"/..a", "/..a"},
	{"/.git", "/.git"}, {"/a.%2e", "/a.."}, {"/a%252eb/x", "/a%252eb/x"},
	{"/job/a%252fb", "/job/a%252fb"}, {"/%c3%80%c0%af", "/%C3%80%C0%AF"}, {"/..a%3b", "/..a%3B"},
	{"/a;b=c/d", "/a;b=c/d"},
	{"", NULL}, {"a", NULL}, {"*", NULL}, {"?x", NULL}, {"/..", NULL}, {"/a/../..", NULL}, {"/../a", NULL},
	{"/%2e%2e/a", NULL}, {"/a/%2e/b", NULL}, {"/.%2e/a", NULL},
	{"/a\\b", NULL}, {"/a%5cb", NULL}, {"/a%00", NULL}, {"/a%0a", NULL}, {"/a%7f", NULL}, {"/a b", NULL},
	{"/a\tb", NULL}, {"/a\x7f", NULL}, {"/a#b", NULL}, {"/a?b#c", NULL}, {"/a?b c", NULL},
	{"/a%", NULL}, {"/a%4", NULL}, {"/a%4g", NULL}, {"/a%%41", NULL}, {"/x/..;/y", NULL}, {"/x/..%3b/y", NULL},
	{"/x/.;a", NULL},
	{"/%252e%252e/x", NULL}, {"/%252e/x", NULL}, {"/%25252e%25252e/x", NULL}, {"/%25%32%65%252e/x", NULL},
	{"/x/..%252f..%252fy", NULL},
	{"/x/..%255cy", NULL}, {"/%c0%ae%c0%ae/x", NULL}, {"/%c0%ae./x", NULL}, {"/..%253bx/y", NULL},
	{"/..%2500/x", NULL},
	{"/%e0%80%ae%e0%80%ae/x", NULL}, {"/%f0%80%80%ae./x", NULL}, {"/%f8%80%80%80%ae/x", NULL},
	{"/%fc%80%80%80%80%ae./x", NULL},
	{"/x/..%e0%80%afy", NULL}, {"/%25e0%2580%25ae/x", NULL}, {"/%e2%80%ae/x", "/%E2%80%AE/x"},
	{"/%e0%a4%ae/x", "/%E0%A4%AE/x"},
	{"/%f0%9f%80%ae", "/%F0%9F%80%AE"}, {"/%80%ae/x", "/%80%AE/x"}, {"/100%2525", "/100%2525"},
	{"/bucket/a%252Fb%252f.c", "/bucket/a%252Fb%252f.c"},
	{"/@scope%2fname", "/@scope%2Fname"},
	{"/x/..%2fy", NULL}, {"/x/a%2f..", NULL}, {"/x/a%2f..%2fb", NULL}, {"/x/%2e%2e%2fb", NULL},
	{"/x/a%2f.%2fb", NULL},
};

static const struct {
	const char *pattern, *path;
	bool match;
} matches[] = {
	{"/", "/", true}, {"/", "/a", false}, {"/a", "/a", true}, {"/a", "/a/", false}, {"/a", "/ab", false},
	{"/**", "/", true}, {"/**", "/a/b", true},
	{"/a/**", "/a", true}, {"/a/**", "/a/", true}, {"/a/**", "/a/b/c", true}, {"/a/**", "/ab", false},
	{"/a/**", "/b/a/c", false},
	{"/a/*", "/a/b", true}, {"/a/*", "/a/", false}, {"/a/*", "/a", false}, {"/a/*", "/a/b/c", false},
	{"/*/b", "/a/b", true}, {"/*/b", "//b", false},
	{"/a*", "/a", true}, {"/a*", "/abc", true}, {"/a*", "/abc/d", false}, {"/*.json", "/x.json", true},
	{"/*.json", "/x.json.bak", false}, {"/*.json", "/a/x.json", false},
	{"/a*b*c", "/aXbYbZc", true}, {"/a*b*c", "/aXbYbZ", false}, {"/**/b", "/b", true}, {"/**/b", "/a/b", true},
	{"/**/b", "/a/c/b", true}, {"/**/b", "/ab", false}, {"/**/b", "/a/b/c", false},
	{"/a/**/b", "/a/b", true}, {"/a/**/b", "/a/x/y/b", true}, {"/a/**/b", "/axb", false},
	{"/a/**/b/*", "/a/b/b/c", true}, {"/a/**/b/**/c", "/a/b/c", true}, {"/a/**/b/**/c", "/a/x/b/y/c", true},
	{"/a/**/b/**/c", "/a/x/c", false}, {"/*/x*y/**", "/q/xaay/z", true}, {"/*/x*y/**", "/q/r/xy", false},
	{"/**/a*b", "/aXb/aY/aZb", true}, {"/**/a*b", "/aXb/aY", false},
	{"/*", "/a%2Fb", false}, {"/a*", "/a%2Fb", false}, {"/**", "/a%2Fb", true}, {"/a%2Fb", "/a%2Fb", true},
	{"/a/*", "/a/%2Fb", false}, {"/*%2Fb", "/a%2Fb", true}, {"/*", "/a%2A", true},
};

static const struct {
	const char *pattern, *host;
	bool match;
} names[] = {
	{"a.test", "a.test", true}, {"a.test", "b.a.test", false}, {"*.a.test", "b.a.test", true},
	{"*.a.test", "a.test", false}, {"*.a.test", "c.b.a.test", false},
	{"*.a.test", "ba.test", false}, {"**.a.test", "b.a.test", true}, {"**.a.test", "c.b.a.test", true},
	{"**.a.test", "a.test", false}, {"**.a.test", "xa.test", false},
	{"192.0.2.1", "192.0.2.1", true}, {"*.a.test", "", false}, {"::1", "::1", true},
};

static const struct {
	const char *address, *kind; /* NULL: public */
	char lifted_by;             /* 'p': NET_LIFT_PRIVATE, 'n': NET_LIFT_PRIVATE_AND_LOOPBACK, '-': nothing */
} addresses[] = {
	{"8.8.8.8", NULL, 0}, {"1.1.1.1", NULL, 0}, {"100.63.255.255", NULL, 0}, {"100.128.0.0", NULL, 0},
	{"172.15.255.255", NULL, 0}, {"172.32.0.0", NULL, 0}, {"198.17.255.255", NULL, 0}, {"198.20.0.0", NULL, 0},
	{"223.255.255.255", NULL, 0}, {"2606:4700::1111", NULL, 0}, {"2a00:1450::1", NULL, 0},
	{"2001:4860:4860::8888", NULL, 0},
	{"10.0.0.1", "private", 'p'}, {"172.16.0.1", "private", 'p'}, {"172.31.255.255", "private", 'p'},
	{"192.168.1.1", "private", 'p'}, {"100.64.0.1", "private", 'p'},
	{"100.100.100.200", "metadata", '-'}, {"169.254.169.254", "metadata", '-'}, {"169.254.170.2", "metadata", '-'},
	{"168.63.129.16", "metadata", '-'}, {"192.0.0.192", "metadata", '-'},
	{"fd00:ec2::254", "metadata", '-'}, {"fd20:ce::254", "metadata", '-'}, {"169.254.1.1", "link_local", 'n'},
	{"fe80::1", "link_local", 'n'}, {"127.0.0.1", "loopback", 'n'}, {"127.255.0.1", "loopback", 'n'},
	{"::1", "loopback", 'n'}, {"0.0.0.0", "unspecified", '-'}, {"0.1.2.3", "unspecified", '-'},
	{"::", "unspecified", '-'}, {"192.0.0.1", "reserved", 'n'}, {"192.0.2.1", "documentation", 'p'},
	{"198.51.100.1", "documentation", 'p'}, {"203.0.113.1", "documentation", 'p'}, {"192.88.99.1", "reserved", 'n'},
	{"198.18.0.1", "benchmark", 'p'}, {"198.19.255.255", "benchmark", 'p'},
	{"224.0.0.1", "multicast", '-'}, {"239.255.255.255", "multicast", '-'}, {"240.0.0.1", "reserved", 'n'},
	{"255.255.255.255", "broadcast", '-'}, {"ff02::1", "multicast", '-'},
	{"fc00::1", "private", 'p'}, {"fd12::1", "private", 'p'}, {"fec0::1", "private", 'p'},
	{"2001:db8::1", "documentation", 'p'}, {"3fff::1", "documentation", 'p'}, {"2001:10::1", "reserved", 'n'},
	{"2001:2::1", "benchmark", 'p'},
	{"100::1", "reserved", 'n'}, {"4000::1", "reserved", 'n'}, {"64:ff9b:1::1", "reserved", 'n'},
	{"::ffff:8.8.8.8", NULL, 0}, {"::ffff:127.0.0.1", "loopback", 'n'}, {"::ffff:169.254.169.254", "metadata", '-'},
	{"::10.0.0.1", "private", 'p'}, {"::8.8.8.8", NULL, 0}, {"::0.0.0.2", "unspecified", '-'},
	{"64:ff9b::8.8.8.8", NULL, 0}, {"64:ff9b::10.0.0.1", "private", 'p'},
	{"64:ff9b::169.254.169.254", "metadata", '-'}, {"::ffff:0:127.0.0.1", "loopback", 'n'},
	{"2002:7f00:1::1", "loopback", 'n'}, {"2002:808:808::1", NULL, 0}, {"2002:a9fe:a9fe::", "metadata", '-'},
	{"2001:0:808:808:0:0:f7f7:f7f7", NULL, 0}, {"2001:0:808:808:0:0:80ff:fffe", "loopback", 'n'},
	{"2001:0:a00:1:0:0:f7f7:f7f7", "private", 'p'}, {"2001:0:a9fe:a9fe:0:0:f5ff:fffe", "metadata", '-'},
};
/* clang-format on */

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

START_TEST(test_host)
{
	char host[NET_HOST_SIZE] = "untouched";
	int ret = net_host_canonicalise(hosts[_i].text, strlen(hosts[_i].text), host);

	ck_assert_msg(ret == (hosts[_i].result ? 0 : -EINVAL), "%s: %d %s", hosts[_i].text, ret, host);
	ck_assert_str_eq(host, hosts[_i].result ? hosts[_i].result : "untouched");
}
END_TEST

START_TEST(test_host_bounds)
{
	char text[400], host[NET_HOST_SIZE];

	memset(text, 'a', sizeof(text));
	ck_assert_int_eq(net_host_canonicalise(text, 63, host), 0);
	ck_assert_int_eq(net_host_canonicalise(text, 64, host), -EINVAL);
	for (size_t i = 1; i < sizeof(text); i += 2)
		text[i] = '.';
	ck_assert_int_eq(net_host_canonicalise(text, 253, host), 0);
	ck_assert_uint_eq(strlen(host), 253);
	ck_assert_int_eq(net_host_canonicalise(text, 254, host), 0); /* the last byte is a dot */
	ck_assert_int_eq(net_host_canonicalise(text, 255, host), -EINVAL);
	ck_assert_int_eq(net_host_canonicalise("a\0b", 3, host), -EINVAL);
	ck_assert_int_eq(net_host_canonicalise("a.testX", 6, host), 0);
	ck_assert_str_eq(host, "a.test");
}
END_TEST

START_TEST(test_written_host)
{
	const char *why = NULL;
	char host[NET_HOST_SIZE] = "untouched";
	int ret = net_host_parse(written_hosts[_i].text, host, &why);

	ck_assert_int_eq(ret, written_hosts[_i].result ? 0 : -EINVAL);
	if (written_hosts[_i].result)
		ck_assert_str_eq(host, written_hosts[_i].result);
	else
		ck_assert_ptr_nonnull(why);
}
END_TEST

START_TEST(test_path)
{
	const char *target = paths[_i].text, *query = target;
	char path[NET_PATH_SIZE] = "untouched", again[NET_PATH_SIZE];
	int ret = net_path_normalise(target, strlen(target), path, &query);

	ck_assert_msg(ret == (paths[_i].result ? 0 : -EINVAL), "%s: %d %s", target, ret, path);
	ck_assert_str_eq(path, paths[_i].result ? paths[_i].result : "untouched");
	if (!paths[_i].result)
		return;
	ck_assert_ptr_eq(query, strchr(target, '?'));
	ck_assert_int_eq(net_path_normalise(path, strlen(path), again, NULL), 0);
	ck_assert_str_eq(again, path); /* normalising is idempotent */
}
END_TEST

START_TEST(test_path_bounds)
{
	char target[3 * NET_PATH_SIZE], path[NET_PATH_SIZE];

	memset(target, 'a', sizeof(target));
	target[0] = '/';
	ck_assert_int_eq(net_path_normalise(target, NET_PATH_SIZE - 1, path, NULL), 0);
	ck_assert_int_eq(net_path_normalise(target, NET_PATH_SIZE, path, NULL), -ENAMETOOLONG);
	memset(target + 1, '"', sizeof(target) - 1); /* each becomes a three-byte escape */
	ck_assert_int_eq(net_path_normalise(target, NET_PATH_SIZE / 2, path, NULL), -ENAMETOOLONG);
	for (size_t i = 0; i + 2 < sizeof(target); i += 3)
		memcpy(target + i, "/..", 3);
	ck_assert_int_eq(net_path_normalise(target, sizeof(target), path, NULL), -EINVAL);
	for (size_t len = 0; len < 4; len++) /* a truncated escape must not be read past its end */
		ck_assert_int_eq(net_path_normalise("/%41", len, path, NULL), len == 1 ? 0 : -EINVAL);
}
END_TEST

START_TEST(test_match)
{
	ck_assert_msg(net_path_matches(matches[_i].pattern, matches[_i].path) == matches[_i].match, "%s %s",
		      matches[_i].pattern, matches[_i].path);
}
END_TEST

/* Matching takes at most time proportional to the product of the lengths. */
START_TEST(test_match_is_quick)
{
	static char path[NET_PATH_SIZE];

	memset(path, 'a', sizeof(path) - 1);
	for (size_t i = 0; i < sizeof(path) - 1; i += 2)
		path[i] = '/';
	for (int i = 0; i < 100; i++)
		ck_assert(!net_path_matches("/**/a/**/a*a*a*b/**/a*b", path));
}
END_TEST

/* Requests for which a rule can be suggested that permits no others. */
START_TEST(test_rule_can_name)
{
	static const struct {
		const char *method, *path;
		bool can;
	} requests[] = {
		{"PUT", "/a", true},   {NULL, "/a", true},         {"VERSION-CONTROL", "/", true}, {"*", "/a", false},
		{"put", "/a", false},  {"WEBSOCKET", "/a", false}, {"A.B", "/a", false},           {"PUT", "/*", false},
		{"PUT", "/%2A", true}, {NULL, "/*", false},
	};

	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
		ck_assert_msg(net_http_rule_can_name(requests[i].method, requests[i].path) == requests[i].can, "%zu",
			      i);
}
END_TEST

START_TEST(test_name)
{
	ck_assert_msg(net_host_matches(names[_i].pattern, names[_i].host) == names[_i].match, "%s %s",
		      names[_i].pattern, names[_i].host);
}
END_TEST

static struct sockaddr_storage address_of(const char *text)
{
	struct sockaddr_storage address = {.ss_family = strchr(text, ':') ? AF_INET6 : AF_INET};
	void *bytes = strchr(text, ':') ? (void *)&((struct sockaddr_in6 *)(void *)&address)->sin6_addr
					: (void *)&((struct sockaddr_in *)(void *)&address)->sin_addr;

	ck_assert_int_eq(inet_pton(address.ss_family, text, bytes), 1);
	return address;
}

static void check_same(const char *text, const char *a, const char *b)
{
	ck_assert_msg((!a && !b) || (a && b && strcmp(a, b) == 0), "%s: %s, not %s", text, a ? a : "public",
		      b ? b : "public");
}

START_TEST(test_address)
{
	struct sockaddr_storage storage = address_of(addresses[_i].address);
	const struct sockaddr *address = (const struct sockaddr *)&storage;
	const char *kind = addresses[_i].kind, *text = addresses[_i].address;
	char by = addresses[_i].lifted_by;

	check_same(text, net_address_get_nonpublic_class(address), kind);
	check_same(text, net_address_get_refusal_reason(address, NET_LIFT_NONE), kind);
	check_same(text, net_address_get_refusal_reason(address, NET_LIFT_PRIVATE), by == 'p' ? NULL : kind);
	check_same(text, net_address_get_refusal_reason(address, NET_LIFT_PRIVATE_AND_LOOPBACK),
		   by == '-' ? kind : NULL);
}
END_TEST

START_TEST(test_address_text)
{
	struct sockaddr_storage mapped = address_of("::ffff:192.0.2.1"), v6 = address_of("2001:DB8::1"),
				v4 = address_of("192.0.2.1");
	struct sockaddr other = {.sa_family = AF_UNIX};
	char text[NET_ADDRESS_TEXT_SIZE];

	net_address_format((const struct sockaddr *)&mapped, text);
	ck_assert_str_eq(text, "192.0.2.1");
	net_address_format((const struct sockaddr *)&v4, text);
	ck_assert_str_eq(text, "192.0.2.1");
	net_address_format((const struct sockaddr *)&v6, text);
	ck_assert_str_eq(text, "2001:db8::1");
	net_address_format(&other, text);
	ck_assert_str_eq(text, "");
	ck_assert_str_eq(net_address_get_refusal_reason(&other, NET_LIFT_PRIVATE_AND_LOOPBACK), "unknown_family");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("net text");
	TCase *tcase = tcase_create("text");

	tcase_add_loop_test(tcase, test_host, 0, COUNT(hosts));
	tcase_add_test(tcase, test_host_bounds);
	tcase_add_loop_test(tcase, test_written_host, 0, COUNT(written_hosts));
	tcase_add_loop_test(tcase, test_path, 0, COUNT(paths));
	tcase_add_test(tcase, test_path_bounds);
	tcase_add_loop_test(tcase, test_match, 0, COUNT(matches));
	tcase_add_test(tcase, test_match_is_quick);
	tcase_add_test(tcase, test_rule_can_name);
	tcase_add_loop_test(tcase, test_name, 0, COUNT(names));
	tcase_add_loop_test(tcase, test_address, 0, COUNT(addresses));
	tcase_add_test(tcase, test_address_text);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
