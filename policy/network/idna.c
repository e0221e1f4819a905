/* Parses host names in policies: also internationalised ones, which become A-labels (IDNA 2008 by UTS #46). */
#include <errno.h>
#include <idn2.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/network/net.h"

#include "base/banned.h"

static const char *idna_explain(const char *text)
{
	const char *slash = strchr(text, '/'), *colon = strchr(text, ':');

	if (slash && slash[1] && !slash[1 + strspn(slash + 1, "0123456789")])
		return "is a network or a path; addresses are named one by one, hosts without a path";
	if (colon && colon > text && colon[1] && text[0] != '[' && !colon[1 + strspn(colon + 1, "0123456789")])
		return "is no host name: a port does not belong to it";
	if (strpbrk(text, "/?#"))
		return "is no host name: write it without a scheme or a path";
	if (strchr(text, '@'))
		return "has an \"@\" in it; write the host alone";
	if (strchr(text, '%'))
		return "has a \"%\" in it; zone ids and escapes cannot be in a host name";
	if (strchr(text, '*'))
		return "has a \"*\" in it; wildcards are \"*.NAME\" (one label) and \"**.NAME\" (any number)";
	if (strchr(text, '_'))
		return "has a \"_\" in it, which no host name has";
	if (strlen(text) >= NET_HOST_MAX)
		return "is longer than a host name can be";
	if (text[strspn(text, "0123456789abcdefxABCDEFX.:[]")] == '\0' && strpbrk(text, "0123456789"))
		return "is no address; write \"192.0.2.1\" or \"2001:db8::1\"";
	return "is no host name";
}

int net_host_parse(const char *text, char ret_host[NET_HOST_MAX], const char **ret_why)
{
	_cleanup_free_ char *ascii = NULL; /* idn2_free() is free() */
	int ret;

	if (net_host_canonical(text, strlen(text), ret_host) == 0)
		return 0;
	*ret_why = idna_explain(text);
	/* all-ASCII text is invalid for good: IDNA would only map it to another name */
	for (ret = 0; text[ret] && !(text[ret] & 0x80); ret++)
		if (ret >= 4 * NET_HOST_MAX)
			return -EINVAL;
	if (!text[ret])
		return -EINVAL;
	ret = idn2_to_ascii_8z(text, &ascii, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);
	*ret_why = idn2_strerror(ret);
	if (ret != IDN2_OK)
		return -EINVAL;
	ret = net_host_canonical(ascii, strlen(ascii), ret_host);
	if (ret < 0)
		*ret_why = idna_explain(ascii);
	return ret;
}
