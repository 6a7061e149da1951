package policy

import (
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/testing/vary"
)

var update = flag.Bool("update", false, "write testdata/variations.txt again")

const itemised = `
defaults:
  tolerations: [{key: a, value: x}, {key: b}]
  integrations: [{git: {repo: org/a, branch: main}}]
  maxDuration: 12h
  labels: {team: vision}
  args: [--fast]
rules:
  workers: {min: 2, max: 16, step: 2}
  tolerations: {instances: {canAdd: false, locked: [a]}, attributes: {value: {options: [x, y]}, key: {required: true}}}
  ports: {instances: {canAdd: true}, attributes: {port: {min: 1024, max: 9000}}}
  maxDuration: {max: 3d, required: true}
  idleLimit: {defaultFrom: {field: maxDuration, factor: 0.5}, max: 8h}
  labels.team: {options: [vision, speech], required: true}
  priority: {options: [low, train]}
  resources.extended.nic: {max: 2}
  env: {instances: {canAdd: true}, attributes: {value: {canEdit: false}}}
`

var written = []string{
	"image: reg/torch:2\ncommand: ls\nresources: {gpu: 2, cpu: 3, memory: 8G}\nenv: {TEAM: speech, X: y}\n",
	"image: reg/jax:1\ncommand: [python, train.py]\nresources: {gpu: 0.5}\nrunAs: {user: 600}\nvolumes: [{hostPath: /data, path: /scratch}]\nexclude: [env.TEAM]\n",
	"kind: distributed\nimage: other\ncommand: ls\nworkers: 5\nlabels: {team: c}\ntolerations: [{key: a, value: z}, {key: c}]\nmaxDuration: 4d\nresources: {gpu: 8, extended: {nic: 3}}\nmaster: {resources: {gpu: 1}}\n",
	"kind: distributed\ncommand: ls\nworkers: 4\nlabels: {team: speech}\nports: [80, 8888]\npriority: high\nidleLimit: 9h\n",
}

// TestVariationsStay holds what is said of policies and of what is submitted under
// them, in which a line or a word is another, to what it was when testdata/variations.txt
// was written.
func TestVariationsStay(t *testing.T) {
	t.Parallel()
	texts := map[string]string{}
	for name, text := range map[string]string{"example": example, "itemised": itemised} {
		var out strings.Builder
		for i, v := range slices.Insert(vary.Texts(text, 1500), 0, text) {
			p, err := Parse([]byte(v))
			fmt.Fprintf(&out, "%d: %v\n", i, err)
			if err != nil {
				continue
			}
			fmt.Fprintln(&out, p.Check("training"), p.Check("distributed"), p.Check(All))
			for _, k := range []lifecycle.Kind{lifecycle.Training, lifecycle.Distributed} {
				above := at(core.SystemScope, All, parsed(t, All, "defaults: {gracePeriod: 1m, env: {C: system}}\nrules: {workers: {max: 12}, maxDuration: {max: 2d}}"))
				e := Merge(k, []Sourced{at("vision", All, p), above})
				rows, err := json.Marshal([]any{e.Rows(), p.Conflicts(ID{"vision", All}, []Sourced{above})})
				fmt.Fprintf(&out, "%s %v\n", rows, err)
				variants := written
				if i == 0 {
					for _, w := range written {
						variants = append(slices.Clone(variants), vary.Texts(w, 300)...)
					}
				}
				for _, w := range variants {
					d, err := spec.Parse([]byte(w))
					if err != nil || d.Kind != "" && d.Kind != k {
						continue
					}
					d.Kind = k
					filled, err := e.Apply(d)
					fmt.Fprintf(&out, "%v\n", err)
					if filled != nil {
						fmt.Fprintf(&out, "%s%v\n", spec.YAML(filled), e.Violations(filled))
					}
				}
			}
		}
		texts[name] = out.String()
	}
	vary.Stay(t, "testdata/variations.txt", *update, texts)
}
