package launch

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/hosts"
	"github.com/musterhq/muster/internal/engine/workload"
)

// hostsOf are the names by which t, a task of w in a container, knows the tasks of its
// gang, and those that the annotation of its workload names. Where each task has an
// address of its own the backend names them, and there are none.
func (s *Server) hostsOf(w *core.Workload, t *core.Task, tasks *workload.Tasks) []backend.Host {
	if s.where(t).own {
		return nil
	}
	entries := hosts.Parse(w.Spec.Annotations[hosts.Annotation])
	if w.Spec.Gang() && w.Name != "" && w.Spec.Size() <= mostAddresses {
		entries = append(entries, hosts.Entry{Host: w.Name + "-{0.." + strconv.Itoa(w.Spec.Size()-1) + "}"})
	}
	n := naming{}
	for _, e := range entries {
		if e.Of != "" {
			for _, address := range s.others(w, t, e.Of) {
				n.add(address, e.Full(e.Host, string(w.Project)))
			}
			continue
		}
		if e.Counted() {
			for i, host := range hosts.Each(e.Host) {
				if named := tasks.At(e.First + i); named != nil {
					n.add(s.where(named).address, e.Full(host, string(w.Project)))
				}
			}
			continue
		}
		for _, other := range workload.SortedTasks(tasks) {
			if index := other.ID.Index; index >= e.First && index <= e.Last || e.Last < e.First {
				n.add(s.where(other).address, e.Full(e.Host, string(w.Project)))
			}
		}
	}
	return n
}

// others are the addresses of the tasks of another workload. Where none of them has a
// place yet, and all machines have one address, they will be there.
func (s *Server) others(w *core.Workload, t *core.Task, name string) (all []string) {
	if s.Others != nil {
		for _, other := range workload.SortedTasks(s.Others(w.Project, name)) {
			if at := s.where(other); !at.own {
				all = append(all, at.address)
			}
		}
	}
	if len(all) > 0 {
		return all
	}
	here := s.where(t).address
	for _, node := range s.Nodes {
		if cmp.Or(node.Address, "127.0.0.1") != here {
			return nil
		}
	}
	return []string{here}
}

// naming gathers names by their address.
type naming []backend.Host

func (n *naming) add(address string, names []string) {
	if _, err := netip.ParseAddr(address); err != nil {
		return // /etc/hosts knows nothing else
	}
	at := slices.IndexFunc(*n, func(h backend.Host) bool { return h.Address == address })
	if at < 0 {
		at = len(*n)
		*n = append(*n, backend.Host{Address: address})
	}
	h := &(*n)[at]
	for _, name := range names {
		if !slices.Contains(h.Names, name) {
			h.Names = append(h.Names, name)
		}
	}
}
