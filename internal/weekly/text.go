package weekly

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
)

// sheet is what a report says, before it is drawn as text or as HTML.
type sheet struct {
	title, sub string
	lines      [][2]string // a name, and what is said of it
	tables     []table
	missing    []string
}

// table is one of a report: rows of cells under a head.
type table struct {
	head string
	rows [][]string
}

// sheetOf says a report; of is of whom or what it is, in words.
func sheetOf(w Week, of string, r *api.UsageReport) sheet {
	first, last := w.days()
	s := sheet{title: "Muster, week " + w.Name, sub: fmt.Sprintf("%s to %s: %s", first, last, of), missing: r.Missing}
	t := &r.Total
	money := func(cost float64) string {
		if r.Currency == "" {
			return ""
		}
		return ", " + Fixed(cost) + " " + r.Currency
	}
	waited := "nothing was started"
	if t.Waits > 0 {
		waited = fmt.Sprintf("%s before a start, on average; 95 of 100 starts %s or less", length(t.MeanWait), length(t.Wait95))
	}
	s.lines = [][2]string{
		{"Ran", fmt.Sprintf("%d workloads, %s GPU-hours%s", t.Workloads, Fixed(t.GPUHours), money(t.Cost))},
		{"Ended", EndsOf(t)},
		{"Wasted", fmt.Sprintf("%s GPU-hours failed, %s had to be given up for others, %s idle", Fixed(t.Lost-t.Displaced), Fixed(t.Displaced), Fixed(t.Idle))},
		{"Waited", waited},
	}
	sum := 0.0
	for _, x := range r.Waited {
		sum += x.Hours
	}
	var rows [][]string
	for _, x := range r.Waited {
		rows = append(rows, []string{x.Reason, Fixed(x.Hours) + " h", fmt.Sprintf("%.0f %%", 100*x.Hours/max(sum, 1e-9))})
	}
	s.add("Why it waited, in hours of all workloads together", rows)
	rows = nil
	for i := range r.Items {
		x := &r.Items[i]
		name := strings.Join(strings.Fields(strings.Join([]string{x.Department, x.Project, x.Pool, x.User, x.GPUType}, " ")), " ")
		rows = append(rows, []string{cmp.Or(name, "-"), Fixed(x.GPUHours) + " GPU-hours" + money(x.Cost), Fixed(x.Lost) + " lost", Fixed(x.Idle) + " idle", EndsOf(x)})
	}
	s.add("By "+strings.Join(r.By, ", "), rows)
	rows = nil
	for _, x := range r.Largest {
		rows = append(rows, []string{x.Project + "/" + x.Name, x.User, Fixed(x.GPUHours) + " GPU-hours" + money(x.Cost), x.Phase})
	}
	s.add("What ran most", rows)
	return s
}

// add adds a table; without rows there is nothing to say.
func (s *sheet) add(head string, rows [][]string) {
	if len(rows) > 0 {
		s.tables = append(s.tables, table{head, rows})
	}
}

// Text is a report that can be read by itself, and mailed; of is of whom or what it is,
// in words.
func Text(w Week, of string, r *api.UsageReport) string {
	s := sheetOf(w, of, r)
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s\n\n", s.title, strings.Replace(s.sub, ": ", "): ", 1))
	for _, l := range s.lines {
		fmt.Fprintf(&b, "%-8s %s\n", l[0], l[1])
	}
	for _, t := range s.tables {
		t.write(&b)
	}
	for i, text := range s.missing {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "Not known: %s\n", text)
	}
	return b.String()
}

// write writes each column as wide as its widest cell.
func (t *table) write(b *strings.Builder) {
	var wide []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(wide) {
				wide = append(wide, 0)
			}
			wide[i] = max(wide[i], len([]rune(cell)))
		}
	}
	fmt.Fprintf(b, "\n%s\n", t.head)
	for _, row := range t.rows {
		line := ""
		for i, cell := range row {
			line += "  " + cell + strings.Repeat(" ", wide[i]-len([]rune(cell)))
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// Whole names what a report is of, in words: a project, a person, both, or everything
// that somebody may see.
func Whole(project, user, everything string) string {
	switch {
	case project != "" && user != "":
		return user + " in " + project
	case project+user != "":
		return project + user
	}
	return everything
}

// EndsOf is how workloads ended, the most first.
func EndsOf(x *api.ReportRow) string {
	words := slices.SortedFunc(maps.Keys(x.Ends), func(a, b string) int { return cmp.Or(cmp.Compare(x.Ends[b], x.Ends[a]), strings.Compare(a, b)) })
	for i, w := range words {
		words[i] = fmt.Sprintf("%d %s", x.Ends[w], w)
	}
	return cmp.Or(strings.Join(words, ", "), "-")
}

// Fixed is a number with two places.
func Fixed(n float64) string { return strconv.FormatFloat(n, 'f', 2, 64) }

func length(seconds float64) string { return (time.Duration(seconds) * time.Second).String() }
