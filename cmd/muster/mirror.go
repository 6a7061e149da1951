package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/musterhq/muster/internal/backend/kube/cluster"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/org"
	"github.com/musterhq/muster/internal/engine/report"
)

// mirrorEvery is how soon a changed limit of a project is in its namespaces.
const mirrorEvery = 2 * time.Second

// mirror tells the clusters what projects may use at most, for as long as the server
// works.
func (p *backends) mirror(o cli.ServerOptions, ctl *control.Control, log *slog.Logger) func(context.Context) {
	if !o.KubeMirrorQuotas || len(p.kubes) == 0 {
		return func(context.Context) {}
	}
	return func(ctx context.Context) {
		former := ""
		for ctx.Err() == nil {
			err := p.mirrorOnce(ctx, ctl)
			switch {
			case err == nil:
				former = ""
			case err.Error() != former && ctx.Err() == nil:
				former = err.Error()
				log.Warn("limits of projects are not in their namespaces yet", "err", err, "again", mirrorEvery)
			}
			select {
			case <-ctx.Done():
			case <-time.After(mirrorEvery):
			}
		}
	}
}

func (p *backends) mirrorOnce(ctx context.Context, ctl *control.Control) error {
	st, err := control.Do(ctx, ctl, report.Cluster())
	if err != nil {
		return err
	}
	by := make(map[core.ProjectID]core.Project, len(st.Projects))
	for _, x := range st.Projects {
		by[x.ID] = x
	}
	tree := org.Tree(func(id core.ProjectID) (core.Project, bool) { x, ok := by[id]; return x, ok })
	var pools []string
	for _, x := range st.Pools {
		pools = append(pools, x.Name)
	}
	all := cluster.Bounds{}
	for id, x := range by {
		if !x.Department {
			all[id] = tree.Bounds(id, pools)
		}
	}
	for _, k := range p.kubes {
		if e := k.Mirror(ctx, all); e != nil && err == nil {
			err = e
		}
	}
	return err
}
