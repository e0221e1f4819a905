#include "agents/json-bounds.h"

bool json_is_within_bounds(const char *text, size_t len, size_t values_max, size_t depth_max)
{
	size_t values = 0, depth = 0;
	bool is_in_string = false;

	for (size_t i = 0; i < len; i++) {
		char byte = text[i];

		if (is_in_string) {
			if (byte == '\\')
				i++;
			else if (byte == '"')
				is_in_string = false;
			continue;
		}
		is_in_string = byte == '"';
		values += byte == ',' || byte == ':' || byte == '[' || byte == '{';
		if (byte == '[' || byte == '{')
			depth++;
		else if ((byte == ']' || byte == '}') && depth > 0)
			depth--;
		if (values > values_max || depth > depth_max)
			return false;
	}
	return true;
}
