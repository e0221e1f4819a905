#include <idn2.h>
#include <libpsl.h>
#include <stddef.h>
#include <string.h>

#include "policy/network/names.h"

#include "base/banned.h"

char *net_names_ascii(const char *text, const char **ret_why)
{
	char *ascii = NULL, *copy = NULL;
	int ret = idn2_to_ascii_8z(text, &ascii, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);

	if (ret == IDN2_OK)
		copy = strdup(ascii);
	*ret_why = idn2_strerror(ret == IDN2_OK ? IDN2_MALLOC : ret);
	idn2_free(ascii);
	return copy;
}

bool net_names_public(const char *name, const char **ret_why)
{
	const psl_ctx_t *list = psl_builtin();

	(void)ret_why; /* the list is built into libpsl */
	return list ? psl_is_public_suffix(list, name) : !strchr(name, '.');
}
