package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/cli"
)

func TestMailOptions(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	password, empty := file("password", "sesame street\n"), file("empty", "\n")
	for says, o := range map[string]cli.ServerOptions{
		"without --smtp-server": {SMTPFrom: "a@b"},
		"is not HOST:PORT":      {SMTPServer: "h", SMTPFrom: "a@b"},
		"is not an address":     {SMTPServer: "h:25", SMTPFrom: "Ana <a@b>"},
		"go together":           {SMTPServer: "h:25", SMTPFrom: "a@b", SMTPUser: "u"},
		"no such file":          {SMTPServer: "h:25", SMTPFrom: "a@b", SMTPUser: "u", SMTPPasswordFile: filepath.Join(dir, "none")},
		"is empty":              {SMTPServer: "h:25", SMTPFrom: "a@b", SMTPUser: "u", SMTPPasswordFile: empty},
	} {
		if _, err := mailOf(o); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v; want %q", o, err, says)
		}
	}
	m, err := mailOf(cli.ServerOptions{SMTPServer: "h:587", SMTPFrom: "a@b", SMTPUser: "u", SMTPPasswordFile: password})
	if err != nil || m.Password != "sesame street" || m.User != "u" || m.Plain {
		t.Errorf("%+v, %v", m, err)
	}
	if m, err := mailOf(cli.ServerOptions{}); err != nil || m.Server != "" {
		t.Errorf("nothing asked for: %+v, %v", m, err)
	}
}
