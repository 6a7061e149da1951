package share

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/reported"
	"github.com/musterhq/muster/internal/sharelink"
)

// The page has no script, and loads nothing: it is drawn here, whole.
const style = `:root{color-scheme:light dark;--ink:#1c2024;--muted:#60646c;--paper:#f7f7f5;--surface:#fff;--line:#dcdde0;--accent:#3a4ab8}
@media(prefers-color-scheme:dark){:root{--ink:#edeef0;--muted:#a3a8b3;--paper:#0e1014;--surface:#15181d;--line:#2b2f37;--accent:#8b9bff}}
*{box-sizing:border-box}body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:1000px;margin:0 auto;padding:28px 18px 48px}h1{font-size:24px;margin:0 0 2px;overflow-wrap:anywhere}h2{font-size:14px;margin:0;overflow-wrap:anywhere}
.muted,footer{color:var(--muted)}footer{margin-top:28px;font-size:13px}.state{font-weight:600}
.bar{height:10px;border-radius:5px;background:var(--line);overflow:hidden;margin:14px 0 4px}.bar svg{display:block;width:100%;height:10px}.bar rect{fill:var(--accent)}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr));gap:14px;margin-top:22px}
figure{margin:0;padding:14px 16px;border:1px solid var(--line);border-radius:10px;background:var(--surface)}
figure svg{display:block;width:100%;height:auto;margin-top:8px}polyline{fill:none;stroke:var(--accent);stroke-width:2;stroke-linejoin:round;vector-effect:non-scaling-stroke}
svg line{stroke:var(--line)}svg text{fill:var(--muted);font-size:12px}figcaption{display:flex;justify-content:space-between;gap:12px}figcaption b{font-variant-numeric:tabular-nums}
.log{margin-top:14px}pre{margin:8px 0 0;max-height:60vh;overflow:auto;font:12px/1.5 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere}`

var policy = func() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; img-src data:; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}()

// words are what the page says.
type words struct {
	lang                                                     string
	since, progress, of, step, last, least, most, none, foot string
	gone, often, later, output                               string
}

var languages = []words{
	{"en", "since", "Progress", "of", "Step", "last", "lowest", "highest", "It has reported no numbers yet.", "Shared with Muster by %s. This link shows nothing else, and expires on %s. As of %s.",
		"This link shows nothing: it has expired, was revoked, or never was.", "Too many requests. Try again in a minute.", "This cannot be shown right now. Try again later.", "Latest output"},
	{"de", "seit", "Fortschritt", "von", "Schritt", "zuletzt", "niedrigster", "höchster", "Noch wurden keine Zahlen gemeldet.", "Mit Muster geteilt von %s. Dieser Link zeigt sonst nichts und läuft am %s ab. Stand: %s.",
		"Dieser Link zeigt nichts: Er ist abgelaufen, wurde widerrufen oder es gab ihn nie.", "Zu viele Anfragen. Versuchen Sie es in einer Minute wieder.", "Das kann gerade nicht gezeigt werden. Versuchen Sie es später wieder.", "Letzte Ausgabe"},
}

// wordsFor are those of the first language that a browser wants and there is.
func wordsFor(accept string) *words {
	for _, want := range strings.Split(accept, ",") {
		tag, _, _ := strings.Cut(strings.TrimSpace(want), ";")
		tag, _, _ = strings.Cut(tag, "-")
		for i := range languages {
			if languages[i].lang == strings.ToLower(tag) {
				return &languages[i]
			}
		}
	}
	return &languages[0]
}

func head(say *words, title string) string {
	return `<!doctype html><html lang="` + say.lang + `"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex,nofollow"><link rel="icon" href="data:,"><title>` +
		html.EscapeString(title) + `</title><style>` + style + `</style></head><body><main>`
}

const tail = `</main></body></html>`

// plain answers with one sentence.
func plain(w http.ResponseWriter, status int, say *words, text string) {
	w.WriteHeader(status)
	_, _ = w.Write([]byte(head(say, "Muster") + "<h1>Muster</h1><p>" + html.EscapeString(text) + "</p>" + tail))
}

func instant(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") + " UTC" }

// page shows a workload, or one curve of it, and the end of its output where its link
// does.
func page(say *words, w *core.Workload, l *sharelink.Link, list []reported.Curve, output string, now time.Time) string {
	var b strings.Builder
	title := w.Name
	if l.Chart != "" {
		title += " – " + l.Chart
	}
	b.WriteString(head(say, title))
	fmt.Fprintf(&b, `<h1>%s</h1><p class="muted"><span class="state">%s</span> %s %s`, html.EscapeString(w.Name), html.EscapeString(string(w.Phase)), say.since, instant(w.PhaseAt))
	if n := w.Spec.TotalGPUs(); n > 0 && l.Chart == "" {
		fmt.Fprintf(&b, ` · %s GPU`, figure(float64(n)))
	}
	b.WriteString(`</p>`)
	if p := w.Progress; p != nil && p.Total > 0 && l.Chart == "" {
		part := math.Min(1, float64(p.Step)/float64(p.Total))
		fmt.Fprintf(&b, `<div class="bar" role="img" aria-label="%s %.0f%%"><svg viewBox="0 0 100 10" preserveAspectRatio="none"><rect width="%.2f" height="10"/></svg></div><p>%s %d %s %d (%.0f %%)</p>`,
			say.progress, 100*part, 100*part, say.step, p.Step, say.of, p.Total, 100*part)
	}
	shown := curvesShown(list)
	if len(shown) == 0 && (w.Phase == lifecycle.Running || l.Chart != "") {
		b.WriteString(`<p class="muted">` + say.none + `</p>`)
	}
	b.WriteString(`<div class="charts">`)
	for i := range shown {
		draw(&b, say, &shown[i])
	}
	b.WriteString(`</div>` + shownLog(say, output) + `<footer>`)
	b.WriteString(html.EscapeString(fmt.Sprintf(say.foot, l.By, instant(l.Expires), instant(now))))
	b.WriteString(`</footer>` + tail)
	return b.String()
}

// The box of a chart, in units of its own.
const wide, high, left, foot = 460.0, 190.0, 56.0, 22.0

// draw draws a curve over its steps.
func draw(b *strings.Builder, say *words, c *reported.Curve) {
	fmt.Fprintf(b, `<figure><figcaption><h2>%s</h2><b>%s</b></figcaption><svg viewBox="0 0 %g %g" role="img" aria-label="%s: %s %s, %s %s, %s %s">`,
		html.EscapeString(c.Metric), figure(c.Last), wide, high, html.EscapeString(c.Metric), say.last, figure(c.Last), say.least, figure(c.Min), say.most, figure(c.Max))
	if n := len(c.Points); n > 0 {
		low, top := c.Points[0].Value, c.Points[0].Value
		for _, p := range c.Points {
			low, top = math.Min(low, p.Value), math.Max(top, p.Value)
		}
		first, last := c.Points[0].Step, c.Points[n-1].Step
		x := func(step int64) float64 {
			return left + (wide-left-8)*float64(step-first)/math.Max(1, float64(last-first))
		}
		y := func(v float64) float64 {
			if top == low {
				return (high - foot) / 2
			}
			return 8 + (high-foot-16)*(top-v)/(top-low)
		}
		fmt.Fprintf(b, `<line x1="%g" x2="%g" y1="%g" y2="%g"/>`, left, wide, high-foot, high-foot)
		fmt.Fprintf(b, `<text x="%g" y="%.1f" text-anchor="end">%s</text>`, left-8, y(top)+4, figure(top))
		if top > low {
			fmt.Fprintf(b, `<text x="%g" y="%.1f" text-anchor="end">%s</text>`, left-8, y(low)+4, figure(low))
		}
		fmt.Fprintf(b, `<text x="%g" y="%g">%s %d</text><text x="%g" y="%g" text-anchor="end">%d</text><polyline points="`, left, high-6, say.step, first, wide-8, high-6, last)
		for _, p := range c.Points {
			fmt.Fprintf(b, "%.1f,%.1f ", x(p.Step), y(p.Value))
		}
		b.WriteString(`"/>`)
	}
	b.WriteString(`</svg></figure>`)
}

// figure is a number in four digits.
func figure(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
