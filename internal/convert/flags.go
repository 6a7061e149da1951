package convert

// takes says whether an option of sbatch has a value.
type takes uint8

const (
	takesNone takes = iota
	takesOne
	takesMaybe // only after =
)
