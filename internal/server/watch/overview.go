package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/explanation"
	"github.com/musterhq/muster/internal/engine/report"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/wire"
)

const (
	// gatherFor is how long changes are collected before they are sent: an eye
	// does not see the difference, and a gang is one event instead of a hundred.
	gatherFor = 40 * time.Millisecond
	// overviewEvery is how often the overview is looked at while something changes, and
	// overviewShare which part of the time may go into that.
	overviewEvery = time.Second
	overviewShare = 20
	// explainAtOnce is how many waiting workloads are explained at a time: others must
	// get to the engine in between.
	explainAtOnce = 100
	// farBehind is from how many changed workloads on a stream is not resumed:
	// listing anew costs less.
	farBehind = 5000
)

func (s *routes) overviewRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "stream", Method: http.MethodGet, Path: "/v1/stream", Summary: "Everything that a page follows, as server-sent events, resumable", Tags: []string{"workloads"},
		Description: "First 'greeting' (a Greeting), whose id is the present revision where nothing was missed; then 'rows' (a list of Row), with the revision as id, and 'overview' (an Overview), whenever something has changed. With Last-Event-ID or after, the rows that changed since come first. 410: too much has changed, or the revision is of another database; list anew and begin without it.",
	}, s.stream)
}

type streamInput struct {
	After  string `query:"after" doc:"Begin after this revision; without it, with what comes from now on"`
	LastID string `header:"Last-Event-ID"`
	// Changes is for a page: of a large cluster an overview is megabytes, and what of it
	// becomes another next to nothing.
	Changes bool `query:"changes" doc:"An 'overview' tells what has become another since the one before (an OverviewChange), the first all, in two parts"`
}

func (s *routes) stream(ctx context.Context, in *streamInput) (*huma.StreamResponse, error) {
	from := in.After
	if in.LastID != "" {
		from = in.LastID
	}
	sub := s.Control.Subscribe() // first, so that nothing falls between
	pg := &pageStream{s: s, sub: sub, changes: in.Changes}
	if err := pg.begin(ctx, from); err != nil {
		sub.Close()
		return nil, problem.Of(s.Log, err)
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		defer sub.Close()
		r, w := humago.Unwrap(hc)
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Accel-Buffering", "no") // proxies would hold it back
		pg.w, pg.flush = w, http.NewResponseController(w)
		if err := pg.run(r.Context()); err != nil && r.Context().Err() == nil && !errors.Is(err, errClosing) {
			s.Log.Debug("a page's stream ended", "err", err)
		}
	}}, nil
}

// pageStream is one browser's stream.
type pageStream struct {
	s        *routes
	sub      *control.Subscription
	w        http.ResponseWriter
	flush    *http.ResponseController
	missed   []*core.Workload
	rev      core.Revision // up to which everything was sent
	overview int64         // that was sent last
	changes  bool          // of overviews what has changed is sent
	sent     *compared     // what was sent last of them; nil: nothing
}

// begin finds what was missed since a revision.
func (p *pageStream) begin(ctx context.Context, from string) error {
	n, err := p.s.Store.Counters(ctx)
	if err != nil {
		return err
	}
	p.rev = n.Revision
	if from == "" {
		return nil
	}
	after, err := strconv.ParseInt(from, 10, 64)
	if err != nil || after < 0 {
		return problem.BadValue("after", from, "is not a revision", "use the id of the last event")
	}
	gone := problem.New(http.StatusGone, "gone", "the changes since revision "+from+" cannot be told one by one", "list anew, and begin a stream without it")
	if core.Revision(after) > n.Revision {
		return gone
	}
	for at := core.Revision(after); ; {
		ws, err := p.s.Store.ChangedSince(ctx, at, catchUp)
		if err != nil {
			return err
		}
		if len(ws) == 0 {
			return nil
		}
		if p.missed = append(p.missed, ws...); len(p.missed) > farBehind {
			return gone
		}
		at = ws[len(ws)-1].Rev
		p.rev = max(p.rev, at)
	}
}

func (p *pageStream) run(ctx context.Context) error {
	s := p.s
	rev := p.rev
	if len(p.missed) > 0 {
		rev = 0 // who is cut off before those have come begins where it was
	}
	if err := p.send("greeting", rev, api.Greeting{Revision: int64(p.rev), Version: s.version, At: api.Time(s.Clock())}); err != nil {
		return err
	}
	if err := p.catchUp(ctx); err != nil {
		return err
	}
	beat, look := time.NewTicker(heartbeat), time.NewTicker(overviewEvery)
	defer beat.Stop()
	defer look.Stop()
	if err := p.look(ctx); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.closing:
			return errClosing
		case <-beat.C:
			// An event, not a comment: whoever listens wants to know that we live.
			if err := p.send("beat", 0, struct{}{}); err != nil {
				return err
			}
		case <-s.overviews.reasons():
			if err := p.look(ctx); err != nil {
				return err
			}
		case <-look.C:
			if err := p.look(ctx); err != nil {
				return err
			}
		case changes, ok := <-p.sub.C:
			if !ok {
				return errors.New("the browser is too slow; it may resume")
			}
			if err := p.rows(ctx, changes); err != nil {
				return err
			}
		}
	}
}

func (p *pageStream) catchUp(ctx context.Context) error {
	if len(p.missed) == 0 {
		return nil
	}
	rows := make([]api.Row, 0, len(p.missed))
	sight := access.SightOf(ctx)
	for _, w := range p.missed {
		if !sight.Of(w) {
			continue
		}
		tasks, err := p.s.RowTasks(ctx, w)
		if err != nil {
			return err
		}
		rows = append(rows, wire.Row(wire.Parts{Workload: w, Tasks: tasks}))
	}
	p.missed = nil
	return p.send("rows", p.rev, rows)
}

// rows collects for a moment and sends each workload once, as it is then.
func (p *pageStream) rows(ctx context.Context, first []draft.Change) error {
	sight := access.SightOf(ctx)
	last := map[core.WorkloadID]int{}
	var rows []api.Row
	take := func(all []draft.Change) {
		for _, c := range all {
			if c.Workload.Rev <= p.rev || !sight.Of(c.Workload) {
				continue
			}
			r := wire.RowOfChange(c)
			if i, ok := last[c.Workload.ID]; ok {
				if r.Partial && r.Phase == rows[i].Phase {
					r.Nodes, r.NodeCount, r.Partial = rows[i].Nodes, rows[i].NodeCount, rows[i].Partial
				}
				rows[i] = r
				continue
			}
			last[c.Workload.ID] = len(rows)
			rows = append(rows, r)
		}
	}
	take(first)
	wait := time.NewTimer(gatherFor)
	defer wait.Stop()
	for more := true; more; {
		select {
		case all, ok := <-p.sub.C:
			if more = ok; ok {
				take(all)
			}
		case <-wait.C:
			more = false
		}
	}
	if len(rows) == 0 {
		return nil
	}
	for i := range rows {
		p.rev = max(p.rev, core.Revision(rows[i].Revision))
	}
	p.s.overviews.stale()
	return p.send("rows", p.rev, rows)
}

// look sends the overview if it is another than the one sent last.
func (p *pageStream) look(ctx context.Context) error {
	number, now := p.s.overviews.latest(ctx, p.s)
	if number == p.overview {
		return nil
	}
	p.overview = number
	all := access.SeesAll(ctx)
	o := now.of
	if !all {
		var err error
		if o, err = p.s.curtailed(ctx, o); err != nil {
			return err
		}
	}
	if !p.changes {
		return p.send("overview", 0, o)
	}
	for _, c := range now.since(p.sent, o, all) {
		if err := p.send("overview", 0, c); err != nil {
			return err
		}
	}
	p.sent = now
	return nil
}

// curtailed is an overview without what who asks may not see: of workloads, projects
// and departments; numbers stay.
func (s *routes) curtailed(ctx context.Context, of *api.Overview) (*api.Overview, error) {
	ids := make([]core.WorkloadID, len(of.Waits))
	for i, x := range of.Waits {
		ids[i] = core.WorkloadID(x.ID)
	}
	ws, err := s.Control.Committed(ctx, ids)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, w := range ws {
		seen[string(w.ID)] = access.Sees(ctx, w)
	}
	o := *of
	o.Cluster.Projects = s.ReadableProjects(ctx, o.Cluster.Projects)
	o.Waits = make([]api.Wait, 0, len(of.Waits))
	for _, x := range of.Waits {
		if seen[x.ID] {
			o.Waits = append(o.Waits, x)
		}
	}
	return &o, nil
}

func (p *pageStream) send(event string, rev core.Revision, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return p.write(event, rev, text)
}

func (p *pageStream) write(event string, rev core.Revision, text []byte) error {
	var b bytes.Buffer
	if rev > 0 {
		fmt.Fprintf(&b, "id: %d\n", rev)
	}
	fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", event, text)
	if _, err := p.w.Write(b.Bytes()); err != nil {
		return err
	}
	return p.flush.Flush()
}

// overviews is the latest overview, which all streams share.
type overviews struct {
	mu     sync.Mutex
	number int64
	made   *compared
	next   time.Time // when it may be looked at again
	old    bool      // something was committed since
	begun  time.Time
	waits  []api.Wait
	asked  time.Time        // when they were
	due    time.Time        // when they may be asked again
	behind bool             // something was committed since they were
	asking bool             // they are asked at present
	fresh  bool             // they have come since the overview was made
	came   chan struct{}    // closed when they come; nil: nobody waits for that
	took   time.Duration    // to ask them the last time
	clock  func() time.Time // nil: the machine's
}

// teller makes overviews; routes do.
type teller interface {
	overview(ctx context.Context) (*api.Overview, error)
	waits(ctx context.Context) ([]api.Wait, error)
}

func (c *overviews) now() time.Time {
	if c.clock != nil {
		return c.clock()
	}
	return time.Now()
}

// reasons is closed once it is known anew why workloads wait, and that was late.
func (c *overviews) reasons() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.came == nil {
		c.came = make(chan struct{})
	}
	return c.came
}

// stale says that something has changed.
func (c *overviews) stale() {
	c.mu.Lock()
	c.old = true
	c.mu.Unlock()
}

// overviewAtLeast is how often the overview is looked at even if no workload changes:
// nodes come and go without any.
const overviewAtLeast = 5 * time.Second

// waitsFor is for how long it is believed why workloads wait while nothing is
// committed: time alone changes little of it.
const waitsFor = 30 * time.Second

// waitsPatience is how long an overview waits for reasons, and waitsMost how long they
// may take at all.
const (
	waitsPatience = 150 * time.Millisecond
	waitsMost     = time.Minute
)

// latest is the overview and its number, which another overview never has. It is made
// anew only when that is due, so that many browsers cost no more than one.
func (c *overviews) latest(ctx context.Context, s teller) (int64, *compared) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	owed := c.fresh || (c.behind || c.old) && !c.asking && !now.Before(c.due)
	if now.Before(c.next) && !c.fresh || !c.old && !owed && now.Sub(c.begun) < overviewAtLeast {
		return c.number, c.made
	}
	c.behind = c.behind || c.old
	c.begun, c.old, c.fresh = now, false, false
	sc, err := s.overview(ctx)
	c.next = c.pause(now)
	if err != nil {
		c.old = true
		return c.number, c.made
	}
	if (c.behind || now.Sub(c.asked) > waitsFor) && !c.asking && !now.Before(c.due) {
		c.ask(context.WithoutCancel(ctx), s, now)
	}
	sc.Waits = c.waits
	sc.Cluster.At = api.Time{} // an overview is another only if more than its time is
	next, err := compare(sc)
	if err != nil || next.same(c.made) {
		return c.number, c.made
	}
	c.number++
	c.made = next
	return c.number, c.made
}

// ask finds out why workloads wait. Why very many wait takes long to say: how many there
// are, and what becomes of them, is not late for that, and the reasons come with an
// overview of their own. What took too long the last time is hardly waited for.
func (c *overviews) ask(ctx context.Context, s teller, now time.Time) {
	c.asking, c.behind = true, false
	begun, done := c.now(), make(chan func(), 1)
	go func() {
		ctx, cancel := context.WithTimeout(ctx, waitsMost)
		defer cancel()
		all, err := s.waits(ctx)
		done <- func() {
			c.took = c.now().Sub(begun)
			if c.asked, c.due, c.asking = now, c.pause(begun), false; err != nil {
				c.behind = true
				return
			}
			c.waits = all
		}
	}()
	patient := waitsPatience
	if c.took > waitsPatience {
		patient /= 15
	}
	patience := time.NewTimer(patient)
	defer patience.Stop()
	select {
	case take := <-done:
		take()
	case <-patience.C:
		go func() {
			take := <-done
			c.mu.Lock()
			defer c.mu.Unlock()
			take()
			c.fresh = true
			if c.came != nil {
				close(c.came)
				c.came = nil
			}
		}()
	}
}

// pause is until when what began at a time, and has just ended, is not done again.
func (c *overviews) pause(begun time.Time) time.Time {
	return begun.Add(max(overviewEvery-overviewEvery/10, overviewShare*c.now().Sub(begun)))
}

// overview is what is beside the workloads at present.
func (s *routes) overview(ctx context.Context) (*api.Overview, error) {
	st, err := control.Do(ctx, s.Control, report.Cluster())
	if err != nil {
		return nil, err
	}
	out := &api.Overview{Cluster: wire.Cluster(st, s.Clock()), Phases: map[string]int{}}
	for phase, n := range st.Phases {
		out.Phases[string(phase)] = n
	}
	return out, nil
}

// waits are the workloads that wait, and why.
func (s *routes) waits(ctx context.Context) ([]api.Wait, error) {
	all, err := s.Waiting(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]api.Wait, 0, len(all))
	for ids := range slices.Chunk(all, explainAtOnce) {
		why, err := s.Control.Explain(ctx, ids)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if p, ok := why[id]; ok {
				out = append(out, wait(id, p))
			}
		}
	}
	return out, nil
}

func wait(id core.WorkloadID, p explanation.Pending) api.Wait {
	out := api.Wait{ID: string(id), Position: p.Position, Start: wire.Instant(p.EarliestStart), StartEarly: wire.Instant(p.Start.Early), StartLate: wire.Instant(p.Start.Late)}
	out.Never = slices.ContainsFunc(p.Reasons, schedule.Reason.Hopeless)
	if len(p.Reasons) > 0 {
		out.Token, out.Message, out.Act = string(p.Reasons[0].Token), p.Reasons[0].String(), string(p.Reasons[0].Act())
	}
	return out
}
