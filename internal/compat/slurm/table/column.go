// Package table reads lists of fields as sacct takes them, and prints lines in
// their columns.
package table

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/compat/slurm/terms"
)

// Column is a field of the tools that take fields by name: sacct, sstat,
// sacctmgr. Width is how wide it is printed; negative: from the left.
type Column[T any] struct {
	Name  string
	Width int
	Value func(T) string
}

func (col Column[T]) span() int {
	if col.Width < 0 {
		return -col.Width
	}
	return col.Width
}

// fit is a text in the column's width; what is too long ends with a plus.
func (col Column[T]) fit(text string) string {
	n := utf8.RuneCountInString(text)
	switch pad := strings.Repeat(" ", max(col.span()-n, 0)); {
	case n > col.span():
		return string([]rune(text)[:col.span()-1]) + "+"
	case col.Width < 0:
		return text + pad
	default:
		return pad + text
	}
}

// Choose reads a list of fields, NAME[%[-]WIDTH]. Case does not count, and
// what is cut short is the first that begins so. All says where the fields are
// listed for who names another.
func Choose[T any](known []Column[T], list, all string) ([]Column[T], error) {
	var out []Column[T]
	for word := range strings.SplitSeq(list, ",") {
		word = strings.TrimSpace(word)
		if word == "" {
			continue
		}
		name, width, sized := strings.Cut(word, "%")
		if strings.EqualFold(name, "all") {
			out = append(out, known...)
			continue
		}
		at := -1
		for i, col := range known {
			if len(col.Name) >= len(name) && strings.EqualFold(col.Name[:len(name)], name) {
				at = i
				break
			}
		}
		if at < 0 || name == "" {
			return nil, cli.Wrong(fmt.Sprintf("Invalid field requested: %q", name), terms.Meant(name, Names(known), all))
		}
		col := known[at]
		if sized {
			n, err := strconv.Atoi(width)
			if err != nil || n == 0 || n > 10_000 || n < -10_000 {
				return nil, cli.Wrong(fmt.Sprintf("--format: %q has a width that is none", word), "like "+col.Name+"%30")
			}
			col.Width = n
		}
		out = append(out, col)
	}
	if len(out) == 0 {
		return nil, cli.Wrong("--format: there is no field in it", "like JobID,State,ExitCode")
	}
	return out, nil
}

// Names are what fields are called.
func Names[T any](known []Column[T]) []string {
	var all []string
	for _, col := range known {
		all = append(all, col.Name)
	}
	return all
}

// Help lists fields, four in a line.
func Help[T any](c *compat.Call, known []Column[T]) error {
	for i, col := range known {
		end := " "
		if i%4 == 3 || i == len(known)-1 {
			end = "\n"
		}
		if _, err := fmt.Fprintf(c.Out(), "%-19s%s", col.Name, end); err != nil {
			return err
		}
	}
	return nil
}

// Print prints lines in columns, or with something between their fields.
func Print[T any](c *compat.Call, columns []Column[T], rows []T) error {
	out := bufio.NewWriter(c.Out()) // a line at a time is slow where there are thousands
	line := func(text func(Column[T]) string) {
		for i, col := range columns {
			delimiter := "|"
			if c.Given("delimiter") {
				delimiter = c.Text("delimiter")
			}
			switch {
			case c.Bool("parsable2"):
				if i > 0 {
					_, _ = out.WriteString(delimiter)
				}
				_, _ = out.WriteString(text(col))
			case c.Bool("parsable"):
				_, _ = out.WriteString(text(col) + delimiter)
			default:
				_, _ = out.WriteString(col.fit(text(col)) + " ")
			}
		}
		_ = out.WriteByte('\n')
	}
	if !c.Bool("noheader") {
		line(func(col Column[T]) string {
			if n := col.span(); len(col.Name) > n && !c.Bool("parsable") && !c.Bool("parsable2") {
				return col.Name[:n]
			}
			return col.Name
		})
		if !c.Bool("parsable") && !c.Bool("parsable2") {
			line(func(col Column[T]) string { return strings.Repeat("-", col.span()) })
		}
	}
	for _, e := range rows {
		line(func(col Column[T]) string { return col.Value(e) })
	}
	return out.Flush()
}
