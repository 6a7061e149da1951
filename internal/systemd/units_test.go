package systemd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// units are those that are tried with systemd itself.
var units = map[string]Unit{
	"user":         {Program: "/bin/sh", DataDir: "/home/ann/.local/share/muster", Socket: "/home/ann/.local/share/muster/muster.sock", Path: "/usr/bin:/bin", Local: true},
	"machine":      {Program: "/bin/sh", DataDir: "/var/lib/muster", Socket: SystemSocket, Path: "/usr/bin:/bin", System: true, User: "root", Group: "root", Local: true},
	"submitters":   {Program: "/bin/sh", Args: []string{"--tasks-as=submitter"}, DataDir: "/var/lib/muster", Socket: SystemSocket, Path: "/usr/bin:/bin", System: true, User: "root", Local: true, AsSubmitter: true},
	"cluster only": {Program: "/bin/sh", Args: []string{"--backend=kube", "--ui-host=a b", "--registry=$HOME/%i"}, DataDir: "/srv/mu ster", Socket: SystemSocket, Path: "/usr/bin:/bin", System: true, User: "root"},
}

// TestSystemdUnderstandsTheUnits has systemd's own program read them.
func TestSystemdUnderstandsTheUnits(t *testing.T) {
	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd-analyze: apt-get install systemd")
	}
	for name, u := range units {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			service := filepath.Join(dir, ServiceName)
			for path, text := range map[string]string{service: u.Service(), filepath.Join(dir, SocketName): u.SocketUnit()} {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			out, err := exec.CommandContext(t.Context(), tool, "verify", "--man=no", "--recursive-errors=no", service).CombinedOutput()
			var said []string
			for line := range strings.Lines(string(out)) {
				if strings.Contains(line, "muster.") {
					said = append(said, line)
				}
			}
			if err != nil || len(said) > 0 {
				t.Errorf("%v\n%s\n%s", err, out, u.Service())
			}
		})
	}
}

func TestTheDataDirectoryIsReadBack(t *testing.T) {
	for _, dir := range []string{"/var/lib/muster", "/srv/mu ster", `/a"b\c`, "/50%/$HOME", "/ünï"} {
		if got := DataDirOf(Unit{Program: "/bin/muster", DataDir: dir, Args: []string{"--registry=x"}}.Service()); got != dir {
			t.Errorf("%q is read back as %q", dir, got)
		}
	}
	if got := DataDirOf("[Service]\nExecStart=/bin/true\n"); got != "" {
		t.Errorf("a unit of others has the data directory %q", got)
	}
}

func TestOnlyOurUnitsAreOurs(t *testing.T) {
	u := units["user"]
	if !Ours(u.Service()) || !Ours(u.SocketUnit()) {
		t.Error("our own units are not known")
	}
	if Ours("[Service]\nExecStart=/bin/muster server\n") {
		t.Error("a unit of others is taken for ours")
	}
}

// TestEverybodyReachesAServerOfSubmitters, unless a group is named.
func TestEverybodyReachesAServerOfSubmitters(t *testing.T) {
	u := units["submitters"]
	if s := u.SocketUnit(); !strings.Contains(s, "SocketMode=0666\n") {
		t.Errorf("its socket:\n%s", s)
	}
	if s := u.Service(); !strings.Contains(s, "CapabilityBoundingSet=CAP_SETUID CAP_SETGID ") || strings.Contains(s, "CAP_SYS_MODULE") || strings.Contains(s, "CAP_NET_ADMIN") {
		t.Errorf("its service:\n%s", s)
	}
	if u.Group = "gpu"; !strings.Contains(u.SocketUnit(), "SocketMode=0660\n") {
		t.Errorf("its socket, of a group:\n%s", u.SocketUnit())
	}
	if s := units["machine"]; strings.Contains(s.Service(), "CapabilityBoundingSet") {
		t.Errorf("a server whose tasks are root's is bounded:\n%s", s.Service())
	}
}

// TestWorkOfTheMachineIsNotConfined holds that tasks, which inherit what their server
// is refused, can be anything that its user can.
func TestWorkOfTheMachineIsNotConfined(t *testing.T) {
	for name, u := range units {
		if got := strings.Contains(u.Service(), "NoNewPrivileges"); got == u.Local {
			t.Errorf("%s: confined is %v, with work of the machine %v", name, got, u.Local)
		}
	}
}
