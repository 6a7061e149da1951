package planner

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/org"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/engine/draft"
)

// Reservations are those that there are, as the draft has them.
func Reservations(tx *draft.Tx) map[string]core.Reservation {
	return draft.Over(tx.State.Reserved, tx.Org.Reservations, func(x *core.Reservation) core.Reservation { return *x })
}

// MayReserve refuses a document that names a reservation which is not for it.
func MayReserve(tx *draft.Tx, project core.ProjectID, user, name string) error {
	if name == "" {
		return nil
	}
	r, ok := Reservations(tx)[name]
	no := func(why string) error {
		return &draft.Error{Code: draft.CodeInvalid, Field: "reservation", Message: why, Hint: "muster reservation list shows those that there are, and for whom"}
	}
	if !ok {
		return no(fmt.Sprintf("reservation %q does not exist", name))
	}
	if _, _, ok := r.At(tx.Now); !ok {
		return no(fmt.Sprintf("reservation %q is over", name))
	}
	if r.Maintenance {
		return no(fmt.Sprintf("reservation %q is for maintenance, and for nobody's work", name))
	}
	if len(r.Users) > 0 && !slices.Contains(r.Users, user) {
		return no(fmt.Sprintf("reservation %q is not for user %s", name, cmp.Or(user, "(none)")))
	}
	within := func(id core.ProjectID) bool { return id == project || tx.Tree().Below(project, id) }
	if len(r.Projects) > 0 && !slices.ContainsFunc(r.Projects, within) {
		return no(fmt.Sprintf("reservation %q is not for project %s", name, project))
	}
	return nil
}

// windows are the reservations as the scheduler uses them.
func windows(tx *draft.Tx) []schedule.Window {
	all := Reservations(tx)
	out := make([]schedule.Window, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		r := all[name]
		if _, _, ok := r.At(tx.Now); !ok {
			continue
		}
		out = append(out, schedule.Window{
			Name: name, Start: r.Start.UnixMilli(), Length: r.Duration.Milliseconds(), Every: r.Repeat.Every().Milliseconds(),
			Nodes: org.ReservedNodes(&r, tx.State.Nodes), Closed: r.Maintenance, Queues: r.Projects, Users: r.Users, Open: r.Magnetic, Leave: r.IgnoreJobs,
		})
	}
	return out
}

// syncWindows tells the scheduler of reservations that are not as they were, and
// notes when each begins and ends.
func syncWindows(tx *draft.Tx) {
	e := tx.State
	if len(e.Reserved)+len(tx.Org.Reservations) == 0 && len(e.Sched.Windows()) == 0 {
		return
	}
	e.Sched.SetWindows(windows(tx))
	for _, r := range Reservations(tx) {
		if from, to, ok := r.At(tx.Now); ok {
			e.Instants.Add(from.UnixMilli())
			e.Instants.Add(to.UnixMilli())
		}
	}
}

// VacatedFor says for which reservation someone has to leave.
func VacatedFor(tx *draft.Tx, name string) string {
	r, ok := Reservations(tx)[name]
	if !ok {
		return "its nodes are kept by reservation " + name
	}
	_, to, _ := r.At(tx.Now)
	whom := "others"
	if r.Maintenance {
		whom = "maintenance"
	}
	return fmt.Sprintf("reservation %s has begun, which keeps its nodes for %s until %s%s", name, whom, to.UTC().Format(time.RFC3339), Noted(r.Note))
}

// Noted is a note as it follows a sentence.
func Noted(note string) string {
	if note == "" {
		return ""
	}
	return " (" + note + ")"
}
