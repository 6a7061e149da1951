package memstore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/store"
)

// checkOrganisation refuses records without a name.
func checkOrganisation(b *store.Batch) error {
	for i := range b.Projects {
		if b.Projects[i].ID == "" {
			return fmt.Errorf("project %d of the batch: it has no name", i)
		}
	}
	for i := range b.Pools {
		if b.Pools[i].Name == "" {
			return fmt.Errorf("pool %d of the batch: it has no name", i)
		}
	}
	for i := range b.Licenses {
		if b.Licenses[i].Name == "" {
			return fmt.Errorf("license %d of the batch: it has no name", i)
		}
	}
	for i := range b.Reservations {
		if b.Reservations[i].Name == "" {
			return fmt.Errorf("reservation %d of the batch: it has no name", i)
		}
	}
	for i := range b.Nodes {
		if b.Nodes[i].ID == "" {
			return fmt.Errorf("node %d of the batch: it has no name", i)
		}
	}
	return nil
}

// organise writes projects, pools, licenses, reservations and what is said of nodes.
func (s *Store) organise(b *store.Batch) {
	for _, id := range b.DropProjects {
		delete(s.projects, id)
	}
	for _, name := range b.DropPools {
		delete(s.pools, name)
	}
	for _, name := range b.DropLicenses {
		delete(s.licenses, name)
	}
	for _, p := range b.Projects {
		s.projects[p.ID] = keptProject(p)
	}
	for _, p := range b.Pools {
		s.pools[p.Name] = keptPool(p)
	}
	for _, l := range b.Licenses {
		s.licenses[l.Name] = keptLicense(l)
	}
	for _, name := range b.DropReservations {
		delete(s.reservations, name)
	}
	for _, r := range b.Reservations {
		s.reservations[r.Name] = keptReservation(r)
	}
	for _, n := range b.Nodes {
		if n.Plain() {
			delete(s.nodes, n.ID)
			continue
		}
		s.nodes[n.ID] = keptNode(n)
	}
}

// Projects implements store.Store.
func (s *Store) Projects(ctx context.Context) ([]core.Project, error) {
	return listed(ctx, s, "reading the projects", s.projects, cmp.Compare[core.ProjectID], keptProject)
}

// Pools implements store.Store.
func (s *Store) Pools(ctx context.Context) ([]core.Pool, error) {
	return listed(ctx, s, "reading the pools", s.pools, cmp.Compare[string], keptPool)
}

// Licenses implements store.Store.
func (s *Store) Licenses(ctx context.Context) ([]core.License, error) {
	return listed(ctx, s, "reading the licenses", s.licenses, cmp.Compare[string], keptLicense)
}

// Reservations implements store.Store.
func (s *Store) Reservations(ctx context.Context) ([]core.Reservation, error) {
	return listed(ctx, s, "reading the reservations", s.reservations, cmp.Compare[string], keptReservation)
}

// Nodes implements store.Store.
func (s *Store) Nodes(ctx context.Context) ([]core.NodeSetting, error) {
	return listed(ctx, s, "reading what is said of nodes", s.nodes, cmp.Compare[core.NodeID], keptNode)
}

// listed are copies of all records of a kind, in the order of their keys.
func listed[K comparable, V any](ctx context.Context, s *Store, what string, m map[K]V, compare func(a, b K) int, kept func(V) V) ([]V, error) {
	done, err := s.reading(ctx, what)
	if err != nil {
		return nil, err
	}
	defer done()
	var all []V
	for _, id := range slices.SortedFunc(maps.Keys(m), compare) {
		all = append(all, kept(m[id]))
	}
	return all, nil
}

func keptProject(p core.Project) core.Project {
	p.CreatedAt = kept(p.CreatedAt)
	p.Checks = keptList(p.Checks)
	for i := range p.Checks {
		p.Checks[i].Users = keptList(p.Checks[i].Users)
	}
	p.TimeLimit, p.IdleLimit = keptMap(p.TimeLimit), keptMap(p.IdleLimit)
	p.Pools, p.PoolOrder, p.NodeTypes = keptMap(p.Pools), keptList(p.PoolOrder), keptMap(p.NodeTypes)
	for name, q := range p.Pools {
		p.Pools[name] = core.PoolQuota{GPU: keptQuota(q.GPU), CPU: keptQuota(q.CPU), Memory: keptQuota(q.Memory)}
	}
	for kind, types := range p.NodeTypes {
		p.NodeTypes[kind] = slices.Clone(types)
	}
	p.BorrowingTimeLimit = keptPointer(p.BorrowingTimeLimit)
	p.PreemptMinRuntime, p.ReclaimMinRuntime = keptPointer(p.PreemptMinRuntime), keptPointer(p.ReclaimMinRuntime)
	p.UserLimit.GPU = keptPointer(p.UserLimit.GPU)
	p.Budgets = keptList(p.Budgets)
	for i := range p.Budgets {
		p.Budgets[i].WarnAt = keptList(p.Budgets[i].WarnAt)
		p.Budgets[i].From, p.Budgets[i].Until = kept(p.Budgets[i].From), kept(p.Budgets[i].Until)
	}
	return p
}

func keptQuota(q core.ResourceQuota) core.ResourceQuota {
	return core.ResourceQuota{Quota: keptPointer(q.Quota), Limit: keptPointer(q.Limit), LendingLimit: keptPointer(q.LendingLimit), Weight: keptPointer(q.Weight)}
}

func keptPool(p core.Pool) core.Pool {
	p.CreatedAt, p.Topology = kept(p.CreatedAt), keptList(p.Topology)
	return p
}

func keptReservation(r core.Reservation) core.Reservation {
	r.Start, r.CreatedAt = kept(r.Start), kept(r.CreatedAt)
	r.Nodes, r.Chosen, r.Projects, r.Users = keptList(r.Nodes), keptList(r.Chosen), keptList(r.Projects), keptList(r.Users)
	return r
}

func keptNode(n core.NodeSetting) core.NodeSetting {
	n.Labels, n.Taints = keptMap(n.Labels), keptList(n.Taints)
	return n
}

func keptLicense(l core.License) core.License {
	l.CreatedAt = kept(l.CreatedAt)
	return l
}
