package slurm

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
)

// column is a field of the tools that take fields by name: sacct, sstat,
// sacctmgr. Width is how wide it is printed; negative: from the left.
type column struct {
	Name  string
	Width int
	Value func(*entry) string
}

func (col column) span() int {
	if col.Width < 0 {
		return -col.Width
	}
	return col.Width
}

// fit is a text in the column's width; what is too long ends with a plus.
func (col column) fit(text string) string {
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

// columnsOf reads a list of fields, NAME[%[-]WIDTH]. Case does not count, and
// what is cut short is the first that begins so.
func columnsOf(known []column, list string) ([]column, error) {
	var out []column
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
			var all []string
			for _, col := range known {
				all = append(all, col.Name)
			}
			return nil, cli.Wrong(fmt.Sprintf("Invalid field requested: %q", name), "they are "+strings.Join(all, ", "))
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

// helpFormat lists fields, four in a line.
func helpFormat(c *compat.Call, known []column) error {
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
