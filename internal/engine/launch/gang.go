package launch

import (
	"strconv"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine/workload"
)

// self is how tasks start this program.
func (s *Server) self() []string {
	if s.Self == nil {
		return []string{"muster"}
	}
	return s.Self()
}

// gangOf is where the ranks of w find each other.
func (s *Server) gangOf(w *core.Workload, tasks *workload.Tasks) gang {
	if !w.Spec.Gang() {
		if w.Spec.Slurm == nil {
			return gang{}
		}
		return gang{self: s.self()}
	}
	size := w.Spec.Size()
	g := gang{at: endpoint{address: "127.0.0.1", port: w.Attempts[len(w.Attempts)-1].Port}}
	if t := tasks.At(0); t != nil { // the first never leaves alone
		g.at.address = s.where(t).address
	}
	var all []*core.Task
	if w.Spec.Elastic() {
		all = workload.Ranks(tasks)
		size, g.ranks = len(all), make(map[int]int, len(all))
		for rank, t := range all {
			g.ranks[t.ID.Index] = rank
		}
	}
	slurm, f := w.Spec.Slurm != nil, w.Spec.Framework
	if (f == "env" || f == "") && !slurm && !wantsAddresses(w.Spec, size) {
		return g
	}
	g.all = make([]endpoint, size)
	for i := range g.all {
		t := tasks.At(i)
		if g.all[i].address = "127.0.0.1"; all != nil {
			t = all[i]
		}
		if t != nil {
			g.all[i] = s.where(t)
		}
	}
	if f != "mpi" && !slurm {
		return g
	}
	g.self = s.self()
	if s.Secrets != nil {
		g.token = s.Secrets.Token(string(w.ID) + "/" + strconv.Itoa(w.Attempt))
	}
	return g
}

// wholeOf is what each task of w has of its node where nothing else may be there, in
// thousandths of cores: those of a gang on one node divide it.
func (s *Server) wholeOf(w *core.Workload, t *core.Task, tasks *workload.Tasks) []int64 {
	if w.Spec.Slurm == nil || w.Spec.Exclusive != "node" {
		return nil
	}
	if !w.Spec.Gang() { // a job of an array is alone, too
		return []int64{s.Nodes[t.Node].CPU}
	}
	on := map[core.NodeID]int64{}
	for _, other := range tasks.All() {
		on[other.Node]++
	}
	whole := make([]int64, w.Spec.Size())
	for i := range whole {
		if other := tasks.At(i); other != nil {
			whole[i] = s.Nodes[other.Node].CPU / on[other.Node]
		}
	}
	return whole
}

// where is where others reach a task.
func (s *Server) where(t *core.Task) endpoint {
	at := endpoint{address: "127.0.0.1", port: t.Port}
	if s.Address != nil {
		if a := s.Address(t.Backend, t.ID); a != "" {
			at.address, at.own = a, true
			return at
		}
	}
	if a := s.Nodes[t.Node].Address; a != "" {
		at.address = a
	}
	return at
}

// endpoint is where a task listens for the others.
type endpoint struct {
	address string
	port    int
	own     bool // the address is the task's alone, and its name may not be known to itself yet
}

// String is address and port, as in a URL.
func (e endpoint) String() string { return e.address + ":" + strconv.Itoa(e.port) }

// gang is where all tasks of a gang are, by rank; of other kinds, empty.
type gang struct {
	at    endpoint    // rendezvous
	ranks map[int]int // of an elastic one, by index; of others the index is the rank
	all   []endpoint
	self  []string // the program of this server, for the mpi agent
	// token is a secret of the attempt, for the mpi agent.
	token string
	// whole is what a script's tasks have of nodes that are the workload's own, by rank, in
	// thousandths of cores; nil: of what it does not ask for others may have a part.
	whole []int64
}

// rank is the number of t among those that are there.
func (g gang) rank(t *core.Task) int {
	if rank, ok := g.ranks[t.ID.Index]; ok {
		return rank
	}
	return t.ID.Index
}
