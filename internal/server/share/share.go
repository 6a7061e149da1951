// Package share shows one workload, or one curve of it, to people who have no account:
// by links that nobody can guess, that expire and can be revoked (ADR 44).
package share

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/reported"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/reader"
	"github.com/musterhq/muster/internal/server/request"
	"github.com/musterhq/muster/internal/sharelink"
	"github.com/musterhq/muster/internal/store"
)

const (
	usual    = 7 * 24 * time.Hour
	shortest = time.Hour
	longest  = 90 * 24 * time.Hour
)

type routes struct {
	*reader.Reader
	guard    *access.Guard
	reported *reported.Store
	links    *sharelink.Kept // nil: they are off
	rate     rate
}

// Register adds the routes of links to an API, and the page that they open. Where links
// is nil nothing is opened, and making one says how that is turned on.
func Register(r *reader.Reader, a huma.API, mux *access.Mux, g *access.Guard, curves *reported.Store, links *sharelink.Kept) {
	s := &routes{Reader: r, guard: g, reported: curves, links: links}
	tags := []string{"workloads"}
	huma.Register(a, huma.Operation{
		OperationID: "create-share", Method: http.MethodPost, Path: "/v1/shares", Summary: "Make a link that shows a workload of yours without an account", Tags: tags, DefaultStatus: http.StatusCreated,
		Description: "Its state and the numbers that it reports, or one of them, and with logs the end of its output: no commands, environment, nor names of others.",
	}, s.create)
	huma.Register(a, huma.Operation{
		OperationID: "list-shares", Method: http.MethodGet, Path: "/v1/shares", Summary: "The links that you have made and that are good; the owner of the server sees all", Tags: tags,
	}, s.list)
	huma.Register(a, huma.Operation{
		OperationID: "delete-share", Method: http.MethodDelete, Path: "/v1/shares/{id}", Summary: "Revoke a link that you have made; the owner of the server revokes any", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, s.revoke)
	mux.HandleFunc("GET "+access.SharedAt+"{token}", s.show)
}

type shareOutput struct{ Body api.Share }

func apiOf(l *sharelink.Link, w *core.Workload) api.Share {
	return api.Share{ID: l.ID(), Workload: string(w.ID), Project: string(w.Project), Name: w.Name, Chart: l.Chart, Logs: l.Logs, By: l.By, Created: api.Time(l.Created), Expires: api.Time(l.Expires), Opened: l.Opened}
}

// off refuses where no links are made.
func (s *routes) off() error {
	if s.links != nil {
		return nil
	}
	return problem.New(http.StatusConflict, "refused", "links that show workloads without an account are off on this server", "an administrator turns them on: muster server --share-links")
}

func (s *routes) create(ctx context.Context, in *struct{ Body api.NewShare }) (*shareOutput, error) {
	if err := s.off(); err != nil {
		return nil, err
	}
	w, err := s.Find(ctx, cmp.Or(in.Body.Project, request.AllProjects), in.Body.Workload)
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	if user := access.User(ctx); user != w.User {
		return nil, problem.New(http.StatusForbidden, "forbidden", user+" may not share "+strconv.Quote(w.Name)+": it is "+w.User+"'s", "ask "+w.User+" for a link")
	}
	last := usual
	if in.Body.Expires != "" {
		d, bad := spec.ParseDuration(in.Body.Expires)
		if bad != nil || d.Std() < shortest || d.Std() > longest {
			return nil, problem.BadValue("expires", in.Body.Expires, "is not a length of time from 1h to 90d", "write one like 12h or 7d")
		}
		last = d.Std()
	}
	if len(in.Body.Chart) > 200 {
		return nil, problem.BadValue("chart", in.Body.Chart, "is longer than 200 characters", "write the name of a number that the workload reports")
	}
	if in.Body.Logs && in.Body.Chart != "" {
		return nil, problem.BadValue("logs", "true", "does not go with chart: a link to one curve shows that alone", "leave chart out, or make two links")
	}
	now := s.Clock()
	l, token, err := s.links.Add(sharelink.Link{Workload: w.ID, Chart: in.Body.Chart, Logs: in.Body.Logs, By: access.User(ctx), Created: now.UTC(), Expires: now.Add(last).UTC()}, now)
	if errors.Is(err, sharelink.ErrFull) {
		return nil, problem.New(http.StatusConflict, "refused", "there are "+strconv.Itoa(sharelink.Most)+" links that show workloads, and no more are made", "revoke some that nobody needs: muster share --revoke ID")
	}
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	s.guard.Note(ctx, core.AuditEntry{Actor: access.Actor(ctx), Action: "POST /v1/shares", Verb: rbac.Create, Noun: "shares", Object: object(w, l), Result: core.AuditDone})
	out := &shareOutput{apiOf(l, w)}
	out.Body.Path = strings.TrimPrefix(access.SharedAt, "/") + token
	return out, nil
}

func (s *routes) list(ctx context.Context, in *struct {
	Workload string `query:"workload" doc:"Only those of the workload with this id"`
}) (*struct{ Body api.ShareList }, error) {
	out := &struct{ Body api.ShareList }{api.ShareList{Items: []api.Share{}}}
	if s.links == nil {
		return out, nil
	}
	all := access.Owns(ctx)
	for _, l := range s.links.Of(func(l *sharelink.Link) bool {
		return (all || l.By == access.User(ctx)) && (in.Workload == "" || string(l.Workload) == in.Workload)
	}, s.Clock()) {
		w, err := s.Store.Workload(ctx, l.Workload)
		if errors.Is(err, store.ErrNotFound) { // it opens nothing any more
			continue
		}
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		out.Body.Items = append(out.Body.Items, apiOf(&l, w))
	}
	return out, nil
}

func (s *routes) revoke(ctx context.Context, in *struct {
	ID string `path:"id"`
}) (*struct{}, error) {
	if err := s.off(); err != nil {
		return nil, err
	}
	all := access.Owns(ctx)
	l, err := s.links.Drop(func(l *sharelink.Link) bool { return l.ID() == in.ID && (all || l.By == access.User(ctx)) })
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	if l == nil {
		return nil, problem.New(http.StatusNotFound, "not_found", "you have made no link "+strconv.Quote(in.ID)+" that is good", "muster share --list lists them")
	}
	s.guard.Note(ctx, core.AuditEntry{Actor: access.Actor(ctx), Action: "DELETE /v1/shares/{id}", Verb: rbac.Delete, Noun: "shares", Object: string(l.Workload) + " " + in.ID, Result: core.AuditDone})
	return nil, nil
}

func object(w *core.Workload, l *sharelink.Link) string {
	what := l.Chart
	if l.Logs {
		what = "logs"
	}
	return strings.TrimSpace(string(w.Project) + "/" + w.Name + " " + l.ID() + " " + what)
}

// show is what a link opens.
func (s *routes) show(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Robots-Tag", "noindex, nofollow, noarchive")
	h.Set("Referrer-Policy", "no-referrer") // the address is the key
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	say := wordsFor(r.Header.Get("Accept-Language"))
	now := s.Clock()
	address := access.Address(r)
	if s.links != nil && !s.rate.allows(address, now) {
		h.Set("Retry-After", "60")
		plain(w, http.StatusTooManyRequests, say, say.often)
		return
	}
	var l sharelink.Link
	ok := false
	if s.links != nil {
		l, ok = s.links.Find(r.PathValue("token"), now)
	}
	var run *core.Workload
	if ok {
		var err error
		run, err = s.Store.Workload(r.Context(), l.Workload)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			s.Log.Error("a shared workload cannot be read", "err", err)
			plain(w, http.StatusServiceUnavailable, say, say.later)
			return
		}
	}
	if run == nil || run.Phase == lifecycle.Deleted { // nobody learns whether there was one
		plain(w, http.StatusNotFound, say, say.gone)
		return
	}
	s.guard.Note(r.Context(), core.AuditEntry{Actor: "anonymous", Address: address, Action: "GET " + access.SharedAt, Verb: rbac.Read, Noun: "shares", Object: object(run, &l), Result: core.AuditDone})
	list, _, err := s.reported.Of(string(run.ID), func(k reported.Key) bool {
		return k.Attempt == run.Attempt && (l.Chart == "" || k.Metric == l.Chart) && k.Metric != ""
	}, 0)
	if err != nil {
		s.Log.Warn("curves cannot be read", "workload", run.ID, "err", err)
	}
	output := ""
	if l.Logs {
		output = s.output(r.Context(), run)
	}
	_, _ = w.Write([]byte(page(say, run, &l, list, output, now))) // the browser may have gone
}

// chartsMost is how many curves one page has.
const chartsMost = 24

// curvesShown are those of the first task that reports each number.
func curvesShown(list []reported.Curve) []reported.Curve {
	var out []reported.Curve
	seen := map[string]int{}
	for _, c := range list {
		i, known := seen[c.Metric]
		switch {
		case !known && len(out) < chartsMost:
			seen[c.Metric] = len(out)
			out = append(out, c)
		case known && cmp.Compare(c.Task, out[i].Task) < 0:
			out[i] = c
		}
	}
	return out
}
