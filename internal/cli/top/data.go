package top

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/admin"
	"github.com/musterhq/muster/internal/cli/inspect"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
)

const (
	topNodes    = 16  // whose GPUs are looked at, at once
	topMost     = 500 // workloads that are shown
	topLog      = 500 // lines of a log
	topLogBytes = 1 << 20
)

// topLook fetches what top shows, and tells it as changes of the model.
type topLook struct {
	c       *client.Client
	every   time.Duration
	ask     chan topWant // of capacity one: the newest wish counts
	updates chan<- func(*topModel)
	last    string // what was asked for, to tell changes
}

// want says what is needed from now on; a change of it is looked after at once.
func (l *topLook) want(w topWant) {
	key := fmt.Sprint(w.nodes)
	if w.log != nil {
		key += w.log.ID
	}
	if key == l.last {
		return
	}
	l.last = key
	select {
	case <-l.ask:
	default:
	}
	l.ask <- w
}

func (l *topLook) run(ctx context.Context) {
	tick := time.NewTicker(l.every)
	defer tick.Stop()
	want := topWant{}
	for {
		l.once(ctx, want)
		select {
		case <-ctx.Done():
			return
		case want = <-l.ask:
		case <-tick.C:
		}
	}
}

func (l *topLook) say(ctx context.Context, change func(*topModel)) {
	select {
	case l.updates <- change:
	case <-ctx.Done():
	}
}

// do carries out an action and tells what became of it; what is shown is then
// looked at anew.
func (l *topLook) do(ctx context.Context, after func(*topModel, error), run func() error) {
	err := run()
	l.say(ctx, func(m *topModel) { after(m, err) })
	l.once(ctx, topWant{})
}

// once looks at everything that is wanted.
func (l *topLook) once(ctx context.Context, want topWant) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cluster, err := l.c.Cluster(ctx)
	var live *api.WorkloadList
	if err == nil {
		live, err = l.c.Workloads(ctx, client.ListOptions{Phases: append(slices.Clone(admin.ActivePhases), append(admin.QueuedPhases, "Submitted", "Reviewing", "Building")...), Limit: topMost})
	}
	if err != nil {
		l.say(ctx, func(m *topModel) { m.failed = err })
		return
	}
	whole, _ := l.c.Metrics(ctx, client.MetricsOptions{Since: "30m"}) // an older server has none
	devices := map[string]map[string]float64{}
	for _, n := range want.nodes {
		if x, err := l.c.Nodes.Metrics(ctx, n, client.MetricsOptions{Since: "2m"}); err == nil {
			addDevices(devices, x)
		}
	}
	var log []string
	if want.log != nil {
		log = l.log(ctx, want.log)
	}
	l.say(ctx, func(m *topModel) {
		m.cluster, m.workloads, m.whole, m.failed, m.looked = cluster, live.Items, whole, nil, m.now()
		for k, v := range devices {
			if m.devices == nil {
				m.devices = map[string]map[string]float64{}
			}
			m.devices[k] = v
		}
		if want.log != nil && m.logOf != nil && m.logOf.ID == want.log.ID {
			end := m.at[paneLog] >= len(m.logLines())-1
			if m.log = log; end {
				m.at[paneLog] = 1 << 30 // it stays at the end
			}
		}
	})
}

// addDevices keeps the newest figures of GPUs, by NODE/INDEX.
func addDevices(to map[string]map[string]float64, x *api.Metrics) {
	for _, s := range x.Series {
		if s.Index == nil || s.Last == nil {
			continue
		}
		key := fmt.Sprintf("%s/%d", s.Node, *s.Index)
		if to[key] == nil {
			to[key] = map[string]float64{}
		}
		to[key][s.Metric] = *s.Last
	}
}

// log is the end of what the first task of a workload has written.
func (l *topLook) log(ctx context.Context, w *api.Workload) []string {
	tail := topLog
	r, err := l.c.Logs(ctx, w.Project, w.ID, client.LogOptions{Tail: &tail})
	if err != nil {
		return []string{"(" + err.Error() + ")"}
	}
	defer r.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(r, topLogBytes))
	if err != nil {
		return []string{"(" + err.Error() + ")"}
	}
	if len(text) == 0 {
		return []string{"(it has written nothing yet)"}
	}
	return strings.Split(strings.TrimRight(string(text), "\n"), "\n")
}

// why asks why a workload is where it is, and lays the answer over the screen.
func (l *topLook) why(ctx context.Context, w *api.Workload) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	y, err := l.c.Why(ctx, w.Project, w.ID)
	l.say(ctx, func(m *topModel) {
		m.note = ""
		if err != nil {
			m.note = "why " + w.Name + ": " + err.Error()
			return
		}
		m.overlayTitle = fmt.Sprintf("%s is %s", w.Name, y.Phase)
		m.overlay = whyLines(w, y)
	})
}

// whyLines says in short what muster why says.
func whyLines(w *api.Workload, y *api.Why) []string {
	var out []string
	if y.Position > 0 {
		out = append(out, fmt.Sprintf("%s of %d in queue %q", inspect.Ordinal(y.Position), max(y.Waiting, y.Position), y.Project))
	}
	for _, r := range y.Reasons {
		out = append(out, "✗ "+r.Token+"  "+r.Message)
	}
	if e := y.Estimate; e != nil && e.Likely != nil {
		out = append(out, "expected to start about "+session.TimeOf(*e.Likely).Local().Format("15:04:05"))
	}
	if len(y.Reasons) == 0 {
		text := printers.Why(w)
		if w.Message != "" {
			text = strings.TrimSpace(text + "  " + w.Message)
		}
		if text == "" {
			text = "nothing keeps it"
		}
		out = append(out, text)
	}
	return append(out, "", "muster why "+w.Name+" tells more")
}
