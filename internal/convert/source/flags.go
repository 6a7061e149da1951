package source

// Arity says whether an option has a value.
type Arity uint8

// The arities.
const (
	NoValue Arity = iota
	OneValue
	OptionalValue // only after =
)
