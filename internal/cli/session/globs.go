package session

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
)

// IsGlob reports whether a name stands for all that are like it. No workload
// has such a name.
func IsGlob(name string) bool { return strings.ContainsAny(name, "*?[") }

// ResolveAll returns the workloads that names mean: one each, or with a glob
// all of one project that match it, of these only the live ones if asked.
func (s *Session) ResolveAll(ctx context.Context, c *client.Client, sc Scope, names []string, live bool) ([]*api.Workload, error) {
	var ws []*api.Workload
	seen := map[string]bool{}
	add := func(w *api.Workload) {
		if !seen[w.ID] {
			seen[w.ID] = true
			ws = append(ws, w)
		}
	}
	for _, name := range names {
		if !IsGlob(name) {
			w, err := s.Resolve(ctx, c, sc, name)
			if err != nil {
				return nil, err
			}
			add(w)
			continue
		}
		found, err := s.matching(ctx, c, sc, name, live)
		if err != nil {
			return nil, err
		}
		for i := range found {
			add(&found[i])
		}
	}
	return ws, nil
}

// matching returns the workloads of one project whose names match a glob.
func (s *Session) matching(ctx context.Context, c *client.Client, sc Scope, glob string, live bool) ([]api.Workload, error) {
	if _, err := path.Match(glob, ""); err != nil {
		return nil, UsageError(fmt.Sprintf("%q is not a pattern", glob), "* stands for any text, ? for one character, [ab] for one of several")
	}
	o := client.ListOptions{Project: sc.Project, Prefix: glob[:strings.IndexAny(glob, `*?[\`)], Live: live, Table: true}
	if o.Project == "" {
		o.Project = DefaultProject
	}
	var found []api.Workload
	for {
		page, err := c.Workloads(ctx, o)
		if err != nil {
			return nil, err
		}
		for _, w := range page.Items {
			if ok, _ := path.Match(glob, w.Name); ok {
				found = append(found, w)
			}
		}
		if o.Cursor = page.Next; o.Cursor == "" {
			break
		}
	}
	if len(found) == 0 {
		what := "workload"
		if live {
			what = "live workload"
		}
		return nil, NotFoundError(fmt.Sprintf("no %s of project %s matches %q", what, o.Project, glob), "muster get lists what there is; -p says another project")
	}
	return found, nil
}
