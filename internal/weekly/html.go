package weekly

import (
	"fmt"
	"html"
	"strings"

	"github.com/musterhq/muster/api"
)

// Programs for mail know little of style sheets and load nothing: each element says its
// own look, and there is neither a picture nor a script.
const (
	bodyLook = "margin:0;padding:24px;background:#ffffff;color:#1c2024;font:14px/1.5 system-ui,-apple-system,'Segoe UI',sans-serif"
	headLook = "margin:24px 0 6px;font-size:14px;font-weight:600"
	cellLook = "padding:4px 16px 4px 0;border-top:1px solid #dcdde0;vertical-align:top;text-align:left;font-weight:400"
	dimLook  = "color:#60646c"
)

// HTML is Text for programs that show mail as a page; foot is a last line, in words.
func HTML(w Week, of, foot string, r *api.UsageReport) string {
	s := sheetOf(w, of, r)
	text := html.EscapeString
	var b strings.Builder
	fmt.Fprintf(&b, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>%s</title></head>\n<body style=\"%s\">\n", text(s.title), bodyLook)
	fmt.Fprintf(&b, "<h1 style=\"margin:0;font-size:20px\">%s</h1>\n<p style=\"margin:2px 0 16px;%s\">%s</p>\n", text(s.title), dimLook, text(s.sub))
	b.WriteString("<table style=\"border-collapse:collapse\">\n")
	for _, l := range s.lines {
		fmt.Fprintf(&b, "<tr><th scope=\"row\" style=\"%s;%s\">%s</th><td style=\"%s\">%s</td></tr>\n", cellLook, dimLook, text(l[0]), cellLook, text(l[1]))
	}
	b.WriteString("</table>\n")
	for _, t := range s.tables {
		fmt.Fprintf(&b, "<h2 style=\"%s\">%s</h2>\n<table style=\"border-collapse:collapse\">\n", headLook, text(t.head))
		for _, row := range t.rows {
			b.WriteString("<tr>")
			for _, cell := range row {
				fmt.Fprintf(&b, "<td style=\"%s\">%s</td>", cellLook, text(cell))
			}
			b.WriteString("</tr>\n")
		}
		b.WriteString("</table>\n")
	}
	for _, m := range s.missing {
		fmt.Fprintf(&b, "<p style=\"margin:12px 0 0;%s\">Not known: %s</p>\n", dimLook, text(m))
	}
	fmt.Fprintf(&b, "<p style=\"margin:24px 0 0;%s\">%s</p>\n</body></html>\n", dimLook, text(foot))
	return b.String()
}
