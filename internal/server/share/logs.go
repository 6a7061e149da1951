package share

import (
	"context"
	"html"
	"io"
	"regexp"
	"strings"
	"unicode"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/server/reader"
	"github.com/musterhq/muster/internal/store"
)

// How much of an output a link shows: its last lines, and of these so many bytes.
const (
	linesMost = 200
	bytesMost = 64 << 10
	readMost  = 1 << 20 // of lines that are long
)

// output is the end of what the first task of the latest attempt has written; empty: it
// has written nothing, or nobody knows.
func (s *routes) output(ctx context.Context, w *core.Workload) string {
	tasks, err := s.Store.FindTasks(ctx, store.TaskQuery{Workload: w.ID, Attempt: reader.LatestBegun(w), Limit: 1})
	if err != nil || len(tasks) == 0 {
		return ""
	}
	for _, p := range s.Control.Outputs() {
		body, err := p.Logs(ctx, tasks[0].ID, backend.LogOptions{Tail: linesMost})
		if err != nil {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(body, readMost))
		_ = body.Close()
		if err == nil {
			return plainLines(string(text))
		}
	}
	return ""
}

// escapes are what moves a cursor and changes colours.
var escapes = regexp.MustCompile("\x1b(\\[[0-9;?]*[ -/]*[@-~]|\\][^\x07\x1b]*(\x07|\x1b\\\\)?|.)?")

// plainLines is an output as lines of text: what a line was written over with is what it
// says.
func plainLines(text string) string {
	lines := strings.Split(strings.TrimRight(strings.ToValidUTF8(escapes.ReplaceAllString(text, ""), "\uFFFD"), "\r\n"), "\n")
	for i, l := range lines {
		l = strings.TrimRight(l, "\r")
		l = l[strings.LastIndexByte(l, '\r')+1:]
		lines[i] = strings.Map(func(r rune) rune {
			if r != '\t' && !unicode.IsGraphic(r) {
				return -1
			}
			return r
		}, l)
	}
	lines = lines[max(0, len(lines)-linesMost):]
	out := strings.Join(lines, "\n")
	if len(out) > bytesMost {
		out = "… " + strings.ToValidUTF8(out[len(out)-bytesMost:], "")
	}
	return out
}

// shownLog is an output as a part of the page.
func shownLog(say *words, text string) string {
	if text == "" {
		return ""
	}
	return `<figure class="log"><figcaption><h2>` + say.output + `</h2></figcaption><pre tabindex="0">` + html.EscapeString(text) + `</pre></figure>`
}
