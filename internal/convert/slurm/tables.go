package slurm

import (
	"maps"
	"slices"

	"github.com/musterhq/muster/internal/convert/source"
)

// Options are the names of all options of sbatch, in order.
func Options() []string { return slices.Sorted(maps.Keys(options)) }

// Optional reports whether an option of sbatch may have a value, and may
// do without.
func Optional(name string) bool { return options[name] == source.OptionalValue }
