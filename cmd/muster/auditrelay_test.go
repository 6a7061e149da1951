package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/cli"
)

// TestReceiversOfTheAuditLogAreChecked before the server starts.
func TestReceiversOfTheAuditLogAreChecked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	empty, key := filepath.Join(dir, "empty"), filepath.Join(dir, "key")
	for path, text := range map[string]string{empty: "", key: "sesame\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hook := []string{"https://h/x"}
	for want, o := range map[string]cli.ServerOptions{
		"udp://HOST:514":          {AuditSyslog: []string{"host:514"}},
		"not an http or https":    {AuditWebhook: []string{"host"}},
		"without --audit-webhook": {AuditSecretFile: key},
		"is empty":                {AuditWebhook: hook, AuditSecretFile: empty},
		"no such file":            {AuditWebhook: hook, AuditSecretFile: filepath.Join(dir, "none")},
		"has no certificate":      {AuditWebhook: hook, AuditCA: key},
		"https://h/x twice":       {AuditWebhook: []string{"https://h/x", "https://h/x?y"}},
	} {
		if _, err := relayOf(o, nil, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := relayOf(cli.ServerOptions{AuditWebhook: hook, AuditSecretFile: key, AuditSyslog: []string{"udp://h:514"}}, nil, slog.New(slog.DiscardHandler)); err != nil {
		t.Error(err)
	}
}
