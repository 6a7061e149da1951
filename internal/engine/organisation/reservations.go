package organisation

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/org"
	"github.com/musterhq/muster/internal/engine/consequence"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/planner"
	"github.com/musterhq/muster/internal/engine/workload"
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

// Reservations reads all of them, by name.
func Reservations() draft.Command[[]ReservationState] {
	return func(tx *draft.Tx) ([]ReservationState, error) {
		all := planner.Reservations(tx)
		using := map[string][]string{}
		if len(all) > 0 {
			for id := range tx.Workloads() {
				if w, _, ok := tx.View(id); ok && w.Spec.Reservation != "" && !w.Phase.End() {
					using[w.Spec.Reservation] = append(using[w.Spec.Reservation], string(w.Project)+"/"+w.Name)
				}
			}
		}
		out := make([]ReservationState, 0, len(all))
		for _, name := range slices.Sorted(maps.Keys(all)) {
			r := all[name]
			s := reservationState(tx, &r)
			s.Using = using[name]
			slices.Sort(s.Using)
			out = append(out, s)
		}
		return out, nil
	}
}

// ReservationAs says what a reservation would come to that is not there.
func ReservationAs(r core.Reservation) draft.Command[ReservationState] {
	return func(tx *draft.Tx) (ReservationState, error) { return reservationState(tx, &r), nil }
}

func reservationState(tx *draft.Tx, r *core.Reservation) ReservationState {
	s := ReservationState{Reservation: *r, Keeps: org.ReservedNodes(r, tx.State.Nodes)}
	from, to, ok := r.At(tx.Now)
	s.From, s.To, s.Over, s.Active = from, to, !ok, ok && !tx.Now.Before(from)
	for _, id := range s.Keeps {
		s.Milli += 1000 * len(tx.State.Nodes[id].Devices)
	}
	return s
}

func editReservation(tx *draft.Tx, e Edit, out *Edited) error {
	was, there := planner.Reservations(tx)[e.Name]
	if err := e.missing(there); err != nil {
		return err
	}
	if there {
		out.Before.Reservation = &was
	}
	if e.Drop {
		draft.Put(&tx.Org.Reservations, e.Name, nil)
		return nil
	}
	r := was
	if !there {
		r = core.Reservation{Name: e.Name, CreatedAt: tx.Now}
	}
	if err := e.Reservation(&r); err != nil {
		return err
	}
	draft.Put(&tx.Org.Reservations, e.Name, &r)
	out.After.Reservation = &r
	return nil
}

// checkedReservation says whether a reservation can be as the draft has it,
// chooses its nodes where it says only how many, and warns of what is in its way.
func checkedReservation(tx *draft.Tx, e Edit) ([]string, error) {
	all := planner.Reservations(tx)
	r, ok := all[e.Name]
	if !ok {
		return nil, mayDropReservation(tx, e.Name)
	}
	exists := func(id core.ProjectID) bool { _, ok := tx.Project(id); return ok }
	if err := org.CheckReservation(&r, tx.PoolNames(), exists); err != nil {
		return nil, err
	}
	if _, _, ok := r.At(tx.Now); !ok {
		return nil, &draft.Error{Code: draft.CodeInvalid, Field: "start", Message: fmt.Sprintf("reservation %s would be over already: it ends %s", r.Name, r.Start.Add(r.Duration).UTC().Format(time.RFC3339)), Hint: "let it begin later, or last longer"}
	}
	for _, id := range r.Nodes {
		if _, known := tx.State.Nodes[id]; !known {
			return nil, &draft.Error{Code: draft.CodeInvalid, Field: "nodes", Message: fmt.Sprintf("node %q does not exist", id), Hint: "muster node list shows all"}
		}
	}
	if err := choose(tx, e.Name, &r, all); err != nil {
		return nil, err
	}
	keeps := org.ReservedNodes(&r, tx.State.Nodes)
	if twice := reservedTwice(tx, &r, keeps, all); twice != nil {
		return nil, twice
	}
	var warnings []string
	if len(keeps) == 0 {
		warnings = append(warnings, "it keeps no node at present")
	}
	return append(warnings, inTheWay(tx, &r, keeps)...), nil
}

// choose picks the nodes of a reservation that says only how many, unless those
// that were picked before still do.
func choose(tx *draft.Tx, name string, r *core.Reservation, all map[string]core.Reservation) error {
	if r.NodeCount+r.GPUs == 0 {
		r.Chosen = nil
	} else {
		if was, there := tx.State.Reserved[name]; there && was.Pool == r.Pool && was.NodeCount == r.NodeCount && was.GPUs == r.GPUs && reservedTwice(tx, r, was.Chosen, all) == nil {
			r.Chosen = was.Chosen
		} else {
			chosen, have := org.Choose(r, candidates(tx, r, all))
			if chosen == nil {
				field, what := "nodeCount", "nodes"
				if r.GPUs > 0 {
					field, what = "gpus", "GPUs"
				}
				return &draft.Error{Code: draft.CodeConflict, Field: field, Message: fmt.Sprintf("pool %s has %d %s that are ready and not reserved for others at that time, and %d are asked for", r.Pool, have, what, r.NodeCount+r.GPUs), Hint: "ask for fewer, or for another time; muster reservation list shows the others"}
			}
			r.Chosen = chosen
		}
	}
	c := *r
	*tx.Org.Reservations[name] = c
	return nil
}

// reservedTwice is that another reservation keeps one of the nodes at the same
// time; nil: none does.
func reservedTwice(tx *draft.Tx, r *core.Reservation, nodes []core.NodeID, all map[string]core.Reservation) error {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		o := all[name]
		if name == r.Name || !org.Overlap(r, &o, tx.Now) {
			continue
		}
		for _, id := range org.ReservedNodes(&o, tx.State.Nodes) {
			if slices.Contains(nodes, id) {
				return &draft.Error{Code: draft.CodeConflict, Field: "nodes", Message: fmt.Sprintf("node %s is kept by reservation %s at that time", id, name), Hint: "choose other nodes or another time, or delete that one"}
			}
		}
	}
	return nil
}

func candidates(tx *draft.Tx, r *core.Reservation, all map[string]core.Reservation) []org.Candidate {
	taken := map[core.NodeID]bool{}
	for name, o := range all {
		if name != r.Name && org.Overlap(r, &o, tx.Now) {
			for _, id := range org.ReservedNodes(&o, tx.State.Nodes) {
				taken[id] = true
			}
		}
	}
	fixed, held := map[core.NodeID]int{}, map[core.NodeID]int{}
	start, _, _ := r.At(tx.Now)
	for id := range tx.State.Held {
		w, tasks, ok := tx.View(id)
		if !ok {
			continue
		}
		into := held
		if stays(tx, w, start) {
			into = fixed
		}
		for _, t := range tasks.Open() {
			if workload.Holds(w, t) {
				into[t.Node]++
				for _, d := range t.Devices {
					into[t.Node] += d.Milli
				}
			}
		}
	}
	out := make([]org.Candidate, 0, len(tx.State.Nodes))
	for id, n := range tx.State.Nodes {
		out = append(out, org.Candidate{Node: n, Taken: taken[id], Fixed: fixed[id], Held: held[id]})
	}
	return out
}

// stays reports whether w is not displaced and may run on after that time.
func stays(tx *draft.Tx, w *core.Workload, start time.Time) bool {
	if *w.Spec.Preemptible {
		return false
	}
	end, known := tx.FirstEnd(w)
	return !known || end.At.After(start)
}

// inTheWay says what runs on the nodes of a reservation and is not over in time.
func inTheWay(tx *draft.Tx, r *core.Reservation, nodes []core.NodeID) []string {
	start, _, _ := r.At(tx.Now)
	var stay, leave []string
	for _, id := range slices.Sorted(maps.Keys(tx.State.Held)) {
		w, tasks, ok := tx.View(id)
		if !ok || r.Name == w.Spec.Reservation {
			continue
		}
		if end, known := tx.FirstEnd(w); known && !end.At.After(start) {
			continue
		}
		for _, t := range tasks.Open() {
			if workload.Holds(w, t) && slices.Contains(nodes, t.Node) {
				if r.IgnoreJobs || stays(tx, w, start) {
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
		out = append(out, "runs on to its own end, also when it begins: "+consequence.Few(stay))
	}
	if len(leave) > 0 {
		out = append(out, "has to leave when it begins, if it runs until then: "+consequence.Few(leave))
	}
	return out
}

// mayDropReservation refuses to drop what those who wait have named.
func mayDropReservation(tx *draft.Tx, name string) error {
	var users []string
	for id := range tx.Workloads() {
		if w, _, ok := tx.View(id); ok && w.Spec.Reservation == name && !w.Phase.End() && !w.Phase.Held() {
			users = append(users, string(w.Project)+"/"+w.Name)
		}
	}
	if len(users) == 0 {
		return nil
	}
	return &draft.Error{Code: draft.CodeConflict, Message: fmt.Sprintf("%d workloads wait for reservation %s: %s", len(users), name, consequence.Few(users)), Hint: "muster stop ends each of them; or let it begin at another time with muster reservation update " + name}
}
