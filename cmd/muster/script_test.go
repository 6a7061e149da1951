package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/musterhq/muster/internal/backend/local"
	"github.com/musterhq/muster/internal/compat/commands"
	"github.com/musterhq/muster/internal/testing/kubetest"
	"github.com/musterhq/muster/internal/testing/ocitest"
)

// patience bounds every wait of a script; a machine under load is no failure.
const patience = 60 * time.Second

// TestMain lets the test binary be the muster binary: under that name for the
// scripts, and under the name by which server and supervisor start themselves.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "exe" || len(os.Args) > 1 && os.Args[1] == local.SupervisorArg {
		os.Exit(run())
	}
	muster := func() { os.Exit(run()) }
	programs := map[string]func(){}
	for _, name := range names() {
		programs[name] = muster
	}
	testscript.Main(scripts{m}, programs)
}

// scripts are the tests, which may have built the program.
type scripts struct{ m *testing.M }

func (s scripts) Run() int { return kubetest.Main(s.m) }

// TestScripts runs the stories of testdata/script: the real binary, each with
// a data directory of its own. Commands beside testscript's:
//
//	exits CODE COMMAND…     the command ends with exactly that exit code
//	ready                   wait until the server answers
//	json FILE PATH [VALUE]  FILE (or stdout, stderr) holds PATH, with VALUE
//	eventually COMMAND…     the command succeeds in the end
//	registry [basic|bearer] a registry with the image busybox:1 at $REGISTRY,
//	                        open or for ann with the password pw
//	expand FILE…            puts the values of ${VARIABLES} into files
//	released                the program as it is released at $RELEASED, which
//	                        unlike the test binary runs in any image
//	site                    a cluster for docs/several-machines.md, see page_cluster_test.go
//	page FILE               what a page of the documents shows is what happens,
//	                        see page_test.go
//	gitserver               a git repository over https and ssh, see git_test.go
//	mailserver FILE         a mail server at $SMTP, see mail_test.go
//	acmeauthority           an authority for certificates, see acme_test.go
//	oidcprovider            an identity provider at $ISSUER, see sso_test.go
//	signsin FILE USER       somebody opens the address in FILE, and signs in
//	directory               a directory (LDAP), see sso_test.go
//	systemd                 a real systemd for the user, see systemd_test.go
//	unitpid VARIABLE        the process of its muster.service
//	account NAME [GROUP]    an account of the machine, for the script's time
//	as NAME COMMAND…        the command runs as that account, see asuser_test.go
//
// and the conditions [root], [accounts], [systemd] and [slapd].
func TestScripts(t *testing.T) {
	quick := quickCommands(t)
	testscript.Run(t, testscript.Params{
		Files:               stories(t),
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			data := filepath.Join(e.WorkDir, "d")
			e.Setenv("MUSTER_DATA_DIR", data)
			e.Setenv("MUSTER_SERVER", "")
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("NO_COLOR", "1")
			if quick != "" {
				e.Setenv("PATH", quick+string(filepath.ListSeparator)+e.Getenv("PATH"))
			}
			e.Setenv("MUSTER_NO_AUTOSTART", "")
			examples, err := filepath.Abs("../../examples")
			if err != nil {
				return err
			}
			e.Setenv("EXAMPLES", examples)
			e.Setenv("DOCS", pages(t))
			e.Defer(func() { tidy(t, data) })
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Geteuid() == 0, nil
			}
			if cond == "accounts" {
				return hasAccounts() == "", nil
			}
			if cond == "systemd" {
				return hasSystemd() == "", nil
			}
			if cond == "slapd" {
				return hasDirectory(), nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "ready": ready, "json": jsonAt, "eventually": eventually,
			"expand": expand, "released": released, "gitserver": gitserver, "mailserver": mailserver, "acmeauthority": acmeauthority, "showscert": showscert, "oidcprovider": oidcprovider, "signsin": signsin, "directory": directory, "account": makeAccount, "as": as, "systemd": systemdUser, "unitpid": unitPid, "registry": func(ts *testscript.TestScript, _ bool, args []string) { registry(t, ts, args) },
			"site": func(ts *testscript.TestScript, neg bool, args []string) { site(t, ts, neg, args) },
			"page": func(ts *testscript.TestScript, neg bool, args []string) { page(t, ts, neg, args) },
		},
	})
}

// large are what scripts need that CI does not install (docs/testing.md). There
// nothing may be skipped, so without it they are not run at all.
var large = map[string]string{"slurm_snakemake": "snakemake"}

// stories are the scripts to run.
func stories(t *testing.T) []string {
	all, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(all) == 0 {
		t.Fatalf("there are no scripts: %v", err)
	}
	return slices.DeleteFunc(all, func(file string) bool {
		program := large[strings.TrimSuffix(filepath.Base(file), ".txtar")]
		if program == "" || os.Getenv("CI") == "" {
			return false
		}
		_, err := exec.LookPath(program)
		return err != nil
	})
}

// names are those that the program is called by.
func names() []string {
	return append(commands.Names(), "muster", "kubectl-muster", "kubectl_complete-muster")
}

// quickCommands is a directory with the commands of the program that MUSTER_BIN
// names; empty: there is none. Without the race detector it starts ten times as
// fast. Servers are this test all the same: those that are called so, and those
// that begin with the first command.
func quickCommands(t *testing.T) string {
	given := os.Getenv("MUSTER_BIN")
	if given == "" {
		return ""
	}
	dir, links := t.TempDir(), t.TempDir()
	for _, name := range names() {
		tested, err := exec.LookPath(name) // testscript has put it there
		if err == nil {
			err = os.Symlink(given, filepath.Join(links, name))
		}
		if err == nil {
			// Not sh, which hands on no functions of bash.
			script := fmt.Sprintf(`#!/bin/bash
[ -S "$MUSTER_DATA_DIR/muster.sock" ] && [ "$1" != server ] && exec '%s/%s' "$@"
exec '%s' "$@"
`, links, name, tested)
			err = os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// tidy ends whatever a script has left: its workloads, then its server.
func tidy(t *testing.T, data string) {
	// A script that ends with its server may have left tasks: then another one
	// is started, to end them.
	left, _ := os.ReadDir(filepath.Join(data, "local", "tasks"))
	muster := func(args ...string) string {
		args = append(args, "--data-dir", data)
		if len(left) == 0 || args[0] == "server" {
			args = append(args, "--no-autostart")
		}
		cmd := exec.Command("muster", args...)
		out, err := cmd.Output()
		if err != nil && !errors.As(err, new(*exec.ExitError)) {
			t.Errorf("muster %v: %v", args, err)
		}
		return string(out)
	}
	for _, id := range strings.Fields(muster("get", "-A", "--limit", "0", "--columns", "id", "--no-headers", "--status", "Submitted,Queued,Inadmissible,Backoff,Starting,Running,Restarting,Terminating")) {
		muster("stop", id, "--grace-period", "1s", "--wait")
	}
	muster("server", "stop")
}

func released(ts *testscript.TestScript, _ bool, _ []string) {
	path, err := kubetest.Program()
	ts.Check(err)
	ts.Setenv("RELEASED", path)
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var ee *exec.ExitError
		if !errors.As(err, &ee) {
			ts.Fatalf("%v", err)
		}
		got = ee.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func ready(ts *testscript.TestScript, _ bool, _ []string) {
	eventually(ts, false, []string{"muster", "server", "status"})
}

func eventually(ts *testscript.TestScript, neg bool, args []string) {
	deadline := time.Now().Add(patience)
	for {
		began := time.Now()
		err := ts.Exec(args[0], args[1:]...)
		if (err != nil) == neg {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("still not after %s: %v", patience, err)
		}
		// Waiting must not take the machine from what is waited for.
		time.Sleep(max(20*time.Millisecond, 2*time.Since(began)))
	}
}

// jsonAt looks up a path like items.0.attempts.0.exitCode; len is a length, and
// with ! in front the path must not be there.
func jsonAt(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: json FILE PATH [VALUE]")
	}
	d := json.NewDecoder(bytes.NewReader([]byte(ts.ReadFile(args[0]))))
	d.UseNumber()
	var v any
	ts.Check(d.Decode(&v))
	v, ok := lookup(v, strings.Split(args[1], "."))
	if ok == neg {
		ts.Fatalf("%s is there: %v, want %v", args[1], ok, !neg)
	}
	if len(args) == 2 || neg {
		return
	}
	got := fmt.Sprint(v)
	if s, isText := v.(string); isText {
		got = s
	}
	if want := strings.Join(args[2:], " "); got != want {
		ts.Fatalf("%s is %q, want %q", args[1], got, want)
	}
}

func lookup(v any, path []string) (any, bool) {
	for _, key := range path {
		switch c := v.(type) {
		case map[string]any:
			inner, ok := c[key]
			if !ok {
				return nil, false
			}
			v = inner
		case []any:
			if key == "len" {
				return len(c), true
			}
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(c) || i < -len(c) {
				return nil, false
			}
			if i < 0 {
				i += len(c)
			}
			v = c[i]
		default:
			return nil, false
		}
	}
	return v, true
}

func registry(t *testing.T, ts *testscript.TestScript, args []string) {
	var options []ocitest.Option
	switch strings.Join(args, " ") {
	case "":
	case "basic":
		options = append(options, ocitest.Basic("ann", "pw"))
	case "bearer":
		options = append(options, ocitest.Bearer("ann", "pw"))
	default:
		ts.Fatalf("usage: registry [basic|bearer]")
	}
	r := ocitest.Start(options...)
	ts.Defer(r.Close)
	config := v1.Config{Env: []string{"PATH=/bin", "FROM_IMAGE=yes"}, Cmd: []string{"sh", "-c", "echo the image has spoken"}}
	r.Push(t, "busybox:1", ocitest.Image(t, config, ocitest.Busybox(t)))
	ts.Setenv("REGISTRY", r.Host)
}

func expand(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		path := ts.MkAbs(name)
		text := os.Expand(ts.ReadFile(path), func(v string) string {
			if v == "$" {
				return v // $$ is one for the shell
			}
			return ts.Getenv(v)
		})
		ts.Check(os.WriteFile(path, []byte(text), 0o644))
	}
}
