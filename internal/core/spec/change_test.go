package spec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

func documentOf(t *testing.T, text string) *spec.Document {
	t.Helper()
	d, err := spec.Load([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func told(changes []spec.Change) string {
	var lines []string
	for _, c := range changes {
		lines = append(lines, fmt.Sprintf("%s: %s -> %s", c.Path, c.From, c.To))
	}
	return strings.Join(lines, "\n")
}

func TestChangesNameEveryFieldThatDiffers(t *testing.T) {
	a := documentOf(t, "command: a\nname: x\nresources: {gpu: 1, memory: 1Gi}\nenv: {A: one, C: two}\nparameters: {lr: 0.1, deep: {x: 1}}\nvolumes: [{hostPath: /a, path: /a}]")
	b := documentOf(t, "command: [a]\nname: x\nresources: {gpu: {count: 2, type: H100}}\nenv: {A: one, C: three, D: four}\nparameters: {lr: 0.1, deep: 3}")
	want := strings.Join([]string{
		`command: "a" -> ["a"]`,
		`env.C: "two" -> "three"`,
		`env.D:  -> "four"`,
		`parameters.deep: {"x":1} -> 3`,
		`resources.gpu.count: 1 -> 2`,
		`resources.gpu.type:  -> "H100"`,
		`resources.memory: "1Gi" -> `,
		`volumes: [{"path":"/a","hostPath":"/a"}] -> `,
	}, "\n")
	if got := told(spec.Changes(a, b)); got != want {
		t.Errorf("changes are\n%s\nwant\n%s", got, want)
	}
	if got := spec.Changes(a, a.Clone()); len(got) != 0 {
		t.Errorf("a document differs from itself: %s", told(got))
	}
}

func TestChangesInRoundsComeToThoseFromFirstToLast(t *testing.T) {
	docs := []*spec.Document{
		documentOf(t, "command: a\nresources: {gpu: 0.5}\nenv: {A: x}"),
		documentOf(t, "command: b\nresources: {gpu: 2}\nenv: {A: y, B: z}\nretry: {limit: 3}"),
		documentOf(t, "command: b\nresources: {gpu: 1}\nretry: {limit: 3}"),
		documentOf(t, "command: c\nresources: {gpu: 0.5}\nenv: {A: x}"),
	}
	for i := range docs {
		for j := i; j < len(docs); j++ {
			var rounds [][]spec.Change
			for k := i; k < j; k++ {
				rounds = append(rounds, spec.Changes(docs[k], docs[k+1]))
			}
			if got, want := told(spec.Together(rounds...)), told(spec.Changes(docs[i], docs[j])); got != want {
				t.Errorf("%d to %d in rounds:\n%s\nat once:\n%s", i, j, got, want)
			}
			if got := spec.FieldsOf(docs[j]).Before(spec.Together(rounds...)).Changes(spec.FieldsOf(docs[i])); len(got) > 0 {
				t.Errorf("%d taken back to %d still differs: %s", j, i, told(got))
			}
			if back, err := spec.DocumentOf(spec.FieldsOf(docs[i])); err != nil || !back.Equal(docs[i]) {
				t.Errorf("%d made of its fields is %v: %v", i, back, err)
			}
		}
	}
}

func TestEffectsOfChanges(t *testing.T) {
	for _, c := range []struct {
		kind lifecycle.Kind
		path string
		want spec.Effect
	}{
		{lifecycle.Training, "priority", spec.EffectLive},
		{lifecycle.Training, "retry.limit", spec.EffectLive},
		{lifecycle.Inference, "labels.team", spec.EffectLive},
		{lifecycle.Training, "array.parallelism", spec.EffectLive},
		{lifecycle.Training, "array.completions", spec.EffectAttempt},
		{lifecycle.Training, "image", spec.EffectAttempt},
		{lifecycle.Inference, "image", spec.EffectRolling},
		{lifecycle.Inference, "project", spec.EffectNever},
	} {
		if got := spec.EffectOf(c.kind, c.path); got != c.want {
			t.Errorf("%s of %s: %s, want %s", c.path, c.kind, got, c.want)
		}
	}
	for _, name := range spec.LiveFields() {
		if _, err := spec.Explain(name); err != nil {
			t.Errorf("%s is no field: %v", name, err)
		}
	}
}
