package convert

import (
	"maps"
	"slices"
)

// RunaiFlagMaybe reports whether a flag of runai may stand without its value.
func RunaiFlagMaybe(name string) bool { return runaiFlags[name].takes == takesMaybe }

// SbatchOptions are the names of all options of sbatch, in order.
func SbatchOptions() []string { return slices.Sorted(maps.Keys(sbatchOptions)) }

// SbatchOption reports whether an option of sbatch has a value, and whether it
// may do without.
func SbatchOption(name string) (value, maybe bool) {
	return sbatchOptions[name] == takesOne, sbatchOptions[name] == takesMaybe
}

// SbatchLetters are the options of sbatch by their letters.
func SbatchLetters() map[string]string {
	out := map[string]string{}
	for letter, name := range sbatchShort {
		out[string(letter)] = name
	}
	return out
}
