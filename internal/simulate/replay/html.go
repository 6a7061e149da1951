package replay

import (
	_ "embed"
	"html/template"
	"io"
	"sync"
)

//go:embed report.html.tmpl
var page string

var pageTemplate = sync.OnceValue(func() *template.Template { return template.Must(template.New("report").Parse(page)) })

// colours is how many classes the page has; more runs use them again.
const colours = 12

// htmlReport is what the page shows.
type htmlReport struct {
	Title   string
	Notes   []string
	Legend  []legend
	Tables  []htmlTable
	Lines   []linePlot
	Bars    []barPlot
	PerRun  []linePlot // held by each project against what it was entitled to
	Palette [colours]struct{}
}

type legend struct {
	Class int
	Name  string
}

type htmlTable struct {
	Title string
	Head  []string
	Rows  [][]string
}

// WriteHTML writes one page that needs nothing else: tables and plots as SVG,
// light or dark as the reader has it.
func (r Report) WriteHTML(w io.Writer) error {
	h := htmlReport{Title: r.Title, Notes: r.Notes}
	for i, x := range r.Runs {
		h.Legend = append(h.Legend, legend{i % colours, x.Name})
	}
	for _, t := range []struct {
		title string
		rows  [][]string
	}{{"All jobs", r.overview()}, {"How jobs fared, by GPUs of the job", r.fared()}, {"Mean wait to the first start by GPUs of the job", r.waitsBySize()}, {"Mean wait to the first start by project", r.waitsByProject()}} {
		h.Tables = append(h.Tables, htmlTable{t.title, t.rows[0], t.rows[1:]})
	}
	if len(r.Runs) > 0 {
		h.Lines = []linePlot{
			r.overTimePlot("GPUs held over time", "GPUs", func(b Bucket) float64 { return b.HeldGPUs }),
			r.overTimePlot("Jobs waiting over time", "jobs", func(b Bucket) float64 { return b.WaitingJobs }),
			r.overTimePlot("Fairness over time: 1 is fair", "Jain's index", func(b Bucket) float64 { return b.Fairness }),
			r.waitCurve(),
		}
		h.Bars = []barPlot{r.sizeBars(), r.projectBars()}
		for _, x := range r.Runs {
			h.PerRun = append(h.PerRun, x.sharePlot())
		}
	}
	return pageTemplate().Execute(w, h)
}

// sizeBars compares mean waits by GPUs of the job, in hours.
func (r Report) sizeBars() barPlot {
	var names []string
	for _, c := range sizeClasses {
		names = append(names, c.name)
	}
	return r.bars("Mean total wait by GPUs of the job", names, func(x Result, i int) float64 { return x.BySize[i].TotalWait.MeanSeconds / 3600 })
}

func (r Report) projectBars() barPlot {
	names := r.projectNames()
	labels := make([]string, len(names))
	for i, n := range names {
		labels[i] = orUnnamed(n)
	}
	return r.bars("Mean total wait by project, most work first", labels, func(x Result, i int) float64 { return x.project(names[i]).TotalWait.MeanSeconds / 3600 })
}
