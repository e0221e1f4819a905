#include <nettle/base64.h>
#include <nettle/sha2.h>
#include <string.h>

#include "cli/audit/report/report.h"

#define DIGEST_BASE64_SIZE (BASE64_ENCODE_RAW_LENGTH(SHA256_DIGEST_SIZE) + 1)

static const struct report_template *page_find_template(const char *name)
{
	const struct report_template *template = report_templates;

	/* the loop needs no other end: callers only ask for names that the table has */
	while (strcmp(template->name, name) != 0)
		template++;
	return template;
}

/* Writes a part of the page that is compiled in. */
static void page_write_template(FILE *out, const char *name)
{
	const struct report_template *template = page_find_template(name);

	(void)fwrite(template->bytes, 1, template->len, out);
}

/* Returns the digest that the page's Content-Security-Policy needs to allow a block of the page. */
static void page_hash_template(const char *name, char ret_base64[DIGEST_BASE64_SIZE])
{
	const struct report_template *template = page_find_template(name);
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx context;

	sha256_init(&context);
	sha256_update(&context, template->len, template->bytes);
	sha256_digest(&context, sizeof(digest), digest);
	base64_encode_raw(ret_base64, sizeof(digest), digest);
	ret_base64[DIGEST_BASE64_SIZE - 1] = '\0';
}

void report_write_json(FILE *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		/* In JSON these characters occur only in strings. jansson does not escape 0x7f (DEL). */
		if (text[i] == '<' || text[i] == '>' || text[i] == '&' || text[i] == 0x7f)
			(void)fprintf(out, "\\u%04x", (unsigned)text[i]);
		else
			(void)fputc(text[i], out);
}

/* Writes the page's start, up to its body, with a policy that allows only the page's own script. */
void report_write_page_start(FILE *out)
{
	char script[DIGEST_BASE64_SIZE], style[DIGEST_BASE64_SIZE];

	page_hash_template("page.js", script);
	page_hash_template("page.css", style);
	(void)fprintf(out,
		      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		      "script-src 'sha256-%s'; style-src 'sha256-%s'; worker-src blob:; base-uri 'none'; "
		      "form-action 'none'; require-trusted-types-for 'script'; trusted-types report\">\n"
		      "<meta name=\"referrer\" content=\"no-referrer\">\n"
		      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		      "<title>callgate: report of a run</title>\n<style>",
		      script, style);
	page_write_template(out, "page.css");
	(void)fputs("</style>\n</head>\n", out);
	page_write_template(out, "page.html");
}

/* Writes the page's end: what the report is about, and the script. */
void report_write_page_end(FILE *out, const json_t *about)
{
	char *text = json_dumps(about, JSON_COMPACT | JSON_ENSURE_ASCII);

	(void)fputs("<script type=\"application/json\" id=\"about\">", out);
	if (text)
		report_write_json(out, text, strlen(text));
	free(text);
	(void)fputs("</script>\n<script>", out);
	page_write_template(out, "page.js");
	(void)fputs("</script>\n</body>\n</html>\n", out);
}
