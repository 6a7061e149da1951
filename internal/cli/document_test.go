package cli

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/document"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/spec"
)

// built is the document that `muster run ARGS` makes of text.
func built(t *testing.T, text string, args ...string) (*spec.Document, error) {
	t.Helper()
	w := newWorld(t, nil)
	w.s.IO.In = strings.NewReader(text)
	d := &document.DocumentFlags{}
	cmd := &cobra.Command{Use: "run"}
	d.Register(w.s, cmd)
	cmd.Flags().SetInterspersed(false)
	if text != "" {
		args = append([]string{"-f", "-"}, args...)
	}
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	doc, _, err := document.Build(w.s, d, cmd.Flags().Args(), true)
	return doc, err
}

func TestFlagsChangeTheDocument(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"":                                     "command: ls",
		"--name a":                             "name: a",
		"--gpus 2 --gpu-type h100":             "resources.gpu: {count: 2, type: h100}",
		"--set resources.gpu.type=a100":        "resources.gpu: {count: 1, type: a100}",
		"--set resources.gpu=3":                "resources.gpu: 3",
		"--cpu 2 --memory 4Gi":                 "resources: {cpu: 2, memory: 4Gi, gpu: 1}",
		"--priority high":                      "priority: high",
		"--priority 7":                         "priority: 7",
		"-e A=b=c -e E=":                       "env: {A: b=c, E: ''}",
		"-l a.b/c=d":                           "labels: {a.b/c: d}",
		"--set labels.a.b/c=d":                 "labels: {a.b/c: d}",
		"--set parameters.lr=1e-3":             "parameters: {lr: 1e-3}",
		"--set parameters.a.b=[1,x]":           "parameters: {a: {b: [1, x]}}",
		"--set name=007":                       "name: '007'",
		"--set preemptible=false":              "preemptible: false",
		"--set maxDuration=90s":                "maxDuration: 90s",
		"--max-duration 2h":                    "maxDuration: 2h",
		"--set command=[a,b]":                  "command: [a, b]",
		"--kind distributed --workers 3":       "kind: distributed\nworkers: 3",
		"--prefix p --set array.completions=3": "namePrefix: p\narray: {completions: 3}",
		"--image a/b --set volumes.0.path=/d --set volumes.0.hostPath=/h":   "volumes: [{path: /d, hostPath: /h}]",
		"--set secrets.0=a --set secrets.0.env=A --set secrets.1.name=b":    "secrets: [{name: a, env: A}, b]",
		"--set ports.0=80 --set ports.0.name=web":                           "ports: [{port: 80, name: web}]",
		"--set retry.rules.0.action=fail --set retry.rules.0.exitCodes=[3]": "retry: {rules: [{action: fail, exitCodes: [3]}]}",
	} {
		got, err := built(t, "command: ls\nresources: {gpu: 1}\n", strings.Fields(args)...)
		if err != nil {
			if args != "--set name=007" {
				t.Errorf("%s: %v", args, err)
			}
			continue
		}
		part, err := spec.Parse([]byte(strings.ReplaceAll(want, "resources.gpu:", "resources:\n gpu:")))
		if err != nil {
			t.Fatalf("%s: %v", want, err)
		}
		if missing := without(string(spec.YAML(part)), string(spec.YAML(got))); missing != "" {
			t.Errorf("%s: %q is missing in\n%s", args, missing, spec.YAML(got))
		}
	}
}

// without returns the first line of part that is not in whole.
func without(part, whole string) string {
	for line := range strings.Lines(part) {
		if !strings.Contains(whole, line) {
			return line
		}
	}
	return ""
}

func TestWordsAreTheCommand(t *testing.T) {
	t.Parallel()
	doc, err := built(t, "", "--gpus", "1", "--", "python3", "t.py", "--lr", "0.1")
	if err != nil || !slices.Equal(doc.Command.Argv, []string{"python3", "t.py", "--lr", "0.1"}) || doc.Command.Shell || doc.Resources.GPU.Count != 1 {
		t.Errorf("%+v %v", doc, err)
	}
	if doc, err = built(t, "", "python3", "--name", "x"); err != nil || doc.Name != "" || len(doc.Command.Argv) != 3 {
		t.Errorf("flags after the command are the command's: %+v %v", doc, err)
	}
	if doc, err = built(t, "command: [a]\nargs: [b]\n", "--", "c"); err != nil || !slices.Equal(doc.Args, []string{"c"}) {
		t.Errorf("%+v %v", doc, err)
	}
}

func TestWorkdir(t *testing.T) {
	t.Parallel()
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"command: ls\n":                           here,
		"command: ls\nworkdir: sub\n":             filepath.Join(here, "sub"),
		"command: ls\nworkdir: /abs\n":            "/abs",
		"command: ls\nimage: a/b\n":               "",
		"command: ls\nimage: a/b\nworkdir: /in\n": "/in",
	} {
		if doc, err := built(t, text); err != nil || doc.Workdir != want {
			t.Errorf("%q: %v %v, want %q", text, doc, err, want)
		}
	}
	remote := &spec.Document{}
	if err := document.ResolveWorkdir(remote, false); err != nil || remote.Workdir != "" {
		t.Errorf("a directory of this machine for another: %q", remote.Workdir)
	}
}

func TestWrongDocumentsSayWhere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, args, path, hint string
		line                   int
	}{
		{"command: ls\nnmae: x\n", "", "nmae", "did you mean name?", 2},
		{"command: ls\nworkers: 3\n", "--name x", "workers", "", 2},
		{"command: ls\n", "--set resurces.cpu=1", "resurces.cpu", "did you mean resources?", 0},
		{"command: ls\n", "--cpu lots", "resources.cpu", "", 0},
		{"command: ls\n", "--kind trainin", "kind", "", 0},
	} {
		_, err := built(t, c.text, strings.Fields(c.args)...)
		var f *session.Failure
		if !errors.As(err, &f) || f.Code != session.ExitUsage || len(f.Problem.Errors) == 0 {
			t.Errorf("%q %s: %v", c.text, c.args, err)
			continue
		}
		e := f.Problem.Errors[0]
		if e.Path != c.path || e.Line != c.line || c.hint != "" && e.Hint != c.hint {
			t.Errorf("%q %s: %+v", c.text, c.args, e)
		}
	}
	for _, args := range []string{"--set x", "--set =1", "--label x", "--env NOT_SET_ANYWHERE_HERE", "--set array=[", "--gpus 1 --set env"} {
		if _, err := built(t, "command: ls\n", strings.Fields(args)...); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
}

// FuzzSet holds --set to never panicking and never making a document that
// cannot be read again.
func FuzzSet(f *testing.F) {
	for _, seed := range []string{"resources.gpu.count=2", "env.A=b", "parameters.a.b=[1,{c: d}]", "a=", "=", "command=[", "resources=5", "parameters=null", "array.completions=-1"} {
		f.Add(seed)
	}
	base, err := spec.Parse([]byte("command: ls\nresources: {gpu: 2}\nparameters: {a: 1}\n"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := document.ParseSet(text)
		if err != nil {
			return
		}
		doc, err := document.Edit(base, []document.Change{c})
		if err != nil {
			return
		}
		data, err := document.Encode(doc)
		if err != nil {
			t.Fatal(err)
		}
		again, err := spec.Parse(data)
		if err != nil || !again.Equal(doc) {
			t.Errorf("%q: %v\n%s", text, err, data)
		}
	})
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]int{
		"invalid": 2, "not_found": 3, "no_logs": 3, "unauthenticated": 4, "conflict": 5, "illegal_phase": 5, "unsupported": 5,
		"unschedulable": 6, "unavailable": 7, "unreachable": 7, "disk_full": 1, "internal": 1,
	} {
		if got := session.CodeOf(&api.Problem{Code: code}); got != want {
			t.Errorf("%s: %d, want %d", code, got, want)
		}
	}
	for phase, want := range map[string]int{"Completed": 0, "Failed": 10, "Lost": 10, "Stopped": 11, "Canceled": 11, "Deleted": 11, "Preempted": 12, "TimedOut": 13} {
		w := &api.Workload{Phase: phase, Attempts: []api.Attempt{{ExitCode: ptr(3)}}}
		if got := printers.ExitOf(w, "workload"); got != want {
			t.Errorf("%s: %d, want %d", phase, got, want)
		}
		if phase == "Failed" {
			want = 3
		}
		if got := printers.ExitOf(w, "task"); got != want {
			t.Errorf("%s with --exit-status=task: %d, want %d", phase, got, want)
		}
	}
	if got := printers.ExitOf(&api.Workload{Phase: "Failed", Attempts: []api.Attempt{{ExitCode: ptr(137)}}}, "task"); got != session.ExitFailed {
		t.Errorf("a signal is not forwarded as a code: %d", got)
	}
}
