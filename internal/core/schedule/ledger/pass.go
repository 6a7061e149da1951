package ledger

// Pass is which windows keep a job off their nodes, and which one it has to be
// in. Jobs with equal passes may go to the same sites.
type Pass struct {
	Only   int32  // index of the window that it names, from 1; 0: none, -1: not there or not now
	barred string // indexes of windows, two bytes each, in order
}

// Bar keeps whoever has the pass out of a window, by its place.
func (p *Pass) Bar(w int) {
	p.barred += string([]byte{byte(w >> 8), byte(w)})
}

// Bars reports whether it does.
func (p Pass) Bars(w int32) bool {
	for i := 0; i+1 < len(p.barred); i += 2 {
		if int32(p.barred[i])<<8|int32(p.barred[i+1]) == w {
			return true
		}
	}
	return false
}
