/* Draws the plot of a report, as an SVG image without scripts or fonts: two bars for each program and policy. */
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "cli/experiment/experiment.h"

#define PLOT_ROW_HEIGHT_PX 22
#define PLOT_LABEL_WIDTH_PX 260
#define PLOT_BAR_WIDTH_PX 200
#define GAP 90
#define TOP 46

/* Appends a text of the plan, and escapes the characters that XML would take as markup. */
static void plot_add_escaped(struct buf *out, const char *text)
{
	for (const char *at = text; *at; at++)
		switch (*at) {
		case '<':
			buf_puts(out, "&lt;");
			break;
		case '&':
			buf_puts(out, "&amp;");
			break;
		case '"':
			buf_puts(out, "&quot;");
			break;
		default:
			if ((unsigned char)*at >= 0x20)
				buf_add(out, at, 1);
		}
}

static void plot_add_text(struct buf *out, int x, int y, const char *style, const char *text)
{
	buf_printf(out, "<text x=\"%d\" y=\"%d\" %s>", x, y, style);
	plot_add_escaped(out, text);
	buf_puts(out, "</text>\n");
}

/* Draws a bar as long as value/most, and the value behind it. */
static void plot_add_bar(struct buf *out, int x, int y, double value, double most, const char *color,
			 int decimals)
{
	int width = most > 0 ? (int)(value / most * PLOT_BAR_WIDTH_PX + 0.5) : 0;
	char number[32];

	(void)snprintf(number, sizeof(number), "%.*f", decimals, value);
	buf_printf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"/>\n", x, y + 4, width,
		   PLOT_ROW_HEIGHT_PX - 8, color);
	plot_add_text(out, x + width + 4, y + PLOT_ROW_HEIGHT_PX - 7, "fill=\"#555\"", number);
}

/* Draws a row of the plot: program and policy, denials, and slowdown. */
static void plot_add_summary(struct buf *out, const struct report_summary *summary, int y, double most_denials,
			     double most_slowdown)
{
	char label[80];

	(void)snprintf(label, sizeof(label), "%.38s, %.38s", summary->program, summary->policy);
	plot_add_text(out, PLOT_LABEL_WIDTH_PX - 8, y + PLOT_ROW_HEIGHT_PX - 7, "text-anchor=\"end\"", label);
	plot_add_bar(out, PLOT_LABEL_WIDTH_PX, y, summary->mean_denials, most_denials, "#c0392b", 1);
	plot_add_bar(out, PLOT_LABEL_WIDTH_PX + PLOT_BAR_WIDTH_PX + GAP, y, summary->slowdown, most_slowdown, "#2e6da4",
		     2);
}

void plot_make(struct buf *out, const struct report_summary *summary, size_t count)
{
	int height = TOP + (int)count * PLOT_ROW_HEIGHT_PX + 10,
	    width = PLOT_LABEL_WIDTH_PX + 2 * (PLOT_BAR_WIDTH_PX + GAP);
	double most_denials = 0, most_slowdown = 0;

	for (size_t i = 0; i < count; i++) {
		if (summary[i].mean_denials > most_denials)
			most_denials = summary[i].mean_denials;
		if (summary[i].slowdown > most_slowdown)
			most_slowdown = summary[i].slowdown;
	}
	buf_printf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
			"font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" "
			"fill=\"white\"/>\n", width, height, width, height);
	plot_add_text(out, 10, 20, "font-size=\"14\" font-weight=\"bold\"", "Denials and slowdown by policy");
	plot_add_text(out, PLOT_LABEL_WIDTH_PX, TOP - 6, "fill=\"#c0392b\"", "denials a run (mean)");
	plot_add_text(out, PLOT_LABEL_WIDTH_PX + PLOT_BAR_WIDTH_PX + GAP, TOP - 6, "fill=\"#2e6da4\"",
		      "time over that of the first policy (median)");
	for (size_t i = 0; i < count; i++)
		plot_add_summary(out, &summary[i], TOP + (int)i * PLOT_ROW_HEIGHT_PX, most_denials, most_slowdown);
	buf_puts(out, "</svg>\n");
}
