package top

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/admin"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/cli/terminal"
	"github.com/musterhq/muster/internal/core/amount"
)

// lines is the whole screen, line by line, none wider than it.
func (m *topModel) lines(s *session.Session) []string {
	if m.width < 20 || m.height < 5 {
		return []string{session.Cut("too small", m.width)}
	}
	out := []string{m.head(s), m.tabs(s)}
	room := m.height - 3
	if m.overlay != nil {
		out = append(out, m.over(s, room)...)
	} else {
		out = append(out, m.body(s, room)...)
	}
	for len(out) < m.height-1 {
		out = append(out, "")
	}
	return append(out, m.foot(s))
}

// head says how all is.
func (m *topModel) head(s *session.Session) string {
	if m.cluster == nil {
		text := "muster top · looking …"
		if m.failed != nil {
			text = "muster top · " + m.failed.Error()
		}
		return s.Paint(true, session.ToneTitle, session.Cut(terminal.Plain(text), m.width))
	}
	total, used := 0, 0
	for _, n := range m.cluster.Nodes {
		for _, d := range n.Devices {
			total, used = total+1000, used+d.Used
		}
	}
	text := fmt.Sprintf("muster top · %s · %d hold resources · %d wait · GPUs %s of %d held", m.looked.Format("15:04:05"), m.cluster.Running, m.cluster.Waiting, amount.Thousandths(int64(used)), total/1000)
	if m.whole != nil {
		for i := range m.whole.Series {
			x := &m.whole.Series[i]
			if x.Metric == "gpus_busy" && x.Project == "" && x.Last != nil {
				line := terminal.Spark(x.Values, 16, float64(total)/1000)
				text += fmt.Sprintf(", %.1f busy %s", *x.Last, line)
			}
		}
	}
	if m.failed != nil {
		return s.Paint(true, session.ToneBad, session.Cut(terminal.Plain("not up to date: "+m.failed.Error()+" · ")+text, m.width))
	}
	return s.Paint(true, session.ToneTitle, session.Cut(text, m.width))
}

func (m *topModel) tabs(s *session.Session) string {
	var b strings.Builder
	room := m.width
	for i, name := range paneNames {
		text := fmt.Sprintf(" %d %s ", i+1, name)
		if i == paneLog && m.logOf != nil {
			text = fmt.Sprintf(" %d %s of %s ", i+1, name, m.logOf.Name)
		}
		text = session.Cut(text, room)
		room -= utf8.RuneCountInString(text)
		if i == m.pane {
			b.WriteString("\x1b[7m" + text + "\x1b[0m")
		} else {
			b.WriteString(text)
		}
	}
	if m.filter != "" && !m.typing {
		b.WriteString(s.Paint(true, session.ToneWait, session.Cut("  only /"+m.filter, room)))
	}
	return b.String()
}

func (m *topModel) foot(s *session.Session) string {
	switch {
	case m.typing:
		return session.Cut("/"+m.filter+"█", m.width)
	case m.asking != nil:
		return s.Paint(true, session.ToneWait, session.Cut(fmt.Sprintf("stop %s of %s? y: yes, any other key: no", m.asking.Name, m.asking.User), m.width))
	case m.note != "":
		return s.Paint(true, session.ToneWait, session.Cut(terminal.Plain(m.note), m.width))
	default:
		return s.Paint(true, session.ToneDim, session.Cut("↑↓ select  enter log  w why  s stop  e exec  / filter  ? keys  q quit", m.width))
	}
}

func (m *topModel) over(s *session.Session, room int) []string {
	out := []string{s.Paint(true, session.ToneTitle, session.Cut(terminal.Plain(m.overlayTitle), m.width))}
	for _, line := range m.overlay {
		for _, part := range wrapped(terminal.Plain(line), m.width-2) {
			if len(out) < room-1 {
				out = append(out, "  "+part)
			}
		}
	}
	return append(out, s.Paint(true, session.ToneDim, session.Cut("any key: back", m.width)))
}

// wrapped breaks a line into pieces of at most width characters.
func wrapped(line string, width int) []string {
	r := []rune(line)
	if len(r) == 0 {
		return []string{""}
	}
	var out []string
	for len(r) > width {
		at := width
		for i := width; i > width/2; i-- {
			if r[i] == ' ' {
				at = i
				break
			}
		}
		out, r = append(out, string(r[:at])), []rune(strings.TrimLeft(string(r[at:]), " "))
	}
	return append(out, string(r))
}

// body is the pane that is shown.
func (m *topModel) body(s *session.Session, room int) []string {
	moments := s.Moments(session.TableFlags{})
	switch m.pane {
	case paneGPUs:
		return m.gpus(s, room)
	case paneLog:
		return m.logPart(room)
	case paneQueue:
		cols := admin.QueuedColumns(moments, false)
		return m.list(s, room, titlesOf(cols), rowsOf(cols, m.listed(paneQueue)), "nothing waits")
	default:
		cols := slices.DeleteFunc(printers.WorkloadColumns(moments, ""), func(c session.Column[api.Workload]) bool { return c.Wide && c.Title != "USER" })
		return m.list(s, room, titlesOf(cols), rowsOf(cols, m.listed(paneWorkloads)), "nothing runs or waits; muster run submits something")
	}
}

func titlesOf[T any](cols []session.Column[T]) (out []string) {
	for _, c := range cols {
		out = append(out, c.Title)
	}
	return out
}

func rowsOf[T any](cols []session.Column[T], items []T) (out [][]session.Cell) {
	for _, x := range items {
		var row []session.Cell
		for _, c := range cols {
			k := session.Cell{Text: c.Cell(x)}
			if c.Tone != nil {
				k.Tone = c.Tone(x)
			}
			row = append(row, k)
		}
		out = append(out, row)
	}
	return out
}

// list draws the part of a table that fits, around what is selected.
func (m *topModel) list(s *session.Session, room int, titles []string, rows [][]session.Cell, none string) []string {
	if len(rows) == 0 {
		if m.filter != "" {
			none = "nothing has " + m.filter + " in it; esc shows all"
		}
		return []string{"", s.Paint(true, session.ToneDim, session.Cut("  "+none, m.width))}
	}
	m.at[m.pane] = min(m.at[m.pane], len(rows)-1)
	from, to := window(m.at[m.pane], len(rows), room-1)
	widths := make([]int, len(titles))
	for i, t := range titles {
		widths[i] = utf8.RuneCountInString(t)
	}
	for _, row := range rows[from:to] {
		for i := range row {
			row[i].Text = terminal.Plain(row[i].Text)
			widths[i] = max(widths[i], min(utf8.RuneCountInString(row[i].Text), 48))
		}
	}
	head := make([]session.Cell, len(titles))
	for i, t := range titles {
		head[i] = session.Cell{Text: t, Tone: session.ToneTitle}
	}
	out := []string{m.line(s, head, widths, false)}
	for i, row := range rows[from:to] {
		out = append(out, m.line(s, row, widths, from+i == m.at[m.pane]))
	}
	return out
}

// window is the part of n lines that is shown in so much room.
func window(at, n, room int) (from, to int) {
	room = max(room, 1)
	from = min(max(at-room/2, 0), max(n-room, 0))
	return from, min(from+room, n)
}

// line is one line of a table, cut to the width.
func (m *topModel) line(s *session.Session, row []session.Cell, widths []int, selected bool) string {
	var b strings.Builder
	room := m.width
	for i, c := range row {
		if room <= 0 {
			break
		}
		text := session.Cut(c.Text, min(widths[i], room))
		pad := min(widths[i]-utf8.RuneCountInString(text)+2, room-utf8.RuneCountInString(text))
		room -= utf8.RuneCountInString(text) + max(pad, 0)
		if selected {
			b.WriteString(text)
		} else {
			b.WriteString(s.Paint(true, c.Tone, text))
		}
		b.WriteString(strings.Repeat(" ", max(pad, 0)))
	}
	if selected {
		return "\x1b[7m" + b.String() + strings.Repeat(" ", max(room, 0)) + "\x1b[0m"
	}
	return b.String()
}

// gpuRow is one GPU, and what holds it.
type gpuRow struct {
	node   string
	device api.Device
	of     *api.Workload // the first that holds it; nil: none of those that are shown
	who    string
}

// gpuRows are all GPUs that the filter lets through.
func (m *topModel) gpuRows() []gpuRow {
	if m.cluster == nil {
		return nil
	}
	holders := map[string][]*api.Workload{}
	for i := range m.workloads {
		w := &m.workloads[i]
		if len(w.Attempts) == 0 {
			continue
		}
		for _, t := range w.Attempts[len(w.Attempts)-1].Tasks {
			if t.EndedAt != nil {
				continue
			}
			for _, d := range t.Devices {
				k := t.Node + "/" + d
				if !slices.Contains(holders[k], w) {
					holders[k] = append(holders[k], w)
				}
			}
		}
	}
	var rows []gpuRow
	for _, n := range m.cluster.Nodes {
		for _, d := range n.Devices {
			r := gpuRow{node: n.Name, device: d}
			var names []string
			for _, w := range holders[n.Name+"/"+d.ID] {
				if r.of == nil {
					r.of = w
				}
				names = append(names, w.Name)
			}
			if r.who = strings.Join(names, ", "); m.matches(n.Name, d.Product, r.who) {
				rows = append(rows, r)
			}
		}
	}
	return rows
}

func (m *topModel) gpus(s *session.Session, room int) []string {
	var rows [][]session.Cell
	for _, r := range m.gpuRows() {
		x, known := m.devices[fmt.Sprintf("%s/%d", r.node, r.device.Index)]
		show := func(metric, form string, unit float64) string {
			if v, ok := x[metric]; known && ok {
				return fmt.Sprintf(form, v/unit)
			}
			return "-"
		}
		use, tone := "-", session.TonePlain
		if v, ok := x["gpu_utilization_ratio"]; ok {
			use = fmt.Sprintf("%s %3.0f %%", terminal.Bar(v, 10), 100*v)
			if r.device.Used > 0 && v == 0 {
				tone = session.ToneWait
			}
		}
		memory := "-"
		if v, ok := x["gpu_memory_bytes"]; ok {
			memory = printers.Size(int64(v)) + "/" + printers.Size(int64(x["gpu_memory_total_bytes"]))
		}
		state := "free"
		switch {
		case !r.device.Healthy:
			state, tone = "broken", session.ToneBad
		case r.device.Used >= 1000:
			state = "held"
		case r.device.Used > 0:
			state = fmt.Sprintf("%d %%", r.device.Used/10)
		}
		rows = append(rows, []session.Cell{
			{Text: r.node}, {Text: fmt.Sprint(r.device.Index)}, {Text: r.device.Product}, {Text: state}, {Text: use, Tone: tone}, {Text: memory},
			{Text: show("gpu_power_watts", "%.0f W", 1)}, {Text: show("gpu_temperature_celsius", "%.0f °C", 1)}, {Text: printers.OrDash(r.who), Tone: session.ToneBusy},
		})
	}
	return m.list(s, room, []string{"NODE", "GPU", "PRODUCT", "STATE", "USE", "MEMORY", "POWER", "TEMP", "WHO"}, rows, "there are no GPUs")
}

// logLines is the log, as far as the filter lets it through.
func (m *topModel) logLines() []string {
	if m.filter == "" {
		return m.log
	}
	var out []string
	for _, l := range m.log {
		if m.matches(l) {
			out = append(out, l)
		}
	}
	return out
}

func (m *topModel) logPart(room int) []string {
	if m.logOf == nil {
		return []string{"", session.Cut("  select a workload and press enter to see its log", m.width)}
	}
	all := m.logLines()
	m.at[paneLog] = min(m.at[paneLog], max(len(all)-1, 0))
	to := min(max(m.at[paneLog]+1, room), len(all))
	var out []string
	for _, line := range all[max(to-room, 0):to] {
		out = append(out, session.Cut(terminal.Plain(line), m.width))
	}
	return out
}
