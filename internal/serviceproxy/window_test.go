package serviceproxy

import (
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core/spec"
)

func TestWindow(t *testing.T) {
	a := &spec.Autoscale{Min: 0, Max: 4, Concurrency: 2, ScaleDown: spec.Duration(10 * time.Second)}
	begin := time.Unix(0, 0)
	var w window
	have := 2
	for _, c := range []struct {
		at, load, want int
	}{
		{0, 0, 2},   // what there is was needed until now
		{5, 7, 4},   // up at once
		{6, 100, 4}, // not beyond the maximum
		{9, 1, 4},
		{16, 1, 4},
		{17, 1, 1}, // ten seconds after the last need of more
		{20, 0, 1},
		{28, 0, 0},
		{29, 1, 1},
	} {
		if have = w.want(begin.Add(time.Duration(c.at)*time.Second), a, have, c.load); have != c.want {
			t.Errorf("at %d s with %d requests: %d replicas, want %d", c.at, c.load, have, c.want)
		}
	}
}
