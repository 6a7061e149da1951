package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/org"
	"github.com/musterhq/muster/internal/core/schedule"
)

// ReservationState is a reservation with what it comes to at present.
type ReservationState struct {
	core.Reservation
	From, To time.Time     // its present or next time; of one that is over its last
	Active   bool          // it has begun and not ended
	Over     bool          // it does not come again
	Keeps    []core.NodeID // the nodes that it keeps
	Milli    int           // thousandths of GPUs of those that there are
	Using    []string      // project/name of live workloads that name it
}

// Reservations reads all of them; the value is a []ReservationState, by name.
func Reservations() Command {
	return func(tx *tx) (any, error) {
		all := tx.reservations()
		using := map[string][]string{}
		if len(all) > 0 {
			for id := range tx.workloads() {
				if w, _, ok := tx.view(id); ok && w.Spec.Reservation != "" && !w.Phase.End() {
					using[w.Spec.Reservation] = append(using[w.Spec.Reservation], string(w.Project)+"/"+w.Name)
				}
			}
		}
		out := make([]ReservationState, 0, len(all))
		for _, name := range SortedKeys(all) {
			r := all[name]
			s := tx.reservationState(&r)
			s.Using = using[name]
			slices.Sort(s.Using)
			out = append(out, s)
		}
		return out, nil
	}
}

// ReservationAs says what a reservation would come to that is not there; the
// value is a ReservationState.
func ReservationAs(r core.Reservation) Command {
	return func(tx *tx) (any, error) { return tx.reservationState(&r), nil }
}

func (tx *tx) reservationState(r *core.Reservation) ReservationState {
	s := ReservationState{Reservation: *r, Keeps: org.ReservedNodes(r, tx.e.nodes)}
	from, to, ok := r.At(tx.now)
	s.From, s.To, s.Over, s.Active = from, to, !ok, ok && !tx.now.Before(from)
	for _, id := range s.Keeps {
		s.Milli += 1000 * len(tx.e.nodes[id].Devices)
	}
	return s
}

// reservations are those that there are, as the draft has them.
func (tx *tx) reservations() map[string]core.Reservation {
	if len(tx.org.reservations) == 0 {
		return tx.e.reserved
	}
	all := maps.Clone(tx.e.reserved)
	for name, r := range tx.org.reservations {
		if r == nil {
			delete(all, name)
			continue
		}
		put(&all, name, *r)
	}
	return all
}

func (tx *tx) editReservation(e Edit, out *Edited) error {
	was, there := tx.reservations()[e.Name]
	if err := e.missing(there); err != nil {
		return err
	}
	if there {
		out.Before = &was
	}
	if e.Drop {
		put(&tx.org.reservations, e.Name, nil)
		return nil
	}
	r := was
	if !there {
		r = core.Reservation{Name: e.Name, CreatedAt: tx.now}
	}
	if err := e.Reservation(&r); err != nil {
		return err
	}
	put(&tx.org.reservations, e.Name, &r)
	out.After = &r
	return nil
}

// checkedReservation says whether a reservation can be as the draft has it,
// chooses its nodes where it says only how many, and warns of what is in its way.
func (tx *tx) checkedReservation(e Edit) ([]string, error) {
	all := tx.reservations()
	r, ok := all[e.Name]
	if !ok {
		return nil, tx.mayDropReservation(e.Name)
	}
	exists := func(id core.ProjectID) bool { _, ok := tx.project(id); return ok }
	if err := org.CheckReservation(&r, tx.poolNames(), exists); err != nil {
		return nil, err
	}
	if _, _, ok := r.At(tx.now); !ok {
		return nil, &Error{Code: CodeInvalid, Field: "start", Message: fmt.Sprintf("reservation %s would be over already: it ends %s", r.Name, r.Start.Add(r.Duration).UTC().Format(time.RFC3339)), Hint: "let it begin later, or last longer"}
	}
	for _, id := range r.Nodes {
		if _, known := tx.e.nodes[id]; !known {
			return nil, &Error{Code: CodeInvalid, Field: "nodes", Message: fmt.Sprintf("node %q does not exist", id), Hint: "muster node list shows all"}
		}
	}
	if err := tx.choose(e.Name, &r, all); err != nil {
		return nil, err
	}
	keeps := org.ReservedNodes(&r, tx.e.nodes)
	if twice := tx.reservedTwice(&r, keeps, all); twice != nil {
		return nil, twice
	}
	var warnings []string
	if len(keeps) == 0 {
		warnings = append(warnings, "it keeps no node at present")
	}
	return append(warnings, tx.inTheWay(&r, keeps)...), nil
}

// choose picks the nodes of a reservation that says only how many, unless those
// that were picked before still do.
func (tx *tx) choose(name string, r *core.Reservation, all map[string]core.Reservation) error {
	if r.NodeCount+r.GPUs == 0 {
		r.Chosen = nil
	} else {
		if was, there := tx.e.reserved[name]; there && was.Pool == r.Pool && was.NodeCount == r.NodeCount && was.GPUs == r.GPUs && tx.reservedTwice(r, was.Chosen, all) == nil {
			r.Chosen = was.Chosen
		} else {
			chosen, have := org.Choose(r, tx.candidates(r, all))
			if chosen == nil {
				field, what := "nodeCount", "nodes"
				if r.GPUs > 0 {
					field, what = "gpus", "GPUs"
				}
				return &Error{Code: CodeConflict, Field: field, Message: fmt.Sprintf("pool %s has %d %s that are ready and not reserved for others at that time, and %d are asked for", r.Pool, have, what, r.NodeCount+r.GPUs), Hint: "ask for fewer, or for another time; muster reservation list shows the others"}
			}
			r.Chosen = chosen
		}
	}
	c := *r
	*tx.org.reservations[name] = c
	return nil
}

// reservedTwice is that another reservation keeps one of the nodes at the same
// time; nil: none does.
func (tx *tx) reservedTwice(r *core.Reservation, nodes []core.NodeID, all map[string]core.Reservation) error {
	for _, name := range SortedKeys(all) {
		o := all[name]
		if name == r.Name || !org.Overlap(r, &o, tx.now) {
			continue
		}
		for _, id := range org.ReservedNodes(&o, tx.e.nodes) {
			if slices.Contains(nodes, id) {
				return &Error{Code: CodeConflict, Field: "nodes", Message: fmt.Sprintf("node %s is kept by reservation %s at that time", id, name), Hint: "choose other nodes or another time, or delete that one"}
			}
		}
	}
	return nil
}

func (tx *tx) candidates(r *core.Reservation, all map[string]core.Reservation) []org.Candidate {
	taken := map[core.NodeID]bool{}
	for name, o := range all {
		if name != r.Name && org.Overlap(r, &o, tx.now) {
			for _, id := range org.ReservedNodes(&o, tx.e.nodes) {
				taken[id] = true
			}
		}
	}
	fixed, held := map[core.NodeID]int{}, map[core.NodeID]int{}
	start, _, _ := r.At(tx.now)
	for id := range tx.e.held {
		w, tasks, ok := tx.view(id)
		if !ok {
			continue
		}
		into := held
		if tx.stays(w, start) {
			into = fixed
		}
		for _, t := range tasks {
			if holds(w, t) {
				into[t.Node]++
				for _, d := range t.Devices {
					into[t.Node] += d.Milli
				}
			}
		}
	}
	out := make([]org.Candidate, 0, len(tx.e.nodes))
	for id, n := range tx.e.nodes {
		out = append(out, org.Candidate{Node: n, Taken: taken[id], Fixed: fixed[id], Held: held[id]})
	}
	return out
}

// stays reports whether w is not displaced and may run on after that time.
func (tx *tx) stays(w *core.Workload, start time.Time) bool {
	if *w.Spec.Preemptible {
		return false
	}
	end, known := tx.firstEnd(w)
	return !known || end.At.After(start)
}

// inTheWay says what runs on the nodes of a reservation and is not over in time.
func (tx *tx) inTheWay(r *core.Reservation, nodes []core.NodeID) []string {
	start, _, _ := r.At(tx.now)
	var stay, leave []string
	for _, id := range SortedKeys(tx.e.held) {
		w, tasks, ok := tx.view(id)
		if !ok || r.Name == w.Spec.Reservation {
			continue
		}
		if end, known := tx.firstEnd(w); known && !end.At.After(start) {
			continue
		}
		for _, t := range tasks {
			if holds(w, t) && slices.Contains(nodes, t.Node) {
				if r.IgnoreJobs || tx.stays(w, start) {
					stay = append(stay, string(w.Project)+"/"+w.Name)
				} else {
					leave = append(leave, string(w.Project)+"/"+w.Name)
				}
				break
			}
		}
	}
	var out []string
	if len(stay) > 0 {
		out = append(out, "runs on to its own end, also when it begins: "+few(stay))
	}
	if len(leave) > 0 {
		out = append(out, "has to leave when it begins, if it runs until then: "+few(leave))
	}
	return out
}

// mayDropReservation refuses to drop what those who wait have named.
func (tx *tx) mayDropReservation(name string) error {
	var users []string
	for id := range tx.workloads() {
		if w, _, ok := tx.view(id); ok && w.Spec.Reservation == name && !w.Phase.End() && !w.Phase.Held() {
			users = append(users, string(w.Project)+"/"+w.Name)
		}
	}
	if len(users) == 0 {
		return nil
	}
	return &Error{Code: CodeConflict, Message: fmt.Sprintf("%d workloads wait for reservation %s: %s", len(users), name, few(users)), Hint: "muster stop ends each of them; or let it begin at another time with muster reservation update " + name}
}

// mayReserve refuses a document that names a reservation which is not for it.
func (tx *tx) mayReserve(project core.ProjectID, user, name string) error {
	if name == "" {
		return nil
	}
	r, ok := tx.reservations()[name]
	no := func(why string) error {
		return &Error{Code: CodeInvalid, Field: "reservation", Message: why, Hint: "muster reservation list shows those that there are, and for whom"}
	}
	if !ok {
		return no(fmt.Sprintf("reservation %q does not exist", name))
	}
	if _, _, ok := r.At(tx.now); !ok {
		return no(fmt.Sprintf("reservation %q is over", name))
	}
	if r.Maintenance {
		return no(fmt.Sprintf("reservation %q is for maintenance, and for nobody's work", name))
	}
	if len(r.Users) > 0 && !slices.Contains(r.Users, user) {
		return no(fmt.Sprintf("reservation %q is not for user %s", name, cmp.Or(user, "(none)")))
	}
	within := func(id core.ProjectID) bool { return id == project || tx.tree().Below(project, id) }
	if len(r.Projects) > 0 && !slices.ContainsFunc(r.Projects, within) {
		return no(fmt.Sprintf("reservation %q is not for project %s", name, project))
	}
	return nil
}

// windows are the reservations as the scheduler uses them.
func (tx *tx) windows() []schedule.Window {
	all := tx.reservations()
	out := make([]schedule.Window, 0, len(all))
	for _, name := range SortedKeys(all) {
		r := all[name]
		if _, _, ok := r.At(tx.now); !ok {
			continue
		}
		out = append(out, schedule.Window{
			Name: name, Start: r.Start.UnixMilli(), Length: r.Duration.Milliseconds(), Every: r.Repeat.Every().Milliseconds(),
			Nodes: org.ReservedNodes(&r, tx.e.nodes), Closed: r.Maintenance, Queues: r.Projects, Users: r.Users, Open: r.Magnetic, Leave: r.IgnoreJobs,
		})
	}
	return out
}

// syncWindows tells the scheduler of reservations that are not as they were, and
// notes when each begins and ends.
func (tx *tx) syncWindows() {
	e := tx.e
	if len(e.reserved)+len(tx.org.reservations) == 0 && len(e.sched.Windows()) == 0 {
		return
	}
	e.sched.SetWindows(tx.windows())
	for _, r := range tx.reservations() {
		if from, to, ok := r.At(tx.now); ok {
			e.instants.add(from.UnixMilli())
			e.instants.add(to.UnixMilli())
		}
	}
}

// vacatedFor says for which reservation someone has to leave.
func (tx *tx) vacatedFor(name string) string {
	r, ok := tx.reservations()[name]
	if !ok {
		return "its nodes are kept by reservation " + name
	}
	_, to, _ := r.At(tx.now)
	whom := "others"
	if r.Maintenance {
		whom = "maintenance"
	}
	return fmt.Sprintf("reservation %s has begun, which keeps its nodes for %s until %s%s", name, whom, to.UTC().Format(time.RFC3339), noted(r.Note))
}
