package session

import (
	"encoding/csv"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/musterhq/muster/internal/cli/terminal"
)

// Tone is what a colour is to say; the text says it too.
type Tone string

const (
	TonePlain Tone = ""
	ToneGood  Tone = "32"
	ToneBad   Tone = "31"
	ToneWait  Tone = "33"
	ToneBusy  Tone = "36"
	ToneDim   Tone = "2"
	ToneTitle Tone = "1"
)

// Paint colours text for a stream, when that stream shows colours.
func (s *Session) Paint(terminal bool, t Tone, text string) string {
	if t == TonePlain || text == "" || !s.Color || !terminal && !s.IO.ColorAnyway {
		return text
	}
	return "\x1b[" + string(t) + "m" + text + "\x1b[0m"
}

// Cell is a text of a table, with its colour.
type Cell struct {
	Text string
	Tone Tone
}

// Grid is a table of texts.
type Grid struct {
	Titles    []string // nil: none
	Rows      [][]Cell
	NoHeaders bool
	Indent    string
	Whole     bool // nothing is cut; for texts rather than tables
}

// Line adds a line of a title and a text.
func (g *Grid) Line(title, text string) {
	g.Rows = append(g.Rows, []Cell{{Text: title, Tone: ToneTitle}, {Text: text, Tone: TonePlain}})
}

// Grid prints g: aligned and cut to the width on a terminal, with tabs and
// whole in a pipe, or as CSV.
func (s *Session) Grid(g Grid) error {
	if g.NoHeaders {
		g.Titles = nil
	}
	switch {
	case s.Format() == "csv":
		return g.csv(s.IO.Out)
	case s.IO.OutTerminal:
		return s.Aligned(g)
	default:
		return s.tabbed(g)
	}
}

func (g Grid) csv(w io.Writer) error {
	c := csv.NewWriter(w)
	if g.Titles != nil {
		if err := c.Write(g.Titles); err != nil {
			return err
		}
	}
	for _, row := range g.Rows {
		if err := c.Write(texts(row)); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

func texts(row []Cell) []string {
	out := make([]string, len(row))
	for i, c := range row {
		out[i] = c.Text
	}
	return out
}

// Flat is the text of a cell: separators inside it would make two of it.
func Flat(text string) string { return terminal.Plain(separators.Replace(text)) }

var separators = strings.NewReplacer("\t", " ", "\r\n", " ", "\n", " ", "\r", " ")

func (s *Session) tabbed(g Grid) error {
	var b strings.Builder
	if g.Titles != nil {
		b.WriteString(strings.Join(g.Titles, "\t") + "\n")
	}
	for _, row := range g.Rows {
		for i, c := range row {
			if i > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(s.Paint(false, c.Tone, Flat(c.Text))) // in a pipe only where colours are forced
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(s.IO.Out, b.String())
	return err
}

// Aligned prints g in columns, cut to the width of the terminal.
func (s *Session) Aligned(g Grid) error {
	var rows [][]Cell
	if g.Titles != nil {
		title := make([]Cell, len(g.Titles))
		for i, t := range g.Titles {
			title[i] = Cell{t, ToneTitle}
		}
		rows = append(rows, title)
	}
	rows = append(rows, g.Rows...)
	var widths []int
	for _, row := range rows {
		for i := range row {
			for len(widths) <= i {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(Flat(row[i].Text)))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		b.WriteString(g.Indent)
		room := s.IO.Width - utf8.RuneCountInString(g.Indent)
		for i, c := range row {
			text := Flat(c.Text)
			last := i == len(row)-1
			if last && !g.Whole && room < widths[i] { // only the last column is cut: the others carry the facts
				text = Cut(text, max(room, 8))
			}
			pad := widths[i] - utf8.RuneCountInString(text)
			b.WriteString(s.Paint(true, c.Tone, text))
			if !last {
				b.WriteString(strings.Repeat(" ", max(pad, 0)+2))
			}
			room -= widths[i] + 2
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(s.IO.Out, b.String())
	return err
}

// Cut shortens text to n characters and shows that it did.
func Cut(text string, n int) string {
	r := []rune(text)
	if len(r) <= n {
		return text
	}
	return string(r[:max(n-1, 0)]) + "…"
}
