package launch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
)

// runPrelude runs the prelude of integrations with stand-ins for what they
// call, which write down how they were called and fail where told to.
func runPrelude(t *testing.T, integrations, fails string) (calls []string, ran bool) {
	t.Helper()
	doc, err := spec.Load([]byte("command: [\"true\"]\nintegrations:\n" + integrations))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"git", "python3", "apt-get"} {
		stub := "#!/bin/sh\necho " + name + " \"$*\" >> " + dir + "/calls\ncase \"" + name + " $*\" in *'" + fails + "'*) exit 3;; esac\n"
		if name == "git" {
			stub += "case \"$*\" in *cat-file*) exit 1;; esac\n" // no commit is there yet
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(stub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script := filepath.Join(dir, "prelude")
	if err := os.WriteFile(script, prelude(&core.Workload{Name: "w", Spec: doc}), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", `. "$0" || exit; echo it runs`, script)
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + dir + ":/usr/bin:/bin"}
	out, err := cmd.Output()
	data, rerr := os.ReadFile(filepath.Join(dir, "calls"))
	if rerr != nil {
		t.Fatalf("nothing was called: %v, %s", err, out)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n"), strings.Contains(string(out), "it runs")
}

const several = `
  - git: {repo: acme/tool, commit: abcdef1, pip: "-e .", ssh: false}
  - apt: {packages: [nano, git]}
  - pip: {packages: ["torch>=2", "it's"], upgrade: true}
`

func TestPreludeDoesAllInOrder(t *testing.T) {
	integrations := strings.Replace(several, `, pip: "-e ."`, "", 1) // which needs a clone to stand in
	calls, ran := runPrelude(t, integrations, "nothing fails")
	want := []string{
		"git clone -- https://github.com/acme/tool tool",
		"git -C tool cat-file -e abcdef1^{commit}",
		"git -C tool fetch origin abcdef1",
		"git -C tool -c advice.detachedHead=false checkout abcdef1",
		"apt-get update -qq -o DPkg::Lock::Timeout=600",
		"apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=600 nano git",
		"python3 -m pip install --upgrade torch>=2 it's",
	}
	if strings.Join(calls, "\n") != strings.Join(want, "\n") || !ran {
		t.Errorf("called (and the command ran: %v)\n%s\nwant\n%s", ran, strings.Join(calls, "\n"), strings.Join(want, "\n"))
	}
}

func TestPreludeEndsWithTheFirstFailure(t *testing.T) {
	integrations := strings.Replace(several, `, pip: "-e ."`, "", 1)
	for _, fails := range []string{"clone", "fetch", "checkout", "update", "install -y", "pip install"} {
		calls, ran := runPrelude(t, integrations, fails)
		if last := calls[len(calls)-1]; ran || !strings.Contains(last, fails) {
			t.Errorf("%s failed: the command ran: %v; the last call was %q", fails, ran, last)
		}
	}
}
