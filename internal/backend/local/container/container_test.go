package container

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

func all() []string { return slices.Concat(granted, []string{"CAP_SYS_ADMIN"}) }

func TestSpecIsAsWritten(t *testing.T) {
	for name, in := range map[string]Input{
		"plain": {
			Root: "/box/root", Hostname: "node", Arch: "amd64", Argv: []string{"true"}, Env: []string{"A=1"}, Dir: "/",
			CgroupsPath: "muster-x/task", Capabilities: all(), OpenFiles: 20000,
		},
		"full": {
			Root: "/box/root", Hostname: "node", Arch: "arm64", Argv: []string{"sh", "-c", "x"}, Dir: "/work", Terminal: true,
			User:        User{UID: 1000, GID: 100, Groups: []uint32{44}},
			CgroupsPath: "/muster/x/task/box", Unified: true, CPU: 2500, SHM: 1 << 30,
			Binds:        []Bind{{Source: "/srv", Target: "/data", ReadOnly: true}, {Source: "/s", Target: "/data/sub"}, {Source: "/shm", Target: "/dev/shm"}},
			Memory:       []Memory{{Target: "/scratch", Size: 1 << 20}, {Target: "/half"}},
			Devices:      []Device{{Path: "/dev/nvidia0", Major: 195}},
			Capabilities: []string{"CAP_KILL"}, OpenFiles: 1 << 20,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := json.MarshalIndent(Spec(in), "", "\t")
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", name+".json")
			if *rewrite {
				if err := os.WriteFile(path, append(got, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)+"\n"); diff != "" {
				t.Errorf("the bundle differs (go test -rewrite, if that is meant):\n%s", diff)
			}
		})
	}
}

// TestSpecNeverGivesMore checks what must hold whatever is asked for.
func TestSpecNeverGivesMore(t *testing.T) {
	s := Spec(Input{Arch: "amd64", Capabilities: all(), OpenFiles: 100})
	for _, set := range [][]string{s.Process.Capabilities.Bounding, s.Process.Capabilities.Effective, s.Process.Capabilities.Permitted} {
		if !slices.Equal(set, granted) {
			t.Errorf("capabilities %q, want the usual ones only", set)
		}
	}
	if len(s.Process.Capabilities.Ambient)+len(s.Process.Capabilities.Inheritable) != 0 {
		t.Error("there are ambient or inheritable capabilities")
	}
	if !s.Process.NoNewPrivileges || s.Process.Rlimits[0].Soft != 100 || s.Process.Rlimits[0].Hard != 100 {
		t.Errorf("privileges or limits: %+v", s.Process)
	}
	if d := s.Linux.Resources.Devices[0]; d.Allow || d.Access != "rwm" {
		t.Errorf("devices are not forbidden at first: %+v", d)
	}
	if s := Spec(Input{Arch: "amd64", Capabilities: []string{"CAP_KILL"}}); !slices.Equal(s.Process.Capabilities.Bounding, []string{"CAP_KILL"}) {
		t.Errorf("capabilities %q, want what the engine has", s.Process.Capabilities.Bounding)
	}
}

func TestCommandOfImage(t *testing.T) {
	c := Config{Entrypoint: []string{"run"}, Cmd: []string{"it"}}
	if got := c.Command(nil, nil); !slices.Equal(got, []string{"run", "it"}) {
		t.Errorf("the image's own: %q", got)
	}
	if got := c.Command([]string{"mine"}, []string{"x"}); !slices.Equal(got, []string{"mine"}) {
		t.Errorf("a command replaces both: %q", got)
	}
	if got := c.Command(nil, []string{"other"}); !slices.Equal(got, []string{"run", "other"}) {
		t.Errorf("with arguments of its own it runs %q", got)
	}
	if got := (Config{}).Command(nil, nil); len(got) != 0 {
		t.Errorf("of nothing: %q", got)
	}
	for own, want := range map[string]string{"": "/image", "/own": "/own"} {
		if got, err := (Config{Workdir: "/image"}).Dir(own); got != want || err != nil {
			t.Errorf("workdir %q: %q, %v; want %q", own, got, err, want)
		}
	}
	if _, err := (Config{}).Dir("relative"); err == nil || !strings.Contains(err.Error(), "relative") {
		t.Errorf("a relative workdir: %v", err)
	}
}

func TestFindUser(t *testing.T) {
	users := "root:x:0:0:r:/root:/bin/sh\n# comment\nbroken\nann:x:1000:100:a:/home/ann:/bin/sh\n1234:x:7:8:odd:/odd:/bin/sh\nbad:x:no:0:b:/:/\n"
	list := "root:x:0:\nusers:x:100:\nvideo:x:44:bob,ann\nrender:x:45:ann\n"
	id := func(n uint32) *uint32 { return &n }
	for _, c := range []struct {
		named    string
		uid, gid *uint32
		want     User
		err      string
	}{
		{"", nil, nil, User{0, 0, nil, "/root"}, ""},
		{"ann", nil, nil, User{1000, 100, []uint32{44, 45}, "/home/ann"}, ""},
		{"1000", nil, nil, User{1000, 100, []uint32{44, 45}, "/home/ann"}, ""},
		{"ann:video", nil, nil, User{1000, 44, []uint32{44, 45}, "/home/ann"}, ""},
		{"ann:5", nil, nil, User{1000, 5, []uint32{44, 45}, "/home/ann"}, ""},
		{"4711", nil, nil, User{4711, 0, nil, "/"}, ""},
		{"1234", nil, nil, User{7, 8, nil, "/odd"}, ""}, // a name that looks like a number is a name
		{"ann", id(4711), nil, User{4711, 4711, nil, "/"}, ""},
		{"", id(1000), id(9), User{1000, 9, []uint32{44, 45}, "/home/ann"}, ""},
		{"ann:video", nil, id(9), User{1000, 9, []uint32{44, 45}, "/home/ann"}, ""},
		{"bob", nil, nil, User{}, "bob"},
		{"bad", nil, nil, User{}, "bad"},
		{"ann:nogroup", nil, nil, User{}, "nogroup"},
	} {
		got, err := FindUser(c.named, c.uid, c.gid, users, list)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: error %v, want one that says %q", c.named, err, c.err)
			}
			continue
		}
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%q, %v, %v: %v\n%s", c.named, c.uid, c.gid, err, diff)
		}
	}
	if got, err := FindUser("", nil, nil, "", ""); err != nil || got.UID != 0 || got.Home != "/" {
		t.Errorf("an image without files: %+v, %v", got, err)
	}
}

func TestCheckTarget(t *testing.T) {
	for _, good := range []string{"/data", "/a/b", "/dev/shm", "/etc/config", "/sys/fs/cgroup", "/.musterly"} {
		if err := CheckTarget(good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", "data", "/", "/a/../b", "/a//b", "/a/", "/.", "/proc", "/proc/sys", "/sys", "/dev", "/.muster"} {
		if err := CheckTarget(bad); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v, want a refusal that names it", bad, err)
		}
	}
}

func TestExplain(t *testing.T) {
	for log, want := range map[string]string{
		`{"level":"warning","msg":"w"}
{"level":"error","msg":"runc create failed: unable to start container process: exec: \"/bin/nope\": stat /bin/nope: no such file or directory","time":"t"}`: `"/bin/nope": stat /bin/nope: no such file or directory`,
		"not json\n": "",
		"":           "",
		`{"level":"error","msg":"first"}` + "\n" + `{"level":"error","msg":"last: unknown"}`: "last",
	} {
		if got := Explain(log); got != want {
			t.Errorf("%q: %q, want %q", log, got, want)
		}
	}
}

func FuzzFindUser(f *testing.F) {
	f.Add("ann:video", "ann:x:1:2:g:/h:/s\n", "video:x:44:ann\n")
	f.Add(":", "::::::\n", ":::\n")
	f.Fuzz(func(_ *testing.T, named, users, groups string) {
		_, _ = FindUser(named, nil, nil, users, groups) // it must not panic
	})
}
