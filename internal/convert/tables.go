package convert

import (
	"maps"
	"slices"
)

// RunaiFlagMaybe reports whether a flag of runai may stand without its value.
func RunaiFlagMaybe(name string) bool { return runaiFlags[name].takes == takesMaybe }

// SbatchOptions are the names of all options of sbatch, in order.
func SbatchOptions() []string { return slices.Sorted(maps.Keys(sbatchOptions)) }

// SbatchOption reports whether sbatch has an option of that long name, and
// whether it must have a value.
func SbatchOption(name string) (value, known bool) {
	t, known := sbatchOptions[name]
	return t == takesOne, known
}

// SbatchMaybe reports whether an option of sbatch may stand without its value.
func SbatchMaybe(name string) bool { return sbatchOptions[name] == takesMaybe }

// SbatchShort is the long name of an option of one letter.
func SbatchShort(letter byte) (name string, known bool) {
	name, known = sbatchShort[letter]
	return name, known
}

// SbatchLetters are the options of sbatch by their letters.
func SbatchLetters() map[string]string {
	out := map[string]string{}
	for letter, name := range sbatchShort {
		out[string(letter)] = name
	}
	return out
}
