package top

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/admin"
	"github.com/musterhq/muster/internal/cli/printers"
)

// The panes of top.
const (
	paneWorkloads = iota
	paneGPUs
	paneQueue
	paneLog
	panes
)

var paneNames = [panes]string{"Workloads", "GPUs", "Queue", "Log"}

// What a key may ask of the program around the model.
const (
	actNone = iota
	actLeave
	actExec
	actStop
	actWhy
	actRedraw
)

type topAct struct {
	kind int
	w    *api.Workload
}

// topModel is what top shows and where the user is in it. It does nothing by
// itself: keys and news change it, lines draws it.
type topModel struct {
	width, height int
	now           func() time.Time
	pane          int
	at            [panes]int // the line that is selected, of those that are shown
	filter        string
	typing        bool // of the filter
	asking        *api.Workload
	overlay       []string // text over everything, such as why; nil: none
	overlayTitle  string
	note          string // of the last action
	failed        error  // of the last look; nil: it is up to date
	looked        time.Time

	cluster   *api.Cluster
	workloads []api.Workload // that live, newest first
	devices   map[string]map[string]float64
	whole     *api.Metrics
	logOf     *api.Workload // whose log is shown
	log       []string
}

// topWant is what the model needs to know next.
type topWant struct {
	nodes []string      // whose GPUs are shown
	log   *api.Workload // whose log is
}

func (m *topModel) want() topWant {
	w := topWant{}
	switch m.pane {
	case paneGPUs:
		for _, r := range m.gpuRows() {
			if !slices.Contains(w.nodes, r.node) && len(w.nodes) < topNodes {
				w.nodes = append(w.nodes, r.node)
			}
		}
	case paneLog:
		w.log = m.logOf
	}
	return w
}

// matches reports whether the filter lets something through that is shown with
// these words.
func (m *topModel) matches(words ...string) bool {
	return m.filter == "" || slices.ContainsFunc(words, func(w string) bool { return strings.Contains(strings.ToLower(w), strings.ToLower(m.filter)) })
}

// listed are the workloads of a pane.
func (m *topModel) listed(pane int) []api.Workload {
	var out []api.Workload
	for _, w := range m.workloads {
		if (pane == paneWorkloads || slices.Contains(admin.QueuedPhases, w.Phase)) && m.matches(w.Name, w.User, w.Project, w.Phase, printers.Why(&w)) {
			out = append(out, w)
		}
	}
	if pane == paneQueue {
		slices.SortStableFunc(out, func(a, b api.Workload) int { return admin.QueuePlace(a) - admin.QueuePlace(b) })
	}
	return out
}

// selected is the workload that keys are about; nil: none.
func (m *topModel) selected() *api.Workload {
	switch m.pane {
	case paneWorkloads, paneQueue:
		if all := m.listed(m.pane); len(all) > 0 {
			return &all[min(m.at[m.pane], len(all)-1)]
		}
	case paneGPUs:
		if rows := m.gpuRows(); len(rows) > 0 {
			return rows[min(m.at[m.pane], len(rows)-1)].of
		}
	case paneLog:
		return m.logOf
	}
	return nil
}

// count is how many lines a pane has.
func (m *topModel) count() int {
	switch m.pane {
	case paneGPUs:
		return len(m.gpuRows())
	case paneLog:
		return len(m.logLines())
	default:
		return len(m.listed(m.pane))
	}
}

// key takes a key and says what it asks for.
func (m *topModel) key(k string) topAct {
	switch {
	case k == "ctrl-c" || k == "eof":
		return topAct{kind: actLeave}
	case m.typing:
		m.filterKey(k)
		return topAct{}
	case m.asking != nil:
		w := m.asking
		m.asking = nil
		if k == "y" || k == "Y" {
			m.note = "stopping " + w.Name + " …"
			return topAct{kind: actStop, w: w}
		}
		m.note = w.Name + " goes on"
		return topAct{}
	case m.overlay != nil:
		m.overlay = nil // any key
		return topAct{}
	}
	m.note = ""
	return m.command(k)
}

// filterKey takes a key of the filter.
func (m *topModel) filterKey(k string) {
	switch {
	case k == "enter":
		m.typing = false
	case k == "esc":
		m.typing, m.filter = false, ""
	case k == "backspace":
		if _, n := utf8.DecodeLastRuneInString(m.filter); n > 0 {
			m.filter = m.filter[:len(m.filter)-n]
		}
	case utf8.RuneCountInString(k) == 1 && len(m.filter) < 200:
		m.filter += k
	}
	m.at = [panes]int{}
}

func (m *topModel) command(k string) topAct {
	last := max(m.count()-1, 0)
	page := max(m.height-6, 1)
	at := &m.at[m.pane]
	*at = min(*at, last)
	w := m.selected()
	switch k {
	case "q", "ctrl-d":
		return topAct{kind: actLeave}
	case "ctrl-l":
		return topAct{kind: actRedraw}
	case "1", "2", "3", "4":
		m.show(int(k[0]-'1'), w)
	case "tab", "right":
		m.show((m.pane+1)%panes, w)
	case "backtab", "left":
		m.show((m.pane+panes-1)%panes, w)
	case "up", "k":
		*at = max(*at-1, 0)
	case "down", "j":
		*at = min(*at+1, last)
	case "pageup":
		*at = max(*at-page, 0)
	case "pagedown", " ":
		*at = min(*at+page, last)
	case "home", "g":
		*at = 0
	case "end", "G":
		*at = last
	case "/":
		m.typing, m.filter = true, ""
	case "esc":
		m.filter = ""
	case "enter", "l":
		if w != nil && m.pane != paneLog {
			m.show(paneLog, w)
		}
	case "?", "h":
		m.overlayTitle, m.overlay = "Keys", strings.Split(topHelp, "\n")
	case "w", "s", "e":
		return m.about(k, w)
	}
	return topAct{}
}

const topHelp = `1 2 3 4, tab   workloads, GPUs, queue, log
↑ ↓ j k        select; g G the first and the last
enter          the log of what is selected
w              why it waits or ended
s              stop it
e              a shell beside it
/              show only what contains a text; esc shows all
q              leave`

// about is a key that is about a workload.
func (m *topModel) about(k string, w *api.Workload) topAct {
	if w == nil {
		m.note = "nothing is selected"
		return topAct{}
	}
	switch k {
	case "w":
		m.note = "asking why " + w.Name + " is " + w.Phase + " …"
		return topAct{kind: actWhy, w: w}
	case "e":
		if w.Phase != "Running" {
			m.note = fmt.Sprintf("%s is %s: a shell needs something that runs", w.Name, w.Phase)
			return topAct{}
		}
		return topAct{kind: actExec, w: w}
	}
	if !slices.Contains(w.AllowedActions, "stop") {
		m.note = fmt.Sprintf("%s is %s and cannot be stopped", w.Name, w.Phase)
		return topAct{}
	}
	m.asking = w
	return topAct{}
}

// show changes the pane. The log is that of what was selected.
func (m *topModel) show(pane int, w *api.Workload) {
	if pane == paneLog && w != nil && (m.logOf == nil || m.logOf.ID != w.ID) {
		c := *w
		m.logOf, m.log, m.at[paneLog] = &c, nil, 1<<30
	}
	m.pane = pane
}

// stopped is what became of a stop.
func (m *topModel) stopped(w *api.Workload, err error) {
	m.note = w.Name + " is being stopped"
	if err != nil {
		m.note = "stop " + w.Name + ": " + err.Error()
	}
}
