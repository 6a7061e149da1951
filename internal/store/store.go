// Package store defines how the control plane remembers. No query decides
// anything: decisions are made in core on values; a store reads values and
// writes batches of them atomically and durably.
package store

import (
	"context"
	"errors"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/audit"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// Errors that callers tell apart.
var (
	ErrNotFound = errors.New("not found")
	ErrExists   = errors.New("already exists")
	ErrConflict = errors.New("changed since it was read")
	// ErrNewer says that the database was written by a newer version; it is
	// left untouched.
	ErrNewer = errors.New("the database was written by a newer version of muster")
	// ErrCorrupt says that the database cannot be trusted; it is left untouched.
	ErrCorrupt = errors.New("the database is damaged")
	// ErrFull says that the disk is full: nothing was written.
	ErrFull = errors.New("the disk is full")
	// ErrTermLost says that another control process leads now.
	ErrTermLost = errors.New("another server has taken over")
)

// Scarce is a store that keeps room on its disk for what must be written, and
// says when it cannot any more: what would make more records is then to be
// refused, so that the rest still fits.
type Scarce interface {
	Scarce() bool
}

// Store keeps the records. Implementations must pass storetest. There is one
// writer at a time (the holder of the newest term); readers are many, see only
// what is committed, and never wait for the writer. Times come back in UTC, cut
// to microseconds; text that is not UTF-8 with U+FFFD in the wrong places.
type Store interface {
	// Acquire makes the caller the writer and returns its term. Every commit
	// carries it; a commit with an older term fails with ErrTermLost.
	Acquire(ctx context.Context, holder string) (Term, error)

	// Commit writes the batch in one durable transaction: when it returns nil
	// the batch survives kill -9 and loss of power; when it returns an error
	// nothing of it was written. The revision that it got is returned; all
	// workloads of the batch are stamped with it.
	Commit(ctx context.Context, term Term, b *Batch) (core.Revision, error)

	// Live returns every workload that has not ended or has a WakeAt, with the
	// tasks of its present attempt, every run of them, by Seq; it is what a new
	// leader needs to go on.
	Live(ctx context.Context) ([]Entry, error)

	// Counters returns the largest workload Seq, transition Seq and revision.
	Counters(ctx context.Context) (Counters, error)

	// Installation is the name that the records were given when they began, at
	// random: lower-case letters and digits.
	Installation(ctx context.Context) (string, error)

	// Workload returns one by id; ErrNotFound.
	Workload(ctx context.Context, id core.WorkloadID) (*core.Workload, error)

	// ByName returns the newest workload of that project and name that is not
	// Deleted; ErrNotFound.
	ByName(ctx context.Context, p core.ProjectID, name string) (*core.Workload, error)

	// List returns a page of workloads, newest first.
	List(ctx context.Context, q Query) (Page, error)

	// Tasks returns the tasks of an attempt by index and run, every run of them;
	// of all attempts, by attempt, index and run, when attempt is negative.
	Tasks(ctx context.Context, id core.WorkloadID, attempt int) ([]core.Task, error)

	// FindTasks returns the tasks of an attempt that q selects, by index: each by
	// its last run, without those that others have replaced.
	FindTasks(ctx context.Context, q TaskQuery) ([]core.Task, error)

	// CountTasks returns how many tasks of an attempt stand in which state, of
	// those that FindTasks would return of it.
	CountTasks(ctx context.Context, id core.WorkloadID, attempt int) (map[core.TaskState]int, error)

	// Transitions returns those of a workload (all workloads when id is empty)
	// with Seq greater than after, in order, at most limit (0: no limit).
	Transitions(ctx context.Context, id core.WorkloadID, after int64, limit int) ([]core.Transition, error)

	// ChangedSince returns workloads whose Rev is greater than rev, by Rev and
	// Seq: whole revisions, as many as it takes to reach limit.
	ChangedSince(ctx context.Context, rev core.Revision, limit int) ([]*core.Workload, error)

	// Projects returns every project, by ID.
	Projects(ctx context.Context) ([]core.Project, error)

	// Pools returns every pool that was ever written and not dropped, by Name.
	Pools(ctx context.Context) ([]core.Pool, error)

	// Licenses returns what is counted for the whole site, by Name.
	Licenses(ctx context.Context) ([]core.License, error)

	// Reservations returns every reservation, by Name.
	Reservations(ctx context.Context) ([]core.Reservation, error)

	// Nodes returns what was said of nodes, by ID.
	Nodes(ctx context.Context) ([]core.NodeSetting, error)

	// Secrets returns every secret, by User and Name.
	Secrets(ctx context.Context) ([]core.Secret, error)

	// Promises returns for whom others were told to leave, in the order in which
	// they are served, as a batch wrote it last.
	Promises(ctx context.Context) ([]core.Promise, error)

	// Subscriptions returns every subscription, by User and Name.
	Subscriptions(ctx context.Context) ([]core.Subscription, error)

	// Templates returns every template, by Project, Kind and Name.
	Templates(ctx context.Context) ([]core.Template, error)

	// Access returns who may do what, as it is kept.
	Access(ctx context.Context) (core.Access, error)

	// Audit returns entries of the audit log that q selects, by Seq, or from the
	// newest where q is Newest.
	Audit(ctx context.Context, q AuditQuery) ([]core.AuditEntry, error)

	// AuditHead is the last entry that was written, as a commit wrote it; zero: none.
	AuditHead(ctx context.Context) (audit.Head, error)

	// Deliveries returns those that q selects.
	Deliveries(ctx context.Context, q DeliveryQuery) ([]core.Delivery, error)

	// NextDelivery is when the first try after a time is due; zero: none is.
	NextDelivery(ctx context.Context, after time.Time) (time.Time, error)

	// Uses calls each with the GPU time that was charged between from and to,
	// one call for each device of each task that held it in that time, in the
	// order of workloads, attempts, tasks, runs and devices. What is still held counts
	// until now. A false of each ends it. Deleted workloads are there too.
	Uses(ctx context.Context, q UseQuery, each func(core.Use) bool) error

	// Spans calls each with every task, by any run, that had a place at some time
	// from from until now, in no order and with the whole of its time; a false
	// of each ends it. It looks at every task that there ever was, and is for
	// those who begin.
	Spans(ctx context.Context, from, now time.Time, each func(core.Span) bool) error

	// Remembered returns the workload that an idempotency key made, and the
	// hash of the request that did; ErrNotFound.
	Remembered(ctx context.Context, user, key string) (core.WorkloadID, string, error)

	Close() error
}

// Term numbers leaderships.
type Term int64

// Batch is what one commit writes.
type Batch struct {
	// Workloads are inserted (Version 1) or replaced: a stored version other
	// than Version-1 fails the whole batch with ErrConflict, a name that
	// another has with ErrExists. ID, Seq, Name, Project, Kind and User are
	// fixed by version 1, changing one is an error; a changed Spec is looked at
	// only where Edited names the workload, a changed CreatedAt never.
	Workloads   []*core.Workload
	Edited      []core.WorkloadID // of Workloads: their documents are replaced, labels too
	Tasks       []*core.Task      // inserted or replaced
	Transitions []core.Transition
	Promises    []core.Promise // replaces all of them, empty: by none; nil: they stay
	Keys        []Key          // one that is remembered already: ErrExists
	// DropProjects, DropPools and DropLicenses go before Projects, Pools and
	// Licenses are written; unknown ones are passed over.
	DropProjects []core.ProjectID
	DropPools    []string
	DropLicenses []string
	Projects     []core.Project // inserted or replaced
	Pools        []core.Pool    // inserted or replaced
	Licenses     []core.License // inserted or replaced
	// DropReservations go before Reservations are written; unknown ones are
	// passed over.
	DropReservations []string
	Reservations     []core.Reservation // inserted or replaced
	Nodes            []core.NodeSetting // inserted or replaced; one that says nothing is dropped
	Secrets          []core.Secret      // inserted; one that exists: ErrExists
	DropSecrets      []core.SecretID    // before Secrets are written; unknown ones are passed over
	// DropSubscriptions go before Subscriptions are written; unknown ones are
	// passed over.
	DropSubscriptions []core.SubscriptionID
	Subscriptions     []core.Subscription // inserted or replaced
	// DropTemplates go before Templates are written; unknown ones are passed over.
	DropTemplates []core.TemplateID
	Templates     []core.Template // inserted or replaced
	// Access is what changes of who may do what.
	Access core.AccessChange
	// Audit are entries of the audit log, sealed, in order, after all that there
	// are: one that is there already or leaves a gap fails the batch with ErrConflict.
	Audit []core.AuditEntry
	// ForgetDeliveriesBefore drops what happened before this and is not tried
	// any more, before Deliveries are written; zero: none.
	ForgetDeliveriesBefore time.Time
	Deliveries             []core.Delivery // inserted or replaced, by ID
	// ForgetKeysBefore drops idempotency keys older than this, before Keys are
	// written; zero: none.
	ForgetKeysBefore time.Time
}

// Key remembers which request made a workload, so that a repeated one makes no
// second.
type Key struct {
	User, Key, Hash string
	Workload        core.WorkloadID
	At              time.Time
}

// Entry is a live workload with the tasks of its present attempt, by index and
// run.
type Entry struct {
	Workload *core.Workload
	Tasks    []core.Task
}

// Counters continue where the last leader stopped.
type Counters struct {
	Workload   int64
	Transition int64
	Revision   core.Revision
}

// Query selects workloads. Zero fields do not restrict. A listing excludes
// Deleted workloads unless Deleted is set.
type Query struct {
	Project core.ProjectID
	User    string
	Kinds   []lifecycle.Kind
	Phases  []lifecycle.Phase
	Live    bool      // only those that have not ended
	Prefix  string    // of the name
	Since   time.Time // created at or after
	Before  time.Time
	Labels  map[string]string
	Deleted bool
	Cursor  int64 // a Page.Next; 0: from the newest
	Limit   int   // at most; 0: 100
}

// TaskQuery selects tasks of one attempt. Zero fields do not restrict.
type TaskQuery struct {
	Workload core.WorkloadID
	Attempt  int
	From, To int              // indexes: [From, To); To 0: no bound
	States   []core.TaskState // in which they stand
	Limit    int              // at most; 0: all
}

// UseQuery selects charged time. Zero fields do not restrict.
type UseQuery struct {
	From, To time.Time // half open: [From, To)
	Now      time.Time // until when what is still held counts
	Project  core.ProjectID
	User     string
	Workload core.WorkloadID
}

// Page is a part of a listing.
type Page struct {
	Items []*core.Workload
	Next  int64 // cursor of the next page; 0: this was the last
}
