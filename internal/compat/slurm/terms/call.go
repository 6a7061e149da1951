package terms

import (
	"fmt"

	"github.com/musterhq/muster/internal/compat"
)

// Structured prints v as --json or --yaml want it.
func Structured(c *compat.Call, v any) (bool, error) {
	for _, f := range []string{"json", "yaml"} {
		if c.Bool(f) {
			return true, c.Body(f, v)
		}
	}
	return false, nil
}

// Version is a flag of every command.
var Version = compat.Flag{Names: "version V", Does: "print the version"}

// Asked prints the version where that is asked for.
func Asked(c *compat.Call) (bool, error) {
	if !c.Bool("version") {
		return false, nil
	}
	return true, PrintVersion(c)
}

// PrintVersion says which version this is, as Slurm's tools do.
func PrintVersion(c *compat.Call) error {
	_, err := fmt.Fprintf(c.Out(), "slurm (Muster %s)\n", c.Version().Version)
	return err
}
