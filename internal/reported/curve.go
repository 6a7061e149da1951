// Package reported keeps the numbers that tasks report of themselves, such as loss
// and learning rate, as curves: for as long as there is their workload, in as many
// points as a chart can show.
package reported

import "time"

// Points of a curve at most: as long as a workload has few curves, and of one with
// many, such as a sweep.
const (
	pointsMost = 256
	pointsFew  = 64
	curvesFew  = 100 // with more than so many curves a workload has pointsFew of each
	// curvesMost is how many curves a workload has at most; further names and tasks
	// have none.
	curvesMost = 2000
)

// Key names a curve of a workload.
type Key struct {
	Attempt int `json:"attempt"`
	Task    int `json:"task"`
	// Metric is the name of the number; empty: the step itself.
	Metric string `json:"metric"`
}

// Point is the mean of some reports in a row.
type Point struct {
	Step  int64 // of the last of them
	At    int64 // when that came, milliseconds since 1970
	Value float64
}

// Curve is one number over steps and time. What is told of all of it is exact;
// points are means once there have been more reports than points.
type Curve struct {
	Key
	Reports int     `json:"reports"` // in all
	Last    float64 `json:"last"`
	Min     float64 `json:"min"`
	MinStep int64   `json:"minStep"`
	Max     float64 `json:"max"`
	MaxStep int64   `json:"maxStep"`
	Points  []Point `json:"-"`

	Per  int     `json:"per"`  // reports of one point
	In   int     `json:"in"`   // reports of the last point so far
	Sum  float64 `json:"sum"`  // of the last point so far
	Seen int64   `json:"seen"` // when the last report came, milliseconds since 1970
}

func newCurve(k Key) *Curve { return &Curve{Key: k, Per: 1} }

// add takes one report. most is how many points there may be.
func (c *Curve) add(step int64, at time.Time, v float64, most int) {
	if c.Reports == 0 || v < c.Min {
		c.Min, c.MinStep = v, step
	}
	if c.Reports == 0 || v > c.Max {
		c.Max, c.MaxStep = v, step
	}
	c.Reports++
	c.Last, c.Seen = v, at.UnixMilli()
	if c.In == 0 || c.In >= c.Per {
		for len(c.Points) >= most {
			c.halve()
		}
	}
	// Where two points have become one, the last may be in the middle of its reports.
	if n := len(c.Points); n > 0 && c.In > 0 && c.In < c.Per {
		c.In++
		c.Sum += v
		c.Points[n-1] = Point{step, c.Seen, c.Sum / float64(c.In)}
		return
	}
	c.Points = append(c.Points, Point{step, c.Seen, v})
	c.In, c.Sum = 1, v
}

// halve makes one point of two, each the mean of twice as many reports.
func (c *Curve) halve() {
	n := len(c.Points)
	for i := 0; i < n/2; i++ {
		a, b := c.Points[2*i], c.Points[2*i+1]
		if 2*i+2 == n { // the last may be of fewer reports
			whole := float64(c.Per)
			c.In, c.Sum = c.Per+c.In, a.Value*whole+c.Sum
			b.Value = c.Sum / float64(c.In)
		} else {
			b.Value = a.Value/2 + b.Value/2
		}
		c.Points[i] = b
	}
	if n%2 == 1 {
		c.Points[n/2] = c.Points[n-1]
	}
	c.Points = c.Points[:(n+1)/2]
	c.Per *= 2
}

// thinned is a copy whose points are at most so many; 0: as they are.
func (c *Curve) thinned(most int) Curve {
	out := *c
	out.Points = append([]Point(nil), c.Points...)
	for most > 0 && len(out.Points) > most {
		out.halve()
	}
	return out
}
