package account

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core/osuser"
)

// machine is a machine whose accounts are in files.
func machine(t *testing.T, files map[string]string) *Book {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, "etc", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &Book{Root: root}
}

var usual = map[string]string{
	"passwd":                      "root:x:0:0::/root:/bin/bash\nbroken\n2001:x:5:5::/:/bin/sh\nann:x:2001:2001:Ann,,,:/home/ann:/bin/zsh\n",
	"group":                       "root:x:0:\nann:x:2001:\ngpu:x:300:bob,ann\nteam:x:299:ann\nothers:x:301:bob,anna\n",
	"security/limits.conf":        "@gpu soft nofile 99\nann hard nproc 7\n",
	"security/limits.d/10-a.conf": "@gpu soft nofile 100\n",
}

func TestFilesAreRead(t *testing.T) {
	b := machine(t, usual)
	a, err := b.ByUID(2001)
	if err != nil {
		t.Fatal(err)
	}
	soft, hard := *a.Limits[0].Soft, *a.Limits[1].Hard
	a.Limits = nil
	if got := fmt.Sprint(a, soft, hard); got != "{ann 2001 2001 [299 300] /home/ann /bin/zsh [] false} 100 7" {
		t.Errorf("ann is %s", got)
	}
	if a, err := b.ByName("2001"); err != nil || a.UID != 5 {
		t.Errorf("who is called 2001 is %+v, %v", a, err)
	}
	for _, name := range []string{"", "bob", "-h", "a:b", "ann\n"} {
		if _, err := b.ByName(name); !errors.Is(err, osuser.ErrNone) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := b.ByUID(77); !errors.Is(err, osuser.ErrNone) {
		t.Errorf("77: %v", err)
	}
	if _, err := (&Book{Root: t.TempDir()}).ByUID(0); err == nil || errors.Is(err, osuser.ErrNone) {
		t.Errorf("where nothing can be read: %v", err)
	}
}

// TestThisMachine asks getent, where there is one, as a server does.
func TestThisMachine(t *testing.T) {
	b := &Book{}
	a, err := b.ByUID(0)
	if err != nil || a.Name != "root" || a.Home == "" {
		t.Fatalf("root is %+v, %v", a, err)
	}
	if c, err := b.ByName(a.Name); err != nil || c.UID != 0 {
		t.Errorf("by name it is %+v, %v", c, err)
	}
	if _, err := b.ByName("no-such-account"); !errors.Is(err, osuser.ErrNone) {
		t.Errorf("an account that there is not: %v", err)
	}
	// What files say, getent says as well; it may know more.
	data, err := os.ReadFile("/etc/passwd")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		want, ok := parsePasswd(line)
		if !ok {
			continue
		}
		if got, err := b.ByName(want.Name); err != nil || got.UID != want.UID || got.GID != want.GID {
			t.Errorf("%s is %+v, %v, and in /etc/passwd %+v", want.Name, got, err, want)
		}
	}
}
