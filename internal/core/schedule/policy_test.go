package schedule

// Default is the configuration of a server that is told nothing else.
func Default() Config { return NewPolicy().Config }
