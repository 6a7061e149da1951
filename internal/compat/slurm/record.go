package slurm

import (
	"fmt"
	"strings"

	"github.com/musterhq/muster/internal/compat"
)

// record is a text of NAME=VALUE pairs, several in a line.
func record(c *compat.Call, lines [][]string) error {
	for i, pairs := range lines {
		text := strings.Join(pairs, " ")
		if c.Bool("oneliner") {
			if i > 0 {
				text = " " + text
			}
			if _, err := fmt.Fprint(c.Out(), text); err != nil {
				return err
			}
			continue
		}
		if i > 0 {
			text = "   " + text
		}
		if _, err := fmt.Fprintln(c.Out(), text); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(c.Out())
	return err
}
