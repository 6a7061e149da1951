package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func env(m map[string]string) func(string) string { return func(k string) string { return m[k] } }

func parameters(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "parameters.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTheModelLearns(t *testing.T) {
	t.Parallel()
	samples, err := readSamples(bytes.NewReader(moons))
	if err != nil {
		t.Fatal(err)
	}
	m := NewModel(16, random(0))
	first := m.Epoch(samples[:800], 0.1, random(1))
	last := first
	for epoch := range uint64(29) {
		last = m.Epoch(samples[:800], 0.1, random(epoch+2))
	}
	if last > first/2 {
		t.Errorf("the loss went from %.3f to %.3f", first, last)
	}
	if a := m.Accuracy(samples[800:]); a < 0.95 {
		t.Errorf("accuracy %.3f on points that it has not seen", a)
	}
}

// The gradient that training follows is the slope of the loss.
func TestStepsGoDownhill(t *testing.T) {
	t.Parallel()
	s := Sample{X: [2]float64{0.3, -0.8}, Y: 1}
	m := NewModel(4, random(5))
	hidden := make([]float64, 4)
	before := *m
	before.In, before.InB, before.Out = append([][2]float64{}, m.In...), append([]float64{}, m.InB...), append([]float64{}, m.Out...)
	const rate, h = 1e-3, 1e-6
	m.Epoch([]Sample{s}, rate, random(1))
	for i := range before.In {
		moved := (before.In[i][0] - m.In[i][0]) / rate
		w := before.In[i][0]
		before.In[i][0] = w + h
		up := loss(before.Predict(s.X, hidden), s.Y)
		before.In[i][0] = w - h
		down := loss(before.Predict(s.X, hidden), s.Y)
		before.In[i][0] = w
		if slope := (up - down) / (2 * h); math.Abs(slope-moved) > 1e-6 {
			t.Errorf("unit %d: moved by %g, the slope is %g", i, moved, slope)
		}
	}
}

func TestResumedRunsEndLikeWholeOnes(t *testing.T) {
	t.Parallel()
	whole, cut := t.TempDir(), t.TempDir()
	var out bytes.Buffer
	if err := run(&out, env(map[string]string{"MUSTER_OUTPUT_DIR": whole, "PARAMETERS": parameters(t, "epochs: 6\nhidden: 8\n")})); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "epoch=6 loss=") || !strings.Contains(out.String(), "\naccuracy=0.") {
		t.Errorf("%s", &out)
	}
	if err := run(&out, env(map[string]string{"MUSTER_OUTPUT_DIR": cut, "PARAMETERS": parameters(t, "epochs: 2\nhidden: 8\n")})); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := run(&out, env(map[string]string{"MUSTER_OUTPUT_DIR": cut, "PARAMETERS": parameters(t, "epochs: 6\nhidden: 8\n"), "RESUMPTION_INDEX": "1"})); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.String(), "attempt 1: resumed after epoch 2\nepoch=3 ") {
		t.Errorf("%s", &out)
	}
	a, errA := os.ReadFile(filepath.Join(whole, "checkpoint.json"))
	b, errB := os.ReadFile(filepath.Join(cut, "checkpoint.json"))
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		t.Errorf("the checkpoints differ: %v %v", errA, errB)
	}
	if left, err := filepath.Glob(filepath.Join(cut, ".checkpoint-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestBadInputIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "checkpoint.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, e := range map[string]map[string]string{
		"parameter epochs":     {"PARAMETERS": parameters(t, "epochs: many\n")},
		"parameter epoch":      {"PARAMETERS": parameters(t, "epoch: 3\n")},
		"more than 0":          {"PARAMETERS": parameters(t, "epochs: 0\n")},
		"remove it to start":   {"MUSTER_OUTPUT_DIR": dir, "RESUMPTION_INDEX": "2"},
		"read $PARAMETERS: op": {"PARAMETERS": filepath.Join(dir, "absent")},
	} {
		if err := run(new(bytes.Buffer), env(e)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", e, err)
		}
	}
}
