package spec

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/nearest"
	"github.com/musterhq/muster/internal/core/spec/codec"
	"github.com/musterhq/muster/internal/core/spec/schema"
)

func TestEveryFieldIsExplained(t *testing.T) {
	t.Parallel()
	root().Walk(func(f *schema.Field) {
		topic, err := Explain(f.Path)
		if err != nil || topic.Path != f.Path || topic.Doc == "" || topic.Type == "" {
			t.Errorf("%s: %+v %v", f.Path, topic, err)
		}
		if topic.Min == "" && f.Kind == schema.Int {
			t.Errorf("%s: a number without bounds", f.Path)
		}
		if f.Name == "" {
			t.Errorf("a field without a json tag below %q", f.Path)
		}
		if f.Required && f.Kind != schema.Int && f.Example == "" && len(f.Enum) == 0 {
			t.Errorf("%s: nothing to suggest to whoever leaves it out", f.Path)
		}
	})
}

func TestExplainReadsLikeAManual(t *testing.T) {
	t.Parallel()
	topic, err := Explain("resources.gpu")
	if err != nil {
		t.Fatal(err)
	}
	const want = `FIELD: resources.gpu  <number or map>

    GPUs: a whole number, a part of one such as 0.5, or a map.

    Example:  1

FIELDS:
  count  <integer>
      Whole GPUs; beside share or memory, how many GPUs of one node that part is
      taken of, by default one.
  type  <string>
      Only GPUs whose product name contains each of these words, whatever the
      case and whatever stands between them; several types with | between: any
      of them. A word like 24GB+ is the memory that it has at least.
  share  <number>
      Part of each GPU, between 0 and 1 in steps of 0.001; others may have the
      rest.
  memory  <quantity>
      Bytes of each GPU's memory instead of a share.
  shareLimit  <number>
      Up to which part of each GPU it may use more than its share while there is
      room on the GPU: from share to 1, which is all of it. The share alone is
      booked, counts against quotas and is promised. By default the share.
  memoryLimit  <quantity>
      Up to how many bytes of each GPU's memory it may use while there is room
      on the GPU: memory or more; what the GPU has not is not given. By default
      memory.
  mig  <string or map of string to integer>
      Static partitions by profile: one profile, or a map of profile to number.
      They stand instead of count, share and memory.
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
		"name.x": "name has no fields; it is a string", "qqqqqqq": "", "volumes.hostpath": "did you mean volumes.hostPath?",
		"volumes[1].paht": "did you mean volumes.path?", "exitCodes": "did you mean retry.rules.exitCodes?",
	} {
		var e codec.FieldError
		if _, err := Explain(path); !errors.As(err, &e) || e.Hint != hint {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	for kind, preemptible := range map[lifecycle.Kind]bool{"": true, "training": true, "distributed": true, "workspace": false, "inference": false} {
		d := WithDefaults(&Document{Kind: kind, Command: ShellCommand("ls")})
		if d.Kind == "" || d.Project != "default" || d.Priority != map[lifecycle.Kind]Priority{"workspace": 100, "inference": 125}[kind]+map[bool]Priority{true: 50}[preemptible] || *d.Preemptible != preemptible || d.Resources.CPU != 1000 ||
			d.GracePeriod.String() != "30s" || d.Retry.Backoff.String() != "0s" || d.Retry.MaxBackoff.String() != "6m" || *d.Retry.System != 3 {
			t.Errorf("%s: %s", kind, YAML(d))
		}
		if (d.Update.MaxSurge != nil) != (kind == lifecycle.Inference) || (d.Replicas != nil) != (kind == lifecycle.Inference) || (d.Restart == "always") != (kind == lifecycle.Workspace) {
			t.Errorf("%s: what is for other kinds: %s", kind, YAML(d))
		}
		if (d.Framework == "env") != (kind == lifecycle.Distributed) {
			t.Errorf("%s: framework %q", kind, d.Framework)
		}
		if again := WithDefaults(d); !reflect.DeepEqual(again, d) {
			t.Errorf("%s: twice is not once: %s", kind, YAML(again))
		}
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{"gpuu": "gpu", "memroy": "memory", "mem": "memory", "Memory": "memory", "x": "", "banana": "", "gpu": ""} {
		if got := nearest.Word(word, []string{"cpu", "memory", "gpu"}); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}

func TestListsAreExplainedWithoutAnIndex(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"volumes": "list of maps", "secrets": "list of strings or maps", "ports": "list of integers or maps",
		"volumes.hostPath": "string", "volumes.temporary": "quantity or map", "volumes.temporary.size": "quantity",
		"retry.rules.exitCodes": "list of integers", "integrations.git.repo": "string", "volumes[3].path": "string",
		"array.grid": "map of anything", "publish.serve.resources.gpu": "number or map", "resources.gpu.share": "number", "resources.gpu.shareLimit": "number",
		"tolerations": "list of strings or maps", "nodeAffinity[0].values": "list of strings", "topology.required": "string", "nodeSelector": "map of string to string",
	} {
		if topic, err := Explain(path); err != nil || topic.Type != want {
			t.Errorf("%s: %q %v", path, topic.Type, err)
		}
	}
	topic, err := Explain("publish")
	if err != nil || !strings.Contains(topic.Text(), "kind training or distributed") {
		t.Errorf("%s %v", topic.Text(), err)
	}
}

// TestExamplesCanBeWritten reads every example and every default the way a
// document's own value would be read.
func TestExamplesCanBeWritten(t *testing.T) {
	t.Parallel()
	root().Walk(func(f *schema.Field) {
		for _, text := range []string{f.Example, f.FallbackText} {
			if text == "" || text == f.FallbackText && strings.HasPrefix(text, "(") { // a sentence, about what Defaults works out
				continue
			}
			n, _, err := codec.ReadTree([]byte("value: " + text + "\n"))
			if err != nil {
				t.Errorf("%s: %v", f.Path, err)
				continue
			}
			v := reflect.New(f.Typ).Elem()
			errs, _ := f.Read(&n.Items[0], codec.Source{}, false, v)
			checks := validator{doc: new(Document), kind: lifecycle.Training}
			checks.field(f, v)
			if len(errs) > 0 || len(checks.errs) > 0 {
				t.Errorf("%s: %s: %v %v", f.Path, text, errs, checks.errs)
			}
		}
	})
}
