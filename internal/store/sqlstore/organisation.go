package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/store"
)

func (r *rows) organisation(b *store.Batch) (err error) {
	r.projects = make([]string, len(b.Projects))
	for i, p := range b.Projects {
		p.CreatedAt = kept(p.CreatedAt)
		if r.projects[i], err = encodeNamed("project", i, string(p.ID), p); err != nil {
			return err
		}
	}
	r.pools = make([]string, len(b.Pools))
	for i, p := range b.Pools {
		p.CreatedAt = kept(p.CreatedAt)
		if r.pools[i], err = encodeNamed("pool", i, p.Name, p); err != nil {
			return err
		}
	}
	r.licenses = make([]string, len(b.Licenses))
	for i, l := range b.Licenses {
		l.CreatedAt = kept(l.CreatedAt)
		if r.licenses[i], err = encodeNamed("license", i, l.Name, l); err != nil {
			return err
		}
	}
	r.reservations = make([]string, len(b.Reservations))
	for i, x := range b.Reservations {
		x.Start, x.CreatedAt = kept(x.Start), kept(x.CreatedAt)
		if r.reservations[i], err = encodeNamed("reservation", i, x.Name, x); err != nil {
			return err
		}
	}
	r.nodes = make([]string, len(b.Nodes))
	for i, n := range b.Nodes {
		if r.nodes[i], err = encodeNamed("node", i, string(n.ID), n); err != nil {
			return err
		}
	}
	return nil
}

func encodeNamed(what string, i int, name string, record any) (string, error) {
	if name == "" {
		return "", fmt.Errorf("%s %d of the batch: it has no name", what, i)
	}
	text, err := json.Marshal(record)
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", what, name, err)
	}
	return string(text), nil
}

// organise writes projects, pools, licenses, reservations and what is said of nodes.
func (c *commit) organise(b *store.Batch) error {
	for _, id := range b.DropProjects {
		if err := c.row(c.w.dropProject, clean(id)); err != nil {
			return err
		}
	}
	for _, name := range b.DropPools {
		if err := c.row(c.w.dropPool, clean(name)); err != nil {
			return err
		}
	}
	for _, name := range b.DropLicenses {
		if err := c.row(c.w.dropLicense, clean(name)); err != nil {
			return err
		}
	}
	for i := range b.Projects {
		if err := c.row(c.w.putProject, clean(b.Projects[i].ID), c.rows.projects[i]); err != nil {
			return err
		}
	}
	for i := range b.Pools {
		if err := c.row(c.w.putPool, clean(b.Pools[i].Name), c.rows.pools[i]); err != nil {
			return err
		}
	}
	for i := range b.Licenses {
		if err := c.row(c.w.putLicense, clean(b.Licenses[i].Name), c.rows.licenses[i]); err != nil {
			return err
		}
	}
	for _, name := range b.DropReservations {
		if err := c.row(c.w.dropReservation, clean(name)); err != nil {
			return err
		}
	}
	for i := range b.Reservations {
		if err := c.row(c.w.putReservation, clean(b.Reservations[i].Name), c.rows.reservations[i]); err != nil {
			return err
		}
	}
	for i := range b.Nodes {
		n := &b.Nodes[i]
		err := error(nil)
		if n.Plain() {
			err = c.row(c.w.dropNode, clean(n.ID))
		} else {
			err = c.row(c.w.putNode, clean(n.ID), c.rows.nodes[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Projects implements store.Store.
func (s *Store) Projects(ctx context.Context) ([]core.Project, error) {
	return namedRecords[core.Project](ctx, s, s.r.projects, "project")
}

// Pools implements store.Store.
func (s *Store) Pools(ctx context.Context) ([]core.Pool, error) {
	return namedRecords[core.Pool](ctx, s, s.r.pools, "pool")
}

// Licenses implements store.Store.
func (s *Store) Licenses(ctx context.Context) ([]core.License, error) {
	return namedRecords[core.License](ctx, s, s.r.licenses, "license")
}

// Reservations implements store.Store.
func (s *Store) Reservations(ctx context.Context) ([]core.Reservation, error) {
	return namedRecords[core.Reservation](ctx, s, s.r.reservations, "reservation")
}

// Nodes implements store.Store.
func (s *Store) Nodes(ctx context.Context) ([]core.NodeSetting, error) {
	return namedRecords[core.NodeSetting](ctx, s, s.r.nodes, "node")
}

// namedRecords reads a small table of names and bodies.
func namedRecords[T any](ctx context.Context, s *Store, from *sql.Stmt, what string) ([]T, error) {
	rows, err := from.QueryContext(ctx)
	all, err := collect(rows, err, func(rows *sql.Rows) (T, error) {
		var v T
		var name string
		var body []byte
		if err := rows.Scan(&name, &body); err != nil {
			return v, err
		}
		if err := json.Unmarshal(body, &v); err != nil {
			return v, unreadable(what+" "+name, err)
		}
		return v, nil
	})
	return all, s.fail("reading every "+what, err)
}
