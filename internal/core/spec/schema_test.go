package spec

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core/lifecycle"
)

func TestEveryFieldIsExplained(t *testing.T) {
	t.Parallel()
	root.walk(func(f *field) {
		topic, err := Explain(f.path)
		if err != nil || topic.Path != f.path || topic.Doc == "" || topic.Type == "" {
			t.Errorf("%s: %+v %v", f.path, topic, err)
		}
		if topic.Min == "" && f.kind == fieldInt {
			t.Errorf("%s: a number without bounds", f.path)
		}
		if f.name == "" {
			t.Errorf("a field without a json tag below %q", f.path)
		}
	})
}

func TestExplainReadsLikeAManual(t *testing.T) {
	t.Parallel()
	topic, err := Explain("resources.gpu")
	if err != nil {
		t.Fatal(err)
	}
	const want = `FIELD: resources.gpu  <integer or map>

    GPUs: a whole number, or a map with count and type.

    Example:  1

FIELDS:
  count  <integer>
      Whole GPUs.
  type  <string>
      Only GPUs whose product name contains this, whatever the case.
`
	if got := topic.Text(); got != want {
		t.Errorf("%s", got)
	}
	for _, line := range strings.Split(Schema().Text(), "\n") {
		if len([]rune(line)) > 80 {
			t.Errorf("wider than a terminal: %s", line)
		}
	}
}

func TestExplainSuggests(t *testing.T) {
	t.Parallel()
	for path, hint := range map[string]string{
		"resources.gpuu": "did you mean resources.gpu?", "gpu": "did you mean resources.gpu?", "nmae": "did you mean name?",
		"name.x": "name has no fields; it is a string", "qqqqqqq": "",
	} {
		var e FieldError
		if _, err := Explain(path); !errors.As(err, &e) || e.Hint != hint {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	for kind, preemptible := range map[lifecycle.Kind]bool{"": true, "training": true, "distributed": true, "workspace": false, "inference": false} {
		d := WithDefaults(&Document{Kind: kind, Command: ShellCommand("ls")})
		if d.Kind == "" || d.Project != "default" || d.Priority != Medium || *d.Preemptible != preemptible || d.Resources.CPU != 1000 ||
			d.GracePeriod.String() != "30s" || d.Retry.Backoff.String() != "10s" || d.Retry.MaxBackoff.String() != "6m" || *d.Retry.System != 3 {
			t.Errorf("%s: %s", kind, YAML(d))
		}
		if (d.Framework == "env") != (kind == lifecycle.Distributed) {
			t.Errorf("%s: framework %q", kind, d.Framework)
		}
		if again := WithDefaults(d); !reflect.DeepEqual(again, d) {
			t.Errorf("%s: twice is not once: %s", kind, YAML(again))
		}
	}
}

func TestTasks(t *testing.T) {
	t.Parallel()
	for text, c := range map[string]struct {
		roles string
		gang  bool
		gpus  int
	}{
		"kind: training\nresources: {gpu: 2}":                          {"task", false, 2},
		"array: {completions: 3, parallelism: 2}\nresources: {gpu: 1}": {"task task task", false, 3},
		"kind: distributed\nworkers: 3\nresources: {gpu: 8}":           {"master worker worker", true, 24},
		"kind: workspace":                      {"task", false, 0},
		"kind: inference\nresources: {gpu: 1}": {"replica", false, 1},
	} {
		d := mustParse(t, text)
		var roles []string
		for i := range d.Size() {
			roles = append(roles, d.Role(i))
		}
		if strings.Join(roles, " ") != c.roles || d.Gang() != c.gang || d.TotalGPUs() != c.gpus {
			t.Errorf("%q: %v %v %d", text, roles, d.Gang(), d.TotalGPUs())
		}
	}
}

func TestJSONSchemaCoversTheDocument(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(JSONSchema())
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Properties map[string]struct {
			Enum    []any `json:"enum"`
			Default any   `json:"default"`
		} `json:"properties"`
		AdditionalProperties bool `json:"additionalProperties"`
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	for _, name := range root.names {
		if _, ok := s.Properties[name]; !ok {
			t.Errorf("%s is missing", name)
		}
	}
	if s.AdditionalProperties || len(s.Properties["kind"].Enum) != 4 || s.Properties["kind"].Default != "training" {
		t.Errorf("%s", raw)
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{"gpuu": "gpu", "memroy": "memory", "mem": "memory", "Memory": "memory", "x": "", "banana": ""} {
		if got := nearest(word, []string{"cpu", "memory", "gpu"}); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}
