package replay

import (
	"fmt"
	"math"
	"strings"
)

// The drawing area of a plot, in units of SVG.
const (
	plotLeft, plotRight   = 64.0, 620.0
	plotTop, plotBottom   = 16.0, 236.0
	plotWidth, plotHeight = plotRight - plotLeft, plotBottom - plotTop
)

// axis maps numbers to the drawing area.
type axis struct {
	most float64
	log  bool // of seconds from 1
}

func (a axis) at(v float64) float64 {
	if a.log {
		return math.Log10(max(v, 1)) / math.Log10(max(a.most, 10))
	}
	return v / a.most
}

func x(share float64) float64 { return plotLeft + plotWidth*min(max(share, 0), 1) }
func y(share float64) float64 { return plotBottom - plotHeight*min(max(share, 0), 1) }

type tick struct {
	At   float64
	Text string
}

type line struct {
	Class  int
	Dashed bool
	Name   string
	Points string // of a polyline
}

type linePlot struct {
	Title, Across, Up string
	Lines             []line
	XTicks, YTicks    []tick
	Own               bool // has colours of its own, not those of the runs
}

type bar struct {
	Class               int
	X, Y, Width, Height float64
	Says                string
}

type barPlot struct {
	Title          string
	Bars           []bar
	XTicks, YTicks []tick
}

// roundUp returns the next of 1, 2, 5 × 10ⁿ.
func roundUp(v float64) float64 {
	if v <= 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if v <= m*unit*(1+1e-9) {
			return m * unit
		}
	}
	return 10 * unit
}

// even returns an axis from 0 that reaches most, and some four to nine ticks.
func even(most float64, place func(float64) float64) (axis, []tick) {
	step := roundUp(max(most, 1e-9) / 8)
	a := axis{most: step * math.Ceil(max(most, 1e-9)/step-1e-9)}
	var ticks []tick
	for i := 0.0; i*step <= a.most*(1+1e-9); i++ {
		ticks = append(ticks, tick{place(a.at(i * step)), number(i * step)})
	}
	return a, ticks
}

func number(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%gM", round3(v/1e6))
	case v >= 1e4:
		return fmt.Sprintf("%gk", round3(v/1e3))
	}
	return fmt.Sprintf("%g", round3(v))
}

func round3(v float64) float64 { return math.Round(v*1000) / 1000 }

func points(across, up axis, values []float64, at func(i int) float64) string {
	var b strings.Builder
	for i, v := range values {
		fmt.Fprintf(&b, "%.1f,%.1f ", x(across.at(at(i))), y(up.at(v)))
	}
	return strings.TrimSpace(b.String())
}

// timeAxis covers all runs, in hours or days.
func (r Report) timeAxis() (a axis, ticks []tick, unitSeconds float64, unit string) {
	end := 1.0
	for _, run := range r.Runs {
		end = max(end, float64(run.MakespanSeconds))
	}
	unitSeconds, unit = 3600, "hours"
	if end > 4*86400 {
		unitSeconds, unit = 86400, "days"
	}
	a, ticks = even(end/unitSeconds, x)
	return a, ticks, unitSeconds, unit + " since the first submission"
}

func (r Report) overTimePlot(title, up string, of func(Bucket) float64) linePlot {
	across, ticks, unit, unitName := r.timeAxis()
	most := 0.0
	for _, run := range r.Runs {
		for _, b := range run.Buckets {
			most = max(most, of(b))
		}
	}
	upAxis, upTicks := even(most, y)
	p := linePlot{Title: title, Across: unitName, Up: up, XTicks: ticks, YTicks: upTicks}
	for i, run := range r.Runs {
		values := make([]float64, len(run.Buckets))
		for k, b := range run.Buckets {
			values[k] = of(b)
		}
		middle := func(k int) float64 { return (float64(k) + 0.5) * float64(run.BucketSeconds) / unit }
		p.Lines = append(p.Lines, line{Class: i % colours, Name: run.Name, Points: points(across, upAxis, values, middle)})
	}
	return p
}

// waitCurve is the share of jobs that waited no longer than so.
func (r Report) waitCurve() linePlot {
	across := axis{most: 100, log: true}
	for _, run := range r.Runs {
		across.most = max(across.most, float64(run.Wait.MaxSeconds))
	}
	up, upTicks := even(100, y)
	p := linePlot{Title: "How long jobs wait", Across: "wait until the first start (logarithmic; 1 s and less at the left)", Up: "% of jobs", YTicks: upTicks}
	for _, t := range []struct {
		seconds float64
		text    string
	}{{1, "1 s"}, {60, "1 min"}, {3600, "1 h"}, {86400, "1 d"}, {864000, "10 d"}, {8640000, "100 d"}} {
		if t.seconds <= across.most {
			p.XTicks = append(p.XTicks, tick{x(across.at(t.seconds)), t.text})
		}
	}
	for i, run := range r.Runs {
		percents := make([]float64, len(run.WaitPercentilesSeconds))
		for k := range percents {
			percents[k] = float64(k)
		}
		wait := func(k int) float64 { return float64(run.WaitPercentilesSeconds[k]) }
		p.Lines = append(p.Lines, line{Class: i % colours, Name: run.Name, Points: points(across, up, percents, wait)})
	}
	return p
}

// bars draws hours, for each group one bar of each run.
func (r Report) bars(title string, groups []string, of func(run Result, group int) float64) barPlot {
	most := 0.0
	for _, run := range r.Runs {
		for g := range groups {
			most = max(most, of(run, g))
		}
	}
	up, ticks := even(most, y)
	p := barPlot{Title: title, YTicks: ticks}
	room := plotWidth / float64(max(len(groups), 1))
	width := room * 0.85 / float64(len(r.Runs))
	for g, name := range groups {
		left := plotLeft + room*(float64(g)+0.075)
		p.XTicks = append(p.XTicks, tick{left + room*0.425, name})
		for i, run := range r.Runs {
			hours := of(run, g)
			top := y(up.at(hours))
			p.Bars = append(p.Bars, bar{
				Class: i % colours, X: left + width*float64(i), Y: top, Width: width * 0.92, Height: plotBottom - top,
				Says: fmt.Sprintf("%s, %s: %s", run.Name, name, seconds(hours*3600)),
			})
		}
	}
	return p
}

// sharesShown is for how many projects a run's plot of shares has lines.
const sharesShown = 5

// sharePlot is what projects held (lines) against what they were entitled to
// (dashes).
func (run Result) sharePlot() linePlot {
	across, ticks, unit, unitName := Report{Runs: []Result{run}}.timeAxis()
	shown := run.ByProject[:min(sharesShown, len(run.ByProject))]
	most := 0.0
	for _, p := range shown {
		for b := range p.HeldGPUs {
			most = max(most, p.HeldGPUs[b], p.EntitledGPUs[b])
		}
	}
	up, upTicks := even(most, y)
	out := linePlot{Title: run.Name + ": GPUs held by project; dashed: entitled to", Across: unitName, Up: "GPUs", XTicks: ticks, YTicks: upTicks, Own: true}
	middle := func(k int) float64 { return (float64(k) + 0.5) * float64(run.BucketSeconds) / unit }
	for i, p := range shown {
		out.Lines = append(out.Lines,
			line{Class: i % colours, Dashed: true, Name: orUnnamed(p.Name) + ", entitled", Points: points(across, up, p.EntitledGPUs, middle)},
			line{Class: i % colours, Name: orUnnamed(p.Name), Points: points(across, up, p.HeldGPUs, middle)})
	}
	return out
}
