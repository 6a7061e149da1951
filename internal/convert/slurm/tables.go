package slurm

import (
	"maps"
	"slices"

	"github.com/musterhq/muster/internal/convert/source"
)

// SbatchOptions are the names of all options of sbatch, in order.
func SbatchOptions() []string { return slices.Sorted(maps.Keys(sbatchOptions)) }

// SbatchOptional reports whether an option of sbatch may have a value, and may
// do without.
func SbatchOptional(name string) bool { return sbatchOptions[name] == source.OptionalValue }
