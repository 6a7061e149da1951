package ledger

// op is what an entry of the journal did.
type op uint8

const (
	Took    op = iota // a hold was made, or one that was dropped is back
	Drops             // a hold that was made in this cycle is taken back
	Went              // a hold was told to go
	Stays             // a hold that was told to go is left where it is
	Waits             // a hold's room is not taken now but once it is free
	Parts             // a hold that was told to go has gone
	Books             // room is kept for a task that has a time to start
	Recalls           // quota that is reserved for a job is taken back
	Returns           // and given to it again
)

// Entry is one step of a trial. Undoing all of them in reverse restores the
// state exactly.
type Entry struct {
	Op op
	H  *Hold
	At int // of one that drops: where it was among its job's holds
}

// Journal is the steps of a trial, in order.
type Journal struct {
	Log []Entry
	Ops uint64 // grows with every step, and every one taken back
}
