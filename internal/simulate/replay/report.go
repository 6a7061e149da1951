package replay

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Report is several runs of the same jobs, side by side.
type Report struct {
	Title string `json:"title"`
	// Notes are lines about the jobs: where they come from, what was changed.
	Notes []string `json:"notes,omitempty"`
	Runs  []Result `json:"runs"`
}

// WriteJSON writes everything, with stable names that carry their units.
func (r Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// WriteText writes tables for a terminal: all jobs, then mean waits by size
// and by project.
func (r Report) WriteText(w io.Writer) error {
	var b strings.Builder
	b.WriteString(r.Title + "\n")
	for _, n := range r.Notes {
		b.WriteString(n + "\n")
	}
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range r.overview() {
		fmt.Fprintln(t, strings.Join(row, "\t")+"\t")
	}
	t.Flush()
	for _, part := range []struct {
		title string
		rows  [][]string
	}{{"how jobs fared, by GPUs of the job", r.fared()}, {"mean wait to the first start by GPUs of the job", r.waitsBySize()}, {"mean wait to the first start by project", r.waitsByProject()}} {
		b.WriteString("\n" + part.title + "\n")
		for _, row := range part.rows {
			fmt.Fprintln(t, strings.Join(row, "\t")+"\t")
		}
		t.Flush()
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// fared has a header, and for each run a row for all jobs and one for each size:
// what reports are compared by.
func (r Report) fared() [][]string {
	rows := [][]string{{"policy", "GPUs", "jobs", "first wait", "total wait", "p50", "p90", "p99", "max", "to the end", "p50", "p90", "p99", "max", "slowdown", "p50", "p99", "starts", "p99", "max", "wasted %"}}
	for _, x := range r.Runs {
		all := Group{Name: "all", Jobs: x.Jobs, WorkGPUSeconds: x.WorkGPUSeconds, Times: x.Times}
		for _, g := range append([]Group{all}, x.BySize...) {
			if g.Jobs == 0 {
				continue
			}
			rows = append(rows, []string{
				x.Name, g.Name, fmt.Sprint(g.Jobs), seconds(g.Wait.MeanSeconds),
				seconds(g.TotalWait.MeanSeconds), whole(g.TotalWait.P50Seconds), whole(g.TotalWait.P90Seconds), whole(g.TotalWait.P99Seconds), whole(g.TotalWait.MaxSeconds),
				seconds(g.Completion.MeanSeconds), whole(g.Completion.P50Seconds), whole(g.Completion.P90Seconds), whole(g.Completion.P99Seconds), whole(g.Completion.MaxSeconds),
				fmt.Sprintf("%.1f", g.Slowdown.Mean), fmt.Sprintf("%.1f", g.Slowdown.P50), fmt.Sprintf("%.1f", g.Slowdown.P99),
				fmt.Sprintf("%.2f", g.Starts.Mean), fmt.Sprintf("%.0f", g.Starts.P99), fmt.Sprintf("%.0f", g.Starts.Max),
				fmt.Sprintf("%.2f", g.wastedPercent()),
			})
		}
	}
	return rows
}

// overview has a header and a row for each run.
func (r Report) overview() [][]string {
	rows := [][]string{{"policy", "first wait", "p50", "p90", "p99", "max", "to the end", "p50", "p99", "held %", "while waiting %", "preempted", "wasted %", "longest restart", "makespan", "check"}}
	for _, x := range r.Runs {
		rows = append(rows, []string{
			x.Name, seconds(x.Wait.MeanSeconds), whole(x.Wait.P50Seconds), whole(x.Wait.P90Seconds), whole(x.Wait.P99Seconds), whole(x.Wait.MaxSeconds),
			seconds(x.Completion.MeanSeconds), whole(x.Completion.P50Seconds), whole(x.Completion.P99Seconds),
			fmt.Sprintf("%.1f", x.UtilisationPercent), fmt.Sprintf("%.1f", x.UtilisationWhileWaitingPercent),
			fmt.Sprint(x.Preemptions), fmt.Sprintf("%.2f", (&Group{WorkGPUSeconds: x.WorkGPUSeconds, Times: x.Times}).wastedPercent()), whole(x.LongestRestartSeconds), whole(x.MakespanSeconds), x.Check,
		})
	}
	return rows
}

func (r Report) waitsBySize() [][]string {
	rows := [][]string{{"policy"}}
	for _, c := range sizeClasses {
		rows[0] = append(rows[0], c.name)
	}
	for _, x := range r.Runs {
		row := []string{x.Name}
		for _, g := range x.BySize {
			row = append(row, seconds(g.Wait.MeanSeconds))
		}
		rows = append(rows, row)
	}
	return rows
}

// projectsShown are the projects with the most work of the first run.
const projectsShown = 12

func (r Report) waitsByProject() [][]string {
	names := r.projectNames()
	rows := [][]string{{"policy"}}
	for _, n := range names {
		rows[0] = append(rows[0], orUnnamed(n))
	}
	for _, x := range r.Runs {
		row := []string{x.Name}
		for _, n := range names {
			row = append(row, seconds(x.project(n).Wait.MeanSeconds))
		}
		rows = append(rows, row)
	}
	return rows
}

func (r Report) projectNames() []string {
	var names []string
	if len(r.Runs) > 0 {
		for _, p := range r.Runs[0].ByProject {
			if len(names) < projectsShown {
				names = append(names, p.Name)
			}
		}
	}
	return names
}

func (x Result) project(name string) Project {
	for _, p := range x.ByProject {
		if p.Name == name {
			return p
		}
	}
	return Project{}
}

// wastedPercent is work done in vain, in percent of the work there was.
func (g *Group) wastedPercent() float64 {
	if g.WorkGPUSeconds == 0 {
		return 0
	}
	return 100 * float64(g.LostGPUSeconds) / float64(g.WorkGPUSeconds)
}

func orUnnamed(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}

func whole(s int64) string { return seconds(float64(s)) }

// seconds writes a time with a unit that leaves three digits or so.
func seconds(s float64) string {
	switch {
	case s < 120:
		return fmt.Sprintf("%.0f s", s)
	case s < 2*3600:
		return fmt.Sprintf("%.1f min", s/60)
	case s < 3*86400:
		return fmt.Sprintf("%.1f h", s/3600)
	}
	return fmt.Sprintf("%.1f d", s/86400)
}
