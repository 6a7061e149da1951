package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// parsed is a policy that is right for a kind.
func parsed(t testing.TB, of, text string) *Policy {
	t.Helper()
	p, err := Parse([]byte(text))
	if err == nil {
		err = p.Check(of)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p
}

func at(scope core.ProjectID, of string, p *Policy) Sourced {
	return Sourced{Source{ID: ID{scope, of}, Department: scope == "research"}, p}
}

// said is a document as its author has it.
func said(t testing.TB, text string) *spec.Document {
	t.Helper()
	d, err := spec.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if d.Kind == "" {
		d.Kind = lifecycle.Training
	}
	return d
}

// effective is what one policy of project vision comes to for trainings.
func effective(t testing.TB, text string) *Effective {
	t.Helper()
	return Merge(lifecycle.Training, []Sourced{at("vision", "training", parsed(t, "training", text))})
}

func lines(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// example is the one of the reference, in our fields.
const example = `
defaults:
  pullPolicy: missing
  pools: [a100, default]
  env: {HTTP_PROXY: "http://proxy:3128", TEAM: vision}
  resources: {cpu: 1, memory: 4G}
  volumes: [{hostPath: /scratch, path: /scratch}]
rules:
  pullPolicy: {canEdit: false}
  image: {required: true, options: [{value: "reg/torch:2", displayed: Torch 2}, "reg/jax:1"]}
  env: {instances: {locked: [HTTP_PROXY]}}
  resources:
    gpu:
      count: {min: 1, max: 8}
      share: {min: 0.1, max: 0.999}
    cpu: {min: 1, max: 9, step: 2}
    memory: {max: 64G}
    shm: {defaultFrom: {field: resources.memory, factor: 0.5}}
  runAs.user: {min: 500}
  runAs.group: {canEdit: false}
  secrets: {instances: {canAdd: false}}
  volumes: {instances: {locked: [/scratch]}}
`

func TestTheExampleOfTheReference(t *testing.T) {
	t.Parallel()
	e := effective(t, example)
	d, err := e.Apply(said(t, "image: reg/torch:2\ncommand: ls\nresources: {gpu: 2}"))
	if err != nil {
		t.Fatal(err)
	}
	if d.Env["HTTP_PROXY"] != "http://proxy:3128" || d.Env["TEAM"] != "vision" || d.Resources.Memory.String() != "4G" || d.Resources.SHM.String() != "2G" ||
		len(d.Pools) != 2 || len(d.Volumes) != 1 || d.Volumes[0].HostPath != "/scratch" || d.Resources.GPU.Count != 2 || d.Resources.CPU.String() != "1" {
		t.Errorf("%s", spec.YAML(d))
	}
	for text, want := range map[string]string{
		"image: reg/torch:2\npullPolicy: missing":                        "", // the default may be said
		"image: reg/torch:2\nexclude: [env.TEAM]":                        "",
		"image: reg/torch:2\nenv: {TEAM: speech}":                        "",
		"image: reg/torch:2\nresources: {cpu: 9}":                        "",
		"image: reg/torch:2\nenv: {HTTP_PROXY: 'http://proxy:3128'}":     "",
		"image: reg/torch:2\nvolumes: [{path: /b, temporary: 1Gi}]":      "",
		"exclude: [resources.memory]":                                    "image: is missing, and the policy for training of project vision demands it; write one of reg/torch:2, reg/jax:1",
		"image: other":                                                   `image: "other" is none of the options of the policy for training of project vision; write one of reg/torch:2, reg/jax:1`,
		"image: reg/torch:2\npullPolicy: always":                         "pullPolicy: always may not be changed: the policy for training of project vision keeps it at missing; leave it out",
		"image: reg/torch:2\nexclude: [env.HTTP_PROXY]":                  "exclude[0]: is kept by the policy for training of project vision, and cannot be left out; take it out of exclude",
		"image: reg/torch:2\nexclude: [env]":                             "exclude[0]: is kept by the policy",
		"image: reg/torch:2\nexclude: [pullPolicy]":                      "exclude[0]: is kept by the policy",
		"image: reg/torch:2\nexclude: [volumes./scratch/]":               "exclude[0]: is kept by the policy",
		"image: reg/torch:2\nexclude: [enw.A]":                           "exclude[0]: no such field; did you mean env?",
		"image: reg/torch:2\nenv: {HTTP_PROXY: ''}":                      "env.HTTP_PROXY: is not as the policy for training of project vision has it, and locked; leave it out; it is there anyway",
		"image: reg/torch:2\nvolumes: [{path: /scratch, temporary: 1G}]": "volumes./scratch: is not as the policy",
		"image: reg/torch:2\nresources: {cpu: 4}":                        "resources.cpu: 4 is between the steps of 2 by the policy for training of project vision; write one of 1, 3, 5, 7, 9",
		"image: reg/torch:2\nresources: {cpu: 500m}":                     "resources.cpu: 0.5 is less than 1, the least of the policy for training of project vision; write 1 or more",
		"image: reg/torch:2\nresources: {gpu: 12}":                       "resources.gpu.count: 12 is more than 8, the most of the policy for training of project vision; write 8 or less",
		"image: reg/torch:2\nresources: {gpu: 0.05}":                     "resources.gpu.share: 0.05 is less than 0.1, the least of",
		"image: reg/torch:2\nresources: {memory: 64Gi}":                  "resources.memory: 64Gi is more than 64G, the most of",
		"image: reg/torch:2\nrunAs: {user: 0}":                           "runAs.user: 0 is less than 500",
		"image: reg/torch:2\nrunAs: {user: 600, group: 3}":               "runAs.group: may not be set: the policy for training of project vision keeps it as it is without; leave it out",
		"image: reg/torch:2\nsecrets: [hf]":                              "secrets.hf: is added, and the policy for training of project vision allows no more than its own; leave it out",
	} {
		_, err := e.Apply(said(t, text+"\ncommand: ls"))
		if got := lines(err); got != want && (want == "" || !strings.HasPrefix(got, want) || strings.Contains(got, "\n")) {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestEveryViolationIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	_, err := effective(t, example).Apply(said(t, "image: x\ncommand: ls\npullPolicy: never\nresources: {gpu: 9, cpu: 2, memory: 1T}"))
	var errs codec.Errors
	if !errors.As(err, &errs) || len(errs) != 5 {
		t.Fatalf("%v", err)
	}
	for _, e := range errs {
		if e.Path == "" || e.Value == "" || e.Hint == "" || !strings.Contains(e.Problem, "the policy for training of project vision") {
			t.Errorf("%+v", e)
		}
	}
}

// TestItemsTakeWhatTheyLeaveOut is the worked case of the reference: defaults cpu 5 and
// mem 4M, an attribute default of 3, cpu locked; asked for with mem left out, new-a, and
// new-b of 5M.
func TestItemsTakeWhatTheyLeaveOut(t *testing.T) {
	t.Parallel()
	e := effective(t, `
defaults: {volumes: [{path: /cpu, temporary: 5}, {path: /mem, temporary: 4M}]}
rules:
  volumes:
    instances: {locked: [/cpu]}
    attributes: {temporary.size: {default: 3, max: 5M}}
`)
	d, err := e.Apply(said(t, "command: ls\nimage: a\nexclude: [volumes./mem]\nvolumes: [{path: /new-a, temporary: {disk: true}}, {path: /new-b, temporary: 5M}]"))
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[string]string{}
	for _, v := range d.Volumes {
		sizes[v.Path] = v.Temporary.Size.String()
	}
	if fmt.Sprint(sizes) != "map[/cpu:5 /new-a:3 /new-b:5M]" {
		t.Errorf("%v", sizes)
	}
	_, err = e.Apply(said(t, "command: ls\nimage: a\nexclude: [volumes./cpu]"))
	if got := lines(err); !strings.HasPrefix(got, "exclude[0]: is kept by") {
		t.Errorf("%s", got)
	}
	_, err = e.Apply(said(t, "command: ls\nimage: a\nvolumes: [{path: /b, temporary: 6M}, {path: /mem, readOnly: true}]"))
	if got := lines(err); !strings.HasPrefix(got, "volumes./b.temporary.size: 6M is more than 5M") || strings.Contains(got, "\n") {
		t.Errorf("%s", got)
	}
}

// TestNoItemHidesBehindAnother of the same key.
func TestNoItemHidesBehindAnother(t *testing.T) {
	t.Parallel()
	e := effective(t, "defaults: {tolerations: [{key: a, value: x}]}\nrules: {tolerations: {instances: {canAdd: false, locked: [a]}, attributes: {value: {options: [x, y]}}}}")
	_, err := e.Apply(said(t, "command: ls\ntolerations: [{key: a, value: z}, {key: a, value: x}]"))
	if got := lines(err); !strings.Contains(got, `"z" is none of the options`) {
		t.Errorf("%s", got)
	}
	_, err = e.Apply(said(t, "command: ls\ntolerations: [{key: a, value: x}, {key: a, value: y}]"))
	if got := lines(err); !strings.Contains(got, "tolerations.a#2: is added") {
		t.Errorf("%s", got)
	}
}

func TestWhatBoundsTasksBoundsAMasterOfItsOwn(t *testing.T) {
	t.Parallel()
	e := Merge(lifecycle.Distributed, []Sourced{at("vision", All, parsed(t, All, "rules: {resources.gpu.count: {max: 4}, resources.extended.nic: {max: 1}}"))})
	_, err := e.Apply(said(t, "kind: distributed\ncommand: ls\nworkers: 2\nmaster: {resources: {gpu: 8, extended: {nic: 2}}}"))
	for _, want := range []string{"master.resources.gpu.count: 8 is more than 4", "master.resources.extended.nic: 2 is more than 1"} {
		if !strings.Contains(lines(err), want) {
			t.Errorf("%v lacks %s", err, want)
		}
	}
	if _, err := e.Apply(said(t, "kind: distributed\ncommand: ls\nworkers: 2\nresources: {gpu: 4}")); err != nil {
		t.Error(err)
	}
}

func TestTheNearestDefaultHoldsAndRulesAddUp(t *testing.T) {
	t.Parallel()
	e := Merge(lifecycle.Training, []Sourced{
		at("vision", All, parsed(t, All, "defaults: {nodeType: b, env: {A: vision-all}}\nrules: {labels.team: {required: true}, idleLimit: {max: 1h}}")),
		at("vision", "training", parsed(t, "training", "defaults: {env: {A: vision}}\nrules: {labels.team: {required: true, options: [a, b]}}")),
		at("vision", "inference", parsed(t, "inference", "defaults: {replicas: 3}")),
		at("research", "training", parsed(t, "training", "defaults: {env: {A: research, B: research}, maxDuration: 2h}\nrules: {maxDuration: {max: 1d}}")),
		at(core.SystemScope, All, parsed(t, All, "defaults: {nodeType: c, gracePeriod: 0, priority: low, env: {C: system}}\nrules: {workers: {max: 4}}")),
	})
	d, err := e.Apply(said(t, "command: ls\nlabels: {team: a}"))
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprintln(d.Env, d.NodeType, d.MaxDuration, d.GracePeriod, d.Priority) != "map[A:vision B:research C:system] b 2h 0s low\n" {
		t.Errorf("%s", fmt.Sprintln(d.Env, d.NodeType, d.MaxDuration, d.GracePeriod, d.Priority))
	}
	_, err = e.Apply(said(t, "command: ls\nlabels: {team: c}\nmaxDuration: 36h\nidleLimit: 2h"))
	for _, want := range []string{
		`labels.team: "c" is none of the options of the policy for training of project vision`,
		"maxDuration: 1d12h is more than 1d, the most of the policy for training of department research",
		"idleLimit: 2h is more than 1h, the most of the policy for all kinds of project vision",
	} {
		if !strings.Contains(lines(err), want) {
			t.Errorf("%s\nlacks %s", lines(err), want)
		}
	}
	for _, r := range e.Rows() {
		if r.Path == "workers" {
			t.Errorf("a rule for distributed holds for trainings: %+v", r)
		}
		if r.Path == "env.B" && (r.From.Scope != "research" || r.Default != `"research"`) {
			t.Errorf("%+v", r)
		}
	}
	conflicts := parsed(t, "training", "rules: {maxDuration: {max: 2d}, idleLimit: {max: 2h}}").Conflicts(ID{"vision", "training"}, e.policies)
	if len(conflicts) != 1 || conflicts[0].With.String() != "the policy for training of department research" {
		t.Errorf("%+v", conflicts)
	}
}

func TestOfWaysToAskForGPUsOneTakesThePlaceOfAnother(t *testing.T) {
	t.Parallel()
	e := effective(t, "defaults: {resources: {gpu: {share: 0.5, shareLimit: 0.8}}, args: [a], command: [x]}")
	d, err := e.Apply(said(t, "command: [y]\nresources: {gpu: 2}"))
	if err != nil || d.Resources.GPU.Share != 0 || d.Resources.GPU.ShareLimit != 0 || len(d.Args) != 0 {
		t.Errorf("%v %s", err, spec.YAML(d))
	}
	if d, err = e.Apply(said(t, "{}")); err != nil || d.Resources.GPU.Share != 500 || d.Args[0] != "a" {
		t.Errorf("%v", err)
	}
}

func TestWhatIsWorkedOut(t *testing.T) {
	t.Parallel()
	e := effective(t, `rules:
  resources.memory: {defaultFrom: {field: resources.gpu.count, factor: 16Gi}, canEdit: false}
  resources.shm: {defaultFrom: {field: resources.memory, factor: 0.25}}
  idleLimit: {defaultFrom: {field: maxDuration, factor: 0.5}}`)
	d, err := e.Apply(said(t, "command: ls\nimage: a\nresources: {gpu: 2}\nmaxDuration: 3h"))
	if err != nil || d.Resources.Memory.String() != "32Gi" || d.Resources.SHM.String() != "8Gi" || d.IdleLimit.String() != "1h30m" {
		t.Fatalf("%v %s", err, spec.YAML(d))
	}
	if _, err = e.Apply(said(t, "command: ls\nimage: a\nresources: {gpu: 2, memory: 32Gi}")); err != nil {
		t.Error(err)
	}
	if _, err = e.Apply(said(t, "command: ls\nimage: a\nresources: {gpu: 2, memory: 33Gi}")); !strings.Contains(lines(err), "keeps it at 32Gi") {
		t.Errorf("%v", err)
	}
}

func TestWhatIsWrongWithAPolicy(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{}":                                             "it says nothing; write defaults, rules or impose",
		"[a]":                                            "line 1: found a list",
		"rulez: {}":                                      "line 1: rulez: unknown field; did you mean rules?",
		"rules: {imag: {canEdit: false}}":                "line 1: rules.imag: no such field; did you mean image?",
		"rules: {resources.gpu.cont: {max: 1}}":          "line 1: rules.resources.gpu.cont: no such field; did you mean resources.gpu.count?",
		"rules: {resources: {gpu: {max: 1}}}":            "line 1: rules.resources.gpu.max: resources.gpu is a map, and rules are for its fields; write rules for count, type, share, memory, shareLimit, memoryLimit, mig",
		"rules: {image: {step: 2}}":                      "line 1: rules.image.step: is no rule for a string; allowed: canEdit, required, options",
		"rules: {tty: {max: 2}}":                         "line 1: rules.tty.max: is no rule for a boolean; allowed: canEdit",
		"rules: {image: {canedit: false}}":               "line 1: rules.image.canedit: unknown rule; did you mean canEdit?",
		"rules: {resources.cpu: {min: lots}}":            `line 1: rules.resources.cpu.min: "lots" is not a quantity`,
		"rules: {resources.cpu: {min: 4, max: 2}}":       "line 1: rules.resources.cpu.min: is more than max, 2: no value could be right; write a smaller min, or a larger max",
		"rules: {resources.cpu: {step: 0}}":              "line 1: rules.resources.cpu.step: is no step; write more than 0",
		"rules: {env: {TEAM: {required: true}}}":         "line 1: rules.env.TEAM: unknown rule; a rule for one entry is written as env.TEAM: {…}",
		"rules: {env: {canEdit: false}}":                 "line 1: rules.env.canEdit: is no rule for a map or list of items; allowed: instances, attributes",
		"rules: {volumes./a: {canEdit: false}}":          "line 1: rules.volumes./a: rules are for all items of a list; write volumes: {instances: {locked: [/a]}}, or attributes",
		"rules: {volumes: {attributes: {hostpath: {}}}}": "line 1: rules.volumes.attributes.hostpath: unknown field; did you mean hostPath?",
		"rules: {env: {instances: {locked: [A]}}}":       "rules.env.instances.locked: is none of the policy's own default items; add it to defaults.env",
		"rules: {env: {instances: {lock: [A]}}}":         "line 1: rules.env.instances.lock: unknown field; did you mean locked?",
		"rules: {pullPolicy: {options: [sometimes]}}":    `line 1: rules.pullPolicy.options[0]: "sometimes" is nothing that the field may be; allowed: missing, always, never`,
		"rules: {image: {options: []}}":                  "line 1: rules.image.options: found a list, expected a list of values",
		"rules: {workers: {max: 2}}":                     "rules.workers: is for kind distributed, and the policy for training; write it into the policy for distributed, or for all",
		"rules: {project: {canEdit: false}}":             "rules.project: is nothing that a policy decides; leave it out",
		"rules: {data: {canEdit: false}}":                "rules.data: is nothing that a policy decides; write it below impose",
		"rules: {a: b":                                   "line 1:",
		"defaults: {resorces: {cpu: 1}}":                 "line 1: defaults.resorces: unknown field; did you mean resources?",
		"defaults: {name: a}":                            "defaults.name: is nothing that a policy decides; leave it out",
		"defaults: {pullPolicy: sometimes}":              `defaults.pullPolicy: "sometimes" is not known`,
		`rules: {"..\\x": {canEdit: false}}`:             `line 1: rules...\x: unknown field`,
		`rules: {"": {canEdit: false}}`:                  "line 1: rules..canEdit: no such field",
		`rules: {resources.: {canEdit: false}}`:          "line 1: rules.resources..canEdit: ",
		"defaults: {resources.cpu: 1}":                   "line 1: defaults.resources.cpu: unknown field",
		"defaults: {near: 'a b'}\nrules: {image: {}}":    "defaults.near:",
		"impose: {image: a}":                             "line 1: impose.image: cannot be imposed; put it into defaults, with the rule canEdit: false",
		"impose: {dataa: [a]}":                           "line 1: impose.dataa: unknown field; did you mean data?",
		"defaults: {resources: {cpu: 4}}\nrules: {resources.cpu: {min: 1, step: 2}}":                                                "defaults.resources.cpu: the policy's own rule does not allow it: 4 is between the steps of 2",
		"rules: {resources.shm: {defaultFrom: {field: image, factor: 2}}}":                                                          "line 1: rules.resources.shm.defaultFrom.field: is no amount; name a number, a quantity or a duration",
		"rules: {resources.shm: {defaultFrom: {field: resources.memory, factor: 0}}}":                                               "line 1: rules.resources.shm.defaultFrom.factor: is no factor",
		"rules: {resources.shm: {defaultFrom: {field: resources.memory}}, resources.memory: {defaultFrom: {field: resources.shm}}}": "rules.resources.memory.defaultFrom.field: is worked out from resources.memory itself; give one of them a default",
		"rules: {image: {canEdit: maybe}}":                                                                                          "line 1: rules.image.canEdit:",
		"rules: {image: {options: [{displayed: a}]}}":                                                                               "line 1: rules.image.options[0].value: is missing",
		"rules: {image: 3}": "line 1: rules.image: found the number 3",
		"rules: {resources: {cpu: {max: 1}}, resources.cpu: {max: 2}}": "line 1: rules.resources.cpu: stands twice; write one rule for it",
	} {
		p, err := Parse([]byte(text))
		if err == nil {
			err = p.Check("training")
		}
		if !strings.HasPrefix(lines(err), want) {
			t.Errorf("%s\n got %s\nwant %s", text, lines(err), want)
		}
	}
	if err := parsed(t, All, "rules: {workers: {max: 2}}").Check("job"); !strings.Contains(lines(err), "for: is no kind of workload; write one of all, workspace") && !strings.Contains(lines(err), "for: is no kind") {
		t.Errorf("%v", err)
	}
}

func TestAPolicyIsWrittenAsItIsRead(t *testing.T) {
	t.Parallel()
	for _, text := range []string{example, "rules: {volumes: {attributes: {temporary.size: {default: 3, max: 5M}, hostPath: {options: [/a]}}, instances: {canAdd: false}}}", "impose: {data: [a, {name: b, path: /b}], compute: c}"} {
		p := parsed(t, "training", text)
		first, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(first)
		if err != nil {
			t.Fatalf("%v\n%s", err, first)
		}
		if second, err := json.Marshal(again); err != nil || string(first) != string(second) {
			t.Errorf("%v\n%s\n%s", err, first, second)
		}
	}
}

func TestNothingOfADocumentIsChangedInPlace(t *testing.T) {
	t.Parallel()
	e := effective(t, example)
	doc := said(t, "image: reg/torch:2\ncommand: ls\nenv: {A: b}\nvolumes: [{path: /scratch}]")
	before := string(spec.YAML(doc))
	for range 2 {
		if _, err := e.Apply(doc); err != nil {
			t.Fatal(err)
		}
	}
	if string(spec.YAML(doc)) != before || len(e.defaults.Env) != 2 {
		t.Errorf("%s", spec.YAML(doc))
	}
}

// BenchmarkApply fills and judges a document by 500 rules along a branch of three.
func BenchmarkApply(b *testing.B) {
	var rules strings.Builder
	for i := range 440 {
		fmt.Fprintf(&rules, "  labels.team%d: {options: [a, b, c]}\n", i)
	}
	for i := range 44 {
		fmt.Fprintf(&rules, "  resources.extended.card%d: {max: 4}\n", i)
	}
	e := Merge(lifecycle.Training, []Sourced{
		at("vision", "training", parsed(b, "training", "defaults: {env: {A: b}, maxDuration: 1d}\nrules:\n"+rules.String())),
		at("research", "training", parsed(b, "training", example)),
		at(core.SystemScope, All, parsed(b, All, "defaults: {nodeType: a}\nrules: {ttlAfterEnd: {canEdit: false}}")),
	})
	b.Logf("%d rules", len(e.rules))
	doc := said(b, "image: reg/torch:2\ncommand: [python3, train.py]\nresources: {gpu: 2, memory: 16Gi}\nlabels: {team1: a, team2: b, x: y}\nenv: {A: c, D: e}")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Apply(doc); err != nil {
			b.Fatal(err)
		}
	}
}

// TestWhatAPolicySaysIsBlamedOnIt: what nobody wrote is not for the author to mend, be it a
// default, an item of a list, or worked out; and what is given as an example is allowed.
func TestWhatAPolicySaysIsBlamedOnIt(t *testing.T) {
	t.Parallel()
	e := effective(t, `
defaults: {resources: {memory: 4G}, volumes: [{path: /scratch, hostPath: /data}]}
rules:
  maxDuration: {required: true, max: 2h}
  resources.shm: {defaultFrom: {field: resources.memory, factor: 0.5}}
`)
	_, err := e.Apply(said(t, "command: ls"))
	for _, want := range []string{
		"resources.shm: needs an image; write an image, or remove it: processes of the machine share its /dev/shm (it is said by the policy for training of project vision)",
		"volumes[0].path: differs from hostPath, which needs an image; write the same path, or an image (it is said by the policy for training of project vision)",
		"maxDuration: is missing, and the policy for training of project vision demands it; add it, such as: maxDuration: 2h",
	} {
		if !strings.Contains("\n"+lines(err)+"\n", "\n"+want+"\n") {
			t.Errorf("no line\n%s\nin\n%s", want, lines(err))
		}
	}
	_, err = e.Apply(said(t, "command: ls\nmaxDuration: 1h\nvolumes: [{path: /own, hostPath: /b}]\nresources: {shm: 1G}"))
	if got := lines(err); strings.Contains(got, "volumes[0].path: differs from hostPath, which needs an image; write the same path, or an image (it") || strings.Contains(got, "/dev/shm (it") {
		t.Errorf("what the author wrote is blamed on the policy:\n%s", got)
	}
}
