package cli

import (
	"encoding/csv"
	"io"
	"strings"
	"unicode/utf8"
)

// tone is what a colour is to say; the text says it too.
type tone string

const (
	tonePlain tone = ""
	toneGood  tone = "32"
	toneBad   tone = "31"
	toneWait  tone = "33"
	toneBusy  tone = "36"
	toneDim   tone = "2"
	toneTitle tone = "1"
)

// paint colours text for a stream, when that stream shows colours.
func (s *session) paint(terminal bool, t tone, text string) string {
	if t == tonePlain || text == "" || !s.color || !terminal && !s.io.colorAnyway {
		return text
	}
	return "\x1b[" + string(t) + "m" + text + "\x1b[0m"
}

type cell struct {
	text string
	tone tone
}

// grid is a table of texts.
type grid struct {
	titles    []string // nil: none
	rows      [][]cell
	noHeaders bool
	indent    string
	whole     bool // nothing is cut; for texts rather than tables
}

// grid prints g: aligned and cut to the width on a terminal, with tabs and
// whole in a pipe, or as CSV.
func (s *session) grid(g grid) error {
	if g.noHeaders {
		g.titles = nil
	}
	switch {
	case s.format() == "csv":
		return g.csv(s.io.Out)
	case s.io.OutTerminal:
		return s.aligned(g)
	default:
		return s.tabbed(g)
	}
}

func (g grid) csv(w io.Writer) error {
	c := csv.NewWriter(w)
	if g.titles != nil {
		if err := c.Write(g.titles); err != nil {
			return err
		}
	}
	for _, row := range g.rows {
		if err := c.Write(texts(row)); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

func texts(row []cell) []string {
	out := make([]string, len(row))
	for i, c := range row {
		out[i] = c.text
	}
	return out
}

// flat is the text of a cell: separators inside it would make two of it.
func flat(text string) string { return plainText(separators.Replace(text)) }

var separators = strings.NewReplacer("\t", " ", "\r\n", " ", "\n", " ", "\r", " ")

func (s *session) tabbed(g grid) error {
	var b strings.Builder
	if g.titles != nil {
		b.WriteString(strings.Join(g.titles, "\t") + "\n")
	}
	for _, row := range g.rows {
		for i, c := range row {
			if i > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(s.paint(false, c.tone, flat(c.text))) // in a pipe only where colours are forced
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(s.io.Out, b.String())
	return err
}

func (s *session) aligned(g grid) error {
	var rows [][]cell
	if g.titles != nil {
		title := make([]cell, len(g.titles))
		for i, t := range g.titles {
			title[i] = cell{t, toneTitle}
		}
		rows = append(rows, title)
	}
	rows = append(rows, g.rows...)
	var widths []int
	for _, row := range rows {
		for i := range row {
			for len(widths) <= i {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(flat(row[i].text)))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		b.WriteString(g.indent)
		room := s.io.Width - utf8.RuneCountInString(g.indent)
		for i, c := range row {
			text := flat(c.text)
			last := i == len(row)-1
			if last && !g.whole && room < widths[i] { // only the last column is cut: the others carry the facts
				text = cut(text, max(room, 8))
			}
			pad := widths[i] - utf8.RuneCountInString(text)
			b.WriteString(s.paint(true, c.tone, text))
			if !last {
				b.WriteString(strings.Repeat(" ", max(pad, 0)+2))
			}
			room -= widths[i] + 2
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(s.io.Out, b.String())
	return err
}

// cut shortens text to n characters and shows that it did.
func cut(text string, n int) string {
	r := []rune(text)
	if len(r) <= n {
		return text
	}
	return string(r[:max(n-1, 0)]) + "…"
}
