package inspect

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/filter"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/nearest"
)

const (
	// recent is how old an ended workload may be to be listed unasked.
	recent = 24 * time.Hour
	// PageMost is the longest page that the server gives.
	PageMost = 1000
)

// FilterFlags select workloads.
type FilterFlags struct {
	Status, kinds []string
	user          string
	all           bool
	since, before string
	labels        []string
	schedule      string
	prefix        string
	filter        string
	deleted       bool
	limit         int
}

func (f *FilterFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringSliceVar(&f.Status, "status", nil, "only these phases, or words of the --dialect")
	fl.StringSliceVar(&f.Status, "phase", nil, "the same as --status")
	fl.StringSliceVar(&f.kinds, "kind", nil, "only these kinds")
	fl.StringVarP(&f.user, "user", "u", "", "only this user's; @me is yourself")
	fl.BoolVarP(&f.all, "all", "A", false, "everybody's, of all projects where none is named, and however old")
	fl.StringVar(&f.since, "since", "", "submitted since: 2d, or an instant")
	fl.StringVar(&f.before, "before", "", "submitted before: 2d ago, or an instant")
	fl.StringArrayVarP(&f.labels, "label", "l", nil, "key=value; repeat for several")
	fl.StringVar(&f.schedule, "schedule", "", "only the runs of this schedule, whoever's and however old")
	fl.StringVar(&f.prefix, "prefix", "", "names that begin with this")
	fl.StringVar(&f.filter, "filter", "", "as in the pages: words, and field:value, like status:failed user:@me gpus>=8 age<2d")
	fl.BoolVar(&f.deleted, "deleted", false, "also those that were deleted")
	fl.IntVar(&f.limit, "limit", 100, "at most this many; 0: all")
}

// query is what to load.
type query struct {
	Options client.ListOptions
	Words   []string // statuses that are not phases of ours: matched here
	usual   bool     // nobody asked for a span of time: active, or recent
	mine    bool     // nobody asked for a user
	limit   int
}

// Query is what the flags ask the server for.
func (f *FilterFlags) Query(s *session.Session, sc session.Scope) (query, error) {
	now := s.Clock()
	q := query{limit: f.limit, Options: client.ListOptions{Project: sc.Project, Prefix: f.prefix, Kinds: f.kinds, Deleted: f.deleted, User: f.user, Filter: f.filter}}
	q.mine = f.user == "" && !f.all && f.filter == "" && f.schedule == ""
	q.usual = !f.all && f.filter == "" && f.schedule == "" && f.since == "" && f.before == "" && len(f.Status) == 0
	if f.limit < 0 {
		return q, session.UsageError(fmt.Sprintf("--limit: %d is negative", f.limit), "0 is all")
	}
	var err error
	if f.since != "" {
		if q.Options.Since, err = session.ParseWhen("since", f.since, now); err != nil {
			return q, err
		}
	}
	if f.before != "" {
		if q.Options.Before, err = session.ParseWhen("before", f.before, now); err != nil {
			return q, err
		}
	}
	if f.schedule != "" {
		q.Options.Labels = map[string]string{core.LabelSchedule: f.schedule}
	}
	for _, l := range f.labels {
		k, v, ok := strings.Cut(l, "=")
		if !ok {
			return q, session.UsageError(fmt.Sprintf("--label %s: is not key=value", l), "write --label team=vision")
		}
		if q.Options.Labels == nil {
			q.Options.Labels = map[string]string{}
		}
		q.Options.Labels[k] = v
	}
	for _, word := range f.Status {
		if p, ok := phaseNamed(word); ok {
			q.Options.Phases = append(q.Options.Phases, p)
		} else {
			q.Words = append(q.Words, word)
		}
	}
	return q, nil
}

func phaseNamed(word string) (string, bool) {
	for _, p := range lifecycle.Phases() {
		if strings.EqualFold(string(p.Phase), word) {
			return string(p.Phase), true
		}
	}
	return "", false
}

// InDialect takes for a word of the dialect asked for what is a phase too: of
// others it may be said as well, as Run:ai says Deleted of what is being deleted.
func (q query) InDialect(dialect string) query {
	var phases []string
	q.Words = slices.Clone(q.Words)
	for _, p := range q.Options.Phases {
		if lifecycle.Canonical(lifecycle.Dialect(dialect), p) != "" {
			q.Words = append(q.Words, p)
		} else {
			phases = append(phases, p)
		}
	}
	q.Options.Phases = phases
	return q
}

// checkWords refuses statuses that are neither phases nor words of the dialect
// asked for.
func (q query) checkWords(dialect string) error {
	if len(q.Words) == 0 || dialect != "" && dialect != session.NativeDialect {
		return nil
	}
	var all []string
	for _, p := range lifecycle.Phases() {
		all = append(all, string(p.Phase))
	}
	e := session.UsageError(fmt.Sprintf("--status: %q is not a phase", q.Words[0]), "one of "+strings.Join(all, ", "))
	if near := nearest.Words(q.Words[0], all); len(near) > 0 {
		e.Problem.Hint = "did you mean " + near[0] + "?"
	}
	return e
}

// AsksDeleted reports whether a status is asked for that only what was deleted
// can have: who asks for that means to see it.
func (q query) AsksDeleted(dialect string) bool {
	if slices.Contains(q.Options.Phases, string(lifecycle.Deleted)) {
		return true
	}
	return slices.ContainsFunc(q.Words, func(word string) bool {
		phases := lifecycle.PhasesOf(lifecycle.Dialect(dialect), word)
		return len(phases) > 0 && !slices.ContainsFunc(phases, func(p lifecycle.Phase) bool { return p != lifecycle.Deleting && p != lifecycle.Deleted })
	})
}

// load returns the workloads of the list, newest first, and the cursor of what
// is left.
func (l *Listing) load(ctx context.Context) ([]api.Workload, string, error) {
	if err := l.q.checkWords(l.O.Dialect); err != nil {
		return nil, "", err
	}
	if l.ids != nil {
		var ws []api.Workload
		for _, id := range l.ids {
			w, err := l.c.Workload(ctx, client.AllProjects, id)
			if session.IsNotFound(err) {
				continue // deleted since
			}
			if err != nil {
				return nil, "", err
			}
			ws = append(ws, *w)
		}
		return ws, "", nil
	}
	q := l.q
	if q.Options.User == "@me" || q.mine {
		q.Options.User = l.s.Me()
	}
	if len(q.Words) > 0 { // matched here: phases must not exclude what words include
		q.Options.Phases, q.Words = nil, append(slices.Clone(q.Words), q.Options.Phases...)
	}
	if !q.usual {
		return l.pages(ctx, q)
	}
	// Recent ones, and of older ones those that live: nothing is asked for twice.
	live, recently := q, q
	recently.Options.Since = l.s.Clock().Add(-recent)
	live.Options.Live, live.Options.Before = true, recently.Options.Since
	var a, b []api.Workload
	var next, more string
	var of [2]error
	var both sync.WaitGroup
	both.Go(func() { a, next, of[0] = l.pages(ctx, live) })
	b, more, of[1] = l.pages(ctx, recently)
	both.Wait()
	if err := cmp.Or(of[0], of[1]); err != nil {
		return nil, "", err
	}
	all := append(b, a...)
	// By number, as the server lists them: ids of one moment have no order.
	slices.SortStableFunc(all, func(x, y api.Workload) int { return cmp.Or(cmp.Compare(y.Number, x.Number), cmp.Compare(y.ID, x.ID)) })
	all = slices.CompactFunc(all, func(x, y api.Workload) bool { return x.ID == y.ID })
	if q.limit > 0 && len(all) > q.limit {
		all, next = all[:q.limit], cmp.Or(more, next, "more")
	}
	return all, cmp.Or(more, next), nil
}

// pages loads until the limit.
func (l *Listing) pages(ctx context.Context, q query) ([]api.Workload, string, error) {
	var all []api.Workload
	o := q.Options
	o.Table = !l.s.Machine()
	o.Summary = o.Table && (q.limit == 0 || q.limit > PageMost) // long tables do without nodes and images
	for {
		o.Limit = PageMost
		if q.limit > 0 {
			o.Limit = min(PageMost, q.limit-len(all))
		}
		page, err := l.c.Workloads(ctx, o)
		if err != nil {
			return nil, "", err
		}
		for _, w := range page.Items {
			if l.Matches(&w, q.Words) {
				all = append(all, w)
			}
		}
		o.Cursor = page.Next
		if page.Next == "" || q.limit > 0 && len(all) >= q.limit {
			return all, page.Next, nil
		}
	}
}

// Matches compares with words of the dialect; without words all match.
func (l *Listing) Matches(w *api.Workload, words []string) bool {
	if len(words) == 0 {
		return true
	}
	st := w.Statuses[l.O.Dialect]
	return slices.ContainsFunc(words, func(word string) bool {
		return strings.EqualFold(word, st.Status) || strings.EqualFold(word, w.Phase) || st.Code != nil && word == fmt.Sprint(*st.Code)
	})
}

// left is what the usual list leaves out. That it is said is a courtesy: a
// server that does not answer now is not worth an error.
func (l *Listing) left(ctx context.Context) (left []string) {
	if l.q.usual {
		o := l.q.Options
		o.User, o.Before, o.Limit, o.Bare = l.q.user(l.s), l.s.Clock().Add(-recent), 1, true
		for _, p := range lifecycle.Phases() {
			if p.End && p.Phase != lifecycle.Deleted {
				o.Phases = append(o.Phases, string(p.Phase))
			}
		}
		if older, err := l.c.Workloads(ctx, o); err == nil && len(older.Items) > 0 {
			left = append(left, "older ones that have ended (--since 30d)")
		}
	}
	if me := l.s.Me(); l.q.mine && me != "" {
		o := l.q.Options
		o.Limit, o.Bare, o.Live = 100, true, l.q.usual
		if others, err := l.c.Workloads(ctx, o); err == nil && slices.ContainsFunc(others.Items, func(w api.Workload) bool { return w.User != me }) {
			left = append(left, "those of other users (--all)")
		}
	}
	return left
}

// hidden says on standard error what a list leaves out.
func (l *Listing) hidden(shown []api.Workload, next string, left []string) {
	if next != "" {
		l.s.Say("There are more; --limit 0 lists all")
	}
	if slips := filter.Slips(l.q.Options.Filter); len(shown) == 0 {
		for _, word := range slices.Sorted(maps.Keys(slips)) {
			advice := "the fields are " + strings.Join(filter.Fields(), ", ")
			if slips[word] != "" {
				advice = "did you mean " + slips[word] + "?"
			}
			l.s.Say("%s is no field of a filter, and was looked for as text; %s", word, advice)
		}
	}
	if len(left) > 0 {
		l.s.Say("Not shown: %s", strings.Join(left, ", "))
	} else if len(shown) == 0 && !l.s.Machine() {
		l.s.Say("There are none. muster run submits a workload")
	}
}

func (q query) user(s *session.Session) string {
	if q.mine || q.Options.User == "@me" {
		return s.Me()
	}
	return q.Options.User
}

// Dialects are the words of --dialect.
var Dialects = []string{session.NativeDialect, "runai-job", "runai-workload", "jobq", "mcli", "modelarts"}

func checkDialect(d string) error {
	if d == "" || slices.Contains(Dialects, d) {
		return nil
	}
	return session.UsageError(fmt.Sprintf("--dialect: %q is not known", d), "one of "+strings.Join(Dialects, ", "))
}

// registerDialect registers --dialect, whose default the environment or the
// configuration file may say.
func registerDialect(s *session.Session, cmd *cobra.Command, to *string, use string) {
	cmd.Flags().StringVar(to, "dialect", s.Setting("MUSTER_DIALECT"), use+": "+strings.Join(Dialects[1:], ", ")+" (MUSTER_DIALECT)")
	_ = cmd.RegisterFlagCompletionFunc("dialect", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return Dialects, cobra.ShellCompDirectiveNoFileComp
	})
}
